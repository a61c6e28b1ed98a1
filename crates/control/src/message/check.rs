//! What can be said of a message's values without knowing the module that it is for: a gate exists, a
//! share lies between 0 and 1, a `oneof` that decides the meaning is there.
//!
//! Addresses, prefixes, filter expressions and modes are not looked at: the module parses them anyway.

use std::collections::HashMap;
use std::fmt::Display;
use std::ops::RangeInclusive;

use super::Message;
use crate::names::quoted;
use crate::proto::bess::{self, Field, FieldData, field, generic_encap_arg, set_metadata_arg};
use crate::{DROP_GATE, GATES_MAX, WORKERS_MAX};

/// Packets that a batch may have.
const BURST_MAX: u64 = 32;
/// Bytes of data in a packet buffer.
const DATA_LEN_MAX: u64 = 2048;
/// Bytes of a metadata attribute.
const ATTRIBUTE_LEN_MAX: u64 = 32;
/// Bytes of a field that is matched, set or put in front.
const FIELD_LEN_MAX: u64 = 8;
/// Bytes of a name inside a message.
const NAME_LEN_MAX: usize = 255;
/// Bytes of a path (`PATH_MAX`), its end not counted.
const PATH_LEN_MAX: usize = 4095;
/// Bytes of a host's name (RFC 1035 section 2.3.4).
const HOST_LEN_MAX: usize = 255;
/// Flows of a module, or packets that wait in one.
const FLOWS_MAX: u64 = 1 << 22;
/// Seconds that anything may last.
const HOUR_S: u64 = 3_600;
/// Bytes of a socket's path (unix(7)), its end counted.
const SOCKET_PATH_LEN_MAX: usize = 107;
/// Bytes of an interface's name (`IFNAMSIZ`), its end not counted.
const INTERFACE_NAME_LEN_MAX: usize = 15;
/// Bits of an IPv6 address.
const PREFIX_LEN_MAX: u64 = 128;

/// What is wrong, and where in the message.
type Checked = Result<(), String>;

impl Message {
    pub(super) fn check(&self) -> Checked {
        self.check_gates()?;
        self.check_fields()?;
        self.check_sizes()?;
        self.check_numbers()
    }

    /// Gates that packets may be sent to.
    fn check_gates(&self) -> Checked {
        match self {
            Message::ExactMatchCommandAddArg(arg) => target(arg.gate),
            Message::ExactMatchCommandSetDefaultGateArg(arg) => target(arg.gate),
            Message::ExactMatchConfig(arg) => {
                target(arg.default_gate)?;
                each("rules", &arg.rules, |rule| target(rule.gate))
            }
            Message::WildcardMatchCommandAddArg(arg) => target(arg.gate),
            Message::WildcardMatchCommandSetDefaultGateArg(arg) => target(arg.gate),
            Message::WildcardMatchConfig(arg) => {
                target(arg.default_gate)?;
                each("rules", &arg.rules, |rule| target(rule.gate))
            }
            Message::IpLookupCommandAddArg(arg) => target(arg.gate),
            Message::L2ForwardCommandAddArg(arg) => each("entries", &arg.entries, |entry| gate(entry.gate)),
            Message::L2ForwardCommandSetDefaultGateArg(arg) if arg.gate == -1 => Ok(()),
            Message::L2ForwardCommandSetDefaultGateArg(arg) => target(arg.gate),
            Message::BpfArg(arg) => each("filters", &arg.filters, |filter| gate(filter.gate)),
            Message::HashLbArg(arg) => each("gates", &arg.gates, |number| gate(*number)),
            Message::HashLbCommandSetGatesArg(arg) => each("gates", &arg.gates, |number| gate(*number)),
            Message::RandomSplitArg(arg) => each("gates", &arg.gates, |number| gate(*number)),
            Message::RandomSplitCommandSetGatesArg(arg) => each("gates", &arg.gates, |number| gate(*number)),
            Message::RoundRobinArg(arg) => each("gates", &arg.gates, |number| gate(*number)),
            Message::RoundRobinCommandSetGatesArg(arg) => each("gates", &arg.gates, |number| gate(*number)),
            Message::ReplicateArg(arg) => each("gates", &arg.gates, |number| gate(*number)),
            Message::ReplicateCommandSetGatesArg(arg) => each("gates", &arg.gates, |number| gate(*number)),
            Message::LoadBalancerArg(arg) => each("gates", &arg.gates, |number| gate(*number)),
            Message::LoadBalancerCommandSetGatesArg(arg) => each("gates", &arg.gates, |number| gate(*number)),
            Message::WorkerSplitArg(arg) => worker_gates(&arg.worker_gates),
            _ => Ok(()),
        }
    }

