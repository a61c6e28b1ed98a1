//! A module that lets flows begin at random times, so that they do not all send at once for ever after.

use tidegate_base::{Instant, Rng};
use tidegate_packet::Batch;
use tidegate_pipeline::{Context, GateCounts, Module, Work};

/// The module.
pub(super) struct Starter {
    /// Flows that have not begun, and when they will, the last first: in ns after the first turn.
    waiting: Vec<(u64, u32)>,
    began: Option<Instant>,
    frame_len: usize,
    frames_per_flow: usize,
}

impl Starter {
    /// For flows of these rates, in bits a second: each begins within the time of one of its frames.
    pub(super) fn new(rates: &[u64], frame_len: usize, frames_per_flow: usize) -> Self {
        let mut rng = Rng::new(1);
        let start = |(flow, rate): (u32, &u64)| (rng.below(frame_len as u64 * 8_000_000_000 / *rate), flow);
        let mut waiting: Vec<(u64, u32)> = (0..).zip(rates).map(start).collect();
        waiting.sort_unstable_by(|one, other| other.cmp(one));
        Self { waiting, began: None, frame_len, frames_per_flow }
    }

    /// Emits the frames of a flow, with the flow's number first.
    fn begin(&self, flow: u32, ctx: &mut Context<'_>) {
        for _ in 0..self.frames_per_flow {
            // The pool has as many; a flow with fewer would be seen to be slow.
            let Some(mut frame) = ctx.pool().alloc() else { return };
            if let Some(data) = frame.push_back(self.frame_len) {
                data[..4].copy_from_slice(&flow.to_be_bytes());
            }
            ctx.emit(0, frame);
        }
    }
}

impl Module for Starter {
    fn class(&self) -> &'static str {
        "starter"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::SOURCE
    }

    fn process(&mut self, _: &mut Context<'_>, _: usize, _: &mut Batch) {}

    fn task_count(&self) -> usize {
        1
    }

    fn run(&mut self, ctx: &mut Context<'_>, _: usize) -> Work {
        let now = ctx.now();
        let began = *self.began.get_or_insert(now);
        while let Some((_, flow)) =
            self.waiting.pop_if(|(after_ns, _)| *after_ns <= now.since(began).as_nanos())
        {
            self.begin(flow, ctx);
        }
        Work::NONE
    }
}
