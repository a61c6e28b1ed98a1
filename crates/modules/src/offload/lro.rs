//! Puts TCP segments of a flow that follow on one another together (LRO), bare or inside VXLAN, over IPv4 and IPv6.
//!
//! | | |
//! |---|---|
//! | gates | in: 0; out: 0, large frames with tails among them |
//! | tasks | one: lets frames go that have been held for long enough |
//! | parameters | `hold`: how long a frame may wait for more of its flow (0: until the end of its batch); `flow_count`: flows that are gathered at once (64) |
//! | attributes | a large frame has those of its first segment |
//! | counters | `joined` segments that are in others' frames now, `large` frames made, `held` |
//! | passed on | whatever it does not join, as it is: what is not TCP, ACKs without data, SYN, RST, URG, fragments, wrong checksums |
//! | rate | 201 ns a segment of 1,500 bytes on one core (`make bench-pipeline`) |
//!
//! Joined are segments of one length (the last may be shorter) with the same headers: same acknowledgement, window and
//! options (timestamps too, RFC 7323), same TTL and ECN, with sequence numbers and IPv4 identifications that follow on. A
//! segment with PSH or FIN is a frame's last, one with CWR only its first. So cutting the frame again ([`super::Tso`])
//! gives the segments that came, but for equal identifications of packets that are never fragmented. The IPv4 and TCP
//! checksums of what is joined are verified; a tunnel whose UDP has one is left alone. Each flow keeps its order; flows
//! may overtake one another.
//!
//! Where the next module takes no frames with tails, nothing is joined.

use super::coalesce::{Arrival, Behind, Train};
use crate::parameter::{ParameterError, in_range};
use crate::segment::Segment;
use std::hash::{BuildHasher, Hasher};
use tidegate_base::{Duration, FlowHasher, Instant};
use tidegate_packet::{BATCH_LEN_MAX, Batch, Frame, Pool, TailBuffers};
use tidegate_pipeline::metadata::Relocation;
use tidegate_pipeline::{Context, GateCounts, Module, Work};

/// Flows that are gathered at once unless told.
pub const LRO_FLOW_COUNT_DEFAULT: u64 = 64;
const FLOW_COUNT_MAX: u64 = 1024;
const HOLD_MS_MAX: u64 = 1000;

/// How segments are gathered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LroParams {
    /// How long a frame waits for more of its flow at most; zero for until the end of its batch.
    pub hold: Duration,
    /// Flows at once, 1 to 1,024; the one that began first makes room for another.
    pub flow_count: u64,
}

impl Default for LroParams {
    fn default() -> Self {
        Self { hold: Duration::ZERO, flow_count: LRO_FLOW_COUNT_DEFAULT }
    }
}

/// The module.
pub struct Lro {
    params: LroParams,
    /// In the order in which they began.
    trains: Vec<Train>,
    buffers: TailBuffers,
    hasher: FlowHasher,
    out: Batch,
    joined_count: u64,
    large_count: u64,
}

impl Lro {
    /// Gathers nothing yet.
    pub fn new(params: LroParams) -> Result<Self, ParameterError> {
        in_range("the number of flows", params.flow_count, 1..=FLOW_COUNT_MAX)?;
        in_range("the hold in ms", params.hold.as_nanos().div_ceil(1_000_000), 0..=HOLD_MS_MAX)?;
        let flow_count = params.flow_count as usize;
        Ok(Self {
            params,
            trains: Vec::with_capacity(flow_count),
            // As many again may be on their way downstream.
            buffers: TailBuffers::new(2 * flow_count + BATCH_LEN_MAX),
            hasher: FlowHasher::new(0),
            out: Batch::new(),
            joined_count: 0,
            large_count: 0,
        })
    }

    fn arrival(&self, data: &[u8]) -> Option<Arrival> {
        let segment = Segment::find(data)?;
        let mut state = self.hasher.build_hasher();
        state.write(&data[segment.ip.addresses.clone()]);
        state.write(&data[segment.tcp()..][..4]);
        if let Some(outer) = &segment.outer {
            // The addresses, and the tunnel's number between the UDP header and the inner frame.
            state.write(&data[outer.addresses.clone()]);
            state.write(&data[outer.payload.start + 12..][..3]);
        }
        Some(Arrival { segment, flow: state.finish() })
    }

