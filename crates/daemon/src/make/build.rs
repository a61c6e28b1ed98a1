//! A module from its class's argument.

use super::field::{field, gates, number, unsigned};
use super::{Seat, refused};
use tidegate_base::Duration;
use tidegate_control::classes::ModuleClass;
use tidegate_control::proto::bess;
use tidegate_control::{Fault, Message};
use tidegate_modules::encap::*;
use tidegate_modules::header::*;
use tidegate_modules::mark::*;
use tidegate_modules::queue::{Queue, QueueParams};
use tidegate_modules::split::*;
use tidegate_modules::*;
use tidegate_pipeline::Module;

/// Shown of a frame, in bytes.
const DUMP_LEN_MAX: usize = 64;
/// The longest frame that a source makes.
const SOURCE_LEN_MAX: u64 = 1536;

type Built = Result<Box<dyn Module>, Fault>;

/// A module of `class`, whose argument has the kind that the class's table names.
pub(super) fn build(class: &ModuleClass, arg: Message, seat: Seat) -> Built {
    match arg {
        Message::SourceArg(arg) => source(arg.pkt_size),
        Message::BypassArg(arg) => boxed(Bypass::new(BypassParams {
            cycles_per_batch: arg.cycles_per_batch,
            cycles_per_packet: arg.cycles_per_packet,
            cycles_per_byte: arg.cycles_per_byte,
        })),
        Message::PortIncArg(_) => boxed(PortIn::new(seat.port)),
        Message::PortOutArg(_) => boxed(PortOut::new(seat.port)),
        Message::ArpResponderArg(arg) => arp_responder(&arg),
        Message::QueueArg(arg) => made(Queue::new(queue_params(&arg))),
        Message::DumpArg(arg) => dump(arg.interval),
        Message::NoOpArg(_) => boxed(NoOp::default()),
        Message::BufferArg(_) => boxed(Buffer::default()),
        Message::SinkArg(_) => boxed(Sink),
        other => match build_header(class, other)? {
            Ok(module) => Ok(module),
            Err(other) => build_steering(class, other, seat),
        },
    }
}

/// Modules that change headers; the argument back if it is none of theirs.
fn build_header(class: &ModuleClass, arg: Message) -> Result<Result<Box<dyn Module>, Message>, Fault> {
    let module = match (class.name, arg) {
        ("IPSwap", _) => boxed(IpSwap),
        ("UpdateTTL", _) => boxed(UpdateTtl::default()),
        ("MACSwap", _) => boxed(MacSwap),
        ("VLANPop", _) => boxed(VlanPop),
        (_, Message::VlanPushArg(arg)) => made(VlanPush::new(arg.tci)),
        (_, Message::IpChecksumArg(arg)) => boxed(IpChecksum::new(arg.verify)),
        (_, Message::L4ChecksumArg(arg)) => boxed(L4Checksum::new(arg.verify)),
        (_, Message::MplsPopArg(arg)) => made(MplsPop::new(mpls_params(&arg))),
        (_, Message::RewriteArg(arg)) => made(Rewrite::new(&arg.templates)),
        (_, Message::UpdateArg(arg)) => made(Update::new(&update_fields(&arg)?)),
        (_, Message::RandomUpdateArg(arg)) => made(RandomUpdate::new(&random_fields(&arg)?, seed()?)),
        (_, Message::EtherEncapArg(_)) => boxed(EtherEncap::new()),
        (_, Message::IpEncapArg(_)) => boxed(IpEncap::new()),
        (_, Message::VxlanEncapArg(arg)) => made(VxlanEncap::new(vxlan_port(arg.dstport))),
        (_, Message::VxlanDecapArg(_)) => boxed(VxlanDecap::new()),
        (_, Message::GenericDecapArg(arg)) => made(GenericDecap::new(arg.bytes)),
        (_, Message::GenericEncapArg(arg)) => made(GenericEncap::new(&encap_fields(&arg)?)),
        (_, other) => return Ok(Err(other)),
    };
    module.map(Ok)
}

