//! A client's side: a request is signed, and each message of the answer verified.

use super::mac::Mac;
use super::record::{self, Content, Record, Stamp};
use super::{Key, TsigError};
use std::sync::Arc;

/// How many messages of a transfer may be unsigned between two that are signed (RFC 8945 section 5.3.1).
const UNSIGNED_COUNT_MAX: u32 = 99;

/// Why an answer cannot be believed.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error, Debug)]
pub enum VerifyError {
    /// Not a message, or its signature is out of place.
    #[error("the answer's signature is malformed")]
    Malformed,
    /// The answer is not signed where it must be.
    #[error("the answer is not signed")]
    Unsigned,
    /// Signed with another key.
    #[error("the answer is signed with another key than the request")]
    OtherKey,
    /// The signature is wrong.
    #[error("the answer's signature is wrong")]
    BadSig,
    /// The signature is right, and too old or too new.
    #[error("the answer was signed too long ago, or the clocks differ")]
    BadTime,
    /// The server does not accept the request's signature.
    #[error("the server refuses the signature of the request: {0}")]
    Refused(&'static str),
}

/// Verifies what comes back for one signed request.
#[derive(Clone)]
pub struct Verifier {
    key: Arc<Key>,
    /// Everything since the last signature, that signature included.
    mac: Mac,
    unsigned_count: u32,
    is_first: bool,
}

impl Verifier {
    /// Signs the request in the first `len` bytes of `message`. Returns its new length and what verifies the
    /// answer; `None` if there is no room.
    pub fn of_request(key: &Arc<Key>, message: &mut [u8], len: usize, now_s: u64) -> Option<(usize, Self)> {
        let stamp = Stamp::at(now_s);
        let mut mac = key.mac();
        mac.update(&message[..len]);
        record::hash_variables(&mut mac, key, stamp, 0, &[]);
        let tag = mac.finish();
        let content = Content {
            key_name: key.name(),
            algorithm: key.algorithm().wire_name(),
            stamp,
            mac: &tag,
            error: 0,
            other: &[],
        };
        let signed_len = content.append(message, len)?;
        let mac = after(key, &tag);
        Some((signed_len, Self { key: Arc::clone(key), mac, unsigned_count: 0, is_first: true }))
    }

    /// Takes in the answer's next message. Returns how long it is without its signature.
    pub fn check(&mut self, message: &[u8], now_s: u64) -> Result<usize, VerifyError> {
        let found = record::find(message).map_err(|_| VerifyError::Malformed)?;
        let Some(found) = found else { return self.take_unsigned(message) };
        if *self.key.name() != *found.key_name || !found.is_of(self.key.algorithm()) {
            return Err(VerifyError::OtherKey);
        }
        self.verify(message, &found, now_s)?;
        self.mac = after(&self.key, found.mac);
        self.unsigned_count = 0;
        self.is_first = false;
        Ok(found.start)
    }

    /// The answer is complete: its last message must have been signed.
    pub fn finish(self) -> Result<(), VerifyError> {
        if self.is_first || self.unsigned_count > 0 { Err(VerifyError::Unsigned) } else { Ok(()) }
    }

    /// RFC 8945 section 5.3.1: the first message is signed, and at least each hundredth.
    fn take_unsigned(&mut self, message: &[u8]) -> Result<usize, VerifyError> {
        if self.is_first || self.unsigned_count == UNSIGNED_COUNT_MAX {
            return Err(VerifyError::Unsigned);
        }
        self.unsigned_count += 1;
        self.mac.update(message);
        Ok(message.len())
    }

    fn verify(&self, message: &[u8], found: &Record<'_>, now_s: u64) -> Result<(), VerifyError> {
        let mut mac = self.mac.clone();
        found.hash_message(message, &mut mac);
        if self.is_first {
            record::hash_variables(&mut mac, &self.key, found.stamp, found.error, found.other);
        } else {
            mac.update(&found.stamp.bytes());
        }
        // RFC 8945 section 5.3.2: a refusal is unsigned where the key is what is wrong.
        let refused = refusal(found.error);
        if !mac.is(found.mac) {
            return Err(refused.unwrap_or(VerifyError::BadSig));
        }
        match refused {
            Some(refused) => Err(refused),
            None if !found.stamp.admits(now_s) => Err(VerifyError::BadTime),
            None => Ok(()),
        }
    }
}

/// A hash that begins with an earlier signature.
fn after(key: &Key, prior: &[u8]) -> Mac {
    let mut mac = key.mac();
    record::hash_prior(&mut mac, prior);
    mac
}

fn refusal(error: u16) -> Option<VerifyError> {
    let why = match error {
        0 => return None,
        e if e == TsigError::BadSig as u16 => "BADSIG, the secrets differ",
        e if e == TsigError::BadKey as u16 => "BADKEY, it does not know the key",
        e if e == TsigError::BadTime as u16 => "BADTIME, the clocks differ",
        e if e == TsigError::BadTrunc as u16 => "BADTRUNC",
        _ => "an error that is not known",
    };
    Some(VerifyError::Refused(why))
}
