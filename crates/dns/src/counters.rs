//! What a worker's name server did: written by its worker, read by whoever shows it.
//!
//! Each query counts once under its transport, opcode and type; each answer once under its rcode and its size. What
//! is not answered counts under one reason. A number that has no name of its own (a type that nobody heard of) goes
//! under the last of its kind, so that a flood of odd numbers costs no memory.

use tidegate_base::Tally;

use crate::cookie::CookieVerdict;
use crate::message::{Opcode, Query, Rcode, Rtype, Silence};
use crate::rrl::RateVerdict;

mod reading;
#[cfg(test)]
mod tests;

pub use reading::{DnsCounters, Sample};

/// How a query came.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Transport {
    /// UDP over IPv4.
    Udp4,
    /// UDP over IPv6.
    Udp6,
    /// TCP over IPv4.
    Tcp4,
    /// TCP over IPv6.
    Tcp6,
}

impl Transport {
    /// All, in counter order.
    pub const ALL: [Self; 4] = [Self::Udp4, Self::Udp6, Self::Tcp4, Self::Tcp6];

    /// UDP, from a client of that family.
    #[inline]
    pub const fn udp(is_ipv6: bool) -> Self {
        if is_ipv6 { Self::Udp6 } else { Self::Udp4 }
    }

    /// TCP, from a client of that family.
    #[inline]
    pub const fn tcp(is_ipv6: bool) -> Self {
        if is_ipv6 { Self::Tcp6 } else { Self::Tcp4 }
    }

    /// The name under which it is shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Udp4 => "udp4",
            Self::Udp6 => "udp6",
            Self::Tcp4 => "tcp4",
            Self::Tcp6 => "tcp6",
        }
    }
}

/// Types with a counter of their own: 0 to 257 (CAA).
const RTYPE_COUNT: usize = 258;
/// Rcodes with a counter of their own: 0 to 23 (BADCOOKIE).
const RCODE_COUNT: usize = 24;
/// Opcodes have four bits.
const OPCODE_COUNT: usize = 16;
/// Sizes up to 32 octets, 64, and so on up to 65,536.
const SIZE_COUNT: usize = 12;

/// The size class of an answer of `len` octets.
#[inline]
fn size_index(len: usize) -> usize {
    let doublings = usize::BITS - (len.saturating_sub(1) >> 5).leading_zeros();
    (doublings as usize).min(SIZE_COUNT - 1)
}

/// The longest answer of a size class, in octets.
const fn size_max(index: usize) -> u32 {
    32 << index
}

/// As many numbers of one kind.
#[derive(Debug)]
struct Tallies<const N: usize>([Tally; N]);

impl<const N: usize> Tallies<N> {
    /// Adds one to the `index`th, or to the last if there are not so many.
    #[inline]
    fn count(&self, index: usize) {
        self.0[index.min(N - 1)].add(1);
    }

    fn read(&self) -> [u64; N] {
        core::array::from_fn(|at| self.0[at].read())
    }
}

impl<const N: usize> Default for Tallies<N> {
    fn default() -> Self {
        Self(core::array::from_fn(|_| Tally::default()))
    }
}

tidegate_base::tallies! {
    /// Numbers that stand for themselves, as they are being counted.
    struct ScalarTallies;
    /// Numbers that stand for themselves.
    pub struct Scalars;
    /// Octets of answers.
    response_bytes,
    /// Queries with EDNS.
    edns_count,
    /// Queries that want DNSSEC records.
    dnssec_ok_count,
    /// Queries signed with TSIG.
    tsig_count,
    /// Queries with only the client's half of a cookie.
    cookie_client_only_count,
    /// Queries with a good cookie.
    cookie_good_count,
    /// Queries with a cookie that is not ours or too old.
    cookie_bad_count,
    /// Answers with TC that did not fit.
    truncated_count,
    /// Answers that the rate limit held back.
    rate_dropped_count,
    /// Answers that the rate limit let through empty, with TC.
    rate_slipped_count,
    /// Datagrams shorter than a header.
    dropped_short_count,
    /// Datagrams that were answers.
    dropped_response_count,
    /// Queries for whose answer there was no frame.
    dropped_no_frame_count,
    /// Queries that the query log had no room for.
    unlogged_count,
}

