//! Ports that are network devices of the host: the XDP program is put on them, and each queue has an AF_XDP socket on the worker
//! that its task is on.
//!
//! | driver | argument | device |
//! |--------|----------|--------|
//! | `AFXDPPort` | `dev`, `steer`, `xdp_mode`, `zero_copy` | that of the name |
//! | `PMDPort` | `vdev="net_af_xdp0,iface=NAME"`, as DPDK spells it | that of the name, all of its frames |
//! | `PMDPort` | `pci="0000:00:05.0"` | the one at that address, all of its frames |
//!
//! The link of the program is not pinned: it goes with the port, or with the process (docs/adr/0005).

use crate::Daemon;
use crate::berth::{Berth, fault};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use tidegate_bpf::{ModeChoice, Tuple};
use tidegate_control::controller::PortSpec;
use tidegate_control::proto::bess::{AfxdpPortArg, pmd_port_arg};
use tidegate_control::{Errno, Fault, Message};
use tidegate_mux::{Gso, MuxError, Reserve};
use tidegate_sys::xsk::{BindMode, XskConfig};

/// What is wanted of a device.
struct Wanted {
    name: String,
    rules: Vec<Tuple>,
    mode: ModeChoice,
    bind: BindMode,
}

impl Daemon {
    /// Attaches to the device that a port is to be, if it is to be one. Its queues open when they come to workers.
    pub(crate) fn attach_device(&mut self, port: &str, spec: &PortSpec) -> Result<bool, Fault> {
        let Some(wanted) = wanted(spec)? else { return Ok(false) };
        let refused = |error: MuxError| fault(error.into());
        let nic = self.mux.nic(&wanted.name, wanted.mode).map_err(refused)?;
        let count = spec.rx_queues.max(spec.tx_queues);
        if u32::from(count) > nic.queue_count {
            let text = format!(
                "{} has {} receive queues and {count} are wanted: ask for fewer, or give it more (ethtool -L)",
                nic.name, nic.queue_count
            );
            return Err(Fault::invalid(text));
        }
        if u32::from(count) < nic.queue_count {
            tracing::warn!(
                "port {port} has {count} of the {} receive queues of {}: frames of the others are the host's",
                nic.queue_count,
                nic.name
            );
        }
        let held = self.mux.ground().hold(&nic, &format!("port {port}"), &wanted.rules, Reserve::Nothing);
        let holding = held.map_err(refused)?;
        holding.claim().map_err(refused)?;
        self.devices.insert(port.to_owned(), crate::ports::Device::find(&nic.name)?);
        let holding = Arc::new(holding);
        let xsk = XskConfig { mode: wanted.bind, ..XskConfig::default() };
        for queue in 0..u32::from(count) {
            let name = if count == 1 { port.to_owned() } else { format!("{port}#{queue}") };
            let (nic, holding) = (Arc::clone(&nic), Some(Arc::clone(&holding)));
            self.berths.insert(name, Berth { nic, _holding: holding, queue, xsk, gso: Gso::Off });
        }
        Ok(true)
    }

    /// Lets go of a device whose port did not come to be.
    pub(crate) fn forget_device(&mut self, port: &str) {
        let is_of_port = |queue: &str| queue.rsplit_once('#').map_or(queue, |(name, _)| name) == port;
        self.berths.retain(|queue, _| queue != port && !is_of_port(queue));
    }
}

fn wanted(spec: &PortSpec) -> Result<Option<Wanted>, Fault> {
    let whole = |name: String| Wanted {
        name,
        rules: Vec::new(),
        mode: ModeChoice::DriverThenGeneric,
        bind: BindMode::Auto,
    };
    match &spec.arg {
        Message::AfxdpPortArg(arg) => of_own(arg).map(Some),
        Message::PmdPortArg(arg) => match &arg.port {
            Some(pmd_port_arg::Port::Vdev(vdev)) => Ok(of_vdev(vdev)?.map(whole)),
            Some(pmd_port_arg::Port::Pci(address)) => Ok(Some(whole(of_pci(address)?))),
            Some(pmd_port_arg::Port::PortId(_)) | None => Ok(None),
        },
        _ => Ok(None),
    }
}

fn of_own(arg: &AfxdpPortArg) -> Result<Wanted, Fault> {
    if arg.dev.is_empty() {
        return Err(Fault::invalid("dev is missing: name a network device, as ip link shows it"));
    }
    let unknown = |field: &str, value: &str, known: &str| {
        Fault::invalid(format!("{field} is {}: it may be {known}", value.escape_debug()))
    };
    Ok(Wanted {
        name: arg.dev.clone(),
        rules: arg.steer.iter().map(|rule| tuple(rule)).collect::<Result<_, _>>()?,
        mode: match arg.xdp_mode.as_str() {
            "" | "auto" => ModeChoice::DriverThenGeneric,
            "native" => ModeChoice::DriverOnly,
            "generic" => ModeChoice::GenericOnly,
            other => return Err(unknown("xdp_mode", other, "auto, native or generic")),
        },
        bind: match arg.zero_copy.as_str() {
            "" | "auto" => BindMode::Auto,
            "require" => BindMode::ZeroCopy,
            "off" => BindMode::Copy,
            other => return Err(unknown("zero_copy", other, "auto, require or off")),
        },
    })
}

/// `udp 192.0.2.7:53`.
fn tuple(rule: &str) -> Result<Tuple, Fault> {
    let parsed = rule.split_once(' ').and_then(|(protocol, address)| {
        let address: SocketAddr = address.trim().parse().ok()?;
        match protocol {
            "tcp" => Some(Tuple::tcp(address.ip(), address.port())),
            "udp" => Some(Tuple::udp(address.ip(), address.port())),
            _ => None,
        }
    });
    let wrong = || {
        let rule = rule.escape_debug();
        Fault::invalid(format!("steer has `{rule}`: write it like `udp 192.0.2.7:53` or `tcp [::]:80`"))
    };
    parsed.ok_or_else(wrong)
}

/// The interface of `net_af_xdp0,iface=NAME`; nothing for other devices.
fn of_vdev(vdev: &str) -> Result<Option<String>, Fault> {
    let mut words = vdev.split(',');
    let kind = words.next().unwrap_or_default().trim_end_matches(|c: char| c.is_ascii_digit());
    if kind != "net_af_xdp" {
        return Ok(None);
    }
    let mut name = None;
    for word in words {
        match word.split_once('=') {
            Some(("iface", value)) if !value.is_empty() => name = Some(value.to_owned()),
            _ => {
                let text = format!("net_af_xdp takes no {}: it takes iface=NAME", word.escape_debug());
                return Err(Fault::invalid(text));
            }
        }
    }
    name.map(Some).ok_or_else(|| Fault::invalid("net_af_xdp wants iface=NAME"))
}

/// The interface at a PCI address.
fn of_pci(address: &str) -> Result<String, Fault> {
    let is_address = |c: char| c.is_ascii_hexdigit() || c == ':' || c == '.';
    let missing = || {
        let text = format!("no network device of the host is at PCI address {}", address.escape_debug());
        Fault::new(Errno::ENODEV, text)
    };
    if address.is_empty() || !address.chars().all(is_address) {
        return Err(missing());
    }
    // Without its domain an address is in the first one.
    let full = if address.matches(':').count() == 1 { format!("0000:{address}") } else { address.to_owned() };
    let names = std::fs::read_dir(Path::new("/sys/bus/pci/devices").join(full).join("net"));
    let first = names.map_err(|_| missing())?.flatten().next().ok_or_else(missing)?;
    first.file_name().into_string().map_err(|_| missing())
}
