//! Ports from the protocol's drivers.
//!
//! | driver | port |
//! |---|---|
//! | `PMDPort` | what its device string names: `vdev.rs` |
//! | `AFXDPPort`, `PMDPort` of a device | a device of the host, over AF_XDP: `device_ports.rs` |
//! | `PCAPPort` | a device of the host, beside the kernel's stack |
//! | `BulkTapPort` | a TAP device in a namespace, that sends and takes large TCP frames: `vport.rs` |
//! | `VPort` | a TAP device in a namespace or container: `vport.rs` |
//! | `UnixSocketPort` | whoever connects to a SEQPACKET socket |
//! | `MemifPort`, `VhostUserPort` | another process, or a guest, over shared memory: `process.rs` |

mod device;
mod process;
mod vdev;
mod vport;

pub(crate) use device::Device;

use tidegate_base::Duration;
use tidegate_control::controller::PortSpec;
use tidegate_control::proto::bess::{self, pmd_port_arg};
use tidegate_control::{Errno, Fault, Message};
use tidegate_port::{DevicePort, Port, UnixSocketConfig, UnixSocketPort};
use tidegate_sys::device_socket::DeviceSocket;

/// The drivers that there are.
pub(crate) const DRIVERS: &[&str] = &[
    "AFXDPPort",
    "BulkTapPort",
    "MemifPort",
    "PCAPPort",
    "PMDPort",
    "UnixSocketPort",
    "VPort",
    "VhostUserPort",
];

/// Ethernet's header, and a tag.
const LINK_LEN: usize = 18;

/// A port, and the kernel's device that it is on.
pub(crate) struct Opened {
    /// One a queue.
    pub(crate) queues: Vec<Box<dyn Port>>,
    pub(crate) device: Option<Device>,
}

impl Opened {
    /// A port on no device.
    fn alone(port: impl Port + 'static) -> Self {
        Self { queues: vec![Box::new(port)], device: None }
    }
}

/// Opens a port called `name`.
pub(crate) fn open(name: &str, spec: &PortSpec) -> Result<Opened, Fault> {
    let queue_count = spec.rx_queues.max(spec.tx_queues).max(1);
    match &spec.arg {
        Message::MemifPortArg(arg) => return process::open_memif_port(arg, queue_count),
        Message::VhostUserPortArg(arg) => return process::open_vhost_user_port(arg, queue_count),
        Message::PmdPortArg(bess::PmdPortArg { port: Some(pmd_port_arg::Port::Vdev(vdev)), .. }) => {
            return vdev::open(vdev, queue_count);
        }
        _ => only_one(queue_count)?,
    }
    match &spec.arg {
        Message::PmdPortArg(_) => Err(Fault::unsupported(format!(
            "no NIC is driven past the kernel here: give vdev, as one of {}",
            vdev::KINDS.join(", ")
        ))),
        Message::PcapPortArg(arg) => open_device(&arg.dev),
        Message::UnixSocketPortArg(arg) => open_unix_socket(name, arg),
        Message::BulkTapPortArg(arg) => vport::open_bulk(name, arg),
        Message::VPortArg(arg) => vport::open(name, arg),
        _ => Err(Fault::unsupported(format!("there are no ports of driver {} here yet", spec.driver.name))),
    }
}

/// Refuses several queues.
fn only_one(queue_count: u16) -> Result<(), Fault> {
    if queue_count > 1 {
        return Err(Fault::unsupported("ports of this kind have one queue in each direction: ask for one"));
    }
    Ok(())
}

/// A device of the daemon's own namespace, beside the kernel's stack.
fn open_device(name: &str) -> Result<Opened, Fault> {
    let device = Device::find(name)?;
    let mtu = device.info()?.mtu as usize;
    let socket = DeviceSocket::open(device.ifindex())
        .map_err(|error| failed(format!("cannot open the device {name}: {error}")))?;
    Ok(Opened { queues: vec![Box::new(DevicePort::new(socket, mtu + LINK_LEN))], device: Some(device) })
}

/// Without a path it listens at an abstract name made of the port's, as in BESS.
fn open_unix_socket(name: &str, arg: &bess::UnixSocketPortArg) -> Result<Opened, Fault> {
    let path = if arg.path.is_empty() { format!("@bess_unix_{name}") } else { arg.path.clone() };
    let own = UnixSocketConfig::new(&path);
    let min_rx_interval = match arg.min_rx_interval_ns {
        0 => own.min_rx_interval,
        ns @ 1..=1_000_000_000 => Duration::from_nanos(ns as u64),
        // Less than nothing is BESS's way to say "none".
        ns if ns < 0 => Duration::ZERO,
        ns => return Err(Fault::invalid(format!("min_rx_interval_ns is {ns}: give a second at most"))),
    };
    let config = UnixSocketConfig { confirm_connect: arg.confirm_connect, min_rx_interval, ..own };
    UnixSocketPort::open(config).map(Opened::alone).map_err(|error| failed(error.to_string()))
}

/// The kernel's refusal.
fn failed(text: impl Into<String>) -> Fault {
    Fault::new(Errno::EIO, text)
}
