//! What a module is: code between gates.

use crate::Context;
use std::any::Any;
use std::os::fd::BorrowedFd;
use tidegate_base::Instant;
use tidegate_packet::Batch;

/// Which of a worker's ports a module means.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PortIndex(pub usize);

/// How many gates a module has; gate numbers start at zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GateCounts {
    /// Input gates.
    pub inputs: usize,
    /// Output gates.
    pub outputs: usize,
}

impl GateCounts {
    /// One in, one out.
    pub const THROUGH: Self = Self { inputs: 1, outputs: 1 };
    /// Only out.
    pub const SOURCE: Self = Self { inputs: 0, outputs: 1 };
    /// Only in.
    pub const SINK: Self = Self { inputs: 1, outputs: 0 };
}

/// A step of a pipeline. Each worker has its own copy; it is never called from two threads.
///
/// Every frame that a module is given it must emit, keep, or drop through the [`Context`].
pub trait Module: Any + Send {
    /// The kind of module, in the singular and in snake case: `port_in`.
    fn class(&self) -> &'static str;

    /// How many gates it has.
    fn gates(&self) -> GateCounts;

    /// Frames arrived at input gate `gate`.
    fn process(&mut self, ctx: &mut Context<'_>, gate: usize, batch: Batch);

    /// The module's own turn, once a round, after its input gates are empty: sources emit, stacks
    /// look at their timers. Returns how many frames it worked on; zero lets the worker sleep.
    fn run(&mut self, ctx: &mut Context<'_>) -> usize {
        let _ = ctx;
        0
    }

    /// How many frames it would take now, where what it feeds would take `downstream` more.
    fn room(&mut self, ctx: &mut Context<'_>, downstream: usize) -> usize {
        let _ = ctx;
        downstream
    }

    /// How many bytes of payload a frame with a tail may have altogether, for it to be emitted to this module
    /// ([`Port::bulk_len_max`](tidegate_port::Port::bulk_len_max)). Zero, as for most: frames are what they hold.
    fn bulk_len_max(&self, ctx: &Context<'_>) -> usize {
        let _ = ctx;
        0
    }

    /// When it wants its turn even if no frame arrives.
    fn next_deadline(&self) -> Option<Instant> {
        None
    }

    /// A descriptor that becomes readable when it has something to do.
    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Counters of its own, by name.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}