/// Modules that steer and mark.
fn build_steering(class: &ModuleClass, arg: Message, seat: Seat) -> Built {
    match arg {
        Message::MergeArg(_) => boxed(Merge),
        Message::VlanSplitArg(_) => boxed(VlanSplit),
        Message::SplitArg(arg) => made(Split::new(&split_field(arg)?)),
        Message::HashLbArg(arg) => made(HashLb::new(&HashLbParams {
            gates: gates(&arg.gates)?,
            mode: hash_mode(&arg.mode, &arg.fields)?,
            seed: 0,
        })),
        Message::RandomSplitArg(arg) => made(RandomSplit::new(&RandomSplitParams {
            drop_rate: arg.drop_rate,
            gates: gates(&arg.gates)?,
            seed: seed()?,
        })),
        Message::RoundRobinArg(arg) => {
            made(RoundRobin::new(&gates(&arg.gates)?, round_robin_mode(&arg.mode)?))
        }
        Message::ReplicateArg(arg) => made(Replicate::new(&gates(&arg.gates)?)),
        Message::WorkerSplitArg(arg) => made(WorkerSplit::new(seat.wid.into(), &worker_gates(&arg))),
        Message::TimestampArg(arg) => made(Timestamp::new(&timestamp_place(arg))),
        Message::SetMetadataArg(arg) => made(SetMetadata::new(&metadata_values(arg)?)),
        Message::MetadataTestArg(arg) => made(MetadataTest::new(&metadata_test(arg)?)),
        _ => Err(Fault::unsupported(format!("there are no modules of class {} here yet", class.name))),
    }
}

fn boxed(module: impl Module) -> Built {
    Ok(Box::new(module))
}

fn made<M: Module>(module: Result<M, ParameterError>) -> Built {
    module.map(|module| Box::new(module) as Box<dyn Module>).map_err(refused)
}

/// Where draws by lot start.
fn seed() -> Result<u64, Fault> {
    tidegate_sys::random::u64().map_err(|error| Fault::new(tidegate_control::Errno::EIO, error.to_string()))
}

fn source(size: u64) -> Built {
    Ok(Box::new(Source::new(source_len(size)?)))
}

/// Bytes of a source's frames; 0 for its own choice.
pub(super) fn source_len(size: u64) -> Result<usize, Fault> {
    match size {
        0 => Ok(SOURCE_LEN_DEFAULT),
        1..=SOURCE_LEN_MAX => Ok(size as usize),
        _ => {
            Err(Fault::invalid(format!("frames of {size} bytes are too long: give {SOURCE_LEN_MAX} at most")))
        }
    }
}

fn arp_responder(arg: &bess::ArpResponderArg) -> Built {
    let mut module = ArpResponder::new(false, seed()?);
    if !arg.ip.is_empty() || !arg.mac_addr.is_empty() {
        let (ip, mac) = arp_entry(arg)?;
        module.add(ip, mac).map_err(refused)?;
    }
    Ok(Box::new(module))
}

pub(super) fn arp_entry(
    arg: &bess::ArpResponderArg,
) -> Result<(std::net::Ipv4Addr, tidegate_wire::MacAddr), Fault> {
    let ip = arg
        .ip
        .parse()
        .map_err(|_| Fault::invalid(format!("`{}` is no IPv4 address", arg.ip.escape_debug())))?;
    let bytes: Option<Vec<u8>> =
        arg.mac_addr.split(':').map(|byte| u8::from_str_radix(byte, 16).ok()).collect();
    let mac: Option<[u8; 6]> = bytes.and_then(|bytes| bytes.try_into().ok());
    let mac =
        mac.ok_or_else(|| Fault::invalid(format!("`{}` is no MAC address", arg.mac_addr.escape_debug())))?;
    Ok((ip, tidegate_wire::MacAddr(mac)))
}

fn dump(interval: f64) -> Built {
    let viewer: Viewer = Box::new(|_, data: &[u8]| {
        let shown = &data[..data.len().min(DUMP_LEN_MAX)];
        tracing::info!("a frame of {} bytes: {}", data.len(), Hex(shown));
    });
    made(Dump::new(dump_interval(interval)?, viewer))
}

/// Seconds; 0 for the module's own choice.
pub(super) fn dump_interval(seconds: f64) -> Result<Duration, Fault> {
    if seconds == 0.0 {
        return Ok(DUMP_INTERVAL_DEFAULT);
    }
    let nanos = seconds * 1e9;
    if !(0.0..=1e18).contains(&nanos) {
        return Err(Fault::invalid(format!("an interval of {seconds} s is none: give 0 to 86400")));
    }
    Ok(Duration::from_nanos(nanos as u64))
}

/// 0 for the module's own size.
pub(super) fn queue_params(arg: &bess::QueueArg) -> QueueParams {
    let size = if arg.size == 0 { QueueParams::default().size } else { arg.size };
    QueueParams { size, prefetch: arg.prefetch, backpressure: arg.backpressure }
}

