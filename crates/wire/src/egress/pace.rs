//! How much a stack may send: the generic cell rate algorithm (ITU-T I.371 A.1), in the very arithmetic of the kernel's check
//! (`crates/bpf/src/xdp/egress.h`).
//!
//! Times are sixteenths of a nanosecond; what a byte costs has 16 binary places more. A bucket that is full at `full_at` lacks
//! what it fills with until then.

use tidegate_base::Instant;

/// How much a stack may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Bytes of frames, from the Ethernet header to the end of the packet: 1,000 to 12,500,000,000 (100 Gbit/s).
    pub bytes_per_s: u64,
    /// Bytes that may come at once after a rest; at least a frame always may.
    pub burst_bytes: u32,
}

/// The least and the largest [`Rate::bytes_per_s`].
const BYTES_PER_S: (u64, u64) = (1_000, 12_500_000_000);
/// The least burst of [`Rate::of_bits`]: what TCP sends at once as a rule.
const BURST_BYTES_MIN: u64 = 64 << 10;

impl Rate {
    /// So many bits a second, with a burst of ten milliseconds of it or of 64 KiB, whichever is more.
    pub const fn of_bits(bits_per_s: u64) -> Self {
        let bytes_per_s = bits_per_s / 8;
        let burst = if bytes_per_s / 100 < BURST_BYTES_MIN { BURST_BYTES_MIN } else { bytes_per_s / 100 };
        let burst_bytes = if burst > u32::MAX as u64 { u32::MAX } else { burst as u32 };
        Self { bytes_per_s, burst_bytes }
    }

    /// What a byte costs, in sixteenths of a nanosecond and 16 binary places. A rate outside of what [`Rate`] says is moved
    /// there.
    pub const fn byte_cost(self) -> u64 {
        let bytes_per_s = match self.bytes_per_s {
            less if less < BYTES_PER_S.0 => BYTES_PER_S.0,
            more if more > BYTES_PER_S.1 => BYTES_PER_S.1,
            between => between,
        };
        (1_000_000_000 << 20) / bytes_per_s
    }

    /// What the burst costs, in sixteenths of a nanosecond: at the slowest rate 64 bits would not hold the product.
    pub const fn burst_cost(self) -> u64 {
        ((self.byte_cost() as u128 * self.burst_bytes as u128) >> 16) as u64
    }
}

/// A stack's bucket.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    byte_cost: u64,
    burst_cost: u64,
    full_at: u64,
}

impl Pace {
    /// A full one.
    pub const fn new(rate: Rate) -> Self {
        Self { byte_cost: rate.byte_cost(), burst_cost: rate.burst_cost(), full_at: 0 }
    }

    /// Whether a frame of `len` bytes may be sent now; if so, it is paid for.
    pub fn admits(&mut self, now: Instant, len: usize) -> bool {
        let now = now.as_nanos() << 4;
        if self.full_at > now + self.burst_cost {
            return false;
        }
        self.full_at = self.full_at.max(now) + ((self.byte_cost * len as u64) >> 16);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(ns: u64) -> Instant {
        Instant::from_nanos(ns)
    }

    proptest! {
        /// In any time, no more than the rate, the burst, and a frame that the bucket was overdrawn by.
        #[test]
        fn no_more_than_the_rate_and_a_burst_passes(
            bits_per_s in 8_000_u64..100_000_000_000,
            arrivals in prop::collection::vec((0_u64..200_000, 60_usize..1514), 1..400),
        ) {
            let rate = Rate::of_bits(bits_per_s);
            let (mut pace, mut now, mut passed) = (Pace::new(rate), 1_000_000_000, 0_u64);
            let start = now;
            for (pause, len) in arrivals {
                now += pause;
                if pace.admits(at(now), len) {
                    passed += len as u64;
                }
            }
            let in_time = u128::from(rate.bytes_per_s) * u128::from(now - start) / 1_000_000_000;
            let allowed = in_time as u64 + u64::from(rate.burst_bytes) + 1514;
            // What a byte costs is rounded down, by less than one in 80,000 at 100 Gbit/s.
            prop_assert!(passed <= allowed + allowed / 80_000 + 1, "{passed} of {allowed}");
        }
    }

    #[test]
    fn who_keeps_to_the_rate_is_never_held_back() {
        let mut pace = Pace::new(Rate { bytes_per_s: 1_000_000, burst_bytes: 0 });
        assert!((0..1000).all(|n| pace.admits(at(n * 1_000_000), 1000)));
    }

    #[test]
    fn bursts_are_ten_milliseconds_or_64_kib() {
        assert_eq!(Rate::of_bits(8_000_000), Rate { bytes_per_s: 1_000_000, burst_bytes: 64 << 10 });
        assert_eq!(
            Rate::of_bits(8_000_000_000),
            Rate { bytes_per_s: 1_000_000_000, burst_bytes: 10_000_000 }
        );
    }
}
