//! What a module is: code between gates.

use crate::Context;
use crate::class::ClassTree;
use crate::metadata::{Attribute, Place, Relocation};
use std::any::Any;
use std::os::fd::BorrowedFd;
use tidegate_base::Instant;
use tidegate_packet::{Batch, Pool};

/// Which of a worker's ports a module means.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PortIndex(pub usize);

/// The most gates a module has on one side.
pub const GATE_COUNT_MAX: usize = 8192;

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
    /// One in, as many out as are connected.
    pub const SPLIT: Self = Self { inputs: 1, outputs: GATE_COUNT_MAX };
    /// As many in as are connected, one out.
    pub const MERGE: Self = Self { inputs: GATE_COUNT_MAX, outputs: 1 };
    /// As many in and out as are connected.
    pub const MANY: Self = Self { inputs: GATE_COUNT_MAX, outputs: GATE_COUNT_MAX };
}

/// What a task did in one turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Work {
    /// Frames that it emitted or worked on; none lets the worker sleep.
    pub packet_count: usize,
    /// Bytes of their data.
    pub byte_count: usize,
}

impl Work {
    /// Nothing to do.
    pub const NONE: Self = Self { packet_count: 0, byte_count: 0 };
}

/// A step of a pipeline. Each worker has its own copy; it is never called from two threads.
///
/// Every frame that a module is given it must emit, keep, or drop through the [`Context`].
pub trait Module: Any + Send {
    /// The kind of module, in the singular and in snake case: `port_in`.
    fn class(&self) -> &'static str;

    /// How many gates it has. Fixed as long as it lives.
    fn gates(&self) -> GateCounts;

    /// Frames arrived at input gate `gate`. What the module leaves in `batch` is dropped and counted.
    fn process(&mut self, ctx: &mut Context<'_>, gate: usize, batch: &mut Batch);

    /// The metadata attributes that it reads and writes. Fixed as long as it lives.
    fn attributes(&self) -> &[Attribute] {
        &[]
    }

    /// Where its attributes are from now on, in the order in which it declares them. Without a word, nowhere.
    fn bind(&mut self, places: &[Place]) {
        let _ = places;
    }

    /// Attributes have moved: puts them right in the frames that it keeps.
    fn relocate(&mut self, relocation: &Relocation) {
        let _ = relocation;
    }

    /// How many tasks it has: turns that the scheduler gives it though no frame arrived. Sources and queues have
    /// one; most modules none.
    fn task_count(&self) -> usize {
        0
    }

    /// The turn of task `task`: sources emit, stacks look at their timers.
    fn run(&mut self, ctx: &mut Context<'_>, task: usize) -> Work {
        let _ = (ctx, task);
        Work::NONE
    }

    /// Whether it asks [`Context::room`] before it emits. Where no module does, nobody is asked for its
    /// [`room`](Module::room).
    fn asks_room(&self) -> bool {
        false
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

    /// The worker's classes are these from now on: for modules that go by who runs ([`Context::leaf`]).
    fn on_classes(&mut self, tree: &ClassTree) {
        let _ = tree;
    }

    /// A descriptor that becomes readable when it has something to do.
    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Counters of its own, by name.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Another of its kind and with its parameters, for another worker; `None` for one that only one worker may have,
    /// because its state is not to be divided.
    fn fork(&self) -> Option<Box<dyn Module>> {
        None
    }

    /// It leaves its worker for good: the frames that it keeps go back to the pool.
    fn retire(&mut self, pool: &mut Pool) {
        let _ = pool;
    }
}