pub(super) fn mpls_params(arg: &bess::MplsPopArg) -> MplsPopParams {
    let own = MplsPopParams::default().next_ether_type;
    let next_ether_type = if arg.next_eth_type == 0 { own } else { arg.next_eth_type };
    MplsPopParams { remove_eth_header: arg.remove_eth_header, next_ether_type }
}

pub(super) fn update_fields(arg: &bess::UpdateArg) -> Result<Vec<UpdateField>, Fault> {
    let field = |field: &bess::update_arg::Field| {
        let offset = unsigned("an offset", field.offset)?;
        Ok(UpdateField { offset, size: field.size, value: field.value })
    };
    arg.fields.iter().map(field).collect()
}

pub(super) fn random_fields(arg: &bess::RandomUpdateArg) -> Result<Vec<RandomField>, Fault> {
    let field = |field: &bess::random_update_arg::Field| {
        let offset = unsigned("an offset", field.offset)?;
        Ok(RandomField { offset, size: field.size, min: field.min, max: field.max })
    };
    arg.fields.iter().map(field).collect()
}

/// 0 for the registered one.
const fn vxlan_port(port: u64) -> u64 {
    if port == 0 { 4789 } else { port }
}

fn encap_fields(arg: &bess::GenericEncapArg) -> Result<Vec<EncapField>, Fault> {
    use bess::generic_encap_arg::encap_field::Insertion as Given;
    let field = |field: &bess::generic_encap_arg::EncapField| {
        let insertion = match &field.insertion {
            Some(Given::Attribute(name)) => Insertion::Attribute(name.clone()),
            Some(Given::Value(value)) => Insertion::Value(number(value)?),
            None => Insertion::Value(0),
        };
        Ok(EncapField { size: field.size, insertion })
    };
    arg.fields.iter().map(field).collect()
}

fn split_field(arg: bess::SplitArg) -> Result<Field, Fault> {
    let position = match arg.r#type {
        Some(bess::split_arg::Type::Attribute(name)) => Position::Attribute(name),
        Some(bess::split_arg::Type::Offset(offset)) => Position::Offset(unsigned("an offset", offset)?),
        None => Position::Offset(0),
    };
    Ok(Field { position, size: arg.size })
}

pub(super) fn hash_mode(mode: &str, fields: &[bess::Field]) -> Result<HashMode, Fault> {
    if !fields.is_empty() {
        return Ok(HashMode::Fields(fields.iter().map(field).collect()));
    }
    if mode.is_empty() {
        return Ok(HashMode::default());
    }
    mode.parse().map(HashMode::Layer).map_err(refused)
}

pub(super) fn round_robin_mode(mode: &str) -> Result<RoundRobinMode, Fault> {
    if mode.is_empty() { Ok(RoundRobinMode::default()) } else { mode.parse().map_err(refused) }
}

pub(super) fn worker_gates(arg: &bess::WorkerSplitArg) -> Vec<(u32, u32)> {
    arg.worker_gates.iter().map(|(worker, gate)| (*worker, *gate)).collect()
}

fn timestamp_place(arg: bess::TimestampArg) -> TimestampPlace {
    match arg.r#type {
        Some(bess::timestamp_arg::Type::Offset(offset)) => TimestampPlace::Offset(offset),
        Some(bess::timestamp_arg::Type::AttrName(name)) => TimestampPlace::Attribute(name),
        None => TimestampPlace::default(),
    }
}

fn metadata_values(arg: bess::SetMetadataArg) -> Result<Vec<MetadataValue>, Fault> {
    use bess::set_metadata_arg::attribute::Value;
    let value = |it: bess::set_metadata_arg::Attribute| {
        let source = match it.value {
            Some(Value::ValueInt(number)) => MetadataSource::Number(number),
            Some(Value::ValueBin(bytes)) => MetadataSource::Bytes(bytes),
            None => MetadataSource::Frame {
                offset: unsigned("an offset", it.offset.into())?,
                mask: it.mask,
                shift_right: it.rshift_bits,
            },
        };
        Ok(MetadataValue { name: it.name, size: it.size, source })
    };
    arg.attrs.into_iter().map(value).collect()
}

fn metadata_test(arg: bess::MetadataTestArg) -> Result<MetadataTestParams, Fault> {
    let list = |list: std::collections::HashMap<String, i64>| {
        let mut sizes = Vec::new();
        for (name, size) in list {
            sizes.push((name, unsigned("the size of an attribute", size)?));
        }
        sizes.sort();
        Ok::<_, Fault>(sizes)
    };
    Ok(MetadataTestParams { read: list(arg.read)?, write: list(arg.write)?, update: list(arg.update)? })
}
