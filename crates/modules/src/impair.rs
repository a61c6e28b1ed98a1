//! A bad network: loses, duplicates, corrupts, delays and reorders the packets that pass. Input gate
//! 0, output gate 0. The same seed gives the same faults.
//!
//! Delayed frames wait inside; when too many wait the rest are lost, as in a router's queue.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::str::FromStr;
use tidegate_base::{DropReason, Duration, Instant, Rng};
use tidegate_packet::{Batch, Frame, Pool};
use tidegate_pipeline::metadata::Relocation;
use tidegate_pipeline::{Context, GateCounts, Module, Work};

/// Frames that wait at most.
const QUEUE_LEN_MAX: usize = 1024;

/// Which faults, how often. Probabilities are between 0 and 1.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct ImpairConfig {
    /// A packet is lost.
    pub loss: f64,
    /// A packet arrives twice.
    pub duplicate: f64,
    /// One bit of a packet is flipped.
    pub corrupt: f64,
    /// A packet overtakes those delayed before it: it is not delayed itself.
    pub reorder: f64,
    /// How long each packet is held.
    pub delay: Duration,
    /// Up to how much longer, evenly spread.
    pub jitter: Duration,
    /// What the line carries: a packet leaves when those before it and its own bits have; 0 for any number.
    pub bits_per_s: u64,
    /// Where the faults' dice start.
    pub seed: u64,
}

/// What is wrong with a description of faults.
#[derive(Debug, PartialEq, Eq)]
pub struct ImpairError(String);

impl std::fmt::Display for ImpairError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "impairment {}: write for example `loss=1%,delay=10ms,reorder=0.5%,seed=7`", self.0)
    }
}

impl std::error::Error for ImpairError {}

impl FromStr for ImpairConfig {
    type Err = ImpairError;

    /// Reads `loss=1%,duplicate=0.5%,corrupt=0.1%,reorder=2%,delay=10ms,jitter=500us,rate=10M,seed=7`.
    fn from_str(text: &str) -> Result<Self, ImpairError> {
        let mut config = Self::default();
        for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
            let (name, value) =
                part.split_once('=').ok_or_else(|| ImpairError(format!("`{part}` has no value")))?;
            let bad = || ImpairError(format!("`{name}={value}` is not understood"));
            match name {
                "loss" => config.loss = parse_share(value).ok_or_else(bad)?,
                "duplicate" => config.duplicate = parse_share(value).ok_or_else(bad)?,
                "corrupt" => config.corrupt = parse_share(value).ok_or_else(bad)?,
                "reorder" => config.reorder = parse_share(value).ok_or_else(bad)?,
                "delay" => config.delay = parse_span(value).ok_or_else(bad)?,
                "jitter" => config.jitter = parse_span(value).ok_or_else(bad)?,
                "rate" => config.bits_per_s = parse_rate(value).ok_or_else(bad)?,
                "seed" => config.seed = value.parse().map_err(|_| bad())?,
                _ => return Err(ImpairError(format!("`{name}` is not a fault"))),
            }
        }
        Ok(config)
    }
}

fn parse_share(text: &str) -> Option<f64> {
    let share = match text.strip_suffix('%') {
        Some(percent) => percent.parse::<f64>().ok()? / 100.0,
        None => text.parse().ok()?,
    };
    (0.0..=1.0).contains(&share).then_some(share)
}

/// Bits a second.
fn parse_rate(text: &str) -> Option<u64> {
    let number = text.trim_end_matches(char::is_alphabetic);
    let value: u64 = number.parse().ok()?;
    match &text[number.len()..] {
        "" => Some(value),
        "k" => value.checked_mul(1_000),
        "M" => value.checked_mul(1_000_000),
        "G" => value.checked_mul(1_000_000_000),
        _ => None,
    }
}

fn parse_span(text: &str) -> Option<Duration> {
    let number = text.trim_end_matches(char::is_alphabetic);
    let value: u64 = number.parse().ok()?;
    match &text[number.len()..] {
        "us" => Some(Duration::from_micros(value)),
        "ms" => Some(Duration::from_millis(value)),
        "s" => Some(Duration::from_secs(value)),
        _ => None,
    }
}

