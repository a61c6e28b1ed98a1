//! Makes flows: they arrive, send packets for a while, and end.
//!
//! | | |
//! |---|---|
//! | gates | in: none; out: 0 |
//! | tasks | one: emits the packets that are due, at most a burst a turn |
//! | parameters | template: an Ethernet frame with IPv4; packets a second of all flows together; flows that begin a second (10); seconds that one lives (10); arrival: uniform, exponential; duration: uniform, pareto, zipf (sizes by Zipf's law, exponent 1, or another: `zipf:1.2`); quick ramp-up: as many flows at once as there will be; how many addresses and ports from the template's on are used (1) |
//! | commands | update (all parameters), set the burst (1 to 32) |
//! | counters | flows (alive), begun, packets, no_frame |
//! | rate | 17 M packets/s of one core, 60 bytes: flow_gen, 100 flows (`make bench-pipeline`) |
//!
//! Each flow sends as many packets a second as its share of all. The first segment of a TCP flow is a SYN, the last a FIN, the
//! others ACKs. Checksums are those of the packet. Pareto durations have the shape 1.3 and the mean asked for. Late packets
//! are made up for; a rate that the worker cannot keep slows all flows.

mod replay;
mod timing;
mod zipf;

pub use replay::{Replay, ReplayParams};
pub use timing::{Arrival, FlowDuration};

use crate::layers::Packet;
use crate::parameter::{FRAME_LEN_MAX, ParameterError, in_range};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tidegate_base::{Duration, Instant, Rng, Sum};
use tidegate_packet::{BATCH_LEN_MAX, Batch, Frame};
use tidegate_pipeline::{Context, GateCounts, Module, Work};
use timing::Lives;

const TCP: u8 = 6;
const UDP: u8 = 17;
const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const ACK: u8 = 0x10;
/// Headers that a template has at least: Ethernet, IPv4 and two ports.
const TEMPLATE_LEN_MIN: usize = 38;
const FLOW_COUNT_MAX: f64 = 4e6;
/// Bytes of chunks of 2,048 that frames of a template have.
const DATA_LEN_MAX: usize = FRAME_LEN_MAX - 384;

/// How flows are made.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowGenParams {
    /// An Ethernet frame with IPv4.
    pub template: Vec<u8>,
    /// Packets a second, of all flows together.
    pub pps: f64,
    /// Flows that begin a second.
    pub flow_rate: f64,
    /// Seconds that a flow lives, on average.
    pub flow_duration: f64,
    /// How evenly flows begin.
    pub arrival: Arrival,
    /// How evenly long they live.
    pub duration: FlowDuration,
    /// Begins with as many flows as there will be.
    pub quick_rampup: bool,
    /// How many source addresses there are, from the template's on.
    pub ip_src_range: u32,
    /// How many destination addresses.
    pub ip_dst_range: u32,
    /// How many source ports.
    pub port_src_range: u16,
    /// How many destination ports.
    pub port_dst_range: u16,
    /// Where the dice start.
    pub seed: u64,
}

impl FlowGenParams {
    /// Ten flows a second that live ten seconds, all of the template's addresses, sending `pps` together.
    pub const fn new(template: Vec<u8>, pps: f64) -> Self {
        Self {
            template,
            pps,
            flow_rate: 10.0,
            flow_duration: 10.0,
            arrival: Arrival::Uniform,
            duration: FlowDuration::Uniform,
            quick_rampup: false,
            ip_src_range: 1,
            ip_dst_range: 1,
            port_src_range: 1,
            port_dst_range: 1,
            seed: 0,
        }
    }
}

/// A flow that lives.
struct Flow {
    /// Source and destination address, source and destination port.
    addresses: [u32; 2],
    ports: [u16; 2],
    left_count: u64,
    is_first: bool,
}

/// Something to do at a time: a packet of a flow, or (`None`) a new flow.
type Event = Reverse<(Instant, Option<u32>)>;

/// The module.
pub struct FlowGen {
    params: FlowGenParams,
    packet: Packet,
    burst: usize,
    rng: Rng,
    lives: Lives,
    events: BinaryHeap<Event>,
    flows: Vec<Flow>,
    free: Vec<u32>,
    /// Between two packets of a flow.
    gap: Duration,
    has_begun: bool,
    out: Batch,
    begun_count: u64,
    packet_count: u64,
    no_frame_count: u64,
}

