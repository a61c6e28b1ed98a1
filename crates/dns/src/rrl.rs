//! Response rate limiting: so many like answers a second to one network, and no more.
//!
//! ```text
//!   client's prefix, class, name --hash--> a set of eight buckets, shared by all workers     (table)
//!                                \-over--> every so-many-th slips                           (each worker's count)
//! ```
//!
//! A datagram's source is whatever its sender wrote there, and an answer is longer than its question; so a name
//! server over UDP is a weapon that anybody may aim. What a victim's network gets is bounded here: a bucket of one
//! second's answers for each (prefix, class, name), refilled as time goes by. Of what is over, every so-many-th
//! *slips* through as an empty answer with TC, no longer than its question, so that a client who shares the prefix
//! with the victim comes back over TCP.
//!
//! Not asked where the address is known to be the client's: over TCP, and with a good cookie (RFC 7873 section 5.2.3).
//!
//! Invariant: what a limit lets through in a second does not depend on the number of workers.

mod table;

use std::net::IpAddr;
use std::sync::Arc;
use tidegate_base::Instant;

use crate::config::{Network, RrlConfig};
use table::{Rate, Table};

#[cfg(test)]
mod tests;

/// Counts of refusals that a worker keeps.
const REFUSED_COUNTS: usize = 4096;

/// What kind of answer it is. Each has its own limit, and its own idea of which answers are alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum ResponseClass {
    /// With records. Alike: of one name; of one wildcard, where that made the name.
    Positive,
    /// The name is there, but not the type. Alike: of one zone.
    NoData,
    /// The name is not there. Alike: of one zone, or every random name would be a bucket of its own.
    NxDomain,
    /// To another server. Alike: at one cut.
    Referral,
    /// Any rcode but NOERROR and NXDOMAIN. All are alike.
    Error,
}

impl ResponseClass {
    const COUNT: usize = 5;
}

/// What becomes of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RateVerdict {
    /// It is sent.
    Send,
    /// An empty one with TC is sent in its place.
    Slip,
    /// Nothing is sent.
    Drop,
}

/// The limits of one server.
#[derive(Clone, Debug)]
pub struct RateLimits {
    /// Answers a second for each [`ResponseClass`], in its order; 0 is no limit.
    pub per_second: [u32; ResponseClass::COUNT],
    /// Answers a second of all classes and names together; 0 is no limit.
    pub all_per_second: u32,
    /// Of the answers over a limit, each so-many-th slips; 0: none, 1: all.
    pub slip: u32,
    /// Leading bits of an IPv4 address that make a network.
    pub ipv4_prefix_len: u8,
    /// Leading bits of an IPv6 address that make a network.
    pub ipv6_prefix_len: u8,
    /// Networks without a limit.
    pub exempt: Vec<Network>,
    /// Buckets, at least, for all workers together; rounded up to a power of two. Each has 8 octets.
    pub bucket_count: usize,
}

impl RateLimits {
    /// Buckets there are by default: 1 MiB.
    pub const BUCKET_COUNT: usize = 1 << 17;
}

impl From<&RrlConfig> for RateLimits {
    fn from(config: &RrlConfig) -> Self {
        let answers = config.responses_per_second;
        let errors = if config.errors_per_second == 0 { answers } else { config.errors_per_second };
        Self {
            per_second: [answers, answers, answers, answers, errors],
            all_per_second: config.all_per_second,
            slip: config.slip,
            ipv4_prefix_len: config.ipv4_prefix_len,
            ipv6_prefix_len: config.ipv6_prefix_len,
            exempt: config.exempt.clone(),
            bucket_count: Self::BUCKET_COUNT,
        }
    }
}

