//! What is measured: a graph a line. A new line is an entry of [`LINES`].

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use anyhow::Result;
use tidegate_base::Rng;
use tidegate_modules::encap::{VXLAN_PORT, VxlanEncap};
use tidegate_modules::header::{
    IpChecksum, IpSwap, L4Checksum, MacSwap, RandomField, RandomUpdate, Rewrite, Update, UpdateField,
    UpdateTtl, VlanPop, VlanPush,
};
use tidegate_modules::lookup::{IpLookup, IpLookupParams};
use tidegate_modules::split::{HashLb, HashLbParams, Merge, Split};
use tidegate_modules::{Bypass, Field, PortIn, PortOut, Position, SOURCE_LEN_DEFAULT, Sink, Source};
use tidegate_packet::{Batch, Pool};
use tidegate_pipeline::{Graph, Module, PortIndex, Worker};
use tidegate_port::{MemifConfig, MemifRole, NullPort, Port, joined_by_move, open_memif};

/// What a worker is made from.
pub(crate) struct Parts {
    pub(crate) graph: Graph,
    pub(crate) ports: Vec<Box<dyn Port>>,
    /// What is left to be done to the worker.
    pub(crate) prepare: fn(&mut Worker) -> Result<()>,
}

impl Parts {
    /// A graph that is all there is to it.
    pub(super) fn new(graph: Graph) -> Self {
        Self { graph, ports: Vec::new(), prepare: |_| Ok(()) }
    }
}

/// One line of the table.
pub(crate) struct Line {
    pub(crate) name: &'static str,
    /// Millions of packets a second of BESS, a maintained fork, on this kind of machine.
    pub(crate) reference: Option<f64>,
    /// Given the worker's pool and how many frames a batch has.
    pub(crate) build: fn(&mut Pool, usize) -> Result<Parts>,
}

/// Every line, simple ones first.
pub(crate) const LINES: &[Line] = &[
    Line { name: "source, sink", reference: Some(541.0), build: |_, batch| row(batch, Vec::new()) },
    Line { name: "1 bypass", reference: Some(472.0), build: |_, batch| row(batch, bypasses(1)) },
    Line { name: "10 bypass", reference: Some(200.0), build: |_, batch| row(batch, bypasses(10)) },
    Line { name: "null port in, out", reference: Some(145.0), build: |_, _| through_null_ports() },
    Line {
        name: "null port in, mac_swap, out",
        reference: Some(121.0),
        build: |_, _| between(null_ports(), [(0, 1), (1, 0)], || Some(Box::new(MacSwap))),
    },
    Line { name: "memory in, out", reference: None, build: |pool, _| over_memory(pool) },
    Line { name: "memif in, out", reference: None, build: |pool, _| over_memif(pool) },
    Line { name: "rewrite", reference: Some(317.0), build: |_, batch| rewritten(batch, Vec::new()) },
    Line {
        name: "rewrite, mac_swap",
        reference: Some(227.0),
        build: |_, batch| rewritten(batch, vec![Box::new(MacSwap)]),
    },
    Line {
        name: "router, 65,536 destinations",
        reference: Some(47.0),
        build: |_, batch| router(batch, RandomField { offset: 32, size: 2, min: 0, max: 0xffff }),
    },
    Line {
        name: "router, any destination",
        reference: Some(47.0),
        build: |_, batch| router(batch, ANY_DESTINATION),
    },
    Line {
        name: "rewrite, ip_swap",
        reference: None,
        build: |_, batch| rewritten(batch, vec![Box::new(IpSwap)]),
    },
    Line {
        name: "rewrite, vlan_push, vlan_pop",
        reference: None,
        build: |_, batch| rewritten(batch, vec![Box::new(VlanPush::new(5)?), Box::new(VlanPop)]),
    },
    Line {
        name: "rewrite, update",
        reference: None,
        build: |_, batch| rewritten(batch, vec![Box::new(update()?)]),
    },
    Line {
        name: "rewrite, random_update",
        reference: None,
        build: |_, batch| rewritten(batch, vec![Box::new(random_update()?)]),
    },
    Line {
        name: "rewrite, update_ttl",
        reference: None,
        build: |_, batch| rewritten(batch, vec![Box::new(UpdateTtl::default())]),
    },
    Line {
        name: "rewrite, ip_checksum",
        reference: None,
        build: |_, batch| rewritten(batch, vec![Box::new(IpChecksum::new(false))]),
    },
    Line {
        name: "rewrite, l4_checksum",
        reference: None,
        build: |_, batch| rewritten(batch, vec![Box::new(L4Checksum::new(false))]),
    },
    Line {
        name: "rewrite, vxlan_encap",
        reference: None,
        build: |_, batch| rewritten(batch, vec![Box::new(VxlanEncap::new(VXLAN_PORT)?)]),
    },
    Line {
        name: "rewrite, split",
        reference: None,
        build: |_, batch| rewritten(batch, vec![Box::new(split()?)]),
    },
    Line {
        name: "rewrite, hash_lb",
        reference: None,
        build: |_, batch| rewritten(batch, vec![Box::new(hash_lb()?)]),
    },
];