impl FlowGen {
    /// A generator that begins with the first turn.
    pub fn new(params: FlowGenParams) -> Result<Self, ParameterError> {
        let packet = check(&params)?;
        let flows_at_once = (params.flow_rate * params.flow_duration).max(1.0);
        let gap = Duration::from_nanos((flows_at_once / params.pps * 1e9).max(1.0) as u64);
        Ok(Self {
            packet,
            burst: BATCH_LEN_MAX,
            rng: Rng::new(params.seed),
            lives: Lives::new(params.duration)?,
            events: BinaryHeap::new(),
            flows: Vec::new(),
            free: Vec::new(),
            gap,
            has_begun: false,
            out: Batch::new(),
            begun_count: 0,
            packet_count: 0,
            no_frame_count: 0,
            params,
        })
    }

    /// Begins anew with these parameters.
    pub fn update(&mut self, params: FlowGenParams) -> Result<(), ParameterError> {
        let burst = self.burst;
        *self = Self::new(params)?;
        self.burst = burst;
        Ok(())
    }

    /// Has it emit at most `burst` frames a turn, 1 to 32.
    pub fn set_burst(&mut self, burst: u64) -> Result<(), ParameterError> {
        self.burst = in_range("a burst", burst, 1..=BATCH_LEN_MAX as u64)? as usize;
        Ok(())
    }

    fn begin(&mut self, now: Instant) {
        self.has_begun = true;
        self.events.push(Reverse((now, None)));
        if self.params.quick_rampup {
            for _ in 0..(self.params.flow_rate * self.params.flow_duration) as u64 {
                let age = self.rng.unit();
                self.open(now, 1.0 - age);
            }
        }
    }

    /// A new flow, of whose life this share is left.
    fn open(&mut self, now: Instant, share: f64) {
        let life_s = self.lives.draw(&mut self.rng, self.params.flow_duration) * share;
        let left_count = (life_s * 1e9 / self.gap.as_nanos() as f64).round().max(1.0) as u64;
        let start = now + Duration::from_nanos(self.rng.below(self.gap.as_nanos()));
        let flow = Flow { addresses: self.addresses(), ports: self.ports(), left_count, is_first: true };
        let number = match self.free.pop() {
            Some(number) => {
                self.flows[number as usize] = flow;
                number
            }
            None => {
                self.flows.push(flow);
                self.flows.len() as u32 - 1
            }
        };
        self.begun_count += 1;
        self.events.push(Reverse((start, Some(number))));
    }

    fn addresses(&mut self) -> [u32; 2] {
        let at = self.packet.addresses.start;
        let base = [at, at + 4].map(|at| word(&self.params.template, at));
        let ranges = [self.params.ip_src_range, self.params.ip_dst_range];
        [0, 1].map(|n| base[n].wrapping_add(self.rng.below(ranges[n].into()) as u32))
    }

    fn ports(&mut self) -> [u16; 2] {
        let both = word(&self.params.template, self.packet.payload.start);
        let base = [(both >> 16) as u16, both as u16];
        let ranges = [self.params.port_src_range, self.params.port_dst_range];
        [0, 1].map(|n| base[n].wrapping_add(self.rng.below(ranges[n].into()) as u16))
    }

    /// Does what is due.
    fn generate(&mut self, ctx: &mut Context<'_>) {
        let now = ctx.now();
        while self.out.len() < self.burst
            && let Some(Reverse((at, what))) = self.events.peek().copied()
            && at <= now
        {
            let Some(number) = what else {
                self.events.pop();
                self.open(at, 1.0);
                let gap = self.params.arrival.draw(&mut self.rng, self.params.flow_rate);
                self.events.push(Reverse((at + gap, None)));
                continue;
            };
            let Some(mut frame) = ctx.pool().alloc() else {
                self.no_frame_count += 1;
                return;
            };
            self.events.pop();
            self.write(number, &mut frame);
            // There is room: the burst is no more than a batch.
            let _ = self.out.push(frame);
            self.advance(number, at);
        }
    }

    /// A packet of the flow was made that was due at `at`.
    fn advance(&mut self, number: u32, at: Instant) {
        let flow = &mut self.flows[number as usize];
        (flow.is_first, flow.left_count) = (false, flow.left_count - 1);
        if flow.left_count == 0 {
            self.free.push(number);
        } else {
            self.events.push(Reverse((at + self.gap, Some(number))));
        }
    }

