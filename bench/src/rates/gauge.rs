//! A module that notes when each flow's frames pass.

use serde::Serialize;
use tidegate_base::Instant;
use tidegate_packet::Batch;
use tidegate_pipeline::{Context, GateCounts, Module};
use tidegate_sys::clock;

/// What deviations are told apart by, and up to where.
const STEP_NS: u64 = 10;
const STEP_COUNT: usize = 100_000;

/// One flow's frames.
#[derive(Clone, Copy, Debug)]
struct Flow {
    /// What a gap should be, in ns.
    gap_ns: f64,
    first: Option<Instant>,
    last: Instant,
    count: u64,
    /// Sum of the squares of the gaps' deviations, in ns^2.
    squares: f64,
}

/// The module.
pub(super) struct Gauge {
    flows: Vec<Flow>,
    is_measuring: bool,
    /// How many gaps were off by so many steps; the last for all that were off by more.
    offs: Vec<u64>,
}

/// How evenly frames came, over all flows.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Spacing {
    pub(super) packet_count: u64,
    /// The standard deviation of gaps from what they should be.
    pub(super) deviation_us: f64,
    /// Of 100 gaps, 99 are off by no more.
    pub(super) off_us_p99: f64,
}

impl Gauge {
    /// For flows of these rates, in bits a second, that send frames of one length.
    pub(super) fn new(rates: &[u64], frame_len: usize) -> Self {
        let flow = |rate: &u64| Flow {
            gap_ns: frame_len as f64 * 8e9 / *rate as f64,
            first: None,
            last: Instant::ZERO,
            count: 0,
            squares: 0.0,
        };
        Self { flows: rates.iter().map(flow).collect(), is_measuring: false, offs: vec![0; STEP_COUNT] }
    }

    /// Measures from now on.
    pub(super) const fn begin(&mut self) {
        self.is_measuring = true;
    }

    /// How far each flow was from its rate, between its first frame and its last, as a share of it; none for a flow that
    /// has not sent two.
    pub(super) fn deviations(&self) -> impl Iterator<Item = Option<f64>> + '_ {
        self.flows.iter().map(|flow| {
            let gap_count = flow.count.checked_sub(1).filter(|count| *count > 0)?;
            let gap_ns = flow.last.since(flow.first?).as_nanos() as f64 / gap_count as f64;
            Some((flow.gap_ns / gap_ns - 1.0).abs())
        })
    }

    /// How evenly all frames came.
    pub(super) fn spacing(&self) -> Spacing {
        let gap_count: u64 = self.offs.iter().sum();
        let squares: f64 = self.flows.iter().map(|flow| flow.squares).sum();
        let mut left = gap_count / 100;
        let step = self.offs.iter().rposition(|count| {
            let is_it = *count > left;
            left = left.saturating_sub(*count);
            is_it
        });
        Spacing {
            packet_count: self.flows.iter().map(|flow| flow.count).sum(),
            deviation_us: (squares / gap_count.max(1) as f64).sqrt() / 1e3,
            off_us_p99: (step.unwrap_or(0) as u64 * STEP_NS) as f64 / 1e3,
        }
    }

    #[inline]
    fn note(&mut self, number: usize, now: Instant) {
        let Some(flow) = self.flows.get_mut(number) else { return };
        flow.count += 1;
        if flow.first.is_none() {
            flow.first = Some(now);
        } else {
            let off = now.since(flow.last).as_nanos() as f64 - flow.gap_ns;
            flow.squares += off * off;
            let step = (off.abs() as u64 / STEP_NS) as usize;
            self.offs[step.min(STEP_COUNT - 1)] += 1;
        }
        flow.last = now;
    }
}

impl Module for Gauge {
    fn class(&self) -> &'static str {
        "gauge"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::THROUGH
    }

    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        if self.is_measuring {
            let now = clock::now();
            for frame in batch.iter() {
                let number = frame
                    .data()
                    .first_chunk()
                    .map_or(usize::MAX, |bytes| u32::from_be_bytes(*bytes) as usize);
                self.note(number, now);
            }
        }
        ctx.emit_batch(0, batch);
    }
}
