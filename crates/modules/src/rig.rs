//! A module between a feeder and a collector, for tests: bytes in at gates, bytes out at gates.

mod frames;

pub(crate) use frames::{checksums_hold, hostile_frames, ipv4_frame, naive_checksum, packet};

use frames::garbage;
use std::collections::VecDeque;
use tidegate_base::{DropReason, Instant, Rng};
use tidegate_packet::{Batch, HeapMemory, Pool, SCRATCH_LEN};
use tidegate_pipeline::metadata::Relocation;
use tidegate_pipeline::{Context, GateCounts, Graph, Module, Work, Worker, WorkerConfig, control};

const CHUNK_LEN: usize = 2048;

/// Output gates that the collector listens at unless told: the first ones.
pub(crate) const GATE_COUNT: usize = 8;
/// Input gates that the feeder feeds unless told.
const INPUT_COUNT: usize = 2;

/// A frame on its way in or out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Packet {
    pub(crate) gate: usize,
    pub(crate) data: Vec<u8>,
    pub(crate) scratch: [u8; SCRATCH_LEN],
}

/// Emits what it was given, once.
struct Feeder {
    packets: VecDeque<Packet>,
    gate_count: usize,
    /// Packets a round at most.
    burst: usize,
    has_headroom: bool,
}

impl Module for Feeder {
    fn class(&self) -> &'static str {
        "feeder"
    }
    fn gates(&self) -> GateCounts {
        GateCounts { inputs: 0, outputs: self.gate_count }
    }
    fn process(&mut self, _: &mut Context<'_>, _: usize, _: &mut Batch) {}
    fn task_count(&self) -> usize {
        1
    }
    fn run(&mut self, ctx: &mut Context<'_>, _: usize) -> Work {
        let packet_count = self.burst.min(self.packets.len());
        for packet in self.packets.drain(..packet_count) {
            let mut frame = ctx.pool().alloc().unwrap();
            if !self.has_headroom {
                frame.reset(0);
            }
            assert!(frame.extend(&packet.data));
            *frame.scratch_mut() = packet.scratch;
            ctx.emit(packet.gate, frame);
        }
        Work { packet_count, byte_count: 0 }
    }
}

/// Keeps what arrives, in order.
struct Collector {
    seen: Vec<Packet>,
    gate_count: usize,
}

impl Module for Collector {
    fn class(&self) -> &'static str {
        "collector"
    }
    fn gates(&self) -> GateCounts {
        GateCounts { inputs: self.gate_count, outputs: 0 }
    }
    fn process(&mut self, ctx: &mut Context<'_>, gate: usize, batch: &mut Batch) {
        for frame in batch.iter() {
            self.seen.push(Packet { gate, data: frame.data().to_vec(), scratch: *frame.scratch() });
        }
        ctx.consume_batch(batch);
    }
}

/// How a module is put between the two.
struct Joints {
    inputs: usize,
    outputs: usize,
    /// Packets that are fed a round at most.
    burst: usize,
    has_headroom: bool,
    /// Of the pool.
    chunk_count: usize,
}

impl Joints {
    /// The first gates of these modules in a row, fed a full batch a round.
    fn of(modules: &[Box<dyn Module>]) -> Joints {
        let inputs = modules.first().map_or(0, |first| first.gates().inputs);
        let outputs = modules.last().map_or(0, |last| last.gates().outputs);
        Joints {
            inputs: inputs.min(INPUT_COUNT),
            outputs: outputs.min(GATE_COUNT),
            // Full batches, whatever room a batch has.
            burst: 32,
            has_headroom: true,
            chunk_count: 256,
        }
    }
}

/// The module under test in its worker.
pub(crate) struct Rig {
    worker: Worker,
    round: u64,
}

impl Rig {
    /// Feeds a batch a round.
    pub(crate) fn new(module: impl Module) -> Self {
        Self::row(vec![Box::new(module)])
    }

    /// With so many input gates fed and output gates looked at; what waits comes all in one round.
    pub(crate) fn with_gates(module: impl Module, inputs: usize, outputs: usize) -> Self {
        let joints = Joints { inputs, outputs, burst: usize::MAX, has_headroom: true, chunk_count: 4096 };
        Self::build(vec![Box::new(module)], &joints)
    }

