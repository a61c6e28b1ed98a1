//! Limits the rate of each of many flows: what comes too fast waits its turn.
//!
//! | | |
//! |---|---|
//! | gates | in: 0; out: 0, at each flow's rate |
//! | tasks | one: emits what may leave now, at most a batch a turn |
//! | parameters | the field with a frame's flow number (an offset or an attribute); flows (8,192 unless told); frames that wait, of all flows (65,536) and of one (64); how fine times are told apart (1 us) |
//! | attributes | reads the one that its field names |
//! | commands | set a flow's rate in bits a second of frame data; clear a flow |
//! | counters | waiting, passed, dropped |
//! | rate | 38.5 ns a frame of 60 bytes on one core (`make bench-pipeline`) |
//!
//! A frame of a flow without a rate, of a flow number that is not there, or too short for its field is dropped
//! (`policy`), and one whose flow or whose queue is full as well (`rate_limited`). Departures carry what a division
//! leaves, so a flow that always has frames is off by no more than a nanosecond, however long it runs.

use crate::field::{Field, Reader};
use crate::parameter::ParameterError;
use std::num::NonZeroU64;
use thiserror::Error;
use tidegate_base::{DropReason, Duration, Instant};
use tidegate_packet::{Batch, Frame, Pool};
use tidegate_pipeline::metadata::{Attribute, Place, Relocation};
use tidegate_pipeline::{Context, GateCounts, Module, Work};
use tidegate_table::{PaceError, Pacer, PacerLimits};

/// How it is made.
#[derive(Clone, Debug)]
pub struct RateLimiterParams {
    /// Where a frame has its flow's number.
    pub flow: Field,
    /// Flows, numbered from 0.
    pub flow_count: usize,
    /// Frames that may wait, of all flows together.
    pub queued_max: usize,
    /// Frames that may wait, of one flow.
    pub queued_max_a_flow: usize,
    /// How fine departures are told apart.
    pub slot: Duration,
}

impl RateLimiterParams {
    /// The usual ones, with the flow's number in `flow`.
    pub const fn new(flow: Field) -> Self {
        Self {
            flow,
            flow_count: 8192,
            queued_max: 65_536,
            queued_max_a_flow: 64,
            slot: Duration::from_micros(1),
        }
    }
}

/// Why there is no such limiter, or no such rate.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum RateLimiterError {
    /// A field that is none.
    #[error(transparent)]
    Field(#[from] ParameterError),
    /// A flow or a size that is not there.
    #[error(transparent)]
    Pace(#[from] PaceError),
    /// A rate of nothing.
    #[error("a rate of 0 bits a second for flow {0}: give at least 1")]
    NoRate(u32),
}

/// The module.
pub struct RateLimiter {
    reader: Reader,
    attributes: Vec<Attribute>,
    pacer: Pacer<Frame>,
    flow_count: usize,
    out: Batch,
    passed_count: u64,
    dropped_count: u64,
}

impl RateLimiter {
    /// A limiter whose flows have no rate yet.
    pub fn new(params: &RateLimiterParams) -> Result<Self, RateLimiterError> {
        let RateLimiterParams { flow_count, queued_max, queued_max_a_flow, slot, .. } = *params;
        let limits = PacerLimits { flow_count, queued_max, queued_max_a_flow, slot };
        Ok(Self {
            reader: Reader::new(&params.flow)?,
            attributes: params.flow.attribute().into_iter().collect(),
            pacer: Pacer::new(limits)?,
            flow_count,
            out: Batch::new(),
            passed_count: 0,
            dropped_count: 0,
        })
    }

    /// Has `flow` send `bits_per_s`, counted in bytes of frames.
    pub fn set_rate(&mut self, flow: u32, bits_per_s: u64) -> Result<(), RateLimiterError> {
        let rate = NonZeroU64::new(bits_per_s).ok_or(RateLimiterError::NoRate(flow))?;
        Ok(self.pacer.set_rate(flow, rate)?)
    }

    /// The same of several flows: of all, or of none if one of them cannot be.
    pub fn set_rates(&mut self, rates: &[(u32, u64)]) -> Result<(), RateLimiterError> {
        for (flow, bits_per_s) in rates {
            if *bits_per_s == 0 {
                return Err(RateLimiterError::NoRate(*flow));
            }
            if *flow as usize >= self.flow_count {
                return Err(PaceError::NoSuchFlow { flow: *flow, count: self.flow_count }.into());
            }
        }
        rates.iter().try_for_each(|(flow, bits_per_s)| self.set_rate(*flow, *bits_per_s))
    }

    /// The rates of the flows that have one.
    pub fn rates(&self) -> impl Iterator<Item = (u32, u64)> {
        (0..self.flow_count as u32).filter_map(|flow| Some((flow, self.pacer.rate(flow)?.get())))
    }

    /// How many frames of `flow` wait.
    pub fn queued(&self, flow: u32) -> usize {
        self.pacer.queued(flow)
    }
}

impl Module for RateLimiter {
    fn class(&self) -> &'static str {
        "rate_limiter"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::THROUGH
    }

    fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    fn bind(&mut self, places: &[Place]) {
        self.reader.bind(&mut places.iter());
    }

    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        let now = ctx.now();
        for frame in batch.drain() {
            let flow = self.reader.read(&frame).and_then(|flow| u32::try_from(flow).ok()).unwrap_or(u32::MAX);
            let len = frame.len() as u32;
            let Err(refused) = self.pacer.enqueue(flow, frame, len, now) else { continue };
            self.dropped_count += 1;
            let reason = match refused.why {
                PaceError::FlowFull { .. } | PaceError::Full { .. } => DropReason::RateLimited,
                _ => DropReason::Policy,
            };
            ctx.drop(refused.item, reason);
        }
    }

    fn task_count(&self) -> usize {
        1
    }

    fn run(&mut self, ctx: &mut Context<'_>, _: usize) -> Work {
        let out = &mut self.out;
        let (budget, now) = (out.room(), ctx.now());
        self.pacer.poll(now, budget, &mut |_, frame| {
            // There is room for as many as the budget says.
            let _ = out.push(frame);
        });
        let work = Work { packet_count: out.len(), byte_count: out.byte_count() };
        self.passed_count += work.packet_count as u64;
        ctx.emit_batch(0, out);
        out.set_len_max(tidegate_packet::BATCH_LEN_MAX);
        work
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.pacer.next_deadline()
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("waiting", self.pacer.len() as u64),
            ("passed", self.passed_count),
            ("dropped", self.dropped_count),
        ]
    }

    fn relocate(&mut self, relocation: &Relocation) {
        self.pacer.items_mut().for_each(|frame| relocation.apply(frame));
    }

    fn retire(&mut self, pool: &mut Pool) {
        for flow in 0..self.flow_count {
            self.pacer.clear(flow as u32, &mut |frame| pool.free(frame));
        }
    }
}

#[cfg(test)]
#[path = "rate_limiter_tests.rs"]
mod tests;
