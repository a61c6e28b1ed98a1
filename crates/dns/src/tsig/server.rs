//! A server's side: requests are checked, answers signed with the key that the request was signed with.

use super::mac::{Mac, Tag};
use super::record::{self, Content, Record, Stamp};
use super::{Algorithm, Key, Keyring, TsigError};
use crate::message::Malformed;
use crate::name::NameBuf;
use std::sync::Arc;

/// What a request's signature is worth.
#[derive(Debug)]
pub enum Checked {
    /// There is none.
    Unsigned,
    /// It is right.
    Signed(Pass),
    /// It is not; [`Rejection::answer`] says so to the peer, with rcode NOTAUTH.
    Rejected(Box<Rejection>),
    /// The message is no message, or its signature is out of place: FORMERR (RFC 8945 section 5.2).
    Malformed,
}

/// The proof that a request was signed with a key known here.
#[derive(Clone, Debug)]
pub struct Pass {
    key: Arc<Key>,
    request_mac: Tag,
    plain_len: usize,
}

/// A signature that was not accepted.
#[derive(Clone, Debug)]
pub struct Rejection {
    error: TsigError,
    key_name: NameBuf,
    algorithm: NameBuf,
    stamp: Stamp,
    /// Who signs the answer: the time is told to a peer that has the key (RFC 8945 section 5.2.3).
    signed_by: Option<(Arc<Key>, Tag)>,
}

/// Looks at the signature of a request (RFC 8945 section 5.2).
pub fn check(message: &[u8], keys: &Keyring, now_s: u64) -> Checked {
    match record::find(message) {
        Err(Malformed) => Checked::Malformed,
        Ok(None) => Checked::Unsigned,
        Ok(Some(found)) => check_record(message, &found, keys, now_s),
    }
}

fn check_record(message: &[u8], found: &Record<'_>, keys: &Keyring, now_s: u64) -> Checked {
    let known = keys.find(&found.key_name).filter(|key| found.is_of(key.algorithm()));
    // Section 5.2.1: the key first.
    let Some(key) = known else { return reject(found, TsigError::BadKey, None) };
    match length_of(found.mac, key.algorithm()) {
        MacLen::Impossible => return Checked::Malformed,
        MacLen::Cut => return reject(found, TsigError::BadTrunc, None),
        MacLen::Whole => {}
    }
    let mut mac = key.mac();
    found.hash_message(message, &mut mac);
    record::hash_variables(&mut mac, key, found.stamp, found.error, found.other);
    // Section 5.2.2: the signature before the time, which means nothing unless it was signed.
    if !mac.is(found.mac) {
        return reject(found, TsigError::BadSig, None);
    }
    let request_mac: Tag = found.mac.iter().copied().collect();
    if !found.stamp.admits(now_s) {
        return reject(found, TsigError::BadTime, Some((Arc::clone(key), request_mac)));
    }
    Checked::Signed(Pass { key: Arc::clone(key), request_mac, plain_len: found.start })
}

enum MacLen {
    Whole,
    Cut,
    Impossible,
}

/// RFC 8945 section 5.2.2.1: shorter than half, or than ten bytes, or longer than the hash is no signature.
/// A cut one is refused by this server's policy (section 5.2.4): nobody needs the few bytes that it saves.
fn length_of(mac: &[u8], algorithm: Algorithm) -> MacLen {
    let whole = algorithm.mac_len();
    match mac.len() {
        len if len == whole => MacLen::Whole,
        len if len > whole || len < 10.max(whole / 2) => MacLen::Impossible,
        _ => MacLen::Cut,
    }
}

fn reject(found: &Record<'_>, error: TsigError, signed_by: Option<(Arc<Key>, Tag)>) -> Checked {
    Checked::Rejected(Box::new(Rejection {
        error,
        key_name: found.key_name,
        algorithm: found.algorithm.to_owned(),
        stamp: found.stamp,
        signed_by,
    }))
}

impl Pass {
    /// The key that it was signed with.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// How long the request is without its signature.
    pub const fn plain_len(&self) -> usize {
        self.plain_len
    }

    /// What signs the answer.
    pub fn signer(&self) -> Signer {
        Signer { key: Arc::clone(&self.key), prior: self.request_mac.clone(), is_first: true }
    }
}

impl Rejection {
    /// What is wrong.
    pub const fn error(&self) -> TsigError {
        self.error
    }

    /// Says so at the end of an answer of `len` bytes whose rcode is NOTAUTH. Returns its new length; `None`
    /// if there is no room.
    pub fn answer(&self, message: &mut [u8], len: usize, now_s: u64) -> Option<usize> {
        // RFC 8945 section 5.2.3: the server's time in 48 bits.
        let time = now_s.to_be_bytes();
        let (mac, other) = match &self.signed_by {
            Some((key, request_mac)) => {
                let mut mac = key.mac();
                record::hash_prior(&mut mac, request_mac);
                mac.update(&message[..len]);
                record::hash_variables(&mut mac, key, self.stamp, self.error as u16, &time[2..]);
                (mac.finish(), &time[2..])
            }
            // Section 5.3.2: without a key that both have there is no signature.
            None => (Tag::new(), &[][..]),
        };
        let content = Content {
            key_name: &self.key_name,
            algorithm: self.algorithm.as_wire(),
            stamp: self.stamp,
            mac: &mac,
            error: self.error as u16,
            other,
        };
        content.append(message, len)
    }
}

/// Signs an answer, or the messages of a transfer one after the other.
#[derive(Clone, Debug)]
pub struct Signer {
    key: Arc<Key>,
    prior: Tag,
    is_first: bool,
}

impl Signer {
    /// Signs the message in the first `len` bytes. Returns its new length; `None` if there is no room
    /// (see [`RECORD_LEN_MAX`](super::RECORD_LEN_MAX)).
    pub fn sign(&mut self, message: &mut [u8], len: usize, now_s: u64) -> Option<usize> {
        let stamp = Stamp::at(now_s);
        let mut mac = self.key.mac();
        record::hash_prior(&mut mac, &self.prior);
        mac.update(&message[..len]);
        self.hash_stamp(&mut mac, stamp);
        let tag = mac.finish();
        let content = Content {
            key_name: self.key.name(),
            algorithm: self.key.algorithm().wire_name(),
            stamp,
            mac: &tag,
            error: 0,
            other: &[],
        };
        let signed_len = content.append(message, len)?;
        self.prior = tag;
        self.is_first = false;
        Some(signed_len)
    }

    /// How many bytes a signature takes.
    pub fn record_len(&self) -> usize {
        let algorithm = self.key.algorithm();
        self.key.name().wire_len() + 10 + algorithm.wire_name().len() + 16 + algorithm.mac_len()
    }

    /// RFC 8945 section 5.3.1: all variables in the first message, only the timers from then on.
    fn hash_stamp(&self, mac: &mut Mac, stamp: Stamp) {
        if self.is_first {
            record::hash_variables(mac, &self.key, stamp, 0, &[]);
        } else {
            mac.update(&stamp.bytes());
        }
    }
}
