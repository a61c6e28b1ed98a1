//! Response rate limiting: so many like answers a second to one network, and no more.
//!
//! ```text
//!   client's prefix, class, name --hash--> a set of four slots: {tag, when the bucket is full again, refused}
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
//! Invariant: the table has its size from the start. A new bucket takes the place of the one in its set that is
//! full, or fuller than the others: who is being limited is forgotten last.

use std::net::IpAddr;
use tidegate_base::{Duration, Instant};

use crate::config::{Network, RrlConfig};

#[cfg(test)]
mod tests;

/// Slots of a set: as many as fit a cache line.
const WAYS: usize = 4;

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
    /// Buckets, at least; rounded up to a power of two. Each has 16 octets.
    pub bucket_count: usize,
}

impl RateLimits {
    /// Buckets a worker has by default: 1 MiB.
    pub const BUCKET_COUNT: usize = 1 << 16;
}

impl From<&RrlConfig> for RateLimits {
    fn from(config: &RrlConfig) -> Self {
        let answers = config.responses_per_second;
        let errors = if config.errors_per_second == 0 { answers } else { config.errors_per_second };
        Self {
            per_second: [answers, answers, answers, answers, errors],
            all_per_second: 0,
            slip: config.slip,
            ipv4_prefix_len: config.ipv4_prefix_len,
            ipv6_prefix_len: config.ipv6_prefix_len,
            exempt: config.exempt.clone(),
            bucket_count: Self::BUCKET_COUNT,
        }
    }
}

/// One (prefix, class, name): a token bucket, kept as the time at which it is full again.
#[derive(Clone, Copy, Default)]
struct Slot {
    full_at: Instant,
    /// Of the hash, what the place in the table does not say.
    tag: u32,
    /// Answers that were over the limit; it counts round.
    refused_count: u32,
}

type Set = [Slot; WAYS];

/// The state of one worker's limits.
pub struct RateLimiter {
    sets: Box<[Set]>,
    /// How long a token takes to come back, a class; zero is no limit.
    token_times: [Duration; ResponseClass::COUNT],
    token_time_all: Duration,
    slip: u32,
    ipv4_mask: u32,
    ipv6_mask: u128,
    exempt: Box<[Network]>,
    seed: u64,
}

/// How long a bucket takes to fill: an answer is late by so much before it is refused.
const BURST: Duration = Duration::from_secs(1);

impl RateLimiter {
    /// With nobody limited yet. `seed` is secret: it scatters the buckets.
    pub fn new(limits: &RateLimits, seed: u64) -> Self {
        let set_count = limits.bucket_count.div_ceil(WAYS).clamp(1, 1 << 30).next_power_of_two();
        Self {
            sets: vec![Set::default(); set_count].into_boxed_slice(),
            token_times: limits.per_second.map(token_time),
            token_time_all: token_time(limits.all_per_second),
            slip: limits.slip,
            ipv4_mask: u32::MAX.checked_shl(32 - u32::from(limits.ipv4_prefix_len.min(32))).unwrap_or(0),
            ipv6_mask: u128::MAX.checked_shl(128 - u32::from(limits.ipv6_prefix_len.min(128))).unwrap_or(0),
            exempt: limits.exempt.clone().into_boxed_slice(),
            seed,
        }
    }

    /// Whether anything is limited at all.
    #[inline]
    pub fn is_active(&self) -> bool {
        self.token_times.iter().chain([&self.token_time_all]).any(|time| *time != Duration::ZERO)
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
        let token_time = self.token_times[class as usize];
        let own = self.take(now, alike, token_time);
        // An answer that is refused takes nothing from the budget of all.
        let verdict =
            if own == RateVerdict::Send { self.take(now, mix(prefix, 0), self.token_time_all) } else { own };
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
    fn take(&mut self, now: Instant, hash: u64, token_time: Duration) -> RateVerdict {
        if token_time == Duration::ZERO {
            return RateVerdict::Send;
        }
        let slip = self.slip;
        let slot = self.slot(hash);
        let full_at = slot.full_at.max(now) + token_time;
        if full_at <= now + BURST {
            slot.full_at = full_at;
            return RateVerdict::Send;
        }
        slot.refused_count = slot.refused_count.wrapping_add(1);
        match slip {
            0 => RateVerdict::Drop,
            every if slot.refused_count.is_multiple_of(every) => RateVerdict::Slip,
            _ => RateVerdict::Drop,
        }
    }

    /// The bucket of `hash`, a new one if need be.
    #[inline]
    fn slot(&mut self, hash: u64) -> &mut Slot {
        // The low bits say which set, the high ones which of its slots.
        let tag = (hash >> 32) as u32;
        let index = hash as usize & (self.sets.len() - 1);
        let set = &mut self.sets[index];
        let found = set.iter().position(|slot| slot.tag == tag);
        let way = found.unwrap_or_else(|| {
            let way = fullest(set);
            set[way] = Slot { tag, ..Slot::default() };
            way
        });
        &mut set[way]
    }
}

/// The slot of the bucket that is full first.
fn fullest(set: &Set) -> usize {
    (0..WAYS).min_by_key(|way| set[*way].full_at).unwrap_or(0)
}

fn token_time(per_second: u32) -> Duration {
    if per_second == 0 {
        Duration::ZERO
    } else {
        Duration::from_nanos((1_000_000_000 / u64::from(per_second)).max(1))
    }
}

/// Folded multiplication: both halves of the product count.
#[inline]
const fn mix(hash: u64, word: u64) -> u64 {
    let product = (hash ^ word) as u128 * 0xd6e8_feb8_6659_fd93_u128;
    (product as u64 ^ (product >> 64) as u64).rotate_left(29)
}
