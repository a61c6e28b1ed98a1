//! A module between feeders and collectors, for tests on real bytes.

use tidegate_base::{DropReason, Instant, Rng};
use tidegate_packet::{Batch, HeapMemory, Pool};
use tidegate_pipeline::{Context, GateCounts, Graph, Module, Work, Worker, WorkerConfig, control};

const CHUNK_LEN: usize = 2048;
const CHUNK_COUNT: usize = 4096;

/// Emits what it was given, once.
#[derive(Default)]
struct Feeder {
    waiting: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Module for Feeder {
    fn class(&self) -> &'static str {
        "feeder"
    }
    fn gates(&self) -> GateCounts {
        GateCounts::SOURCE
    }
    fn process(&mut self, _: &mut Context<'_>, _: usize, _: &mut Batch) {}
    fn task_count(&self) -> usize {
        1
    }
    fn run(&mut self, ctx: &mut Context<'_>, _: usize) -> Work {
        let packet_count = self.waiting.len();
        for (data, scratch) in self.waiting.drain(..) {
            let mut frame = ctx.pool().alloc().unwrap();
            assert!(frame.extend(&data));
            frame.scratch_mut()[..scratch.len()].copy_from_slice(&scratch);
            ctx.emit(0, frame);
        }
        Work { packet_count, byte_count: 0 }
    }
}

/// Keeps the bytes of what arrives.
#[derive(Default)]
struct Collector {
    seen: Vec<Vec<u8>>,
}

impl Module for Collector {
    fn class(&self) -> &'static str {
        "collector"
    }
    fn gates(&self) -> GateCounts {
        GateCounts::SINK
    }
    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        self.seen.extend(batch.iter().map(|frame| frame.data().to_vec()));
        ctx.consume_batch(batch);
    }
}

/// The module under test, in a worker.
pub(crate) struct Stand {
    worker: Worker,
    outputs: usize,
}

impl Stand {
    /// A stand with feeders at `inputs` input gates, and collectors at `outputs` output gates.
    pub(crate) fn new(module: impl Module, inputs: usize, outputs: usize) -> Self {
        let mut graph = Graph::new();
        let feeders: Vec<_> =
            (0..inputs).map(|n| graph.add(&format!("in{n}"), Box::new(Feeder::default())).unwrap()).collect();
        let module = graph.add("module", Box::new(module)).unwrap();
        for (gate, feeder) in feeders.into_iter().enumerate() {
            graph.connect(feeder, 0, module, gate).unwrap();
        }
        for gate in 0..outputs {
            let collector = graph.add(&format!("out{gate}"), Box::new(Collector::default())).unwrap();
            graph.connect(module, gate, collector, 0).unwrap();
        }
        let pool = Pool::new(Box::new(HeapMemory::new(CHUNK_COUNT * CHUNK_LEN)), CHUNK_LEN).unwrap();
        let (_control, commands) = control(|| {});
        let worker = Worker::new(WorkerConfig::default(), pool, Vec::new(), graph, commands);
        Self { worker, outputs }
    }

    /// The module.
    pub(crate) fn module<M: Module>(&mut self) -> &mut M {
        self.worker.module_mut("module").unwrap()
    }

    /// Has `frames` wait before input gate `gate`.
    pub(crate) fn feed(&mut self, gate: usize, frames: &[&[u8]]) {
        for frame in frames {
            self.feed_marked(gate, frame, &[]);
        }
    }

    /// Has a frame wait whose scratch area begins with `scratch`.
    pub(crate) fn feed_marked(&mut self, gate: usize, frame: &[u8], scratch: &[u8]) {
        let feeder = self.worker.module_mut::<Feeder>(&format!("in{gate}")).unwrap();
        feeder.waiting.push((frame.to_vec(), scratch.to_vec()));
    }

    /// A round at `now`; what left, and through which gate.
    pub(crate) fn round(&mut self, now: Instant) -> Vec<(usize, Vec<u8>)> {
        self.worker.round(now);
        let mut seen = Vec::new();
        for gate in 0..self.outputs {
            let collector = self.worker.module_mut::<Collector>(&format!("out{gate}")).unwrap();
            seen.extend(collector.seen.drain(..).map(|frame| (gate, frame)));
        }
        seen
    }