/// The state of the limits: what all workers share, and how often each refused.
///
/// Clones share their buckets, so that a network gets the same however its packets are spread over workers.
#[derive(Clone)]
pub struct RateLimiter {
    table: Arc<Table>,
    /// Answers over a limit, by hash; they count round. A worker's own: who is refused writes to no shared line.
    refused_counts: Box<[u32; REFUSED_COUNTS]>,
    rates: [Rate; ResponseClass::COUNT],
    rate_all: Rate,
    slip: u32,
    ipv4_mask: u32,
    ipv6_mask: u128,
    exempt: Arc<[Network]>,
    seed: u64,
}

impl RateLimiter {
    /// With nobody limited yet. `seed` is secret: it scatters the buckets.
    pub fn new(limits: &RateLimits, seed: u64) -> Self {
        Self {
            table: Arc::new(Table::new(limits.bucket_count)),
            refused_counts: Box::new([0; REFUSED_COUNTS]),
            rates: limits.per_second.map(Rate::per_second),
            rate_all: Rate::per_second(limits.all_per_second),
            slip: limits.slip,
            ipv4_mask: u32::MAX.checked_shl(32 - u32::from(limits.ipv4_prefix_len.min(32))).unwrap_or(0),
            ipv6_mask: u128::MAX.checked_shl(128 - u32::from(limits.ipv6_prefix_len.min(128))).unwrap_or(0),
            exempt: limits.exempt.as_slice().into(),
            seed,
        }
    }

    /// Whether anything is limited at all.
    #[inline]
    pub fn is_active(&self) -> bool {
        self.rates.iter().chain([&self.rate_all]).any(|rate| rate.is_limit())
    }

    /// What becomes of an answer to `client`. `name_hash` is of the name that makes answers of the class alike
    /// (see [`ResponseClass`]); it is not looked at for errors.
    #[inline]
    pub fn on_response(
        &mut self,
        now: Instant,
        client: IpAddr,
        class: ResponseClass,
        name_hash: u64,
    ) -> RateVerdict {
        let prefix = self.prefix_hash(client);
        let name_hash = if class == ResponseClass::Error { 0 } else { name_hash };
        let alike = mix(mix(prefix, name_hash), class as u64 + 1);
        let own = self.take(now, alike, self.rates[class as usize]);
        // An answer that is refused takes nothing from the budget of all.
        let verdict =
            if own == RateVerdict::Send { self.take(now, mix(prefix, 0), self.rate_all) } else { own };
        if verdict == RateVerdict::Send || self.is_exempt(client) { RateVerdict::Send } else { verdict }
    }

    #[inline]
    fn prefix_hash(&self, client: IpAddr) -> u64 {
        match client {
            IpAddr::V4(address) => mix(self.seed, u64::from(address.to_bits() & self.ipv4_mask) << 1),
            IpAddr::V6(address) => {
                let prefix = address.to_bits() & self.ipv6_mask;
                mix(mix(self.seed, (prefix >> 64) as u64 | 1), prefix as u64)
            }
        }
    }

    /// Only asked about who is over a limit, so that a list is quick enough.
    fn is_exempt(&self, client: IpAddr) -> bool {
        self.exempt.iter().any(|network| network.contains(client))
    }

    /// Takes a token from the bucket of `hash`.
    #[inline]
    fn take(&mut self, now: Instant, hash: u64, rate: Rate) -> RateVerdict {
        if !rate.is_limit() || self.table.take(now, hash, rate) {
            return RateVerdict::Send;
        }
        let refused_count = &mut self.refused_counts[(hash >> 32) as usize % REFUSED_COUNTS];
        *refused_count = refused_count.wrapping_add(1);
        match self.slip {
            0 => RateVerdict::Drop,
            every if refused_count.is_multiple_of(every) => RateVerdict::Slip,
            _ => RateVerdict::Drop,
        }
    }
}

/// Folded multiplication: both halves of the product count.
#[inline]
const fn mix(hash: u64, word: u64) -> u64 {
    let product = (hash ^ word) as u128 * 0xd6e8_feb8_6659_fd93_u128;
    (product as u64 ^ (product >> 64) as u64).rotate_left(29)
}