    /// Places in packets, and values for them.
    fn check_fields(&self) -> Checked {
        match self {
            Message::ExactMatchArg(arg) => {
                each("fields", &arg.fields, place)?;
                each("masks", &arg.masks, value)
            }
            Message::ExactMatchCommandAddArg(arg) => each("fields", &arg.fields, value),
            Message::ExactMatchCommandDeleteArg(arg) => each("fields", &arg.fields, value),
            Message::ExactMatchConfig(arg) => {
                each("rules", &arg.rules, |rule| each("fields", &rule.fields, value))
            }
            Message::WildcardMatchArg(arg) => each("fields", &arg.fields, place),
            Message::WildcardMatchCommandAddArg(arg) => masked(&arg.values, &arg.masks),
            Message::WildcardMatchCommandDeleteArg(arg) => masked(&arg.values, &arg.masks),
            Message::WildcardMatchConfig(arg) => {
                each("rules", &arg.rules, |rule| masked(&rule.values, &rule.masks))
            }
            Message::HashLbArg(arg) => each("fields", &arg.fields, place),
            Message::HashLbCommandSetModeArg(arg) => each("fields", &arg.fields, place),
            Message::RateLimiterArg(arg) => match &arg.field {
                Some(field) => place(field),
                None => one_of(false, "field"),
            },
            Message::GenericEncapArg(arg) => each("fields", &arg.fields, insertion),
            Message::SetMetadataArg(arg) => each("attrs", &arg.attrs, attribute),
            Message::UpdateArg(arg) => each("fields", &arg.fields, |field| span(field.offset, field.size)),
            Message::RandomUpdateArg(arg) => each("fields", &arg.fields, random_field),
            Message::SplitArg(arg) => split(arg),
            Message::MeasureArg(arg) => match &arg.r#type {
                Some(bess::measure_arg::Type::AttrName(name)) => named("attr_name", name, NAME_LEN_MAX),
                _ => Ok(()),
            },
            Message::TimestampArg(arg) => match &arg.r#type {
                Some(bess::timestamp_arg::Type::AttrName(name)) => named("attr_name", name, NAME_LEN_MAX),
                _ => Ok(()),
            },
            Message::MetadataTestArg(arg) => {
                let lists = [("read", &arg.read), ("write", &arg.write), ("update", &arg.update)];
                lists.iter().try_for_each(|(list, sizes)| attribute_sizes(list, sizes))
            }
            _ => Ok(()),
        }
    }

    /// Bytes, packets and names, none of them larger than anything here can be.
    fn check_sizes(&self) -> Checked {
        match self {
            Message::SourceArg(arg) => within("pkt_size", arg.pkt_size, 0..=DATA_LEN_MAX),
            Message::SourceCommandSetPktSizeArg(arg) => within("pkt_size", arg.pkt_size, 1..=DATA_LEN_MAX),
            Message::SourceCommandSetBurstArg(arg) => burst(arg.burst),
            Message::FlowGenCommandSetBurstArg(arg) => burst(arg.burst),
            Message::PortIncCommandSetBurstArg(arg) => burst(arg.burst),
            Message::QueueIncCommandSetBurstArg(arg) => burst(arg.burst),
            Message::QueueCommandSetBurstArg(arg) => burst(arg.burst),
            Message::GenericDecapArg(arg) => within("bytes", arg.bytes, 0..=DATA_LEN_MAX),
            Message::FlowGenArg(arg) => {
                within("template's length", arg.template.len() as u64, 0..=DATA_LEN_MAX)
            }
            Message::RewriteArg(arg) => each("templates", &arg.templates, |template| {
                within("length", template.len() as u64, 0..=DATA_LEN_MAX)
            }),
            Message::PortIncArg(arg) => named("port", &arg.port, NAME_LEN_MAX),
            Message::PortOutArg(arg) => named("port", &arg.port, NAME_LEN_MAX),
            Message::QueueIncArg(arg) => named("port", &arg.port, NAME_LEN_MAX),
            Message::QueueOutArg(arg) => named("port", &arg.port, NAME_LEN_MAX),
            Message::PcapPortArg(arg) => named("dev", &arg.dev, NAME_LEN_MAX),
            Message::PmdPortArg(arg) => one_of(arg.port.is_some(), "port_id, pci or vdev"),
            Message::MemifPortArg(arg) => named("socket", &arg.socket, SOCKET_PATH_LEN_MAX),
            Message::VhostUserPortArg(arg) => named("socket", &arg.socket, SOCKET_PATH_LEN_MAX),
            Message::UnixSocketPortArg(arg) => text("path", &arg.path, SOCKET_PATH_LEN_MAX),
            Message::VPortArg(arg) => text("ifname", &arg.ifname, INTERFACE_NAME_LEN_MAX),
            Message::BulkTapPortArg(arg) => {
                text("ifname", &arg.ifname, INTERFACE_NAME_LEN_MAX)?;
                text("netns", &arg.netns, PATH_LEN_MAX)
            }
            Message::ReclassArg(arg) => {
                text("others", &arg.others, NAME_LEN_MAX)?;
                let mut names = arg.classes.iter().flat_map(|(old, new)| [old, new]);
                names.try_for_each(|name| named("a class in classes", name, NAME_LEN_MAX))
            }
            Message::ReplayArg(arg) => named("path", &arg.path, PATH_LEN_MAX),
            Message::UrlFilterArg(arg) => each("blacklist", &arg.blacklist, url),
            Message::UrlFilterConfig(arg) => each("blacklist", &arg.blacklist, url),
            Message::TcpdumpArg(arg) => named("fifo", &arg.fifo, PATH_LEN_MAX),
            Message::PcapngArg(arg) => named("fifo", &arg.fifo, PATH_LEN_MAX),
            _ => Ok(()),
        }
    }

    /// Shares, rates and numbers of protocols.
    fn check_numbers(&self) -> Checked {
        match self {
            Message::RandomSplitArg(arg) => real("drop_rate", arg.drop_rate, 1.0),
            Message::RandomSplitCommandSetDroprateArg(arg) => real("drop_rate", arg.drop_rate, 1.0),
            Message::MeasureArg(arg) => real("jitter_sample_prob", arg.jitter_sample_prob, 1.0),
            Message::MeasureCommandGetSummaryArg(arg) => {
                each("latency_percentiles", &arg.latency_percentiles, |p| real("percentile", *p, 100.0))?;
                each("jitter_percentiles", &arg.jitter_percentiles, |p| real("percentile", *p, 100.0))
            }
            Message::DumpArg(arg) => real("interval", arg.interval, f64::MAX),
            Message::ReplayArg(arg) => real("speed", arg.speed, f64::MAX),
            Message::FlowGenArg(arg) => {
                let rates =
                    [("pps", arg.pps), ("flow_rate", arg.flow_rate), ("flow_duration", arg.flow_duration)];
                rates.iter().try_for_each(|(what, rate)| real(what, *rate, f64::MAX))
            }
            Message::IpLookupCommandAddArg(arg) => within("prefix_len", arg.prefix_len, 0..=PREFIX_LEN_MAX),
            Message::IpLookupCommandDeleteArg(arg) => {
                within("prefix_len", arg.prefix_len, 0..=PREFIX_LEN_MAX)
            }
            Message::L2ForwardArg(arg) => {
                within("size", arg.size, 0..=1 << 30)?;
                within("bucket", arg.bucket, 0..=1 << 10)
            }
            Message::L2ForwardCommandPopulateArg(arg) => {
                within("count", arg.count, 0..=1 << 30)?;
                within("gate_count", arg.gate_count, 1..=GATES_MAX)
            }
            Message::AclArg(arg) => each("rules", &arg.rules, |rule| {
                port("src_port", rule.src_port)?;
                port("dst_port", rule.dst_port)
            }),
            Message::NatArg(arg) => each("ext_addrs", &arg.ext_addrs, |address| {
                each("port_ranges", &address.port_ranges, port_range)
            }),
            Message::GreEncapArg(arg) => within("protocol", arg.protocol, 0..=0xffff),
            Message::GeneveEncapArg(arg) => within("dstport", arg.dstport, 0..=0xffff),
            Message::RateLimiterArg(arg) => {
                within("flows", arg.flows, 0..=FLOWS_MAX)?;
                within("queue_size", arg.queue_size, 0..=FLOWS_MAX)
            }
            Message::LoadBalancerArg(arg) => {
                within("flows", arg.flows, 0..=FLOWS_MAX)?;
                within("window_us", arg.window_us, 0..=HOUR_S * 1_000_000)?;
                within("silence_s", arg.silence_s, 0..=HOUR_S)
            }
            Message::ImpairArg(arg) => {
                let shares = [
                    ("loss", arg.loss),
                    ("duplicate", arg.duplicate),
                    ("corrupt", arg.corrupt),
                    ("reorder", arg.reorder),
                ];
                shares.iter().try_for_each(|(what, share)| real(what, *share, 1.0))?;
                within("delay_ns", arg.delay_ns, 0..=HOUR_S * 1_000_000_000)?;
                within("jitter_ns", arg.jitter_ns, 0..=HOUR_S * 1_000_000_000)
            }
            Message::VlanPushArg(arg) => within("tci", arg.tci, 0..=0xffff),
            Message::VxlanEncapArg(arg) => within("dstport", arg.dstport, 0..=0xffff),
            Message::MplsPopArg(arg) => within("next_eth_type", arg.next_eth_type, 0..=0xffff),
            _ => Ok(()),
        }
    }
}