/// A frame on its way, earliest first.
struct Held {
    at: Instant,
    order: u64,
    frame: Frame,
}

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Held {}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Held {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

/// The module.
pub struct Impair {
    config: ImpairConfig,
    rng: Rng,
    held: BinaryHeap<Held>,
    order: u64,
    /// When the line has sent all that came so far.
    line_free_at: Instant,
    lost_count: u64,
    duplicated_count: u64,
    corrupted_count: u64,
    reordered_count: u64,
}

impl Impair {
    /// A network with these faults.
    pub fn new(config: ImpairConfig) -> Self {
        Self {
            config,
            rng: Rng::new(config.seed),
            held: BinaryHeap::new(),
            order: 0,
            line_free_at: Instant::ZERO,
            lost_count: 0,
            duplicated_count: 0,
            corrupted_count: 0,
            reordered_count: 0,
        }
    }

    fn pass(&mut self, ctx: &mut Context<'_>, mut frame: Frame) {
        if self.rng.chance(self.config.loss) {
            self.lost_count += 1;
            return ctx.drop(frame, DropReason::Policy);
        }
        if self.rng.chance(self.config.duplicate)
            && let Some(twin) = copy_of(ctx, &frame)
        {
            self.duplicated_count += 1;
            self.forward(ctx, twin);
        }
        if self.rng.chance(self.config.corrupt) {
            self.corrupted_count += 1;
            flip_bit(&mut self.rng, &mut frame);
        }
        self.forward(ctx, frame);
    }

    fn forward(&mut self, ctx: &mut Context<'_>, frame: Frame) {
        // What is lost takes no time of the line's.
        if self.held.len() >= QUEUE_LEN_MAX {
            self.lost_count += 1;
            return ctx.drop(frame, DropReason::RingFull);
        }
        let at = self.sent_at(ctx.now(), frame.len()) + self.delay();
        if at == ctx.now() {
            return ctx.emit(0, frame);
        }
        self.order += 1;
        self.held.push(Held { at, order: self.order, frame });
    }

    /// When the line has sent a packet that came now.
    fn sent_at(&mut self, now: Instant, len: usize) -> Instant {
        let Some(taken_ns) = (len as u64 * 8_000_000_000).checked_div(self.config.bits_per_s) else {
            return now;
        };
        self.line_free_at = self.line_free_at.max(now) + Duration::from_nanos(taken_ns);
        self.line_free_at
    }

    fn delay(&mut self) -> Duration {
        if self.rng.chance(self.config.reorder) {
            self.reordered_count += 1;
            return Duration::ZERO;
        }
        self.config.delay + Duration::from_nanos(self.rng.below(self.config.jitter.as_nanos() + 1))
    }
}

fn copy_of(ctx: &mut Context<'_>, frame: &Frame) -> Option<Frame> {
    let mut twin = ctx.pool().alloc()?;
    twin.reset(frame.start());
    twin.extend(frame.data());
    *twin.scratch_mut() = *frame.scratch();
    Some(twin)
}

/// Bytes of a link header: damage there is found by the link's own check, so it is loss and not corruption.
const LINK_HEADER_LEN: usize = 14;

fn flip_bit(rng: &mut Rng, frame: &mut Frame) {
    let packet_len = frame.len().saturating_sub(LINK_HEADER_LEN);
    let bit = LINK_HEADER_LEN * 8 + rng.below(packet_len as u64 * 8) as usize;
    if let Some(byte) = frame.data_mut().get_mut(bit / 8) {
        *byte ^= 1 << (bit % 8);
    }
}

impl Module for Impair {
    fn class(&self) -> &'static str {
        "impair"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::THROUGH
    }

    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        for frame in batch.drain() {
            self.pass(ctx, frame);
        }
    }

    fn asks_room(&self) -> bool {
        true
    }

    fn task_count(&self) -> usize {
        1
    }

    fn run(&mut self, ctx: &mut Context<'_>, _: usize) -> Work {
        let mut work = Work::NONE;
        while self.held.peek().is_some_and(|h| h.at <= ctx.now()) && ctx.room(0) > 0 {
            if let Some(held) = self.held.pop() {
                work.packet_count += 1;
                work.byte_count += held.frame.len();
                ctx.emit(0, held.frame);
            }
        }
        work
    }

    fn relocate(&mut self, relocation: &Relocation) {
        let moved = std::mem::take(&mut self.held).into_iter().map(|mut held| {
            relocation.apply(&mut held.frame);
            held
        });
        self.held = moved.collect();
    }

    fn retire(&mut self, pool: &mut Pool) {
        self.held.drain().for_each(|held| pool.free(held.frame));
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.held.peek().map(|h| h.at)
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("lost", self.lost_count),
            ("duplicated", self.duplicated_count),
            ("corrupted", self.corrupted_count),
            ("reordered", self.reordered_count),
            ("held", self.held.len() as u64),
        ]
    }
}
