//! PMDPort's device strings, as DPDK has them, as far as a port of ours does the same.
//!
//! | `vdev` | port |
//! |--------|------|
//! | `net_null0[,size=N]` | frames of N bytes out of nothing, and into nothing |
//! | `net_pcap0,rx_pcap=FILE,tx_pcap=FILE` | what a capture holds; a capture of what is sent |
//! | `net_pcap0,iface=NAME`, `net_af_packet0,iface=NAME` | a device of the host, beside the kernel's stack |
//! | `net_tap0[,iface=NAME]` | a TAP device |
//! | `net_vhost0,iface=PATH[,client=0\|1][,queues=N]` | a virtio-net driver, over vhost-user; `eth_vhost0` too, as DPDK once called it |
//! | `net_memif0[,role=server\|client][,socket=PATH][,socket-abstract=yes\|no][,id=N][,secret=S][,rsize=LOG2][,bsize=N]` | another process, over shared memory |

use super::device::Device;
use super::{Opened, failed, only_one, open_device, process};
use crate::files;
use tidegate_control::Fault;
use tidegate_port::{
    Capture, CaptureError, MemifConfig, MemifRole, NULL_LEN_DEFAULT, NullPort, PcapPort, Replay,
    VhostUserConfig, VhostUserRole,
};
use tidegate_sys::tap::Tap;

/// The devices that there are.
pub(super) const KINDS: &[&str] =
    &["net_null", "net_pcap", "net_af_packet", "net_tap", "net_memif", "net_vhost"];
/// The longest frame of a null device.
const NULL_LEN_MAX: usize = 1536;
/// Bytes of a socket's path (unix(7)), its end counted.
const SOCKET_PATH_LEN_MAX: usize = 107;
/// Where DPDK's driver looks unless told otherwise.
const MEMIF_SOCKET: &str = "/run/memif.sock";

/// A device string, taken apart.
struct Vdev<'a> {
    device: &'a str,
    options: Vec<(&'a str, &'a str)>,
}

impl<'a> Vdev<'a> {
    fn parse(text: &'a str) -> Self {
        let mut words = text.split(',');
        let device = words.next().unwrap_or_default();
        Self { device, options: words.map(|word| word.split_once('=').unwrap_or((word, ""))).collect() }
    }

    fn kind(&self) -> &'a str {
        self.device.trim_end_matches(|c: char| c.is_ascii_digit())
    }

    /// Refuses options that are not `known`.
    fn check(&self, known: &[&str]) -> Result<(), Fault> {
        match self.options.iter().find(|(name, _)| !known.contains(name)) {
            None => Ok(()),
            Some((name, _)) => {
                let (kind, name) = (self.kind(), name.escape_debug());
                Err(Fault::invalid(format!("{kind} takes no {name}: it takes {}", known.join(", "))))
            }
        }
    }

    fn option(&self, wanted: &str) -> Option<&'a str> {
        self.options.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value)
    }

    /// A number of `low` to `high`.
    fn number(&self, name: &str, own: u64, low: u64, high: u64) -> Result<u64, Fault> {
        let Some(text) = self.option(name) else { return Ok(own) };
        let number = text.parse().ok().filter(|number| (low..=high).contains(number));
        number.ok_or_else(|| Fault::invalid(format!("{name}={}: give {low} to {high}", text.escape_debug())))
    }

    /// Which of two words; the first unless told.
    fn is_first(&self, name: &str, first: &[&str], second: &[&str]) -> Result<bool, Fault> {
        match self.option(name) {
            None => Ok(true),
            Some(word) if first.contains(&word) => Ok(true),
            Some(word) if second.contains(&word) => Ok(false),
            Some(word) => {
                let (word, first, second) = (word.escape_debug(), first[0], second[0]);
                Err(Fault::invalid(format!("{name}={word}: give {first} or {second}")))
            }
        }
    }
}

