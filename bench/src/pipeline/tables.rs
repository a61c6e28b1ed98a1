//! Lines of modules with tables or state. Frames differ: the pool's chunks are filled before, as a source leaves a
//! frame's data as it was.

use std::net::Ipv4Addr;

use anyhow::{Context as _, Result};
use tidegate_base::Rng;
use tidegate_modules::header::{RandomField, RandomUpdate, Rewrite};
use tidegate_modules::lookup::{
    Acl, AclRule, ExactMatch, ExactMatchParams, ExactMatchRule, IpLookup, IpLookupParams,
};
use tidegate_modules::mark::{MetadataSource, MetadataValue, SetMetadata};
use tidegate_modules::nat::{ExternalAddress, Nat, NatParams, NatTimeouts};
use tidegate_modules::queue::{Queue, QueueParams};
use tidegate_modules::{Field, Position, SOURCE_LEN_DEFAULT, Sink, Source};
use tidegate_packet::{Batch, Frame, HeapMemory, Pool};
use tidegate_pipeline::metadata::Place;
use tidegate_pipeline::{Context, GateCounts, Graph, Module, Work, Worker, WorkerConfig, control};
use tidegate_sys::clock;

use super::lines::{Line, Parts, row, row_to};

/// Offsets in an Ethernet frame with IPv4 and no options.
const SRC: u64 = 26;
const DST: usize = 30;
const DST_PORT: u64 = 36;

const ROUTE_COUNT: u64 = 1_000_000;
const FLOW_COUNT: u32 = 1 << 20;
/// 10.0.0.0, of whose hosts flows come.
const INSIDE: u32 = 0x0a00_0000;
/// Ports of so many addresses are enough for the flows.
const OUTSIDE_COUNT: u32 = 20;

pub(crate) const LINES: &[Line] = &[
    Line { name: "queue", reference: Some(283.0), build: |_, batch| row(batch, vec![queue()?]) },
    Line {
        name: "exact match, 256 rules x 2 fields, 1 gate",
        reference: Some(53.0),
        build: |pool, batch| exact_match(pool, batch, 1),
    },
    Line {
        name: "exact match, 256 rules x 2 fields, 4 gates",
        reference: Some(53.0),
        build: |pool, batch| exact_match(pool, batch, 4),
    },
    Line {
        name: "set metadata, exact match on it",
        reference: Some(91.0),
        build: |_, batch| metadata(batch),
    },
    Line { name: "ip lookup, 1 M routes, 4 gates", reference: None, build: ip_lookup },
    Line { name: "acl, 1,000 rules", reference: None, build: acl },
    Line {
        name: "rewrite, random source, nat with 1 M flows",
        reference: None,
        build: |_, batch| nat(batch),
    },
];

