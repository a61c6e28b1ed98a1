//! What an operator says of a server, as far as answers depend on it.

use crate::answer::Policy;
use crate::cookie::{CookieVerdict, Cookies};
use crate::message::{Edns, Opt};
use std::net::IpAddr;

/// What a server says of itself, and what it takes on.
#[derive(Clone, Debug)]
pub struct DeskConfig {
    /// What an operator says that is in no zone.
    pub policy: Policy,
    /// Its name for itself (RFC 5001).
    pub nsid: Option<Vec<u8>>,
    /// What it takes over UDP.
    pub udp_size: u16,
    /// What cookies are made with (RFC 7873); none: they are not answered.
    pub cookies: Option<Cookies>,
    /// Transfers under way at once.
    pub transfer_count_max: usize,
}

impl Default for DeskConfig {
    fn default() -> Self {
        Self { policy: Policy::default(), nsid: None, udp_size: 1232, cookies: None, transfer_count_max: 16 }
    }
}

impl DeskConfig {
    /// The OPT record of an answer to `client`, whose query's says `edns`, but for what depends on the transport;
    /// and what its cookie showed. `unix_s` tells the time in seconds since 1970, in 32 bits that wrap (RFC 9018
    /// section 4.3).
    #[inline]
    pub(super) fn opt(
        &self,
        edns: &Edns<'_>,
        client: IpAddr,
        unix_s: impl FnOnce() -> u32,
    ) -> (Opt<'_>, Option<CookieVerdict>) {
        let nsid = self.nsid.as_deref().filter(|_| edns.wants_nsid);
        let answered = self.cookies.as_ref().zip(edns.cookie);
        let answered = answered.map(|(cookies, theirs)| cookies.answer(&theirs, client, unix_s()));
        let (verdict, cookie) = answered.unzip();
        (Opt { nsid, cookie, ..Opt::new(self.udp_size, edns.dnssec_ok) }, verdict)
    }
}