/// A worker's numbers, as they are being counted.
#[derive(Default, Debug)]
pub struct DnsTally {
    transports: Tallies<4>,
    opcodes: Tallies<OPCODE_COUNT>,
    rtypes: Tallies<{ RTYPE_COUNT + 1 }>,
    rcodes: Tallies<{ RCODE_COUNT + 1 }>,
    sizes: Tallies<SIZE_COUNT>,
    scalars: ScalarTallies,
}

impl DnsTally {
    /// Counts a query that was read.
    #[inline]
    pub fn on_query(&self, transport: Transport, query: &Query<'_>) {
        self.on_question(
            transport,
            query.opcode(),
            query.question.rtype,
            query.edns.map(|edns| edns.dnssec_ok),
        );
        if query.tsig_at.is_some() {
            self.scalars.tsig_count.add(1);
        }
    }

    /// Counts an ordinary query that was read only as far as its answer depends on it; with EDNS, whether it wants
    /// DNSSEC records.
    #[inline]
    pub fn on_plain_query(&self, transport: Transport, rtype: Rtype, dnssec_ok: Option<bool>) {
        self.on_question(transport, Opcode::QUERY, rtype, dnssec_ok);
    }

    #[inline]
    fn on_question(&self, transport: Transport, opcode: Opcode, rtype: Rtype, dnssec_ok: Option<bool>) {
        self.transports.count(transport as usize);
        self.opcodes.count(usize::from(opcode.0));
        self.rtypes.count(usize::from(rtype.0));
        if let Some(dnssec_ok) = dnssec_ok {
            self.scalars.edns_count.add(1);
            self.scalars.dnssec_ok_count.add(u64::from(dnssec_ok));
        }
    }

    /// Counts what could not be read but is answered with an error.
    #[inline]
    pub fn on_refused(&self, transport: Transport, opcode: Opcode) {
        self.transports.count(transport as usize);
        self.opcodes.count(usize::from(opcode.0));
    }

    /// Counts what gets no answer.
    #[inline]
    pub fn on_silence(&self, silence: Silence) {
        match silence {
            Silence::TooShort => self.scalars.dropped_short_count.add(1),
            Silence::IsResponse => self.scalars.dropped_response_count.add(1),
        }
    }

    /// Counts an answer that had to be given up for want of a frame.
    #[inline]
    pub fn on_no_frame(&self) {
        self.scalars.dropped_no_frame_count.add(1);
    }

    /// Counts an answer of `len` octets.
    #[inline]
    pub fn on_response(&self, rcode: Rcode, len: usize, is_truncated: bool) {
        self.rcodes.count(usize::from(rcode.0));
        self.sizes.count(size_index(len));
        self.scalars.response_bytes.add(len as u64);
        if is_truncated {
            self.scalars.truncated_count.add(1);
        }
    }

    /// Counts what the rate limit made of an answer.
    #[inline]
    pub fn on_rate_verdict(&self, verdict: RateVerdict) {
        match verdict {
            RateVerdict::Send => {}
            RateVerdict::Slip => self.scalars.rate_slipped_count.add(1),
            RateVerdict::Drop => self.scalars.rate_dropped_count.add(1),
        }
    }

    /// Counts a query's cookie.
    #[inline]
    pub fn on_cookie(&self, verdict: CookieVerdict) {
        match verdict {
            CookieVerdict::ClientOnly => self.scalars.cookie_client_only_count.add(1),
            CookieVerdict::Good => self.scalars.cookie_good_count.add(1),
            CookieVerdict::Bad => self.scalars.cookie_bad_count.add(1),
        }
    }

    /// Counts a query that the query log had no room for.
    #[inline]
    pub fn on_unlogged(&self) {
        self.scalars.unlogged_count.add(1);
    }

    /// The numbers now.
    pub fn read(&self) -> DnsCounters {
        DnsCounters {
            transports: self.transports.read(),
            opcodes: self.opcodes.read(),
            rtypes: self.rtypes.read(),
            rcodes: self.rcodes.read(),
            sizes: self.sizes.read(),
            scalars: self.scalars.read(),
        }
    }
}