    /// With frames that have no room in front of their data.
    pub(crate) fn without_headroom(module: impl Module) -> Self {
        let modules: Vec<Box<dyn Module>> = vec![Box::new(module)];
        let joints = Joints { has_headroom: false, ..Joints::of(&modules) };
        Self::build(modules, &joints)
    }

    /// Several modules, gate 0 to gate 0, whose attributes are laid out; the last is the one that is looked at.
    pub(crate) fn row(modules: Vec<Box<dyn Module>>) -> Self {
        let joints = Joints::of(&modules);
        Self::build(modules, &joints)
    }

    fn build(modules: Vec<Box<dyn Module>>, joints: &Joints) -> Self {
        let Joints { inputs, outputs, burst, has_headroom, chunk_count } = *joints;
        let mut graph = Graph::new();
        let last = modules.len() - 1;
        let name = |n| if n == last { "tested".to_owned() } else { format!("m{n}") };
        let row: Vec<_> =
            modules.into_iter().enumerate().map(|(n, it)| graph.add(&name(n), it).unwrap()).collect();
        graph.chain(&row).unwrap();
        if inputs > 0 {
            let feeder = Feeder { packets: VecDeque::new(), gate_count: inputs, burst, has_headroom };
            let feeder = graph.add("feeder", Box::new(feeder)).unwrap();
            (0..inputs).for_each(|gate| graph.connect(feeder, gate, row[0], gate).unwrap());
        }
        let collector = Collector { seen: Vec::new(), gate_count: outputs };
        let collector = graph.add("collector", Box::new(collector)).unwrap();
        (0..outputs).for_each(|gate| graph.connect(row[last], gate, collector, gate).unwrap());
        if last > 0 {
            assert_eq!(graph.lay_out().faults(), []);
        }
        let pool = Pool::new(Box::new(HeapMemory::new(chunk_count * CHUNK_LEN)), CHUNK_LEN).unwrap();
        let (_control, commands) = control(|| {});
        Self { worker: Worker::new(WorkerConfig::default(), pool, Vec::new(), graph, commands), round: 0 }
    }

    /// The module, to be commanded.
    pub(crate) fn module<M: Module>(&mut self) -> &mut M {
        self.worker.module_mut("tested").unwrap()
    }

    fn wait(&mut self, packets: impl IntoIterator<Item = Packet>) {
        if let Some(feeder) = self.worker.module_mut::<Feeder>("feeder") {
            feeder.packets.extend(packets);
        }
    }

    fn take(&mut self) -> Vec<Packet> {
        std::mem::take(&mut self.worker.module_mut::<Collector>("collector").unwrap().seen)
    }

    /// Sends packets into the module's gates in batches of 32; gives back what came out meanwhile. A round lasts a
    /// millisecond.
    pub(crate) fn pass_packets(&mut self, packets: &[Packet]) -> Vec<Packet> {
        self.wait(packets.iter().cloned());
        for _ in 0..packets.len().div_ceil(32).max(1) {
            self.round += 1;
            self.worker.round(Instant::from_millis(self.round));
        }
        self.take()
    }

    /// The same of plain bytes, all into gate 0.
    pub(crate) fn pass(&mut self, frames: &[Vec<u8>]) -> Vec<(usize, Vec<u8>)> {
        let packet = |data: &Vec<u8>| Packet { gate: 0, data: data.clone(), scratch: [0; SCRATCH_LEN] };
        let packets: Vec<_> = frames.iter().map(packet).collect();
        self.pass_packets(&packets).into_iter().map(|packet| (packet.gate, packet.data)).collect()
    }

    /// One frame through, which must come out at gate 0.
    pub(crate) fn pass_one(&mut self, data: &[u8]) -> Vec<u8> {
        let mut out = self.pass(&[data.to_vec()]);
        assert_eq!(out.len(), 1);
        let (gate, data) = out.remove(0);
        assert_eq!(gate, 0);
        data
    }

    /// Has `frames` wait before an input gate.
    pub(crate) fn feed(&mut self, gate: usize, frames: &[&[u8]]) {
        frames.iter().for_each(|frame| self.feed_marked(gate, frame, &[]));
    }