fn each<T>(list: &str, items: &[T], mut check: impl FnMut(&T) -> Checked) -> Checked {
    let mut items = items.iter().enumerate();
    items.try_for_each(|(index, item)| check(item).map_err(|wrong| format!("{list}[{index}]: {wrong}")))
}

fn within<N>(what: &str, number: N, range: RangeInclusive<u64>) -> Checked
where
    N: Copy + Display + TryInto<u64>,
{
    if number.try_into().is_ok_and(|number| range.contains(&number)) {
        return Ok(());
    }
    Err(format!("{what} is {number}: it may be {} to {}", range.start(), range.end()))
}

/// A real number from 0 to `max`; what is no number is never in there.
fn real(what: &str, number: f64, max: f64) -> Checked {
    if (0.0..=max).contains(&number) {
        return Ok(());
    }
    let bound = if max == f64::MAX { "or more".to_owned() } else { format!("to {max}") };
    Err(format!("{what} is {number}: it may be 0 {bound}"))
}

/// A gate that packets leave by.
fn gate<N: Copy + Display + TryInto<u64>>(number: N) -> Checked {
    within("gate", number, 0..=GATES_MAX - 1)
}

/// A gate, or the number that drops.
fn target<N: Copy + Display + TryInto<u64>>(number: N) -> Checked {
    within("gate", number, 0..=DROP_GATE).map_err(|wrong| format!("{wrong} ({DROP_GATE} drops)"))
}

