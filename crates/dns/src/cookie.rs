//! DNS cookies: the server's half, by which a client shows that it gets mail at its address (RFC 7873), in the
//! one form that all servers of an address understand (RFC 9018).
//!
//! ```text
//!   client cookie | version 1 | reserved | timestamp | SipHash-2-4(all before, client address; secret)
//!         8             1          3           4          8
//! ```
//!
//! Not a judge of what to do about a bad one: the caller answers all the same, and spares who shows a good one
//! the rate limit.
//!
//! A secret is rolled over in three stages (RFC 9018 section 5), each a reload of the list of secrets, whose first
//! signs: `[old, new]` everywhere, then `[new, old]`, and when an hour has passed `[new]`.

use siphasher::sip::SipHasher24;
use std::net::IpAddr;

use crate::message::Cookie;

#[cfg(test)]
mod tests;

/// The only version there is (RFC 9018 section 4.1).
const VERSION: u8 = 1;
/// How old a cookie may be (RFC 9018 section 4.3).
const AGE_S_MAX: i32 = 3600;
/// How far ahead of ours the clock may be that stamped it (RFC 9018 section 4.3).
const AHEAD_S_MAX: i32 = 300;
/// From this age on it is replaced (RFC 9018 section 4.3).
const RENEWAL_AGE_S: i32 = 1800;

/// The server's half of a cookie.
type ServerCookie = [u8; 16];

/// What a query's cookie shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CookieVerdict {
    /// Only the client's half: it asks for ours.
    ClientOnly,
    /// It is ours, for this client, and not too old.
    Good,
    /// It is not, or no longer.
    Bad,
}

/// The secrets with which this server makes and checks cookies.
#[derive(Clone)]
pub struct Cookies {
    signing: [u8; 16],
    /// Those that cookies under way may have been made with.
    others: Box<[[u8; 16]]>,
}

impl Cookies {
    /// With these secrets, of which the first makes new cookies. `None` if there is none.
    pub fn new(secrets: &[[u8; 16]]) -> Option<Self> {
        let (signing, others) = secrets.split_first()?;
        Some(Self { signing: *signing, others: others.into() })
    }

    /// What `cookie` shows of `client`, and the cookie for the answer: the same while it is young, else a new
    /// one. `unix_s` is the time in seconds since 1970, of which the low 32 bits count.
    pub fn answer(&self, cookie: &Cookie<'_>, client: IpAddr, unix_s: u32) -> (CookieVerdict, [u8; 24]) {
        let verdict = self.verify(cookie, client, unix_s);
        let server = match (verdict, ServerCookie::try_from(cookie.server)) {
            (CookieVerdict::Good, Ok(server)) if self.may_stay(cookie.client, &server, client, unix_s) => {
                server
            }
            _ => self.make(cookie.client, client, unix_s),
        };
        (verdict, joined(cookie.client, &server))
    }

    /// What `cookie` shows of `client`.
    pub fn verify(&self, cookie: &Cookie<'_>, client: IpAddr, unix_s: u32) -> CookieVerdict {
        if cookie.server.is_empty() {
            return CookieVerdict::ClientOnly;
        }
        let Ok(server) = ServerCookie::try_from(cookie.server) else { return CookieVerdict::Bad };
        let secrets = || core::iter::once(&self.signing).chain(&self.others);
        let is_good = server[0] == VERSION
            && (-AHEAD_S_MAX..=AGE_S_MAX).contains(&age_s(&server, unix_s))
            && secrets().any(|secret| is_signed(secret, cookie.client, &server, client));
        if is_good { CookieVerdict::Good } else { CookieVerdict::Bad }
    }

    fn may_stay(&self, client_cookie: &[u8; 8], server: &ServerCookie, client: IpAddr, unix_s: u32) -> bool {
        age_s(server, unix_s) < RENEWAL_AGE_S
            && (self.others.is_empty() || is_signed(&self.signing, client_cookie, server, client))
    }

    fn make(&self, client_cookie: &[u8; 8], client: IpAddr, unix_s: u32) -> ServerCookie {
        let mut server = [0; 16];
        // RFC 9018 section 4.2: the reserved octets are zero.
        server[0] = VERSION;
        server[4..8].copy_from_slice(&unix_s.to_be_bytes());
        let hash = hash(&self.signing, client_cookie, &server, client);
        server[8..].copy_from_slice(&hash);
        server
    }
}

/// Secrets are not shown.
impl core::fmt::Debug for Cookies {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Cookies({} secrets)", 1 + self.others.len())
    }
}

fn joined(client_cookie: &[u8; 8], server: &ServerCookie) -> [u8; 24] {
    let mut cookie = [0; 24];
    cookie[..8].copy_from_slice(client_cookie);
    cookie[8..].copy_from_slice(server);
    cookie
}

/// Seconds since its timestamp; less than zero if that is still to come. RFC 9018 section 4.3: by serial number
/// arithmetic, so that it goes on working when 32 bits are full.
fn age_s(server: &ServerCookie, unix_s: u32) -> i32 {
    let stamped = u32::from_be_bytes([server[4], server[5], server[6], server[7]]);
    unix_s.wrapping_sub(stamped) as i32
}

/// The reserved octets count as they came (RFC 9018 section 4.2).
fn is_signed(secret: &[u8; 16], client_cookie: &[u8; 8], server: &ServerCookie, client: IpAddr) -> bool {
    server.ends_with(&hash(secret, client_cookie, server, client))
}

/// RFC 9018 section 4.4: over client cookie, version, reserved, timestamp and client address; the hash's octets
/// from the lowest.
fn hash(secret: &[u8; 16], client_cookie: &[u8; 8], server: &ServerCookie, client: IpAddr) -> [u8; 8] {
    let mut input = [0; 32];
    input[..8].copy_from_slice(client_cookie);
    input[8..16].copy_from_slice(&server[..8]);
    let len = match client {
        IpAddr::V4(address) => {
            input[16..20].copy_from_slice(&address.octets());
            20
        }
        IpAddr::V6(address) => {
            input[16..].copy_from_slice(&address.octets());
            32
        }
    };
    SipHasher24::new_with_key(secret).hash(&input[..len]).to_le_bytes()
}
