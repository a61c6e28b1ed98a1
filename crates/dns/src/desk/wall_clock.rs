//! The time of day, for cookies.

use crate::transfer::clock::unix_s;
use tidegate_base::Instant;

/// The time of day, read once for all that is answered at a moment of the worker's clock.
#[derive(Default)]
pub(super) struct WallClock {
    read_at: Instant,
    unix_s: Option<u32>,
}

impl WallClock {
    /// Seconds since 1970, of which the low 32 bits count (RFC 9018 section 4.3).
    #[inline]
    pub(super) fn unix_s(&mut self, now: Instant) -> u32 {
        match self.unix_s {
            Some(unix_s) if self.read_at == now => unix_s,
            _ => {
                self.read_at = now;
                *self.unix_s.insert(unix_s() as u32)
            }
        }
    }
}
