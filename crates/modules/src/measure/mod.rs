//! How long frames were under way since a `timestamp` gave them the time, and how evenly they come.
//!
//! | | |
//! |---|---|
//! | gates | in: 0; out: 0, everything |
//! | parameters | where the time is: an offset in the frame (54) or an attribute of 8 bytes; share of the frames whose jitter is sampled (0.05); greatest latency (100 ms) and resolution (100 ns) of the histograms |
//! | attributes | reads the one it is given |
//! | commands | summary, with percentiles; clear |
//! | counters | packets, bits (with preamble, gap and check sequence), unstamped |
//! | rate | 2.9 ns a frame at most, the making of a longer one among it, on one core (`make bench-pipeline`) |
//!
//! Both times are those at which the worker's rounds began: what happens within one round takes no time. Jitter is the
//! difference of a frame's latency from that of the frame before. A frame without a time passes and is not measured.

mod histogram;

pub use histogram::HistogramSummary;

use crate::parameter::{FRAME_LEN_MAX, ParameterError, in_range, share};
use crate::stamp::{STAMP_LEN, read_stamp};
use histogram::Histogram;
use tidegate_base::Rng;
use tidegate_packet::{Batch, Frame};
use tidegate_pipeline::metadata::{Attribute, Place, Slot};
use tidegate_pipeline::{Context, GateCounts, Module};

const BUCKET_COUNT_MAX: u64 = 1 << 24;
/// Preamble, check sequence and gap on the wire (IEEE 802.3).
const WIRE_OVERHEAD: u64 = 24;

/// Where a frame has the time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StampPlace {
    /// Bytes from its start.
    Offset(u64),
    /// An attribute of this name.
    Attribute(String),
}

/// How it is made.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasureParams {
    /// Where the time is.
    pub place: StampPlace,
    /// The share of frames whose jitter is sampled.
    pub jitter_sample_prob: f64,
    /// The greatest latency that has a bucket of its own.
    pub latency_ns_max: u64,
    /// How wide a bucket is.
    pub latency_ns_resolution: u64,
    /// Where the dice start.
    pub seed: u64,
}

impl Default for MeasureParams {
    fn default() -> Self {
        Self {
            place: StampPlace::Offset(54),
            jitter_sample_prob: 0.05,
            latency_ns_max: 100_000_000,
            latency_ns_resolution: 100,
            seed: 0,
        }
    }
}

/// What was measured since the start, or the last clearing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeasureSummary {
    /// Frames with a time.
    pub packets: u64,
    /// Their bits on the wire.
    pub bits: u64,
    /// How long they were under way.
    pub latency: HistogramSummary,
    /// How much that changes from frame to frame.
    pub jitter: HistogramSummary,
}

enum Source {
    Data(usize),
    Attribute(Slot<8>),
}

/// The module.
pub struct Measure {
    source: Source,
    attributes: Vec<Attribute>,
    latency: Histogram,
    jitter: Histogram,
    sample_prob: f64,
    rng: Rng,
    last_ns: Option<u64>,
    packet_count: u64,
    byte_count: u64,
    unstamped_count: u64,
}

impl Measure {
    /// A measure that has measured nothing.
    pub fn new(params: &MeasureParams) -> Result<Self, ParameterError> {
        let resolution = in_range("latency_ns_resolution", params.latency_ns_resolution, 1..=u64::MAX)?;
        in_range("latency_ns_max in buckets", params.latency_ns_max / resolution, 1..=BUCKET_COUNT_MAX)?;
        let (source, attributes) = source_of(&params.place)?;
        let histogram = || Histogram::new(params.latency_ns_max, resolution);
        Ok(Self {
            source,
            attributes,
            latency: histogram(),
            jitter: histogram(),
            sample_prob: share("jitter_sample_prob", params.jitter_sample_prob)?,
            rng: Rng::new(params.seed),
            last_ns: None,
            packet_count: 0,
            byte_count: 0,
            unstamped_count: 0,
        })
    }

    /// What was measured, with percentiles: shares from 0 to 1, rising.
    pub fn summary(&self, latency: &[f64], jitter: &[f64]) -> Result<MeasureSummary, ParameterError> {
        for shares in [latency, jitter] {
            shares.iter().try_for_each(|it| share("a percentile", *it).map(|_| ()))?;
            if !shares.is_sorted() {
                return Err(ParameterError::Unsorted("percentiles"));
            }
        }
        Ok(MeasureSummary {
            packets: self.packet_count,
            bits: (self.byte_count + self.packet_count * WIRE_OVERHEAD) * 8,
            latency: self.latency.summary(latency),
            jitter: self.jitter.summary(jitter),
        })
    }

    /// Forgets what was measured.
    pub fn clear(&mut self) {
        self.latency.clear();
        self.jitter.clear();
        self.last_ns = None;
        (self.packet_count, self.byte_count, self.unstamped_count) = (0, 0, 0);
    }

    #[inline]
    fn stamp_of(&self, frame: &Frame) -> Option<u64> {
        match self.source {
            Source::Data(offset) => read_stamp(frame.data(), offset),
            Source::Attribute(slot) => Some(slot.read_number(frame)).filter(|ns| *ns != 0),
        }
    }

    #[inline]
    fn note(&mut self, latency_ns: u64, len: usize) {
        self.packet_count += 1;
        self.byte_count += len as u64;
        self.latency.add(latency_ns);
        let before = self.last_ns.replace(latency_ns);
        if let Some(before) = before
            && self.rng.chance(self.sample_prob)
        {
            self.jitter.add(before.abs_diff(latency_ns));
        }
    }
}

fn source_of(place: &StampPlace) -> Result<(Source, Vec<Attribute>), ParameterError> {
    let size = STAMP_LEN as u64;
    match place {
        StampPlace::Offset(offset) if offset.saturating_add(size) > FRAME_LEN_MAX as u64 => {
            Err(ParameterError::BeyondFrame { offset: *offset, size })
        }
        StampPlace::Offset(offset) => Ok((Source::Data(*offset as usize), Vec::new())),
        StampPlace::Attribute(name) if name.is_empty() => Err(ParameterError::Nameless),
        StampPlace::Attribute(name) => {
            Ok((Source::Attribute(Slot::new(Place::Unwritten)), vec![Attribute::read(name.clone(), 8)]))
        }
    }
}

impl Module for Measure {
    fn class(&self) -> &'static str {
        "measure"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::THROUGH
    }

    fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    fn bind(&mut self, places: &[Place]) {
        if let (Source::Attribute(slot), [place]) = (&mut self.source, places) {
            *slot = Slot::new(*place);
        }
    }

    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        let now = ctx.now().as_nanos();
        for frame in batch.iter() {
            match self.stamp_of(frame) {
                Some(ns) if ns <= now => self.note(now - ns, frame.len()),
                _ => self.unstamped_count += 1,
            }
        }
        ctx.emit_batch(0, batch);
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let bits = (self.byte_count + self.packet_count * WIRE_OVERHEAD) * 8;
        vec![("packets", self.packet_count), ("bits", bits), ("unstamped", self.unstamped_count)]
    }
}

#[cfg(test)]
mod tests;
