//! Lines of modules that make frames, copy them, or put them together and cut them.

use std::sync::mpsc::channel;

use anyhow::{Context as _, Result};
use tidegate_base::{Duration, Sum};
use tidegate_modules::Sink;
use tidegate_modules::flow_gen::{FlowGen, FlowGenParams, Replay, ReplayParams};
use tidegate_modules::header::Rewrite;
use tidegate_modules::offload::{Lro, LroParams, Tso, TsoParams};
use tidegate_modules::queue::{Reclass, ReclassParams};
use tidegate_modules::split::Replicate;
use tidegate_packet::{BATCH_LEN_MAX, Batch};
use tidegate_pipeline::class::{Policy, Position};
use tidegate_pipeline::{Context, GateCounts, Graph, Module, Worker};
use tidegate_port::RecordedFrame;

use super::lines::{Line, Parts, row, row_to, template};

/// Bytes of a segment's headers behind Ethernet's, and of its payload.
const HEADERS_LEN: usize = 40;
const PAYLOAD_LEN: usize = 1460;

pub(crate) const LINES: &[Line] = &[
    Line { name: "flow_gen, 100 flows", reference: None, build: |_, _| made(Box::new(flow_gen()?)) },
    Line { name: "replay of 1,024 frames", reference: None, build: |_, _| made(Box::new(replay()?)) },
    Line {
        name: "replicate to 2 gates",
        reference: None,
        build: |_, batch| row_to(batch, vec![Box::new(Replicate::new(&[0, 1])?)], 2),
    },
    Line {
        name: "reclass",
        reference: None,
        build: |_, batch| Ok(Parts { prepare: rank, ..row(batch, vec![Box::new(reclass()?)])? }),
    },
    Line {
        name: "segments of 1,500 bytes",
        reference: None,
        build: |_, batch| row(batch, vec![segments()?]),
    },
    Line {
        name: "segments of 1,500 bytes, lro",
        reference: None,
        build: |_, batch| row(batch, vec![segments()?, lro()?, Box::new(LargeSink)]),
    },
    Line {
        name: "segments of 1,500 bytes, lro, tso",
        reference: None,
        build: |_, batch| row(batch, vec![segments()?, lro()?, Box::new(Tso::new(TsoParams::default())?)]),
    },
];

fn made(maker: Box<dyn Module>) -> Result<Parts> {
    let mut graph = Graph::new();
    let (maker, sink) = (graph.add("maker", maker)?, graph.add("sink", Box::new(Sink))?);
    graph.connect(maker, 0, sink, 0)?;
    Ok(Parts::new(graph))
}

/// Always late, so that each turn has a full batch to send.
fn flow_gen() -> Result<FlowGen> {
    Ok(FlowGen::new(FlowGenParams { quick_rampup: true, seed: 1, ..FlowGenParams::new(template(), 1e9) })?)
}

fn replay() -> Result<Replay> {
    let (frames, source) = channel();
    frames.send(vec![RecordedFrame { at: Duration::ZERO, data: template() }; 1024])?;
    Ok(Replay::new(ReplayParams { speed: 0.0, loops: 0 }, source)?)
}

fn reclass() -> Result<Reclass> {
    let classes = [("old".to_owned(), "new".to_owned())].into();
    Ok(Reclass::new(ReclassParams { classes, ..ReclassParams::default() })?)
}

/// The source's task is in the old class, the edge's in the new one, which take turns.
fn rank(worker: &mut Worker) -> Result<()> {
    let leaves =
        [("source", "old"), ("reclass0", "new")].map(|(module, class)| (worker.leaf(module, 0), class));
    worker.edit_classes(|tree| {
        let root = tree.add("root", None, Policy::RoundRobin, Position::None)?;
        for (leaf, name) in leaves {
            let class = tree.add(name, Some(root), Policy::RoundRobin, Position::None)?;
            let leaf = tree.find_leaf(leaf.context("it has no task")?).context("the task has no class")?;
            tree.reparent(leaf, Some(class), Position::None)?;
        }
        Ok(())
    })
}

fn lro() -> Result<Box<dyn Module>> {
    Ok(Box::new(Lro::new(LroParams::default())?))
}

/// A batch of segments of one flow that follow on one another, again and again.
fn segments() -> Result<Box<dyn Module>> {
    let segments: Vec<_> = (0..BATCH_LEN_MAX as u32).map(segment).collect();
    Ok(Box::new(Rewrite::new(&segments)?))
}

/// The `n`th segment from 10.0.0.1 to 10.0.0.2, with checksums.
fn segment(n: u32) -> Vec<u8> {
    let len = HEADERS_LEN + PAYLOAD_LEN;
    let mut packet = vec![0x45, 0];
    packet.extend((len as u16).to_be_bytes());
    packet.extend((n as u16).to_be_bytes());
    packet.extend([0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend([0x04, 0x57, 0x00, 0x50]);
    packet.extend((1 + n * PAYLOAD_LEN as u32).to_be_bytes());
    packet.extend([0, 0, 0, 1, 0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0]);
    packet.resize(len, 0x5a);
    let sum = Sum::of(&packet[..20]).finish();
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    let pseudo = Sum::of(&packet[12..20]) + Sum::of_u16(6) + Sum::of_u16((len - 20) as u16);
    let sum = (pseudo + Sum::of(&packet[20..])).finish();
    packet[36..38].copy_from_slice(&sum.to_be_bytes());
    [&template()[..14], &packet].concat()
}

/// A sink for large frames, too.
struct LargeSink;

impl Module for LargeSink {
    fn class(&self) -> &'static str {
        "large_sink"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::THROUGH
    }

    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        ctx.consume_batch(batch);
    }

    fn bulk_len_max(&self, _: &Context<'_>) -> usize {
        1 << 16
    }
}