/// A UDP packet from 10.0.0.1 to 10.0.0.2, of the length of the source's frames; its checksums are zero.
pub(super) fn template() -> Vec<u8> {
    let mut frame = vec![0; SOURCE_LEN_DEFAULT];
    frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
    frame[14..24].copy_from_slice(&[0x45, 0, 0, 46, 0, 0, 0x40, 0, 64, 17]);
    frame[26..34].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
    frame[34..40].copy_from_slice(&[0x04, 0x57, 0x08, 0xae, 0, 26]);
    frame
}

/// A row that makes the source's frames packets first.
fn rewritten(batch: usize, middle: Vec<Box<dyn Module>>) -> Result<Parts> {
    let mut all: Vec<Box<dyn Module>> = vec![Box::new(Rewrite::new(&[template()])?)];
    all.extend(middle);
    row(batch, all)
}

/// Looks random destinations up, and does what a router does to a packet.
fn router(batch: usize, destination: RandomField) -> Result<Parts> {
    const GATE_COUNT: usize = 4;
    let mut graph = Graph::new();
    let mut source = Source::new(SOURCE_LEN_DEFAULT);
    source.set_burst(batch);
    let source = graph.add("source", Box::new(source))?;
    let rewrite = graph.add("rewrite", Box::new(Rewrite::new(&[template()])?))?;
    let random = graph.add("random_update", Box::new(RandomUpdate::new(&[destination], 1)?))?;
    let checksum = graph.add("ip_checksum", Box::new(IpChecksum::new(false)))?;
    let lookup = graph.add("ip_lookup", Box::new(routes(GATE_COUNT as u64)?))?;
    let merge = graph.add("merge", Box::new(Merge))?;
    let ttl = graph.add("update_ttl", Box::new(UpdateTtl::default()))?;
    let update = graph.add("update", Box::new(update()?))?;
    let sink = graph.add("sink", Box::new(Sink))?;
    graph.chain(&[source, rewrite, random, checksum, lookup])?;
    for gate in 0..GATE_COUNT {
        graph.connect(lookup, gate, merge, gate)?;
    }
    graph.chain(&[merge, ttl, update, sink])?;
    Ok(Parts::new(graph))
}

/// A thousand routes of 16 to 24 bits and a default route, to each gate in turn.
fn routes(gate_count: u64) -> Result<IpLookup> {
    let mut rng = Rng::new(1);
    let mut module = IpLookup::new(IpLookupParams { max_rules: 1001, max_tbl8s: 128 })?;
    module.add(Ipv4Addr::UNSPECIFIED, 0, 0)?;
    for n in 0..1000 {
        let len = 16 + rng.below(9);
        module.add((rng.next_u32() & !(u32::MAX >> len)).into(), len, n % gate_count)?;
    }
    Ok(module)
}

/// New Ethernet addresses.
fn update() -> Result<Update> {
    let field = |offset, value| UpdateField { offset, size: 6, value };
    Ok(Update::new(&[field(0, 0x0200_0000_0003), field(6, 0x0200_0000_0004)])?)
}

/// The destination address.
const ANY_DESTINATION: RandomField = RandomField { offset: 30, size: 4, min: 0, max: 0xffff_ffff };

fn random_update() -> Result<RandomUpdate> {
    Ok(RandomUpdate::new(&[ANY_DESTINATION], 1)?)
}

/// By a byte that is zero in all frames.
fn split() -> Result<Split> {
    Ok(Split::new(&Field { position: Position::Offset(15), size: 1 })?)
}

/// Over one gate: what the hash costs.
fn hash_lb() -> Result<HashLb> {
    Ok(HashLb::new(&HashLbParams { gates: vec![0], ..HashLbParams::default() })?)
}