    fn write(&self, number: u32, frame: &mut Frame) {
        let flow = &self.flows[number as usize];
        // A template is not longer than a frame.
        frame.extend(&self.params.template);
        let data = frame.data_mut();
        let (addresses_at, l4) = (self.packet.addresses.start, self.packet.payload.start);
        for (n, (address, port)) in flow.addresses.iter().zip(flow.ports).enumerate() {
            data[addresses_at + n * 4..][..4].copy_from_slice(&address.to_be_bytes());
            data[l4 + n * 2..][..2].copy_from_slice(&port.to_be_bytes());
        }
        if self.packet.protocol == TCP && data.len() > l4 + 19 {
            data[l4 + 13] = match (flow.is_first, flow.left_count) {
                (true, _) => SYN,
                (false, 1) => FIN | ACK,
                (false, _) => ACK,
            };
        }
        self.sum(data);
    }

    /// Puts both checksums right.
    fn sum(&self, data: &mut [u8]) {
        let Packet { addresses, protocol, payload, .. } = &self.packet;
        let start = addresses.start - 12;
        data[start + 10..start + 12].fill(0);
        let check = Sum::of(&data[start..payload.start]).finish();
        data[start + 10..start + 12].copy_from_slice(&check.to_be_bytes());
        let end = payload.end.min(data.len());
        let (at, header_len) = match *protocol {
            TCP => (16, 20),
            UDP => (6, 8),
            _ => return,
        };
        if end < payload.start + header_len {
            return;
        }
        let check_at = payload.start + at;
        data[check_at..check_at + 2].fill(0);
        let segment = &data[payload.start..end];
        let pseudo = Sum::of(&data[addresses.clone()]) + Sum::of_u16((*protocol).into());
        let sum = pseudo + Sum::of_u16(segment.len() as u16) + Sum::of(segment);
        let check = if *protocol == UDP { sum.finish_udp() } else { sum.finish() };
        data[check_at..check_at + 2].copy_from_slice(&check.to_be_bytes());
    }
}

fn word(data: &[u8], at: usize) -> u32 {
    data.get(at..).and_then(|bytes| bytes.first_chunk()).map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

fn check(params: &FlowGenParams) -> Result<Packet, ParameterError> {
    in_range(
        "the template's length",
        params.template.len() as u64,
        TEMPLATE_LEN_MIN as u64..=DATA_LEN_MAX as u64,
    )?;
    for (what, value, max) in [
        ("pps", params.pps, 1e9),
        ("flow_rate", params.flow_rate, 1e9),
        ("flow_duration", params.flow_duration, 1e6),
        ("flow_rate times flow_duration", params.flow_rate * params.flow_duration, FLOW_COUNT_MAX),
    ] {
        if !(value > 0.0 && value <= max) {
            return Err(ParameterError::NoRate { what, value: value.to_string(), max: max as u64 });
        }
    }
    for (what, range) in [
        ("ip_src_range", params.ip_src_range),
        ("ip_dst_range", params.ip_dst_range),
        ("port_src_range", params.port_src_range.into()),
        ("port_dst_range", params.port_dst_range.into()),
    ] {
        in_range(what, range.into(), 1..=u32::MAX.into())?;
    }
    let packet = Packet::find(&params.template).filter(|it| it.addresses.len() == 8);
    let packet = packet.filter(|it| it.payload.start + 4 <= params.template.len());
    packet.ok_or(ParameterError::Missing("IPv4 packet in the template"))
}

impl Module for FlowGen {
    fn class(&self) -> &'static str {
        "flow_gen"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::SOURCE
    }

    fn process(&mut self, _: &mut Context<'_>, _: usize, _: &mut Batch) {}

    fn task_count(&self) -> usize {
        1
    }

    fn run(&mut self, ctx: &mut Context<'_>, _: usize) -> Work {
        if !self.has_begun {
            self.begin(ctx.now());
        }
        self.out.set_len_max(BATCH_LEN_MAX);
        self.generate(ctx);
        let work = Work { packet_count: self.out.len(), byte_count: self.out.byte_count() };
        self.packet_count += work.packet_count as u64;
        ctx.emit_batch(0, &mut self.out);
        work
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.events.peek().map_or(Some(Instant::ZERO), |Reverse((at, _))| Some(*at))
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("flows", (self.flows.len() - self.free.len()) as u64),
            ("begun", self.begun_count),
            ("packets", self.packet_count),
            ("no_frame", self.no_frame_count),
        ]
    }
}

#[cfg(test)]
mod tests;
