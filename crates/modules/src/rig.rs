//! A module between a feeder and a collector, for tests: bytes in at a gate, bytes out at gates.

use std::collections::VecDeque;
use tidegate_base::{DropReason, Instant, Rng};
use tidegate_packet::{Batch, HeapMemory, Pool, SCRATCH_LEN};
use tidegate_pipeline::{Context, GateCounts, Graph, Module, Work, Worker, WorkerConfig, control};

const CHUNK_LEN: usize = 2048;
const CHUNK_COUNT: usize = 256;

/// Output gates that the collector listens at: the first ones.
pub(crate) const GATE_COUNT: usize = 8;

/// A frame on its way in or out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Packet {
    pub(crate) gate: usize,
    pub(crate) data: Vec<u8>,
    pub(crate) scratch: [u8; SCRATCH_LEN],
}

struct Feeder {
    packets: VecDeque<Packet>,
    has_headroom: bool,
}

impl Module for Feeder {
    fn class(&self) -> &'static str {
        "feeder"
    }
    fn gates(&self) -> GateCounts {
        GateCounts { inputs: 0, outputs: 2 }
    }
    fn process(&mut self, _: &mut Context<'_>, _: usize, _: &mut Batch) {}
    fn task_count(&self) -> usize {
        1
    }
    fn run(&mut self, ctx: &mut Context<'_>, _: usize) -> Work {
        // Full batches, whatever room a batch has.
        for _ in 0..32 {
            let Some(packet) = self.packets.pop_front() else { break };
            let mut frame = ctx.pool().alloc().unwrap();
            if !self.has_headroom {
                frame.reset(0);
            }
            assert!(frame.extend(&packet.data));
            *frame.scratch_mut() = packet.scratch;
            ctx.emit(packet.gate, frame);
        }
        Work::NONE
    }
}

#[derive(Default)]
struct Collector(Vec<Packet>);

impl Module for Collector {
    fn class(&self) -> &'static str {
        "collector"
    }
    fn gates(&self) -> GateCounts {
        GateCounts { inputs: GATE_COUNT, outputs: 0 }
    }
    fn process(&mut self, ctx: &mut Context<'_>, gate: usize, batch: &mut Batch) {
        for frame in batch.iter() {
            self.0.push(Packet { gate, data: frame.data().to_vec(), scratch: *frame.scratch() });
        }
        ctx.consume_batch(batch);
    }
}

/// The module under test in its worker.
pub(crate) struct Rig {
    worker: Worker,
    round: u64,
}

impl Rig {
    pub(crate) fn new(module: impl Module) -> Self {
        Self::with_headroom(module, true)
    }

    /// With frames that have no room in front of their data.
    pub(crate) fn without_headroom(module: impl Module) -> Self {
        Self::with_headroom(module, false)
    }

    /// Several modules, gate 0 to gate 0, whose attributes are laid out; the last is the one that is looked at.
    pub(crate) fn row(modules: Vec<Box<dyn Module>>) -> Self {
        Self::build(modules, true)
    }

    fn with_headroom(module: impl Module, has_headroom: bool) -> Self {
        Self::build(vec![Box::new(module)], has_headroom)
    }

    fn build(mut modules: Vec<Box<dyn Module>>, has_headroom: bool) -> Self {
        let mut graph = Graph::new();
        let feeder =
            graph.add("feeder", Box::new(Feeder { packets: VecDeque::new(), has_headroom })).unwrap();
        let last = modules.pop().unwrap();
        let (outputs, is_alone) = (last.gates().outputs, modules.is_empty());
        let inputs = modules.first().unwrap_or(&last).gates().inputs;
        let mut row: Vec<_> =
            modules.into_iter().enumerate().map(|(n, it)| graph.add(&format!("m{n}"), it).unwrap()).collect();
        let tested = graph.add("tested", last).unwrap();
        row.push(tested);
        graph.chain(&row).unwrap();
        let collector = graph.add("collector", Box::new(Collector::default())).unwrap();
        for gate in 0..inputs.min(2) {
            graph.connect(feeder, gate, row[0], gate).unwrap();
        }
        for gate in 0..outputs.min(GATE_COUNT) {
            graph.connect(tested, gate, collector, gate).unwrap();
        }
        if !is_alone {
            assert_eq!(graph.lay_out().faults(), []);
        }
        let pool = Pool::new(Box::new(HeapMemory::new(CHUNK_COUNT * CHUNK_LEN)), CHUNK_LEN).unwrap();
        let (_control, commands) = control(|| {});
        Self { worker: Worker::new(WorkerConfig::default(), pool, Vec::new(), graph, commands), round: 0 }
    }