fn worker_gates(gates: &HashMap<u32, u32>) -> Checked {
    gates.iter().try_for_each(|(worker, number)| {
        within("worker", *worker, 0..=WORKERS_MAX - 1)?;
        gate(*number)
    })
}

fn burst(count: u64) -> Checked {
    within("burst", count, 0..=BURST_MAX)
}

fn port(what: &str, number: u32) -> Checked {
    within(what, number, 0..=0xffff)
}

fn port_range(range: &bess::nat_arg::PortRange) -> Checked {
    port("begin", range.begin)?;
    port("end", range.end)?;
    if range.begin < range.end {
        return Ok(());
    }
    Err(format!("ports {} to {} are none: begin must be less than end", range.begin, range.end))
}

fn one_of(given: bool, names: &str) -> Checked {
    if given { Ok(()) } else { Err(format!("one of {names} must be given")) }
}

fn text(what: &str, text: &str, len_max: usize) -> Checked {
    if text.len() > len_max {
        return Err(format!("{what} {} is {} bytes long: {len_max} are the most", quoted(text), text.len()));
    }
    if text.contains('\0') {
        return Err(format!("{what} {} has a NUL in it", quoted(text)));
    }
    Ok(())
}

fn named(what: &str, name: &str, len_max: usize) -> Checked {
    if name.is_empty() {
        return Err(format!("{what} is missing"));
    }
    text(what, name, len_max)
}