/// Ethernet, IPv4 and UDP of 60 bytes.
fn template() -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    frame.extend([0x45, 0, 0, 46, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    frame.extend([0x04, 0x57, 0x08, 0xae, 0, 26, 0, 0]);
    frame.resize(60, 0);
    frame
}

/// Has `edit` make each chunk's packet another.
fn fill(pool: &mut Pool, mut edit: impl FnMut(usize, &mut [u8])) {
    let template = template();
    let mut frames: Vec<Frame> = std::iter::from_fn(|| pool.alloc()).collect();
    for (n, frame) in frames.iter_mut().enumerate() {
        frame.extend(&template);
        edit(n, frame.data_mut());
    }
    frames.into_iter().for_each(|frame| pool.free(frame));
}

fn queue() -> Result<Box<dyn Module>> {
    Ok(Box::new(Queue::new(QueueParams::default())?))
}

fn at(offset: u64, size: u64) -> Field {
    Field { position: Position::Offset(offset), size }
}

fn exact_match(pool: &mut Pool, batch: usize, gate_count: u64) -> Result<Parts> {
    fill(pool, |n, data| {
        data[29] = (n * 7) as u8;
        data[37] = (n * 7) as u8;
    });
    let fields = vec![at(SRC, 4), at(DST_PORT, 2)];
    let mut module = ExactMatch::new(ExactMatchParams { fields, masks: Vec::new(), seed: 1 })?;
    for n in 0..256 {
        let values = vec![u64::from(INSIDE) + n, 0x0800 + n];
        module.add(&ExactMatchRule { values, gate: n % gate_count })?;
    }
    row_to(batch, vec![Box::new(module)], gate_count as usize)
}

fn metadata(batch: usize) -> Result<Parts> {
    let value = MetadataValue { name: "tag".into(), size: 4, source: MetadataSource::Number(7) };
    let mut set = SetMetadata::new(&[value])?;
    set.bind(&[Place::At(0)]);
    let fields = vec![Field { position: Position::Attribute("tag".into()), size: 4 }];
    let mut module = ExactMatch::new(ExactMatchParams { fields, masks: Vec::new(), seed: 1 })?;
    module.bind(&[Place::At(0)]);
    for n in 0..256 {
        module.add(&ExactMatchRule { values: vec![n], gate: 0 })?;
    }
    row(batch, vec![Box::new(set), Box::new(module)])
}

fn ip_lookup(pool: &mut Pool, batch: usize) -> Result<Parts> {
    let mut rng = Rng::new(1);
    fill(pool, |_, data| data[DST..DST + 4].copy_from_slice(&rng.next_u32().to_be_bytes()));
    let mut module = IpLookup::new(IpLookupParams { max_rules: ROUTE_COUNT + 1, max_tbl8s: 1 << 16 })?;
    module.add(Ipv4Addr::UNSPECIFIED, 0, 0)?;
    for n in 0..ROUTE_COUNT {
        // Most routes of the Internet have 24 bits; a few are longer.
        let len = if n % 50 == 0 { 28 } else { 20 + rng.below(5) };
        let network = rng.next_u32() & !(u32::MAX >> len);
        module.add(network.into(), len, n % 4)?;
    }
    row_to(batch, vec![Box::new(module)], 4)
}

fn acl(pool: &mut Pool, batch: usize) -> Result<Parts> {
    let mut rng = Rng::new(1);
    let mut nets = Vec::new();
    let mut rules = Vec::new();
    for _ in 0..1000 {
        let (net, port) = (rng.next_u32() & 0xffff_ff00, 1 + rng.below(1000) as u16);
        nets.push((net, port));
        rules.push(AclRule { src: (net.into(), 24), dst_port: port, ..AclRule::ANY });
    }
    fill(pool, |n, data| {
        let (net, port) = nets[n % nets.len()];
        data[26..30].copy_from_slice(&(net + 9).to_be_bytes());
        data[36..38].copy_from_slice(&port.to_be_bytes());
    });
    row(batch, vec![Box::new(Acl::new(&rules)?)])
}

/// Emits a packet of each flow, one flow after the other.
struct Flows {
    next: u32,
    template: Vec<u8>,
}

impl Module for Flows {
    fn class(&self) -> &'static str {
        "flows"
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
            let Some(mut frame) = ctx.pool().alloc() else { break };
            frame.extend(&self.template);
            frame.data_mut()[26..30].copy_from_slice(&(INSIDE + self.next).to_be_bytes());
            self.next = (self.next + 1) % FLOW_COUNT;
            ctx.emit(0, frame);
        }
        Work::NONE
    }
}

/// A NAT that has a mapping for each flow.
fn nat_with_flows() -> Result<Box<dyn Module>> {
    let external =
        |n| ExternalAddress { address: Ipv4Addr::from_bits(0xc000_0200 + n), port_ranges: Vec::new() };
    let module = Nat::new(NatParams {
        external: (0..OUTSIDE_COUNT).map(external).collect(),
        flow_count_max: FLOW_COUNT as usize,
        timeouts: NatTimeouts::default(),
        seed: 1,
    })?;
    let mut graph = Graph::new();
    let flows = graph.add("flows", Box::new(Flows { next: 0, template: template() }))?;
    let nat = graph.add("nat", Box::new(module))?;
    let sink = graph.add("sink", Box::new(Sink))?;
    graph.connect(flows, 0, nat, 0)?;
    graph.connect(nat, 1, sink, 0)?;
    let pool = Pool::new(Box::new(HeapMemory::new(128 * 2048)), 2048)?;
    let (_control, commands) = control(|| {});
    let mut worker = Worker::new(WorkerConfig::default(), pool, Vec::new(), graph, commands);
    for _ in 0..FLOW_COUNT / 32 {
        worker.round(clock::now());
    }
    let modules = worker.replace(Graph::new())?;
    let nat = modules.into_iter().find(|(_, module)| module.class() == "nat");
    Ok(nat.context("the NAT is gone")?.1)
}

fn nat(batch: usize) -> Result<Parts> {
    let field =
        RandomField { offset: SRC, size: 4, min: INSIDE.into(), max: (INSIDE + FLOW_COUNT - 1).into() };
    let mut graph = Graph::new();
    let mut source = Source::new(SOURCE_LEN_DEFAULT);
    source.set_burst(batch);
    let source = graph.add("source", Box::new(source))?;
    let rewrite = graph.add("rewrite", Box::new(Rewrite::new(&[template()])?))?;
    let update = graph.add("random_update", Box::new(RandomUpdate::new(&[field], 1)?))?;
    let nat = graph.add("nat", nat_with_flows()?)?;
    let sink = graph.add("sink", Box::new(Sink))?;
    graph.chain(&[source, rewrite, update, nat])?;
    graph.connect(nat, 1, sink, 0)?;
    Ok(Parts::new(graph))
}
