//! Other servers, as a configuration names them.
//!
//! ```text
//!   "192.0.2.0/24"   "192.0.2.1"   "any"   "key transfer."   "192.0.2.0/24 key transfer."     Peer
//!   "192.0.2.1"   "192.0.2.1:5353"   "[2001:db8::1]:53 key transfer."                         Remote
//! ```

use crate::name::NameBuf;
use serde::Deserialize;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

/// The port of a server whose port is not named.
const PORT: u16 = 53;

/// A key's name.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct KeyName(NameBuf);

impl KeyName {
    /// The name.
    pub fn to_name(&self) -> NameBuf {
        self.0
    }
}

impl FromStr for KeyName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let name = text.parse::<NameBuf>().map_err(|error| format!("\"{text}\" is no domain name: {error}"));
        name.map(Self)
    }
}

impl fmt::Display for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Addresses that share their leading bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Network {
    /// An address in it.
    pub address: IpAddr,
    /// How many leading bits count.
    pub prefix_len: u8,
}

impl Network {
    /// Whether `address` is in it; an IPv4-mapped one counts as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let differing = u32::from(own) ^ u32::from(other);
                differing.leading_zeros() >= u32::from(self.prefix_len)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let differing = u128::from(own) ^ u128::from(other);
                differing.leading_zeros() >= u32::from(self.prefix_len)
            }
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("\"{text}\" is no network: write one as \"192.0.2.0/24\" or \"2001:db8::/32\"");
        let (address, len) = match text.split_once('/') {
            Some((address, len)) => (address, Some(len)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let len_max = if address.is_ipv4() { 32 } else { 128 };
        let prefix_len = len.map_or(Ok(len_max), |len| len.parse().map_err(|_| wrong()))?;
        if prefix_len > len_max {
            return Err(format!("\"{text}\": a prefix of this address has {len_max} bits at most"));
        }
        Ok(Self { address, prefix_len })
    }
}

/// Who may do something: by address, by key, or by both.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Peer {
    /// From where. None: from anywhere.
    pub network: Option<Network>,
    /// With which key. None: signed or not.
    pub key: Option<KeyName>,
}

impl FromStr for Peer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let network = |word: &str| if word == "any" { Ok(None) } else { word.parse().map(Some) };
        match words[..] {
            ["key", key] => Ok(Self { network: None, key: Some(key.parse()?) }),
            [place] => Ok(Self { network: network(place)?, key: None }),
            [place, "key", key] => Ok(Self { network: network(place)?, key: Some(key.parse()?) }),
            _ => Err(format!(
                "\"{text}\": write \"192.0.2.0/24\", \"any\", \"key NAME\" or \"192.0.2.0/24 key NAME\""
            )),
        }
    }
}

/// A server to speak to.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Remote {
    /// Where it is.
    pub address: SocketAddr,
    /// The key that messages to it are signed with.
    pub key: Option<KeyName>,
}

impl FromStr for Remote {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        match words[..] {
            [place] => Ok(Self { address: address(place)?, key: None }),
            [place, "key", key] => Ok(Self { address: address(place)?, key: Some(key.parse()?) }),
            _ => {
                Err(format!("\"{text}\": write \"192.0.2.1\", \"192.0.2.1:5353\" or \"192.0.2.1 key NAME\""))
            }
        }
    }
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let alone = text.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, PORT));
    alone.or_else(|_| text.parse()).map_err(|_| {
        format!(
            "\"{text}\" is no address: write one as \"192.0.2.1\", \"192.0.2.1:5353\" or \"[2001:db8::1]:53\""
        )
    })
}

macro_rules! read_as_text {
    ($($name:ident),+) => {$(
        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                text.parse()
            }
        }
    )+};
}

read_as_text!(KeyName, Network, Peer, Remote);