/// Opens what a device string names.
pub(super) fn open(text: &str, queue_count: u16) -> Result<Opened, Fault> {
    let vdev = Vdev::parse(text);
    match vdev.kind() {
        "net_memif" => return process::memif(memif_config(&vdev, queue_count)?),
        "net_vhost" | "eth_vhost" => return process::vhost_user(vhost_user_config(&vdev, queue_count)?),
        _ => only_one(queue_count)?,
    }
    match vdev.kind() {
        "net_null" => open_null(&vdev),
        "net_pcap" => open_pcap(&vdev),
        "net_af_packet" => {
            vdev.check(&["iface"])?;
            let missing = || Fault::invalid("net_af_packet wants a device: give iface=NAME");
            open_device(vdev.option("iface").ok_or_else(missing)?)
        }
        "net_tap" => open_tap(&vdev),
        _ => {
            let (device, known) = (vdev.device.escape_debug(), KINDS.join(", "));
            Err(Fault::unsupported(format!("there is no device {device} here: give one of {known}")))
        }
    }
}

fn open_null(vdev: &Vdev<'_>) -> Result<Opened, Fault> {
    vdev.check(&["size"])?;
    let len = vdev.number("size", NULL_LEN_DEFAULT as u64, 1, NULL_LEN_MAX as u64)?;
    Ok(Opened::alone(NullPort::new(len as usize)))
}

fn open_pcap(vdev: &Vdev<'_>) -> Result<Opened, Fault> {
    vdev.check(&["rx_pcap", "tx_pcap", "iface"])?;
    if let Some(device) = vdev.option("iface") {
        return open_device(device);
    }
    let refused = |error: CaptureError| failed(error.to_string());
    let (from, to) = (vdev.option("rx_pcap"), vdev.option("tx_pcap"));
    from.map(files::check_capture).transpose()?;
    to.map(files::check_target).transpose()?;
    let replay = from.map(Replay::open).transpose().map_err(refused)?;
    let capture = to.map(Capture::create).transpose().map_err(refused)?;
    Ok(Opened::alone(PcapPort::new(replay, capture)))
}

fn open_tap(vdev: &Vdev<'_>) -> Result<Opened, Fault> {
    vdev.check(&["iface"])?;
    let name = vdev.option("iface").unwrap_or(vdev.device);
    let tap = Tap::open(name).map_err(|error| failed(error.to_string()))?;
    let device = Device::own(tap.name(), None)?;
    device.on_tap(tap)
}

fn vhost_user_config(vdev: &Vdev<'_>, queue_count: u16) -> Result<VhostUserConfig, Fault> {
    vdev.check(&["iface", "client", "queues"])?;
    let missing = || Fault::invalid(format!("{} wants a socket: give iface=PATH", vdev.kind()));
    let path = vdev.option("iface").ok_or_else(missing)?;
    let role =
        if vdev.is_first("client", &["0"], &["1"])? { VhostUserRole::Server } else { VhostUserRole::Client };
    if vdev.number("queues", queue_count.into(), 1, 128)? != u64::from(queue_count) {
        let text =
            format!("queues is not {queue_count}, the port's number: give num_inc_q and num_out_q as many");
        return Err(Fault::invalid(text));
    }
    Ok(VhostUserConfig { queue_count, ..VhostUserConfig::new(path, role) })
}

fn memif_config(vdev: &Vdev<'_>, queue_count: u16) -> Result<MemifConfig, Fault> {
    vdev.check(&["role", "socket", "socket-abstract", "id", "secret", "rsize", "bsize"])?;
    let is_client = vdev.is_first("role", &["client", "slave"], &["server", "master"])?;
    let is_abstract = vdev.is_first("socket-abstract", &["yes"], &["no"])?;
    let path = vdev.option("socket").unwrap_or(MEMIF_SOCKET);
    let socket = if is_abstract { format!("@{path}") } else { path.to_owned() };
    if socket.len() > SOCKET_PATH_LEN_MAX {
        let text =
            format!("the socket's path has {} bytes: {SOCKET_PATH_LEN_MAX} are the most", socket.len());
        return Err(Fault::invalid(text));
    }
    let own = MemifConfig::new(&socket, if is_client { MemifRole::Client } else { MemifRole::Server });
    Ok(MemifConfig {
        id: vdev.number("id", 0, 0, u32::MAX.into())? as u32,
        secret: vdev.option("secret").unwrap_or_default().to_owned(),
        ring_log2: vdev.number("rsize", own.ring_log2.into(), 1, 14)? as u8,
        buffer_len: vdev.number("bsize", own.buffer_len.into(), 64, u16::MAX.into())? as u16,
        queue_count,
        ..own
    })
}
