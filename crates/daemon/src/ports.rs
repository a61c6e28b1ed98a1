//! Ports from the protocol's drivers: PMDPort's device strings, as far as a port of ours does the same.
//!
//! | `vdev` | port |
//! |--------|------|
//! | `net_null0[,size=N]` | frames of N bytes out of nothing, and into nothing |
//! | `net_pcap0,rx_pcap=FILE,tx_pcap=FILE` | what a capture holds; a capture of what is sent |
//! | `net_tap0[,iface=NAME]` | a TAP device |

use tidegate_control::controller::PortSpec;
use tidegate_control::proto::bess::pmd_port_arg;
use tidegate_control::{Errno, Fault, Message};
use tidegate_port::{Capture, NULL_LEN_DEFAULT, NullPort, PcapPort, Port, Replay, TapPort};
use tidegate_sys::tap::Tap;

/// The longest frame of a TAP device, link header included.
const TAP_FRAME_LEN_MAX: usize = 1514;
/// The longest frame of a null device.
const NULL_LEN_MAX: usize = 1536;

/// The drivers that there are.
pub(crate) const DRIVERS: &[&str] = &["PMDPort"];

/// Opens a port.
pub(crate) fn open(spec: &PortSpec) -> Result<Box<dyn Port>, Fault> {
    if spec.rx_queues > 1 || spec.tx_queues > 1 {
        return Err(Fault::unsupported("ports of this kind have one queue in each direction: ask for one"));
    }
    match &spec.arg {
        Message::PmdPortArg(arg) => match &arg.port {
            Some(pmd_port_arg::Port::Vdev(vdev)) => open_vdev(vdev),
            Some(_) | None => Err(Fault::unsupported(
                "no NIC is driven past the kernel here: give vdev=\"net_null0\", net_pcap or net_tap",
            )),
        },
        _ => Err(Fault::unsupported(format!("there are no ports of driver {} here yet", spec.driver.name))),
    }
}

fn open_vdev(vdev: &str) -> Result<Box<dyn Port>, Fault> {
    let mut words = vdev.split(',');
    let device = words.next().unwrap_or_default();
    let options: Vec<(&str, &str)> = words.map(|word| word.split_once('=').unwrap_or((word, ""))).collect();
    let kind = device.trim_end_matches(|c: char| c.is_ascii_digit());
    let known: &[&str] = match kind {
        "net_null" => &["size"],
        "net_pcap" => &["rx_pcap", "tx_pcap"],
        "net_tap" => &["iface"],
        _ => {
            return Err(Fault::unsupported(format!(
                "there is no device {} here: give net_null, net_pcap or net_tap",
                device.escape_debug()
            )));
        }
    };
    if let Some((name, _)) = options.iter().find(|(name, _)| !known.contains(name)) {
        return Err(Fault::invalid(format!("{kind} takes no {}: it takes {known:?}", name.escape_debug())));
    }
    let option = |wanted: &str| options.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value);
    match kind {
        "net_null" => open_null(option("size")),
        "net_pcap" => open_pcap(option("rx_pcap"), option("tx_pcap")),
        _ => open_tap(option("iface").unwrap_or(device)),
    }
}

fn open_null(size: Option<&str>) -> Result<Box<dyn Port>, Fault> {
    let len = match size {
        None => NULL_LEN_DEFAULT,
        Some(size) => size.parse().ok().filter(|len| (1..=NULL_LEN_MAX).contains(len)).ok_or_else(|| {
            Fault::invalid(format!("size={}: give 1 to {NULL_LEN_MAX} bytes", size.escape_debug()))
        })?,
    };
    Ok(Box::new(NullPort::new(len)))
}

fn open_pcap(rx: Option<&str>, tx: Option<&str>) -> Result<Box<dyn Port>, Fault> {
    let failed = |error: tidegate_port::CaptureError| Fault::new(Errno::EIO, error.to_string());
    let replay = rx.map(Replay::open).transpose().map_err(failed)?;
    let capture = tx.map(Capture::create).transpose().map_err(failed)?;
    Ok(Box::new(PcapPort::new(replay, capture)))
}

fn open_tap(name: &str) -> Result<Box<dyn Port>, Fault> {
    let tap = Tap::open(name).map_err(|error| Fault::new(Errno::EIO, error.to_string()))?;
    Ok(Box::new(TapPort::new(tap, TAP_FRAME_LEN_MAX)))
}