fn bypasses(count: usize) -> Vec<Box<dyn Module>> {
    (0..count).map(|_| -> Box<dyn Module> { Box::new(Bypass::default()) }).collect()
}

/// A source, these modules one after the other, gate 0 to gate 0, and a sink.
pub(super) fn row(batch: usize, middle: Vec<Box<dyn Module>>) -> Result<Parts> {
    row_to(batch, middle, 1)
}

/// The same, with so many gates of the last module leading to the sink.
pub(super) fn row_to(batch: usize, middle: Vec<Box<dyn Module>>, gate_count: usize) -> Result<Parts> {
    let mut graph = Graph::new();
    let mut source = Source::new(SOURCE_LEN_DEFAULT);
    source.set_burst(batch);
    let mut last = graph.add("source", Box::new(source))?;
    for (n, module) in middle.into_iter().enumerate() {
        let next = graph.add(&format!("{}{n}", module.class()), module)?;
        graph.connect(last, 0, next, 0)?;
        last = next;
    }
    let sink = graph.add("sink", Box::new(Sink))?;
    for gate in 0..gate_count {
        graph.connect(last, gate, sink, 0)?;
    }
    Ok(Parts::new(graph))
}

/// What one port gives goes out by another, both ways, as between two NICs.
fn through_null_ports() -> Result<Parts> {
    between(null_ports(), [(0, 1), (1, 0)], || None)
}

fn null_ports() -> Vec<Box<dyn Port>> {
    vec![Box::new(NullPort::default()), Box::new(NullPort::default())]
}

/// Frames go round between the two ends of a memory port: each end returns what it gets.
fn over_memory(pool: &mut Pool) -> Result<Parts> {
    let (mut left, mut right) = joined_by_move(1024, 1514);
    for port in [&mut left, &mut right] {
        feed(port, pool);
    }
    between(vec![Box::new(left), Box::new(right)], [(0, 0), (1, 1)], || None)
}

/// Puts frames on their way from a port.
fn feed(port: &mut impl Port, pool: &mut Pool) {
    for _ in 0..ROUND_TRIP_BATCH_COUNT {
        let mut batch = Batch::new();
        pool.alloc_batch(batch.room(), SOURCE_LEN_DEFAULT, &mut batch);
        port.tx(pool, &mut batch);
        pool.free_batch(&mut batch);
    }
    port.flush(pool);
}

/// Frames under way each way, in batches of 32: a quarter of a ring.
const ROUND_TRIP_BATCH_COUNT: usize = 8;

/// Frames go round between the two ends of a memif link, both in this process: each end returns what it gets.
fn over_memif(pool: &mut Pool) -> Result<Parts> {
    let socket = format!("@tidegate-bench-{}", std::process::id());
    let mut ports = open_memif(MemifConfig::new(&socket, MemifRole::Server))?;
    ports.extend(open_memif(MemifConfig::new(&socket, MemifRole::Client))?);
    let start = Instant::now();
    for port in &mut ports {
        while !port.is_connected() {
            anyhow::ensure!(
                start.elapsed() < Duration::from_secs(10),
                "the two ends did not find each other"
            );
            std::thread::sleep(Duration::from_millis(1));
            port.tx_room(pool);
        }
    }
    for port in &mut ports {
        // The client's end has to give buffers first, which it did when it found the link.
        feed(port, pool);
    }
    let ports = ports.into_iter().map(|port| -> Box<dyn Port> { Box::new(port) });
    between(ports.collect(), [(0, 0), (1, 1)], || None)
}

/// From ports to ports, each time through a module if there is one.
fn between(
    ports: Vec<Box<dyn Port>>,
    pairs: [(usize, usize); 2],
    module: fn() -> Option<Box<dyn Module>>,
) -> Result<Parts> {
    let mut graph = Graph::new();
    for (from, to) in pairs {
        let mut row = vec![graph.add(&format!("in{from}"), Box::new(PortIn::new(PortIndex(from))))?];
        if let Some(module) = module() {
            row.push(graph.add(&format!("{}{from}", module.class()), module)?);
        }
        row.push(graph.add(&format!("out{to}"), Box::new(PortOut::new(PortIndex(to))))?);
        graph.chain(&row)?;
    }
    Ok(Parts { ports, ..Parts::new(graph) })
}
