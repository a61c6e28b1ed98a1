//! Packets built byte by byte, and a row of modules between a feeder and a collector that both know tails.

use crate::rig::naive_checksum;
use std::collections::VecDeque;
use tidegate_base::Instant;
use tidegate_packet::{Batch, Cut, HeapMemory, Pool, TailBuffers};
use tidegate_pipeline::{Context, GateCounts, Graph, Module, Snapshot, Work, Worker, WorkerConfig, control};

/// What a packet is wrapped in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Inside VXLAN, over IPv4 or not.
    pub(super) tunnel: Option<bool>,
    pub(super) is_ipv4: bool,
    pub(super) has_timestamps: bool,
    pub(super) is_tagged: bool,
    /// The tunnel's UDP has a checksum.
    pub(super) has_udp_sum: bool,
}

impl Shape {
    pub(super) const PLAIN: Self =
        Self { tunnel: None, is_ipv4: true, has_timestamps: true, is_tagged: false, has_udp_sum: false };

    pub(super) fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for bits in 0..8 {
            for tunnel in [None, Some(true), Some(false)] {
                let [is_ipv4, has_timestamps, is_tagged] = [1, 2, 4].map(|bit| bits & bit != 0);
                all.push(Self { tunnel, is_ipv4, has_timestamps, is_tagged, has_udp_sum: false });
            }
        }
        all
    }

    /// Bytes in front of the payload.
    pub(super) fn headers_len(self) -> usize {
        let spec = Spec { flow: 0, seq: 0, ack: 0, ident: 0, flags: 0x10 };
        packet(self, spec, &[]).len()
    }

    /// Bytes in front of the outermost packet.
    pub(super) fn link_len(self) -> usize {
        if self.is_tagged && self.tunnel.is_none() { 18 } else { 14 }
    }
}

/// What a segment says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spec {
    pub(super) flow: u16,
    pub(super) seq: u32,
    pub(super) ack: u32,
    pub(super) ident: u16,
    pub(super) flags: u8,
}

pub(super) fn packet(shape: Shape, spec: Spec, payload: &[u8]) -> Vec<u8> {
    let options: &[u8] = if shape.has_timestamps { &[1, 1, 8, 10, 0, 0, 9, 9, 0, 0, 7, 7] } else { &[] };
    let mut segment = [&(1000 + spec.flow).to_be_bytes()[..], &80u16.to_be_bytes()].concat();
    segment.extend([spec.seq.to_be_bytes(), spec.ack.to_be_bytes()].concat());
    segment.extend([(((20 + options.len()) / 4) << 4) as u8, spec.flags, 0x20, 0, 0, 0, 0, 0]);
    segment.extend(options);
    segment.extend(payload);
    let inner = framed(shape.is_tagged, shape.is_ipv4, 6, spec.ident, segment, Some(16));
    let Some(is_ipv4) = shape.tunnel else { return inner };
    let mut datagram = [&(50_000 + spec.flow).to_be_bytes()[..], &4789u16.to_be_bytes()].concat();
    datagram.extend(((16 + inner.len()) as u16).to_be_bytes());
    datagram.extend([0, 0, 8, 0, 0, 0, 0, 0, 42, 0]);
    datagram.extend(inner);
    framed(false, is_ipv4, 17, spec.ident.wrapping_add(0x5555), datagram, shape.has_udp_sum.then_some(6))
}

/// An Ethernet frame with an IP packet around `body`, whose checksum is computed if there is a place for it.
fn framed(
    is_tagged: bool,
    is_ipv4: bool,
    protocol: u8,
    ident: u16,
    mut body: Vec<u8>,
    check_at: Option<usize>,
) -> Vec<u8> {
    let (src, dst) =
        if is_ipv4 { (vec![10, 0, 0, 1], vec![10, 0, 0, 2]) } else { (vec![0xfd; 16], vec![0xfe; 16]) };
    let len = body.len() as u32;
    if let Some(at) = check_at {
        let pseudo = [&src[..], &dst, &len.to_be_bytes(), &[0, 0, 0, protocol]].concat();
        let check = naive_checksum(&[&pseudo[..], &body].concat());
        body[at..at + 2].copy_from_slice(&check.to_be_bytes());
    }
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    if is_tagged {
        frame.extend([0x81, 0, 0, 5]);
    }
    if is_ipv4 {
        let mut header =
            [&[0x45, 0][..], &(20 + body.len() as u16).to_be_bytes(), &ident.to_be_bytes()].concat();
        header.extend([0, 0, 64, protocol, 0, 0]);
        header.extend([&src[..], &dst].concat());
        let check = naive_checksum(&header).to_be_bytes();
        header[10..12].copy_from_slice(&check);
        frame.extend([8, 0]);
        frame.extend(header);
    } else {
        frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
        frame.extend((body.len() as u16).to_be_bytes());
        frame.extend([protocol, 64]);
        frame.extend([&src[..], &dst].concat());
    }
    frame.extend(body);
    frame
}