    /// Has a frame wait whose scratch area begins with `start`.
    pub(crate) fn feed_marked(&mut self, gate: usize, frame: &[u8], start: &[u8]) {
        let mut scratch = [0; SCRATCH_LEN];
        scratch[..start.len()].copy_from_slice(start);
        self.wait([Packet { gate, data: frame.to_vec(), scratch }]);
    }

    /// A round at `now`; what left, gate by gate.
    pub(crate) fn round(&mut self, now: Instant) -> Vec<(usize, Vec<u8>)> {
        self.worker.round(now);
        let mut seen: Vec<_> = self.take().into_iter().map(|packet| (packet.gate, packet.data)).collect();
        seen.sort_by_key(|(gate, _)| *gate);
        seen
    }

    /// Feeds `frames` to an input gate, and says what left then, gate by gate.
    pub(crate) fn pass_into(&mut self, gate: usize, frames: &[&[u8]]) -> Vec<(usize, Vec<u8>)> {
        self.feed(gate, frames);
        self.round(Instant::from_millis(1))
    }

    /// The gate through which a frame leaves that comes in through gate 0.
    pub(crate) fn gate_of(&mut self, frame: &[u8]) -> Option<usize> {
        self.pass_into(0, &[frame]).first().map(|(gate, _)| *gate)
    }

    /// How many frames the module dropped for that reason.
    pub(crate) fn drops(&self, reason: DropReason) -> u64 {
        let snapshot = self.worker.snapshot();
        snapshot.modules.iter().find(|module| module.name == "tested").unwrap().traffic.drops.of(reason)
    }

    /// A counter of the module's own.
    pub(crate) fn counter(&self, name: &str) -> u64 {
        let snapshot = self.worker.snapshot();
        let module = snapshot.modules.into_iter().find(|module| module.name == "tested").unwrap();
        module.own.into_iter().find(|(own, _)| *own == name).unwrap().1
    }

    /// Frames that are neither free nor given back: what the module keeps.
    pub(crate) fn kept_count(&self) -> usize {
        self.worker.snapshot().pool.held_count
    }

    /// Changes the graph to one like it in which values are elsewhere in the scratch area; of a module with one gate either way.
    pub(crate) fn relocate(&mut self, relocation: Relocation) {
        let mut graph = Graph::new();
        let mut keep = |name, gates| graph.keep(name, gates).unwrap();
        let feeder = keep("feeder", GateCounts::SOURCE);
        let tested = keep("tested", GateCounts::THROUGH);
        let collector = keep("collector", GateCounts::SINK);
        graph.chain(&[feeder, tested, collector]).unwrap();
        graph.bind(tested, Vec::new(), relocation);
        self.worker.replace(graph).unwrap();
    }

    /// What has left by now, scratch areas too, after a round at `now`.
    pub(crate) fn round_packets(&mut self, now: Instant) -> Vec<Packet> {
        self.worker.round(now);
        self.take()
    }

    /// Takes the graph away: every frame must be back then.
    pub(crate) fn retire(mut self) {
        self.worker.replace(Graph::new()).unwrap();
        assert_eq!(self.kept_count(), 0, "frames were lost");
    }

    /// Feeds seeded garbage, some of it cut from `model` and damaged, to all of `inputs` input gates; no frame may be
    /// lost.
    pub(crate) fn survives_garbage(mut self, inputs: usize, model: &[u8], seed: u64) {
        let mut rng = Rng::new(seed);
        for turn in 0..300 {
            for gate in 0..inputs {
                for _ in 0..16 {
                    let frame = garbage(&mut rng, model);
                    self.feed(gate, &[&frame]);
                }
            }
            self.round(Instant::from_millis(turn));
        }
        self.retire();
    }
}

/// Has `module` take hostile frames: none may be lost or kept (up to `kept_max`), and none may stop it.
pub(crate) fn survives(module: impl Module, kept_max: usize) {
    let class = module.class();
    let mut rig = Rig::new(module);
    for seed in 0..40 {
        rig.pass(&hostile_frames(seed, 100));
        assert!(rig.kept_count() <= kept_max, "{class} lost frames");
    }
}
