//! A device with Tidegate's XDP program on it, and the queues whose frames come to user space.
//!
//! Invariant: a registered address and port of the host has a placeholder socket there first, so that no
//! server of the host can have it as well.

use crate::error::{Attempt, MuxError, Result, wrong_input};
use crate::name::NameClaim;
use serde::Deserialize;
use std::net::{IpAddr, SocketAddr};
use tidegate_bpf::{
    AttachError, AttachMode, Attachment, Counters, LoadOptions, ModeChoice, Protocol, Steering, Tuple,
    XdpProgram,
};
use tidegate_port::{AfXdpPort, Push};
use tidegate_stack::{Interface, Ownership};
use tidegate_sys::ethtool::Ethtool;
use tidegate_sys::netlink::{LinkInfo, Netlink};
use tidegate_sys::netns::Netns;
use tidegate_sys::packet_socket::PacketSocket;
use tidegate_sys::socket::{Placeholder, ReserveError, Transport};
use tidegate_sys::xsk::{DriverMode, Umem, XskConfig};
use tidegate_wire::MacAddr;

/// The largest packet that fits a frame of 4 KiB with its headroom and link header: what peers are told, so that they
/// send no longer ones on links that would carry them.
const MTU_MAX: usize = 3600;

/// Bytes of bulk that may be on the way to a device: more than its queue holds.
const BULK_BUFFER_SIZE: u32 = 32 << 20;

/// Who cuts bulk into segments, where the kernel copies frames anyway.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gso {
    /// The kernel or the NIC: up to 64 KiB leave at once (generic segmentation offload).
    #[default]
    Auto,
    /// We do: every frame goes through the transmit ring.
    Off,
}

/// A device with the program on it.
pub struct Nic {
    /// Its name in the host.
    pub name: String,
    /// The host that the stack is on this device.
    pub interface: Interface,
    /// Receive queues; each has a socket.
    pub queue_count: u32,
    /// What is claimed; nothing: every frame.
    pub(crate) rules: Vec<Tuple>,
    pub(crate) ifindex: u32,
    pub(crate) program: XdpProgram,
    pub(crate) attachment: Attachment,
    /// Where the device is, if not in the process's own namespace.
    pub(crate) netns: Option<Netns>,
    pub(crate) _name: Option<NameClaim>,
    pub(crate) _placeholders: Vec<Placeholder>,
}

impl Nic {
    /// Reserves `tuples` in the host and puts the program on a NIC of it: all else stays the host's. None: every
    /// frame is taken, as it is.
    pub fn take(link: LinkInfo, tuples: Vec<Tuple>, choice: ModeChoice) -> Result<Self> {
        let placeholders = reserve(&tuples)?;
        Ok(Self { _placeholders: placeholders, ..Self::take_raw(link, tuples, choice)? })
    }

    /// Puts the program on a NIC of the host for whoever takes frames as they are: those that `rules` name, or all.
    pub fn take_raw(link: LinkInfo, rules: Vec<Tuple>, choice: ModeChoice) -> Result<Self> {
        let queue_count = Ethtool::open(&link.name)?.channels()?.rx_queue_count().max(1);
        let program = XdpProgram::load(&LoadOptions { queue_count_max: queue_count, ..Default::default() })?;
        let attachment = attach(&program, link.ifindex, &link.name, choice)?;
        let mtu = (link.mtu as usize).min(MTU_MAX);
        Ok(Self {
            interface: Interface::new(MacAddr(link.mac), addresses(&rules), mtu, Ownership::Ports),
            name: link.name,
            queue_count,
            rules,
            ifindex: link.ifindex,
            program,
            attachment,
            netns: None,
            _name: None,
            _placeholders: Vec::new(),
        })
    }

    /// Whether it is a virtual NIC that goes when nobody has it any more.
    pub fn is_own(&self) -> bool {
        self.netns.is_some()
    }

    /// The mode in which the program runs.
    pub fn mode(&self) -> AttachMode {
        self.attachment.mode()
    }

    /// What the program counted.
    pub fn counters(&self) -> Result<Counters> {
        Ok(self.program.counters()?)
    }

