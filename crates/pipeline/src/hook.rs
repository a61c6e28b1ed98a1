//! Hooks at gates: they see what passes and change nothing.

use std::any::Any;
use tidegate_base::Instant;
use tidegate_packet::Frame;

/// What looks at the frames that pass a gate. A gate without hooks pays one test for it.
pub trait GateHook: Any + Send {
    /// The kind of hook, in snake case: `pcap_tap`.
    fn class(&self) -> &'static str;

    /// These frames, at least one, pass now, in this order.
    fn on_frames(&mut self, now: Instant, frames: &[Frame]);

    /// Bytes of the frames that passed, if it counts them.
    fn byte_count(&self) -> u64 {
        0
    }
}

/// Which of a module's gates is meant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum GateSide {
    /// The input gate of that number.
    Input(usize),
    /// The output gate of that number.
    Output(usize),
}
