//! Makes frames out of nothing, of one length; their data is whatever was there.
//!
//! | | |
//! |---|---|
//! | gates | in: none; out: 0 |
//! | tasks | one: makes a burst a turn |
//! | parameters | bytes of a frame (60), frames of a burst (32) |
//! | rate | 600 M packets/s of one core, 60 bytes: source, sink (`make bench-pipeline`) |

use tidegate_packet::{BATCH_LEN_MAX, Batch};
use tidegate_pipeline::{Context, GateCounts, Module, Work};

/// Bytes of a frame unless told: the shortest Ethernet frame without its check sequence.
pub const SOURCE_LEN_DEFAULT: usize = 60;

/// A source of load.
pub struct Source {
    frame_len: usize,
    burst: usize,
    batch: Batch,
}

impl Source {
    /// Emits frames of `frame_len` bytes, a full batch a turn.
    pub fn new(frame_len: usize) -> Self {
        Self { frame_len, burst: BATCH_LEN_MAX, batch: Batch::new() }
    }

    /// Has frames be `frame_len` bytes long from now on.
    pub const fn set_frame_len(&mut self, frame_len: usize) {
        self.frame_len = frame_len;
    }

    /// Has it emit `burst` frames a turn, a full batch at most.
    pub fn set_burst(&mut self, burst: usize) {
        self.burst = burst.min(BATCH_LEN_MAX);
    }
}

impl Module for Source {
    fn class(&self) -> &'static str {
        "source"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::SOURCE
    }

    fn process(&mut self, _: &mut Context<'_>, _: usize, _: &mut Batch) {}

    fn task_count(&self) -> usize {
        1
    }

    fn run(&mut self, ctx: &mut Context<'_>, _: usize) -> Work {
        ctx.pool().alloc_batch(self.burst, self.frame_len, &mut self.batch);
        let packet_count = self.batch.len();
        ctx.emit_batch(0, &mut self.batch);
        Work { packet_count, byte_count: packet_count * self.frame_len }
    }
}
