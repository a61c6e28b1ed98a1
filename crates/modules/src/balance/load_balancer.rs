//! Sends each new flow to the gate with the least load, and keeps it there (Han 2019, chapter 6).
//!
//! | | |
//! |---|---|
//! | gates | in: 0; out: those it is given |
//! | parameters | gates; points of load for a new flow (10,000), a packet (1,000) and a byte (1); the time over which they count (1 ms); flows (1,048,576); how long a silent flow is known (60 s) |
//! | commands | set the gates |
//! | counters | flows, opened, untracked (the table was full: sent to the least loaded gate, by packet) |
//! | rate | 15.8 ns a frame of 60 bytes on one core (`make bench-pipeline`) |
//!
//! The load of a gate is the points of the window under way and what is left of the one before: after half a window,
//! half of them. A flow is what has the same IP addresses, protocol and ports; frames without IP go by their MAC
//! addresses. A flow whose gate was taken away is new.

use crate::flow_hash::{Layer, flow_hash};
use crate::parameter::{ParameterError, gates, in_range};
use crate::steer::{Gates, NO_GATE, emit_each};
use tidegate_base::{Duration, FlowHasher, Instant};
use tidegate_packet::{BATCH_LEN_MAX, Batch};
use tidegate_pipeline::{Context, GateCounts, Module};
use tidegate_table::{FlowId, Flows, InsertError};

const FLOW_COUNT_MAX: u64 = 1 << 26;
/// Entries that are looked at for their end with each batch.
const SWEEP: usize = 8;

/// What load is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadPoints {
    /// For the first packet of a flow.
    pub flow: u64,
    /// For each packet.
    pub packet: u64,
    /// For each byte of a frame.
    pub byte: u64,
}

impl Default for LoadPoints {
    fn default() -> Self {
        Self { flow: 10_000, packet: 1_000, byte: 1 }
    }
}

/// How it is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadBalancerParams {
    /// The gates.
    pub gates: Vec<u64>,
    /// What load is.
    pub points: LoadPoints,
    /// The time over which it counts.
    pub window: Duration,
    /// Flows that are known at most.
    pub flow_count_max: u64,
    /// How long a silent flow is known.
    pub silence: Duration,
    /// Where hashes start: drawn at random.
    pub seed: u64,
}

impl LoadBalancerParams {
    /// The usual ones, with these gates.
    pub fn new(gates: Vec<u64>) -> Self {
        Self {
            gates,
            points: LoadPoints::default(),
            window: Duration::from_millis(1),
            flow_count_max: 1 << 20,
            silence: Duration::from_secs(60),
            seed: 0,
        }
    }
}

/// Points of one gate.
#[derive(Clone, Copy, Default)]
struct Load {
    before: u64,
    now: u64,
}

/// The module.
pub struct LoadBalancer {
    gates: Box<[u16]>,
    loads: Vec<Load>,
    points: LoadPoints,
    window: Duration,
    /// When the window under way began.
    began_at: Instant,
    silence: Duration,
    hasher: FlowHasher,
    /// The gate of each flow.
    flows: Flows<1, u16>,
    opened_count: u64,
    untracked_count: u64,
}

impl LoadBalancer {
    /// A balancer that knows no flow.
    pub fn new(params: &LoadBalancerParams) -> Result<Self, ParameterError> {
        let flow_count = in_range("the number of flows", params.flow_count_max, 1..=FLOW_COUNT_MAX)?;
        in_range("the window in nanoseconds", params.window.as_nanos(), 1..=u64::MAX)?;
        let Ok(flows) = Flows::new(flow_count as usize, params.seed) else {
            return Err(ParameterError::Missing("flows"));
        };
        let gates = gates(&params.gates)?;
        Ok(Self {
            loads: vec![Load::default(); gates.len()],
            gates,
            points: params.points,
            window: params.window,
            began_at: Instant::ZERO,
            silence: params.silence,
            hasher: FlowHasher::new(params.seed),
            flows,
            opened_count: 0,
            untracked_count: 0,
        })
    }

    /// Spreads over these gates from now on. Flows of a gate that stays stay.
    pub fn set_gates(&mut self, new: &[u64]) -> Result<(), ParameterError> {
        self.gates = gates(new)?;
        self.loads = vec![Load::default(); self.gates.len()];
        Ok(())
    }

    fn turn_window(&mut self, now: Instant) {
        let passed = now.since(self.began_at).as_nanos() / self.window.as_nanos();
        if passed == 0 {
            return;
        }
        for load in &mut self.loads {
            load.before = if passed == 1 { load.now } else { 0 };
            load.now = 0;
        }
        self.began_at += self.window.saturating_mul(passed);
    }

    /// The place of the gate with the least load.
    fn least(&self, now: Instant) -> usize {
        let left = self.window.saturating_sub(now.since(self.began_at)).as_nanos();
        let window = u128::from(self.window.as_nanos());
        let load = |it: &Load| u128::from(it.now) * window + u128::from(it.before) * u128::from(left);
        let least = self.loads.iter().enumerate().min_by_key(|(_, it)| load(it));
        least.map_or(0, |(place, _)| place)
    }

    /// The place of a flow's gate.
    fn place_of(&mut self, key: u64, id: Option<FlowId>, now: Instant) -> usize {
        if let Some(id) = id
            && let Some(place) = self.known_place(id)
        {
            self.flows.touch(id, now + self.silence);
            return place;
        }
        let place = self.least(now);
        let gate = self.gates[place];
        if let Some(gate_of) = id.and_then(|id| self.flows.get_mut(id)) {
            *gate_of = gate;
        } else {
            match self.flows.insert([key], gate, now, now + self.silence, &mut |_, _| {}) {
                Ok(_) => {}
                Err(InsertError::Exists(id, _)) => return self.known_place(id).unwrap_or(place),
                Err(InsertError::Full(_)) => self.untracked_count += 1,
            }
        }
        self.opened_count += 1;
        self.loads[place].now = self.loads[place].now.saturating_add(self.points.flow);
        place
    }

    fn known_place(&self, id: FlowId) -> Option<usize> {
        let gate = self.flows.get(id)?;
        self.gates.iter().position(|it| it == gate)
    }
}

impl Module for LoadBalancer {
    fn class(&self) -> &'static str {
        "load_balancer"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::SPLIT
    }

    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        let now = ctx.now();
        self.turn_window(now);
        self.flows.sweep(now, SWEEP, &mut |_, _| {});
        let mut keys = [[0; 1]; BATCH_LEN_MAX];
        let mut ids = [None; BATCH_LEN_MAX];
        let mut gates: Gates = [NO_GATE; BATCH_LEN_MAX];
        for (key, frame) in keys.iter_mut().zip(batch.iter()) {
            *key = [flow_hash(self.hasher, Layer::L4, frame.data())];
        }
        self.flows.lookup_batch(&keys[..batch.len()], now, &mut ids);
        for (n, frame) in batch.iter().enumerate() {
            let place = self.place_of(keys[n][0], ids[n], now);
            let points =
                self.points.byte.saturating_mul(frame.len() as u64).saturating_add(self.points.packet);
            self.loads[place].now = self.loads[place].now.saturating_add(points);
            gates[n] = self.gates[place];
        }
        emit_each(ctx, batch, &gates);
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("flows", self.flows.len() as u64),
            ("opened", self.opened_count),
            ("untracked", self.untracked_count),
        ]
    }
}

#[cfg(test)]
#[path = "load_balancer_tests.rs"]
mod tests;