    /// The module, to be commanded.
    pub(crate) fn module<M: Module>(&mut self) -> &mut M {
        self.worker.module_mut("tested").unwrap()
    }

    /// Sends packets into the module's gates in batches of 32; gives back what came out meanwhile. A round lasts a
    /// millisecond.
    pub(crate) fn pass_packets(&mut self, packets: &[Packet]) -> Vec<Packet> {
        self.worker.module_mut::<Feeder>("feeder").unwrap().packets.extend(packets.iter().cloned());
        for _ in 0..packets.len().div_ceil(32).max(1) {
            self.round += 1;
            self.worker.round(Instant::from_millis(self.round));
        }
        std::mem::take(&mut self.worker.module_mut::<Collector>("collector").unwrap().0)
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
}

/// Frames that no well-behaved station sends: random bytes, and packets with lengths, versions and types that lie.
pub(crate) fn hostile_frames(seed: u64, count: usize) -> Vec<Vec<u8>> {
    let mut rng = Rng::new(seed);
    (0..count).map(|_| hostile_frame(&mut rng)).collect()
}

fn hostile_frame(rng: &mut Rng) -> Vec<u8> {
    let len = if rng.chance(0.3) { rng.below(20) } else { rng.below(200) } as usize;
    let mut data: Vec<u8> = (0..len).map(|_| rng.next_u32() as u8).collect();
    let mut put = |offset: usize, choices: &[&[u8]], rng: &mut Rng| {
        let choice = choices[rng.below(choices.len() as u64) as usize];
        if rng.chance(0.8)
            && let Some(bytes) = data.get_mut(offset..offset + choice.len())
        {
            bytes.copy_from_slice(choice);
        }
    };
    put(12, &[&[8, 0], &[8, 6], &[0x86, 0xdd], &[0x81, 0], &[0x88, 0xa8], &[0x88, 0x47]], rng);
    let mut start = 14;
    while rng.chance(0.2) {
        start += 4;
        put(start - 2, &[&[8, 0], &[0x86, 0xdd], &[0x81, 0]], rng);
    }
    put(start, &[&[0x45], &[0x46], &[0x4f], &[0x44], &[0x60], &[0x55]], rng);
    put(start + 2, &[&[0, 20], &[0, 0], &[0, 60], &[0, 100], &[0xff, 0xff]], rng);
    put(start + 6, &[&[0, 0], &[0x40, 0], &[0x20, 0], &[0, 9]], rng);
    put(start + 8, &[&[0], &[1], &[64]], rng);
    put(start + 9, &[&[6], &[17], &[47], &[1]], rng);
    put(start + 20, &[&[0, 0, 0x65, 0x58], &[0xb0, 0, 8, 0], &[0x12, 0xb5, 0x12, 0xb5]], rng);
    put(start + 24, &[&[0, 8], &[0, 0], &[0, 40], &[0xff, 0xff]], rng);
    put(start + 28, &[&[8, 0, 0, 0], &[0, 0, 0x65, 0x58], &[0x3f, 0, 0x65, 0x58]], rng);
    data
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

/// The checksum of RFC 1071, word by word.
pub(crate) fn naive_checksum(bytes: &[u8]) -> u16 {
    let words =
        bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low)));
    let sum = words.fold(0, |sum: u32, word| {
        let sum = sum + word;
        (sum & 0xffff) + (sum >> 16)
    });
    !(sum as u16)
}

/// An Ethernet frame with an IPv4 packet, both checksums right: UDP or TCP from 10.0.0.1 port 1111 to 10.0.0.2 port 2222.
pub(crate) fn ipv4_frame(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut segment = vec![0x04, 0x57, 0x08, 0xae];
    if protocol == 6 {
        segment.extend([0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x10, 0x20, 0, 0, 0, 0, 0]);
    } else {
        segment.extend(((8 + payload.len()) as u16).to_be_bytes());
        segment.extend([0, 0]);
    }
    segment.extend(payload);
    let check_at = if protocol == 6 { 16 } else { 6 };
    let mut covered = vec![10, 0, 0, 1, 10, 0, 0, 2, 0, protocol];
    covered.extend((segment.len() as u16).to_be_bytes());
    covered.extend(&segment);
    segment[check_at..check_at + 2].copy_from_slice(&naive_checksum(&covered).to_be_bytes());

    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
    let mut header = vec![0x45, 0];
    header.extend(((20 + segment.len()) as u16).to_be_bytes());
    header.extend([0x12, 0x34, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    let check = naive_checksum(&header).to_be_bytes();
    header[10..12].copy_from_slice(&check);
    frame.extend(header);
    frame.extend(segment);
    frame
}