    fn take(&mut self, ctx: &mut Context<'_>, frame: Frame, len_max: usize) {
        let Some(arrival) = self.arrival(frame.data()).filter(|_| frame.tail().is_none()) else {
            return self.send(ctx, frame);
        };
        let frame = match self.trains.iter().position(|train| train.flow == arrival.flow) {
            None => frame,
            Some(at) => match self.trains[at].join(frame, &arrival.segment, len_max, &mut self.buffers) {
                Behind::Joined(frame, is_over) => {
                    self.joined_count += 1;
                    ctx.pool().free(frame);
                    if is_over {
                        self.let_go(ctx, at);
                    }
                    return;
                }
                Behind::Apart(frame) => {
                    self.let_go(ctx, at);
                    frame
                }
            },
        };
        self.begin(ctx, frame, &arrival);
    }

    fn begin(&mut self, ctx: &mut Context<'_>, frame: Frame, arrival: &Arrival) {
        match Train::begin(frame, arrival, ctx.now()) {
            Err(frame) => self.send(ctx, frame),
            Ok(train) => {
                if self.trains.len() as u64 >= self.params.flow_count {
                    self.let_go(ctx, 0);
                }
                self.trains.push(train);
            }
        }
    }

    fn let_go(&mut self, ctx: &mut Context<'_>, at: usize) {
        let frame = self.trains.remove(at).couple(&mut self.buffers);
        self.large_count += u64::from(frame.tail().is_some());
        self.send(ctx, frame);
    }

    #[inline]
    fn send(&mut self, ctx: &mut Context<'_>, frame: Frame) {
        if self.out.room() == 0 {
            self.flush(ctx);
        }
        if let Err(frame) = self.out.push(frame) {
            // Not reached: there is room in an empty batch.
            ctx.drop(frame, tidegate_base::DropReason::NoFrame);
        }
    }

    #[inline]
    fn flush(&mut self, ctx: &mut Context<'_>) {
        ctx.emit_batch(0, &mut self.out);
        self.out.set_len_max(BATCH_LEN_MAX);
    }

    /// Lets those go that have been held for long enough.
    fn let_due_go(&mut self, ctx: &mut Context<'_>) {
        while self.next_deadline().is_some_and(|deadline| deadline <= ctx.now()) {
            self.let_go(ctx, 0);
        }
    }
}

impl Module for Lro {
    fn class(&self) -> &'static str {
        "lro"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::THROUGH
    }

    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        let len_max = ctx.bulk_len_max(0);
        if len_max == 0 && self.trains.is_empty() {
            return ctx.emit_batch(0, batch);
        }
        for frame in batch.drain() {
            self.take(ctx, frame, len_max);
        }
        self.let_due_go(ctx);
        self.flush(ctx);
    }

    fn task_count(&self) -> usize {
        1
    }

    fn run(&mut self, ctx: &mut Context<'_>, _: usize) -> Work {
        let before = self.trains.len();
        self.let_due_go(ctx);
        let work = Work { packet_count: before - self.trains.len(), byte_count: self.out.byte_count() };
        self.flush(ctx);
        work
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.trains.first().map(|train| train.since + self.params.hold)
    }

    fn relocate(&mut self, relocation: &Relocation) {
        self.trains.iter_mut().for_each(|train| relocation.apply(train.first_mut()));
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("joined", self.joined_count), ("large", self.large_count), ("held", self.trains.len() as u64)]
    }

    fn fork(&self) -> Option<Box<dyn Module>> {
        Self::new(self.params).ok().map(|module| Box::new(module) as Box<dyn Module>)
    }

    fn retire(&mut self, pool: &mut Pool) {
        for train in self.trains.drain(..) {
            pool.free(train.couple(&mut self.buffers));
        }
    }
}
