//! Modules that make, end, hold and show frames.

use super::recipe::Sharing::{Alone, Each};
use super::recipe::{Answer, Class, On, done, refused, row};
use super::{field, seed};
use crate::worker::CHUNK_SIZE;
use tidegate_base::Duration;
use tidegate_control::Fault;
use tidegate_control::proto::bess;
use tidegate_modules::{
    ArpResponder, Buffer, Bypass, BypassParams, DUMP_INTERVAL_DEFAULT, Dump, Hex, NoOp, SOURCE_LEN_DEFAULT,
    Sink, Source, Viewer,
};
use tidegate_packet::BATCH_LEN_MAX;

/// Shown of a frame, in bytes.
const DUMP_LEN_MAX: usize = 64;
/// The longest frame that a source makes.
const SOURCE_LEN_MAX: u64 = 1536;

pub(super) const CLASSES: &[&dyn Class] = &[
    &row(
        "ArpResponder",
        Alone,
        |arg: bess::ArpResponderArg, _| arp_responder(&arg),
        &[&On("add", |it: &mut ArpResponder, arg: bess::ArpResponderArg| arp_add(it, &arg))],
    ),
    &row("Buffer", Alone, |_: bess::BufferArg, _| Ok(Buffer::default()), &[]),
    &row("Bypass", Each, |arg: bess::BypassArg, _| bypass(&arg), &[]),
    &row(
        "Dump",
        Alone,
        |arg: bess::DumpArg, _| dump(arg.interval),
        &[&On("set_interval", |it: &mut Dump, arg: bess::DumpArg| {
            done(it.set_interval(dump_interval(arg.interval)?))
        })],
    ),
    &row("NoOP", Alone, |_: bess::NoOpArg, _| Ok(NoOp::default()), &[]),
    &row("Sink", Each, |_: bess::SinkArg, _| Ok(Sink), &[]),
    &row(
        "Source",
        Alone,
        |arg: bess::SourceArg, _| Ok(Source::new(source_len(arg.pkt_size)?)),
        &[
            &On("set_pkt_size", |it: &mut Source, arg: bess::SourceCommandSetPktSizeArg| {
                it.set_frame_len(source_len(arg.pkt_size)?);
                Ok(None)
            }),
            &On("set_burst", |it: &mut Source, arg: bess::SourceCommandSetBurstArg| {
                it.set_burst(field::burst(arg.burst)?);
                Ok(None)
            }),
        ],
    ),
];

/// Cycles that a full batch may take: some tenths of a second, so that its worker still answers.
const BATCH_CYCLES_MAX: u64 = 1 << 30;

fn bypass(arg: &bess::BypassArg) -> Result<Bypass, Fault> {
    let bess::BypassArg { cycles_per_batch, cycles_per_packet, cycles_per_byte } = *arg;
    let a_packet = u64::from(cycles_per_packet) + u64::from(cycles_per_byte) * CHUNK_SIZE as u64;
    let a_batch = u64::from(cycles_per_batch) + a_packet * BATCH_LEN_MAX as u64;
    if a_batch > BATCH_CYCLES_MAX {
        let text = format!("a full batch would take {a_batch} cycles: {BATCH_CYCLES_MAX} are the most");
        return Err(Fault::invalid(text));
    }
    Ok(Bypass::new(BypassParams { cycles_per_batch, cycles_per_packet, cycles_per_byte }))
}

/// Bytes of a source's frames; 0 for its own choice.
fn source_len(size: u64) -> Result<usize, Fault> {
    match size {
        0 => Ok(SOURCE_LEN_DEFAULT),
        1..=SOURCE_LEN_MAX => Ok(size as usize),
        _ => {
            Err(Fault::invalid(format!("frames of {size} bytes are too long: give {SOURCE_LEN_MAX} at most")))
        }
    }
}

/// A responder, with an entry if the argument has one.
fn arp_responder(arg: &bess::ArpResponderArg) -> Result<ArpResponder, Fault> {
    let mut module = ArpResponder::new(false, seed()?);
    if !arg.ip.is_empty() || !arg.mac_addr.is_empty() {
        arp_add(&mut module, arg)?;
    }
    Ok(module)
}

fn arp_add(module: &mut ArpResponder, arg: &bess::ArpResponderArg) -> Answer {
    done(module.add(field::address(&arg.ip)?, field::mac(&arg.mac_addr)?))
}

fn dump(interval: f64) -> Result<Dump, Fault> {
    let viewer: Viewer = Box::new(|_, data: &[u8]| {
        let shown = &data[..data.len().min(DUMP_LEN_MAX)];
        tracing::info!("a frame of {} bytes: {}", data.len(), Hex(shown));
    });
    Dump::new(dump_interval(interval)?, viewer).map_err(refused)
}

/// Seconds; 0 for the module's own choice.
fn dump_interval(seconds: f64) -> Result<Duration, Fault> {
    if seconds == 0.0 {
        return Ok(DUMP_INTERVAL_DEFAULT);
    }
    let nanos = seconds * 1e9;
    if !(0.0..=1e18).contains(&nanos) {
        return Err(Fault::invalid(format!("an interval of {seconds} s is none: give 0 to 86400")));
    }
    Ok(Duration::from_nanos(nanos as u64))
}