fn url(url: &bess::url_filter_arg::Url) -> Checked {
    named("host", &url.host, HOST_LEN_MAX)?;
    text("path", &url.path, PATH_LEN_MAX)
}

fn place(field: &Field) -> Checked {
    match &field.position {
        Some(field::Position::AttrName(name)) => named("attr_name", name, NAME_LEN_MAX)?,
        Some(field::Position::Offset(offset)) => within("offset", *offset, 0..=DATA_LEN_MAX)?,
        None => one_of(false, "attr_name and offset")?,
    }
    within("num_bytes", field.num_bytes, 1..=FIELD_LEN_MAX)
}

fn value(data: &FieldData) -> Checked {
    match &data.encoding {
        Some(bess::field_data::Encoding::ValueBin(bytes)) => {
            within("value_bin's length", bytes.len() as u64, 0..=FIELD_LEN_MAX)
        }
        Some(bess::field_data::Encoding::ValueInt(_)) => Ok(()),
        None => one_of(false, "value_bin and value_int"),
    }
}

fn masked(values: &[FieldData], masks: &[FieldData]) -> Checked {
    each("values", values, value)?;
    each("masks", masks, value)?;
    if values.len() == masks.len() {
        return Ok(());
    }
    Err(format!("{} values want as many masks, not {}", values.len(), masks.len()))
}

fn insertion(field: &generic_encap_arg::EncapField) -> Checked {
    within("size", field.size, 1..=FIELD_LEN_MAX)?;
    match &field.insertion {
        Some(generic_encap_arg::encap_field::Insertion::Attribute(name)) => {
            named("attribute", name, NAME_LEN_MAX)
        }
        Some(generic_encap_arg::encap_field::Insertion::Value(data)) => value(data),
        None => one_of(false, "attribute and value"),
    }
}

fn attribute(attribute: &set_metadata_arg::Attribute) -> Checked {
    named("name", &attribute.name, NAME_LEN_MAX)?;
    within("size", attribute.size, 1..=ATTRIBUTE_LEN_MAX)?;
    if let Some(set_metadata_arg::attribute::Value::ValueBin(bytes)) = &attribute.value {
        within("value_bin's length", bytes.len() as u64, 0..=ATTRIBUTE_LEN_MAX)?;
    }
    within("mask's length", attribute.mask.len() as u64, 0..=ATTRIBUTE_LEN_MAX)
}

fn attribute_sizes(list: &str, sizes: &HashMap<String, i64>) -> Checked {
    sizes.iter().try_for_each(|(name, size)| {
        named(list, name, NAME_LEN_MAX)?;
        within(&format!("size of {}", quoted(name)), *size, 1..=ATTRIBUTE_LEN_MAX)
    })
}

fn span(offset: i64, size: u64) -> Checked {
    within("offset", offset, 0..=DATA_LEN_MAX)?;
    within("size", size, 1..=FIELD_LEN_MAX)
}

fn random_field(field: &bess::random_update_arg::Field) -> Checked {
    span(field.offset, field.size)?;
    if field.min <= field.max {
        return Ok(());
    }
    Err(format!("min {} is more than max {}", field.min, field.max))
}

fn split(arg: &bess::SplitArg) -> Checked {
    within("size", arg.size, 1..=FIELD_LEN_MAX)?;
    match &arg.r#type {
        Some(bess::split_arg::Type::Attribute(name)) => named("attribute", name, NAME_LEN_MAX),
        Some(bess::split_arg::Type::Offset(offset)) => within("offset", *offset, 0..=DATA_LEN_MAX),
        None => one_of(false, "attribute and offset"),
    }
}
