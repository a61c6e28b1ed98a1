//! Makes one link of several: flows are spread over those that are up, and what comes from any of them comes from one
//! (IEEE 802.1AX, without LACP: the control thread says which links are up).
//!
//! ```text
//!   in 0 --->[ ]---> out 1, 2 ... N       towards the links
//!   out 0 <--[ ]<--- in 1, 2 ... N        from the links
//! ```
//!
//! | | |
//! |---|---|
//! | gates | in: 0, and one a link from 1 on; out: the same |
//! | parameters | links (1 to 64); mode: by a hash of each flow, or the first that is up |
//! | commands | set a link up or down |
//! | counters | links_up, sent, received, no_link (dropped: none is up) |
//! | rate | 13.5 ns a frame of 60 bytes on one core (`make bench-pipeline`) |
//!
//! A flow is what has the same IP addresses, protocol and ports; it stays on its link, in order, as long as that is up.
//! When a link goes, only its flows move; when it comes back, the same ones return (rendezvous hashing: Thaler,
//! Ravishankar, 1998). What arrives from a link that is down is taken.

use crate::flow_hash::{Layer, flow_hash};
use crate::parameter::{ParameterError, in_range};
use crate::steer::{Gates, NO_GATE, emit_each};
use tidegate_base::{DropReason, FlowHasher};
use tidegate_packet::{BATCH_LEN_MAX, Batch};
use tidegate_pipeline::{Context, GateCounts, Module};

const LINK_COUNT_MAX: u64 = 64;

/// How a link is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LinkMode {
    /// By a hash of the flow.
    #[default]
    Spread,
    /// The first that is up; the others stand by.
    ActiveBackup,
}

/// The module.
pub struct LinkAggregation {
    link_count: usize,
    mode: LinkMode,
    hasher: FlowHasher,
    /// Numbers of the links that are up, from 1 on.
    up: Vec<u16>,
    sent_count: u64,
    received_count: u64,
    no_link_count: u64,
}

impl LinkAggregation {
    /// An aggregate of so many links, all up. The same seed spreads flows the same way.
    pub fn new(link_count: u64, mode: LinkMode, seed: u64) -> Result<Self, ParameterError> {
        let link_count = in_range("the number of links", link_count, 1..=LINK_COUNT_MAX)?;
        Ok(Self {
            link_count: link_count as usize,
            mode,
            hasher: FlowHasher::new(seed),
            up: (1..=link_count as u16).collect(),
            sent_count: 0,
            received_count: 0,
            no_link_count: 0,
        })
    }

    /// Says which links are up, numbered from 1; the others are down.
    pub fn set_links(&mut self, up: &[u64]) -> Result<(), ParameterError> {
        for link in up {
            in_range("a link", *link, 1..=self.link_count as u64)?;
        }
        self.up = (1..=self.link_count as u16).filter(|link| up.contains(&u64::from(*link))).collect();
        Ok(())
    }

    /// Says that the link of gate `link`, from 1 on, is up or down.
    pub fn set_link(&mut self, link: u64, is_up: bool) -> Result<(), ParameterError> {
        let link = in_range("a link", link, 1..=self.link_count as u64)? as u16;
        self.up.retain(|it| *it != link);
        if is_up {
            self.up.push(link);
            self.up.sort_unstable();
        }
        Ok(())
    }

    #[inline]
    fn link_of(&self, data: &[u8]) -> u16 {
        if self.mode == LinkMode::ActiveBackup || self.up.len() <= 1 {
            return self.up.first().copied().unwrap_or(NO_GATE);
        }
        let hash = flow_hash(self.hasher, Layer::L4, data);
        let best = self.up.iter().max_by_key(|link| weight(hash, **link));
        best.copied().unwrap_or(NO_GATE)
    }
}

/// How much a flow wants a link.
#[inline]
const fn weight(hash: u64, link: u16) -> u64 {
    let mixed =
        (hash ^ (link as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ mixed >> 31).wrapping_mul(0x94d0_49bb_1331_11eb)
}

impl Module for LinkAggregation {
    fn class(&self) -> &'static str {
        "link_aggregation"
    }

    fn gates(&self) -> GateCounts {
        GateCounts { inputs: self.link_count + 1, outputs: self.link_count + 1 }
    }

    fn process(&mut self, ctx: &mut Context<'_>, gate: usize, batch: &mut Batch) {
        if gate != 0 {
            self.received_count += batch.len() as u64;
            return ctx.emit_batch(0, batch);
        }
        if self.up.is_empty() {
            self.no_link_count += batch.len() as u64;
            return ctx.drop_batch(batch, DropReason::Policy);
        }
        let mut gates: Gates = [NO_GATE; BATCH_LEN_MAX];
        for (gate, frame) in gates.iter_mut().zip(batch.iter()) {
            *gate = self.link_of(frame.data());
        }
        self.sent_count += batch.len() as u64;
        emit_each(ctx, batch, &gates);
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("links_up", self.up.len() as u64),
            ("sent", self.sent_count),
            ("received", self.received_count),
            ("no_link", self.no_link_count),
        ]
    }
}

#[cfg(test)]
#[path = "link_aggregation_tests.rs"]
mod tests;
