//! Shared keys, by name.
//!
//! Invariant: a key's name is in lower case, as RFC 8945 section 4.3.3 wants it signed.

use super::mac::Mac;
use crate::name::{Folded, Name, NameBuf};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// How a key signs (RFC 8945 section 6).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Algorithm {
    /// hmac-sha1: to be had, and not for new keys.
    HmacSha1,
    /// hmac-sha224.
    HmacSha224,
    /// hmac-sha256: the usual one.
    HmacSha256,
    /// hmac-sha384.
    HmacSha384,
    /// hmac-sha512.
    HmacSha512,
}

impl Algorithm {
    const ALL: [Self; 5] =
        [Self::HmacSha1, Self::HmacSha224, Self::HmacSha256, Self::HmacSha384, Self::HmacSha512];

    /// Its name in configurations.
    pub const fn name(self) -> &'static str {
        match self {
            Self::HmacSha1 => "hmac-sha1",
            Self::HmacSha224 => "hmac-sha224",
            Self::HmacSha256 => "hmac-sha256",
            Self::HmacSha384 => "hmac-sha384",
            Self::HmacSha512 => "hmac-sha512",
        }
    }

    /// Its name in messages.
    pub(crate) const fn wire_name(self) -> &'static [u8] {
        match self {
            Self::HmacSha1 => b"\x09hmac-sha1\0",
            Self::HmacSha224 => b"\x0bhmac-sha224\0",
            Self::HmacSha256 => b"\x0bhmac-sha256\0",
            Self::HmacSha384 => b"\x0bhmac-sha384\0",
            Self::HmacSha512 => b"\x0bhmac-sha512\0",
        }
    }

    /// How long its signatures are, in bytes.
    pub(crate) const fn mac_len(self) -> usize {
        match self {
            Self::HmacSha1 => 20,
            Self::HmacSha224 => 28,
            Self::HmacSha256 => 32,
            Self::HmacSha384 => 48,
            Self::HmacSha512 => 64,
        }
    }
}

/// Why a key cannot be used.
#[derive(Clone, PartialEq, Eq, thiserror::Error, Debug)]
pub enum KeyError {
    /// MD5 is broken as a hash, and RFC 8945 no longer asks for it.
    #[error("hmac-md5 is not supported: make a new key, for hmac-sha256")]
    Md5,
    /// No such algorithm.
    #[error("\"{0}\" is no algorithm: hmac-sha256, hmac-sha512, hmac-sha384, hmac-sha224 and hmac-sha1 are")]
    Algorithm(String),
    /// The name is none.
    #[error("\"{0}\" is no name for a key: it must be a domain name, the same at both ends")]
    Name(String),
    /// The secret is not Base64, or empty.
    #[error("the secret of key \"{0}\" is not Base64 of at least one byte")]
    Secret(String),
}

impl FromStr for Algorithm {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let wanted = text.trim_end_matches('.').to_ascii_lowercase();
        if wanted == "hmac-md5" || wanted == "hmac-md5.sig-alg.reg.int" {
            return Err(KeyError::Md5);
        }
        let found = Self::ALL.into_iter().find(|algorithm| algorithm.name() == wanted);
        found.ok_or_else(|| KeyError::Algorithm(text.to_owned()))
    }
}

/// A shared key.
#[derive(Clone)]
pub struct Key {
    name: Folded,
    algorithm: Algorithm,
    /// Keyed once: signing clones it.
    mac: Mac,
}

impl Key {
    /// A key of that name, with the bytes of its secret.
    pub fn new(name: &Name, algorithm: Algorithm, secret: &[u8]) -> Result<Self, KeyError> {
        let mac = Mac::new(algorithm, secret).filter(|_| !secret.is_empty());
        let mac = mac.ok_or_else(|| KeyError::Secret(name.to_string()))?;
        Ok(Self { name: Folded::of(name), algorithm, mac })
    }

    /// The same from a configuration's text.
    pub fn parse(name: &str, algorithm: &str, secret_base64: &str) -> Result<Self, KeyError> {
        let algorithm = algorithm.parse()?;
        let owner = NameBuf::from_str(name).map_err(|_| KeyError::Name(name.to_owned()))?;
        let secret: Vec<u8> =
            domain::utils::base64::decode(secret_base64).map_err(|_| KeyError::Secret(name.to_owned()))?;
        Self::new(&owner, algorithm, &secret)
    }

    /// Its name, in lower case.
    pub fn name(&self) -> &Name {
        self.name.name()
    }

    /// How it signs.
    pub const fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// A signature to be made or verified.
    pub(super) fn mac(&self) -> Mac {
        self.mac.clone()
    }
}

impl PartialEq for Key {
    /// Keys are the same by name and algorithm; secrets are not compared.
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name() && self.algorithm == other.algorithm
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({}, {}, secret not shown)", self.name(), self.algorithm.name())
    }
}

/// All keys that a server knows.
#[derive(Clone, Default, Debug)]
pub struct Keyring(Vec<Arc<Key>>);

impl Keyring {
    /// The key of that name, whatever the case of its letters.
    pub fn find(&self, name: &Name) -> Option<&Arc<Key>> {
        self.0.iter().find(|key| key.name() == name)
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<Key> for Keyring {
    fn from_iter<I: IntoIterator<Item = Key>>(keys: I) -> Self {
        Self(keys.into_iter().map(Arc::new).collect())
    }
}
