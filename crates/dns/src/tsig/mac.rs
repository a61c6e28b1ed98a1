//! A signature under way: one keyed hash of whichever algorithm.

use super::Algorithm;
use arrayvec::ArrayVec;
use hmac::{Hmac, Mac as _};
use sha1::Sha1;
use sha2::{Sha224, Sha256, Sha384, Sha512};

/// The longest signature there is (HMAC-SHA512).
pub(super) const MAC_LEN_MAX: usize = 64;

/// The bytes of a signature.
pub(super) type Tag = ArrayVec<u8, MAC_LEN_MAX>;

/// A keyed hash.
#[derive(Clone)]
pub(super) enum Mac {
    Sha1(Hmac<Sha1>),
    Sha224(Hmac<Sha224>),
    Sha256(Hmac<Sha256>),
    Sha384(Hmac<Sha384>),
    Sha512(Hmac<Sha512>),
}

/// Runs `$body` with the hash of `$mac`, whichever it is.
macro_rules! each {
    ($mac:expr, $hash:ident => $body:expr) => {
        match $mac {
            Mac::Sha1($hash) => $body,
            Mac::Sha224($hash) => $body,
            Mac::Sha256($hash) => $body,
            Mac::Sha384($hash) => $body,
            Mac::Sha512($hash) => $body,
        }
    };
}

impl Mac {
    /// `None` for a secret that the hash cannot take; HMAC takes any (RFC 2104 section 2).
    pub(super) fn new(algorithm: Algorithm, secret: &[u8]) -> Option<Self> {
        Some(match algorithm {
            Algorithm::HmacSha1 => Self::Sha1(Hmac::new_from_slice(secret).ok()?),
            Algorithm::HmacSha224 => Self::Sha224(Hmac::new_from_slice(secret).ok()?),
            Algorithm::HmacSha256 => Self::Sha256(Hmac::new_from_slice(secret).ok()?),
            Algorithm::HmacSha384 => Self::Sha384(Hmac::new_from_slice(secret).ok()?),
            Algorithm::HmacSha512 => Self::Sha512(Hmac::new_from_slice(secret).ok()?),
        })
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        each!(self, hash => hash.update(bytes));
    }

    pub(super) fn finish(self) -> Tag {
        each!(self, hash => hash.finalize().into_bytes().iter().copied().collect())
    }

    /// Whether `tag` is the signature, found out in a time that does not depend on where they differ.
    pub(super) fn is(self, tag: &[u8]) -> bool {
        each!(self, hash => hash.verify_slice(tag).is_ok())
    }
}
