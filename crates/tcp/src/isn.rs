//! Initial sequence numbers (RFC 6528): a clock plus a keyed hash of the flow, so that an outsider
//! cannot guess one, and yet a flow's next incarnation starts above its last.

use core::hash::Hash;
use tidegate_base::{HashKey, Instant, SeqNumber};

/// Makes initial sequence numbers under a secret.
#[derive(Clone, Copy)]
pub struct IsnSource {
    key: HashKey,
}

impl IsnSource {
    /// A source under a key that the caller drew at random.
    pub const fn new(key: HashKey) -> Self {
        Self { key }
    }

    /// ISN = M + F(flow, secret), where M ticks every four microseconds (RFC 6528 section 3). `flow` is
    /// both addresses and both ports.
    pub fn isn(&self, now: Instant, flow: &impl Hash) -> SeqNumber {
        let m = (now.as_nanos() / 4_000) as u32;
        SeqNumber(m.wrapping_add(self.key.hash(flow) as u32))
    }
}