    /// Feeds `frames` to input gate `gate`, and says what left then.
    pub(crate) fn pass(&mut self, gate: usize, frames: &[&[u8]]) -> Vec<(usize, Vec<u8>)> {
        self.feed(gate, frames);
        self.round(Instant::from_millis(1))
    }

    /// The gate through which a frame leaves that comes in through gate 0.
    pub(crate) fn gate_of(&mut self, frame: &[u8]) -> Option<usize> {
        self.pass(0, &[frame]).first().map(|(gate, _)| *gate)
    }

    /// How many frames the module dropped for `reason`.
    pub(crate) fn dropped(&self, reason: DropReason) -> u64 {
        let snapshot = self.worker.snapshot();
        snapshot.modules.iter().find(|it| it.name == "module").map_or(0, |it| it.traffic.drops.of(reason))
    }

    /// Frames that are neither in the pool nor with a port.
    pub(crate) fn held_count(&self) -> usize {
        self.worker.snapshot().pool.held_count
    }

    /// Takes the graph away: every frame must be back then.
    pub(crate) fn retire(mut self) {
        self.worker.replace(Graph::new()).unwrap();
        assert_eq!(self.held_count(), 0, "frames were lost");
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

fn garbage(rng: &mut Rng, model: &[u8]) -> Vec<u8> {
    if rng.chance(0.3) {
        return (0..rng.below(120)).map(|_| rng.next_u32() as u8).collect();
    }
    let mut frame = model.to_vec();
    frame.truncate(rng.below(model.len() as u64 + 1) as usize);
    for _ in 0..rng.below(4) {
        let at = rng.below(frame.len() as u64) as usize;
        if let Some(byte) = frame.get_mut(at) {
            *byte = rng.next_u32() as u8;
        }
    }
    frame
}

/// An Ethernet frame with an IPv4 packet whose checksums are right: TCP (with these flags), UDP or an ICMP echo whose
/// identifier is the source port.
pub(crate) fn packet(protocol: u8, src: (u32, u16), dst: (u32, u16), flags: u8, payload: &[u8]) -> Vec<u8> {
    use tidegate_base::Sum;
    let mut segment = match protocol {
        6 => [
            &src.1.to_be_bytes()[..],
            &dst.1.to_be_bytes(),
            &[0, 0, 0, 1, 0, 0, 0, 2, 0x50, flags, 0x20, 0, 0, 0, 0, 0],
        ]
        .concat(),
        17 => [
            &src.1.to_be_bytes()[..],
            &dst.1.to_be_bytes(),
            &(8 + payload.len() as u16).to_be_bytes(),
            &[0, 0],
        ]
        .concat(),
        _ => [&[flags, 0, 0, 0][..], &src.1.to_be_bytes(), &[0, 7]].concat(),
    };
    segment.extend(payload);
    let pseudo = Sum::of_u32(src.0) + Sum::of_u32(dst.0) + Sum::of_u16(protocol.into());
    let pseudo = pseudo + Sum::of_u16(segment.len() as u16);
    let (at, sum) = match protocol {
        6 => (16, (pseudo + Sum::of(&segment)).finish()),
        17 => (6, (pseudo + Sum::of(&segment)).finish_udp()),
        _ => (2, Sum::of(&segment).finish()),
    };
    segment[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    let mut ip =
        [&[0x45, 0][..], &(20 + segment.len() as u16).to_be_bytes(), &[0, 9, 0x40, 0, 64, protocol, 0, 0]]
            .concat();
    ip.extend(src.0.to_be_bytes());
    ip.extend(dst.0.to_be_bytes());
    let sum = Sum::of(&ip).finish();
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0][..], &ip, &segment].concat()
}

/// Whether both checksums of such a frame hold.
pub(crate) fn checksums_hold(frame: &[u8]) -> bool {
    use tidegate_base::Sum;
    let (ip, segment) = frame[14..].split_at(20);
    let pseudo = Sum::of(&ip[12..20]) + Sum::of_u16(ip[9].into()) + Sum::of_u16(segment.len() as u16);
    let covered = if ip[9] == 1 { Sum::of(segment) } else { pseudo + Sum::of(segment) };
    let is_without = ip[9] == 17 && segment[6..8] == [0, 0];
    Sum::of(ip).is_valid() && (is_without || covered.is_valid())
}