    /// Opens an AF_XDP socket on `queue`, which gets that queue's claimed frames from now on. It receives into the pool
    /// of `umem`, once that pool's worker has run it ([`AfXdpPort::bind`]).
    pub fn open_queue(&self, queue: u32, umem: &Umem, config: &XskConfig, gso: Gso) -> Result<AfXdpPort> {
        let mut port = self.inside(|| AfXdpPort::bind(self.ifindex, queue, umem, config))??;
        if gso == Gso::Auto && port.mode() == DriverMode::Copy {
            let opened = self.inside(|| PacketSocket::open(self.ifindex, BULK_BUFFER_SIZE))?;
            let socket = opened.attempting(|| format!("could not open a packet socket on {}", self.name))?;
            port.send_bulk_through(socket, self.push());
        }
        self.program.set_xsk(queue, port.socket())?;
        Ok(port)
    }

    /// A veth's other end is a kernel of this machine, which sees who owns what it receives.
    fn push(&self) -> Push {
        let driver = self.inside(|| Ethtool::open(&self.name)?.driver());
        if driver.is_ok_and(|driver| driver.is_ok_and(|name| name == "veth")) {
            Push::Cleared
        } else {
            Push::Kept
        }
    }

    /// Claims frames: all of a device of our own, those to registered addresses and ports of another.
    pub fn claim(&self) -> Result<()> {
        if self.rules.is_empty() {
            return Ok(self.program.own_device(true)?);
        }
        for tuple in &self.rules {
            self.program.register(*tuple, Steering::Socket)?;
        }
        Ok(())
    }

    fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T> {
        match &self.netns {
            Some(netns) => Ok(netns.run(work)?),
            None => Ok(work()),
        }
    }
}

/// The NIC of that name, which is up.
pub fn find_link(netlink: &mut Netlink, name: &str) -> Result<LinkInfo> {
    let links = netlink.links()?;
    let Some(link) = links.iter().find(|link| link.name == name) else {
        let names: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
        return Err(wrong_input(format!("there is no interface {name}: there are {}", names.join(", "))));
    };
    if !link.flags.is_up() {
        let text = format!("{name} is down: raise it with: ip link set dev {name} up");
        return Err(MuxError::Occupied(text));
    }
    Ok(link.clone())
}

/// Attaches the program, and says so where it is not in the driver.
pub(crate) fn attach(
    program: &XdpProgram,
    ifindex: u32,
    name: &str,
    choice: ModeChoice,
) -> Result<Attachment> {
    let attachment = program.attach(ifindex, choice).map_err(|error| refused(error, name))?;
    if let Some(refusal) = attachment.driver_refusal() {
        tracing::warn!(device = name, "the driver refuses XDP ({refusal}): generic mode, which is slower");
    }
    Ok(attachment)
}

/// The error in terms of what was typed.
fn refused(error: AttachError, device: &str) -> MuxError {
    match error {
        AttachError::Occupied { program_id, name, .. } if name == "tidegate" => MuxError::Occupied(format!(
            "{device} is served by another Tidegate already (XDP program {program_id}): stop that one, or \
             take it off with: tidegate detach {device}"
        )),
        AttachError::Occupied { program_id, name, .. } => MuxError::Occupied(format!(
            "{device} has the XDP program `{name}` ({program_id}) of someone else: stop its owner, or take \
             it off with: ip link set dev {device} xdp off"
        )),
        AttachError::Refused { mode: AttachMode::Driver, source, .. } => {
            wrong_input(format!("the driver of {device} refuses XDP ({source}): use --xdp-mode generic"))
        }
        other => other.into(),
    }
}

/// The host's addresses that the tuples are at, each once.
fn addresses(tuples: &[Tuple]) -> Vec<IpAddr> {
    let mut addresses: Vec<IpAddr> = tuples.iter().map(|tuple| tuple.address).collect();
    addresses.sort_unstable();
    addresses.dedup();
    addresses
}

/// Takes the ports out of the host's hands.
fn reserve(tuples: &[Tuple]) -> Result<Vec<Placeholder>, ReserveError> {
    let reserve = |tuple: &Tuple| {
        Placeholder::bind(transport(tuple.protocol), SocketAddr::new(tuple.address, tuple.port))
    };
    tuples.iter().map(reserve).collect()
}

const fn transport(protocol: Protocol) -> Transport {
    match protocol {
        Protocol::Tcp => Transport::Tcp,
        Protocol::Udp => Transport::Udp,
    }
}
