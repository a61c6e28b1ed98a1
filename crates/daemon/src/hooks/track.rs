//! Track: what passed a gate since it was put there or set back. Batches and packets are counted by every gate anyway; bytes
//! by a hook, where they are asked for.

use super::TRACK;
use tidegate_base::Instant;
use tidegate_packet::Frame;
use tidegate_pipeline::GateHook;

/// What passed a gate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Count {
    pub(crate) batches: u64,
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
}

impl Count {
    /// What came since `base`; a gate that was made anew has counted less than it had.
    pub(crate) const fn since(self, base: Self) -> Self {
        Self {
            batches: self.batches.saturating_sub(base.batches),
            packets: self.packets.saturating_sub(base.packets),
            bytes: self.bytes.saturating_sub(base.bytes),
        }
    }
}

/// A gate's counters, as a controller sees them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Track {
    pub(crate) name: String,
    /// Bytes are counted too.
    pub(crate) bits: bool,
    /// Where counting starts.
    pub(crate) base: Count,
}

impl Track {
    /// The one that gates have from the start.
    pub(crate) fn by_default() -> Self {
        Self { name: "track0".to_owned(), bits: false, base: Count::default() }
    }
}

/// Counts bytes.
#[derive(Default)]
pub(crate) struct ByteCount(u64);

impl GateHook for ByteCount {
    fn class(&self) -> &'static str {
        TRACK
    }

    fn on_frames(&mut self, _: Instant, frames: &[Frame]) {
        self.0 += frames.iter().map(|frame| frame.len() as u64).sum::<u64>();
    }

    fn byte_count(&self) -> u64 {
        self.0
    }
}
