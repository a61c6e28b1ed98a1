//! TCP Fast Open (RFC 7413) for servers: a client that was here before sends its request with its SYN, and gets the
//! answer a round trip sooner.
//!
//! ```text
//!   client                                    server
//!   SYN, cookie request           -->
//!                                 <--         SYN-ACK, cookie: a MAC over the client's address
//!     ... the next time:
//!   SYN, cookie, GET /            -->         service gets the request
//!                                 <--         SYN-ACK
//!                                 <--         200 OK, before the handshake is complete
//! ```
//!
//! It is a TCP option of which the `tcp` crate knows nothing: an [`OptionKind`] that a listener names
//! ([`FastOpen::option`]). Its state lasts as long as the handshake.
//!
//! Two copies of one SYN may both be served, the second after the first connection's end (RFC 7413 section 2.1): only for
//! services whose requests may come twice. How many handshakes with text may be under way is the listener's
//! backlog (section 5.1): beyond it SYNs are answered by SYN cookies, and their text is sent again.
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tidegate_base::{HashKey, Instant};
use tidegate_tcp::option::{Arrived, OptionKind, OptionModule, OptionWriter, SynVerdict};
use tidegate_wire::{TcpFlags, TcpRepr};

/// The option's kind (section 4.1.1).
pub const KIND: u8 = 34;
/// Bytes in a cookie of ours.
const COOKIE_LEN: usize = 8;

type Cookie = [u8; COOKIE_LEN];

/// What happened so far, over all listeners that share the value.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FastOpenCounters {
    /// Cookies given.
    pub given_count: u64,
    /// SYNs whose text was taken.
    pub taken_count: u64,
    /// SYNs whose cookie was not ours, or old: they got a new one.
    pub refused_count: u64,
}

/// Fast Open under one secret. Cheap to clone: listeners and workers share it, so that a client's cookie is good at all
/// of them.
#[derive(Clone)]
pub struct FastOpen(Arc<Shared>);

struct Shared {
    key: HashKey,
    given_count: AtomicU64,
    taken_count: AtomicU64,
    refused_count: AtomicU64,
}

impl FastOpen {
    /// Under a key that the caller drew at random; cookies are good as long as it is.
    pub fn new(key: HashKey) -> Self {
        let zero = || AtomicU64::new(0);
        Self(Arc::new(Shared { key, given_count: zero(), taken_count: zero(), refused_count: zero() }))
    }

    /// What a listener names in its configuration.
    pub fn option(&self) -> OptionKind {
        let shared = self.clone();
        let start =
            move || -> Box<dyn OptionModule> { Box::new(Handshake { shared: shared.clone(), gives: None }) };
        OptionKind { name: "fast-open", data_room: 0, start: Arc::new(start) }
    }

    /// What happened so far.
    pub fn counters(&self) -> FastOpenCounters {
        FastOpenCounters {
            given_count: self.0.given_count.load(Ordering::Relaxed),
            taken_count: self.0.taken_count.load(Ordering::Relaxed),
            refused_count: self.0.refused_count.load(Ordering::Relaxed),
        }
    }

    /// The cookie of the client that `syn` comes from (section 4.1.2): its address under the key, and nothing else.
    fn cookie(&self, syn: &Arrived<'_>) -> Cookie {
        self.0.key.hash(&syn.ip.src).to_be_bytes()
    }
}

/// One handshake.
struct Handshake {
    shared: FastOpen,
    /// The cookie that the SYN-ACK brings.
    gives: Option<Cookie>,
}

impl std::fmt::Debug for Handshake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handshake").field("gives", &self.gives.is_some()).finish_non_exhaustive()
    }
}

impl OptionModule for Handshake {
    /// Section 4.2.2: a good cookie lets the text in; a request, or a cookie that is not good, gets one.
    fn on_syn(&mut self, syn: &Arrived<'_>) -> SynVerdict {
        let Some(shown) = syn.option(KIND) else { return SynVerdict::Plain };
        let cookie = self.shared.cookie(syn);
        if shown == cookie {
            self.shared.0.taken_count.fetch_add(u64::from(!syn.payload.is_empty()), Ordering::Relaxed);
            return SynVerdict::TakeText;
        }
        self.shared.0.refused_count.fetch_add(u64::from(!shown.is_empty()), Ordering::Relaxed);
        self.gives = Some(cookie);
        SynVerdict::Plain
    }

    fn write(&mut self, _now: Instant, header: &TcpRepr, out: &mut OptionWriter) {
        if let Some(cookie) = self.gives.filter(|_| header.flags.contains(TcpFlags::SYN))
            && out.push(KIND, &cookie)
        {
            self.shared.0.given_count.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn stays(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests;
