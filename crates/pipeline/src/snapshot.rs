//! A worker's counters at one moment.

use crate::gate::{GateTraffic, Hooks, Link, Queue};
use crate::step::Step;
use tidegate_base::{DropCounters, Duration};
use tidegate_packet::Occupancy;
use tidegate_port::PortCounters;

/// What passed through one module.
#[derive(Clone, Debug)]
pub struct ModuleCounters {
    /// Frames that arrived at its input gates.
    pub in_packet_count: u64,
    /// Batches they arrived in.
    pub in_batch_count: u64,
    /// Frames that left through its output gates.
    pub out_packet_count: u64,
    /// Frames it dropped, by reason.
    pub drops: DropCounters,
    /// Time spent in it, if the worker has a stopwatch.
    pub busy: Duration,
}

/// One input gate.
#[derive(Clone, Debug)]
pub struct InputSnapshot {
    /// Its number.
    pub gate: usize,
    /// What arrived there.
    pub traffic: GateTraffic,
    /// Bytes that arrived, if a hook counts them.
    pub byte_count: u64,
    /// The kinds of its hooks.
    pub hooks: Vec<&'static str>,
}

/// One output gate that leads somewhere.
#[derive(Clone, Debug)]
pub struct OutputSnapshot {
    /// Its number.
    pub gate: usize,
    /// The module it leads to, and the input gate there.
    pub to: (String, usize),
    /// What left there.
    pub traffic: GateTraffic,
    /// Bytes that left, if a hook counts them.
    pub byte_count: u64,
    /// The kinds of its hooks.
    pub hooks: Vec<&'static str>,
}

/// A module's counters at one moment.
#[derive(Clone, Debug)]
pub struct ModuleSnapshot {
    /// Its name in the graph.
    pub name: String,
    /// What kind of module it is.
    pub class: &'static str,
    /// What passed through it.
    pub traffic: ModuleCounters,
    /// Its input gates that something leads to.
    pub inputs: Vec<InputSnapshot>,
    /// Its output gates that lead somewhere.
    pub outputs: Vec<OutputSnapshot>,
    /// Counters of its own, by name.
    pub own: Vec<(&'static str, u64)>,
}

/// A worker's counters at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Each module, upstream before downstream.
    pub modules: Vec<ModuleSnapshot>,
    /// Each port's counters.
    pub ports: Vec<PortCounters>,
    /// Where the pool's chunks are.
    pub pool: Occupancy,
    /// Rounds run.
    pub round_count: u64,
    /// Times slept.
    pub sleep_count: u64,
}

fn bytes_of(hooks: &Hooks) -> u64 {
    hooks.iter().map(|hook| hook.byte_count()).sum()
}

/// The counters of `step`, one of `steps`, whose input gates are in `queues`.
pub(crate) fn snapshot_of(step: &Step, steps: &[Step], queues: &[Queue]) -> ModuleSnapshot {
    let inputs = &queues[step.queues.clone()];
    let arrived = inputs.iter().fold(GateTraffic::default(), |sum, queue| sum + queue.traffic);
    let input = |queue: &Queue| InputSnapshot {
        gate: queue.gate,
        traffic: queue.traffic,
        byte_count: bytes_of(&queue.hooks),
        hooks: queue.hooks.iter().map(|hook| hook.class()).collect(),
    };
    let output = |(gate, link): (usize, &Link)| {
        let queue = &queues[link.to?];
        let to = (steps[queue.step].name.clone(), queue.gate);
        let hooks = link.hooks.iter().map(|hook| hook.class()).collect();
        Some(OutputSnapshot { gate, to, traffic: link.traffic, byte_count: bytes_of(&link.hooks), hooks })
    };
    ModuleSnapshot {
        name: step.name.clone(),
        class: step.module.class(),
        traffic: ModuleCounters {
            in_packet_count: arrived.packet_count,
            in_batch_count: arrived.batch_count,
            out_packet_count: step.emitted().packet_count,
            drops: step.drops.clone(),
            busy: step.busy,
        },
        inputs: inputs.iter().map(input).collect(),
        outputs: step.links.iter().enumerate().filter_map(output).collect(),
        own: step.module.counters(),
    }
}