/// A frame without regard to where its bytes are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Whole {
    pub(super) bytes: Vec<u8>,
    /// How it is to be cut, if it has a tail.
    pub(super) segment_len: Option<u16>,
    pub(super) mark: u8,
}

impl Whole {
    pub(super) fn plain(bytes: Vec<u8>) -> Self {
        Self { bytes, segment_len: None, mark: 0 }
    }
}

/// Bytes of a large frame that lie in its chunk.
const HEAD_LEN: usize = 1600;

struct Feeder {
    waiting: VecDeque<Whole>,
    buffers: TailBuffers,
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
        for _ in 0..32 {
            let Some(whole) = self.waiting.pop_front() else { break };
            let mut frame = ctx.pool().alloc().unwrap();
            let (head, tail) = whole.bytes.split_at(whole.bytes.len().min(HEAD_LEN));
            assert!(frame.extend(head));
            frame.scratch_mut()[0] = whole.mark;
            if let Some(segment_len) = whole.segment_len {
                let mut buffer = self.buffers.take();
                buffer.bytes_mut()[..tail.len()].copy_from_slice(tail);
                let mut tail = self.buffers.tail(buffer, tail.len());
                tail.cut = Cut { segment_len, ..Cut::default() };
                frame.append(tail);
            } else {
                assert!(tail.is_empty());
            }
            ctx.emit(0, frame);
        }
        Work::NONE
    }
}

#[derive(Default)]
struct Collector(Vec<Whole>);

impl Module for Collector {
    fn class(&self) -> &'static str {
        "collector"
    }
    fn gates(&self) -> GateCounts {
        GateCounts::SINK
    }
    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        for frame in batch.iter() {
            let tail = frame.tail().map_or(&[][..], |tail| tail.bytes());
            self.0.push(Whole {
                bytes: [frame.data(), tail].concat(),
                segment_len: frame.tail().map(|tail| tail.cut.segment_len),
                mark: frame.scratch()[0],
            });
        }
        ctx.consume_batch(batch);
    }
    fn bulk_len_max(&self, _: &Context<'_>) -> usize {
        65_000
    }
}

/// A row of modules.
pub(super) struct Row {
    worker: Worker,
    now: Instant,
}

impl Row {
    pub(super) fn new(modules: Vec<Box<dyn Module>>) -> Self {
        let mut graph = Graph::new();
        let feeder = Feeder { waiting: VecDeque::new(), buffers: TailBuffers::new(64) };
        let mut row = vec![graph.add("feeder", Box::new(feeder)).unwrap()];
        for (n, module) in modules.into_iter().enumerate() {
            row.push(graph.add(&format!("m{n}"), module).unwrap());
        }
        row.push(graph.add("collector", Box::new(Collector::default())).unwrap());
        graph.chain(&row).unwrap();
        let pool = Pool::new(Box::new(HeapMemory::new(4096 * 2048)), 2048).unwrap();
        let (_control, commands) = control(|| {});
        let worker = Worker::new(WorkerConfig::default(), pool, Vec::new(), graph, commands);
        Self { worker, now: Instant::from_millis(1) }
    }

    /// Sends frames in batches of 32, a microsecond apart; what came out meanwhile.
    pub(super) fn pass(&mut self, frames: impl IntoIterator<Item = Whole>) -> Vec<Whole> {
        let feeder = self.worker.module_mut::<Feeder>("feeder").unwrap();
        feeder.waiting.extend(frames);
        for _ in 0..feeder.waiting.len().div_ceil(32).max(1) {
            self.now += tidegate_base::Duration::from_micros(1);
            self.worker.round(self.now);
        }
        std::mem::take(&mut self.worker.module_mut::<Collector>("collector").unwrap().0)
    }

    /// Lets time pass, and says what came out then.
    pub(super) fn wait_us(&mut self, us: u64) -> Vec<Whole> {
        self.now += tidegate_base::Duration::from_micros(us);
        self.pass([])
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        self.worker.snapshot()
    }

    pub(super) fn counter(&self, module: &str, name: &str) -> u64 {
        let snapshot = self.snapshot();
        let module = snapshot.modules.iter().find(|it| it.name == module).unwrap();
        module.own.iter().find(|(own, _)| *own == name).unwrap().1
    }

    /// Takes the graph away: every frame must be back then.
    pub(super) fn retire(mut self) {
        self.worker.replace(Graph::new()).unwrap();
        assert_eq!(self.snapshot().pool.held_count, 0, "frames were lost");
    }
}
