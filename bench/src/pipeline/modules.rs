//! A line for each module that has none elsewhere: frames that it works on, and nothing beside. What one costs is the time
//! of its line less that of `rewrite` alone (`scripts/cards`).

use std::net::Ipv4Addr;

use anyhow::{Context as _, Result};
use tidegate_base::Duration;
use tidegate_modules::balance::{LinkAggregation, LinkMode, LoadBalancer, LoadBalancerParams};
use tidegate_modules::bpf::{Bpf, BpfFilter, Instruction, Program};
use tidegate_modules::encap::{
    EncapField, EtherEncap, GENEVE_PORT, GenericDecap, GenericEncap, GeneveDecap, GeneveEncap, GreDecap,
    GreEncap, GreParams, Insertion, IpEncap, VXLAN_PORT, VxlanDecap,
};
use tidegate_modules::header::{MplsPop, MplsPopParams, Rewrite};
use tidegate_modules::lookup::{L2Forward, L2ForwardParams, WildcardMatch, WildcardMatchRule};
use tidegate_modules::mark::{MetadataSource, MetadataValue, SetMetadata, Timestamp, TimestampPlace};
use tidegate_modules::nat::{AddressPair, StaticNat};
use tidegate_modules::queue::{Drr, DrrParams, RateLimiter, RateLimiterParams};
use tidegate_modules::split::{
    Merge, RandomSplit, RandomSplitParams, RoundRobin, RoundRobinMode, VlanSplit, WorkerSplit,
};
use tidegate_modules::url_filter::{URL_FILTER_FLOW_COUNT_DEFAULT, UrlFilter};
use tidegate_modules::{
    ArpResponder, Buffer, Dump, Field, Impair, ImpairConfig, Measure, MeasureParams, Position,
};
use tidegate_pipeline::Module;
use tidegate_pipeline::metadata::Place;
use tidegate_wire::MacAddr;

use super::lines::{Line, Parts, row_to, template};

/// A row of the packets' template and a module.
macro_rules! lines {
    ($($class:literal: $gate_count:literal, $packet:expr, $module:expr;)*) => {
        &[$(Line {
            name: concat!("rewrite, ", $class),
            reference: None,
            build: |_, batch| row(batch, &$packet, Box::new($module), $gate_count),
        }),*]
    };
}

pub(crate) const LINES: &[Line] = lines! {
    "merge": 1, template(), Merge;
    "round_robin": 4, template(), RoundRobin::new(&[0, 1, 2, 3], RoundRobinMode::Packet)?;
    "random_split": 4, template(), RandomSplit::new(&RandomSplitParams { drop_rate: 0.0, gates: vec![0, 1, 2, 3], seed: 1 })?;
    "vlan_split": 1, template(), VlanSplit;
    "worker_split": 1, template(), WorkerSplit::new(0, &[])?;
    "set_metadata": 1, template(), set_metadata()?;
    "timestamp": 1, long_template(), Timestamp::new(&TimestampPlace::default())?;
    "measure": 1, long_template(), Measure::new(&MeasureParams::default())?;
    "ether_encap": 1, template(), EtherEncap::new();
    "ip_encap": 1, template(), IpEncap::new();
    "generic_encap": 1, template(), GenericEncap::new(&[EncapField { size: 4, insertion: Insertion::Value(7) }])?;
    "generic_decap": 1, template(), GenericDecap::new(14)?;
    "gre_encap": 1, template(), GreEncap::new(GreParams::default());
    "gre_decap": 1, gre(), GreDecap::new();
    "geneve_encap": 1, template(), GeneveEncap::new(GENEVE_PORT)?;
    "geneve_decap": 1, over_udp(GENEVE_PORT, [0, 0, 0x65, 0x58, 0, 0, 42, 0]), GeneveDecap::new();
    "vxlan_decap": 1, over_udp(VXLAN_PORT, [8, 0, 0, 0, 0, 0, 42, 0]), VxlanDecap::new();
    "mpls_pop": 1, mpls(), MplsPop::new(MplsPopParams::default())?;
    "l2_forward": 1, template(), l2_forward()?;
    "wildcard_match": 1, template(), wildcard_match()?;
    "bpf": 2, template(), bpf()?;
    "arp_responder": 1, arp_request(), arp_responder()?;
    "load_balancer": 4, template(), LoadBalancer::new(&LoadBalancerParams::new(vec![0, 1, 2, 3]))?;
    "link_aggregation": 5, template(), LinkAggregation::new(4, LinkMode::Spread, 1)?;
    "static_nat": 2, template(), static_nat()?;
    "url_filter": 1, template(), UrlFilter::new(Vec::new(), URL_FILTER_FLOW_COUNT_DEFAULT, 1)?;
    "drr": 1, template(), Drr::new(DrrParams::default())?;
    "rate_limiter": 1, template(), rate_limiter()?;
    "impair": 1, template(), Impair::new(ImpairConfig::default());
    "buffer": 1, template(), Buffer::default();
    "dump": 1, template(), Dump::new(Duration::from_secs(1), Box::new(|_, _| ()))?;
};

