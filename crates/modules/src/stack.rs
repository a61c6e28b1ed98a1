//! A host with a service as a step of the pipeline. Input gate 0: frames for it; output gate 0:
//! frames it sends.

use tidegate_base::Instant;
use tidegate_packet::{Batch, Frame, Pool};
use tidegate_pipeline::{Context, GateCounts, Module, Work};
use tidegate_stack::{Egress, Service, Stack};

/// A [`Stack`] between two gates.
pub struct StackModule<S: Service> {
    stack: Stack<S>,
    is_wake_due: bool,
}

impl<S: Service> StackModule<S> {
    /// Wraps `stack`.
    pub const fn new(stack: Stack<S>) -> Self {
        Self { stack, is_wake_due: false }
    }

    /// The stack inside.
    pub const fn stack(&self) -> &Stack<S> {
        &self.stack
    }

    /// The stack inside, to change between two rounds.
    pub const fn stack_mut(&mut self) -> &mut Stack<S> {
        &mut self.stack
    }

    /// Has all connections woken in the module's next turn ([`Stack::wake_all`]).
    pub const fn wake_all(&mut self) {
        self.is_wake_due = true;
    }
}

impl<S: Service + Send + 'static> Module for StackModule<S>
where
    S::Response: Send,
    S::State: Send,
{
    fn class(&self) -> &'static str {
        "stack"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::THROUGH
    }

    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        let now = ctx.now();
        let mut out = Gate { ctx, sent: Work::NONE };
        self.stack.on_batch(now, batch, &mut out);
    }

    fn asks_room(&self) -> bool {
        true
    }

    fn task_count(&self) -> usize {
        1
    }

    fn run(&mut self, ctx: &mut Context<'_>, _: usize) -> Work {
        let now = ctx.now();
        let mut out = Gate { ctx, sent: Work::NONE };
        if std::mem::take(&mut self.is_wake_due) {
            self.stack.wake_all(now, &mut out);
        }
        self.stack.poll(now, &mut out);
        out.sent
    }

    /// Received frames are always taken: an acknowledgement makes room, it does not need any.
    fn room(&mut self, _: &mut Context<'_>, _: usize) -> usize {
        usize::MAX
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.stack.next_deadline()
    }

    fn retire(&mut self, pool: &mut Pool) {
        self.stack.service_mut().retire(pool);
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let c = self.stack.counters();
        vec![
            ("connections", c.connection_count),
            ("half_open", c.half_open_count),
            ("time_wait", c.time_wait_count),
            ("accepted", c.accepted_count),
            ("connected", c.connected_count),
            ("finished", c.finished_count),
            ("reset", c.reset_count),
            ("timed_out", c.timed_out_count),
            ("aborted", c.aborted_count),
            ("cookies_sent", c.cookie_sent_count),
            ("cookies_accepted", c.cookie_accepted_count),
            ("rx_segments", c.rx_segment_count),
            ("tx_segments", c.tx_segment_count),
            ("tx_waits", c.tx_wait_count),
            ("rx_datagrams", c.rx_datagram_count),
            ("tx_datagrams", c.tx_datagram_count),
        ]
    }
}

/// Output gate 0 as the stack's way out.
struct Gate<'a, 'w> {
    ctx: &'a mut Context<'w>,
    sent: Work,
}

impl Egress for Gate<'_, '_> {
    #[inline]
    fn pool(&mut self) -> &mut Pool {
        self.ctx.pool()
    }

    #[inline]
    fn room(&mut self) -> usize {
        self.ctx.room(0)
    }

    #[inline]
    fn bulk_len_max(&mut self) -> usize {
        self.ctx.bulk_len_max(0)
    }

    #[inline]
    fn send(&mut self, frame: Frame) {
        self.sent.packet_count += 1;
        self.sent.byte_count += frame.len_with_tail();
        self.ctx.emit(0, frame);
    }
}