fn row(batch: usize, packet: &[u8], module: Box<dyn Module>, gate_count: usize) -> Result<Parts> {
    row_to(batch, vec![Box::new(Rewrite::new(&[packet.to_vec()])?), module], gate_count)
}

/// With room for a time.
fn long_template() -> Vec<u8> {
    [template(), vec![0; 16]].concat()
}

/// The template inside IPv4 of this protocol, behind these bytes.
fn over_ipv4(protocol: u8, between: &[u8]) -> Vec<u8> {
    let inner = template();
    let len = (20 + between.len() + inner.len()) as u16;
    let mut frame = inner[..14].to_vec();
    frame.extend([0x45, 0]);
    frame.extend(len.to_be_bytes());
    frame.extend([0, 0, 0x40, 0, 64, protocol, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
    frame.extend(between);
    frame.extend(inner);
    frame
}

fn over_udp(port: u64, header: [u8; 8]) -> Vec<u8> {
    let len = (8 + header.len() + template().len()) as u16;
    let udp = [[0x12, 0x34], (port as u16).to_be_bytes(), len.to_be_bytes(), [0, 0]].concat();
    over_ipv4(17, &[&udp[..], &header].concat())
}

/// With a key.
fn gre() -> Vec<u8> {
    over_ipv4(47, &[0x20, 0, 0x65, 0x58, 0, 0, 0, 42])
}

fn mpls() -> Vec<u8> {
    let packet = template();
    let label = [0x88, 0x47, 0, 0, 0x11, 64];
    [&packet[..12], &label, &packet[14..]].concat()
}

/// Who has 10.0.0.2? (RFC 826)
fn arp_request() -> Vec<u8> {
    let mut frame = template();
    frame[..6].fill(0xff);
    frame[12..22].copy_from_slice(&[8, 6, 0, 1, 8, 0, 6, 4, 0, 1]);
    frame[22..42].copy_from_slice(&[2, 0, 0, 0, 0, 1, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 2]);
    frame
}

fn arp_responder() -> Result<ArpResponder> {
    let mut module = ArpResponder::new(false, 1);
    module.add(Ipv4Addr::new(10, 0, 0, 2), MacAddr([2, 0, 0, 0, 0, 2]))?;
    Ok(module)
}

fn set_metadata() -> Result<SetMetadata> {
    let value = MetadataValue { name: "tag".into(), size: 4, source: MetadataSource::Number(7) };
    let mut set = SetMetadata::new(&[value])?;
    set.bind(&[Place::At(0)]);
    Ok(set)
}

/// A thousand addresses, and that of the template.
fn l2_forward() -> Result<L2Forward> {
    let mut module = L2Forward::new(L2ForwardParams::default())?;
    let others = (0..1000_u32).map(|n| {
        let [a, b, c, d] = n.to_be_bytes();
        (MacAddr([6, 0, a, b, c, d]), 0)
    });
    module.add(&others.collect::<Vec<_>>())?;
    let ours = *template().first_chunk().context("a template without addresses")?;
    module.add(&[(MacAddr(ours), 0)])?;
    Ok(module)
}

/// 256 rules under four masks; the template meets one of the last.
fn wildcard_match() -> Result<WildcardMatch> {
    let field = |offset, size| Field { position: Position::Offset(offset), size };
    let mut module = WildcardMatch::new(vec![field(26, 4), field(36, 2)], 1)?;
    for n in 0..256 {
        let masks =
            [[u64::from(u32::MAX), 0xffff], [0xffff_ff00, 0xffff], [0xffff_0000, 0xffff], [0, 0xffff]];
        let masks = masks[n as usize % 4].to_vec();
        let values = vec![0x0a00_0001 & masks[0], 0x08ae - (255 - n)];
        module.add(&WildcardMatchRule { priority: 1, values, masks, gate: 0 })?;
    }
    Ok(module)
}

/// `udp` over IPv4 to gate 1.
fn bpf() -> Result<Bpf> {
    let program = [
        (40, 0, 0, 12),
        (21, 0, 3, 0x0800),
        (48, 0, 0, 23),
        (21, 0, 1, 17),
        (6, 0, 0, 262_144),
        (6, 0, 0, 0),
    ];
    let instruction = |(code, jump_true, jump_false, k)| Instruction { code, jump_true, jump_false, k };
    let program = Program::new(program.map(instruction).to_vec())?;
    Ok(Bpf::new(vec![BpfFilter { priority: 1, expression: "ip and udp".into(), program, gate: 1 }])?)
}

fn static_nat() -> Result<StaticNat> {
    let range = |a, b| (Ipv4Addr::new(a, 0, b, 0), Ipv4Addr::new(a, 0, b, 255));
    Ok(StaticNat::new(vec![AddressPair { internal: range(10, 0), external: range(192, 2) }])?)
}

/// A flow so fast that its frames wait for the end of a slot only.
fn rate_limiter() -> Result<RateLimiter> {
    let flow = Field { position: Position::Offset(48), size: 4 };
    let params = RateLimiterParams { queued_max_a_flow: 4096, ..RateLimiterParams::new(flow) };
    let mut module = RateLimiter::new(&params)?;
    module.set_rate(0, 1_000_000_000_000)?;
    Ok(module)
}
