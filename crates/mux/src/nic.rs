//! A device with Tidegate's XDP program on it, and the queues whose frames come to user space.

use crate::error::{Attempt, MuxError, Result, wrong_input};
use crate::name::NameClaim;
use crate::vport::Vports;
use serde::Deserialize;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use tidegate_bpf::{
    AttachError, AttachMode, Attachment, Counters, LoadOptions, ModeChoice, PinDirectory, PinError, Tuple,
    WayOut, XdpProgram,
};
use tidegate_port::{AfXdpPort, Push};
use tidegate_stack::{Interface, Ownership};
use tidegate_sys::ethtool::Ethtool;
use tidegate_sys::netlink::{LinkInfo, Netlink};
use tidegate_sys::netns::Netns;
use tidegate_sys::packet_socket::PacketSocket;
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

/// A device with the program on it, shared by all who have frames of it. When nobody has it any more the program leaves
/// the device, pinned or not, unless it was told to stay.
pub struct Nic {
    /// Its name in the host.
    pub name: String,
    /// Receive queues; each has a socket.
    pub queue_count: u32,
    pub(crate) mac: MacAddr,
    /// The longest IP packet.
    pub(crate) mtu: usize,
    /// The addresses that are a stack's own, if it is a device of our own.
    pub(crate) own_addresses: Vec<IpAddr>,
    pub(crate) ifindex: u32,
    pub(crate) program: Arc<XdpProgram>,
    pub(crate) attachment: Attachment,
    /// Where the device is, if not in the process's own namespace.
    pub(crate) netns: Option<Netns>,
    pub(crate) pins: Option<PinDirectory>,
    /// Another process will go on with it.
    pub(crate) stays: AtomicBool,
    pub(crate) vports: OnceLock<Arc<Vports>>,
    pub(crate) _name: Option<NameClaim>,
}

impl Nic {
    /// Puts the program on a NIC of the host, all of whose frames stay the host's. `pins`: it is pinned there, so that it
    /// can outlive the process, and what an earlier process left there is taken over.
    pub(crate) fn take(link: LinkInfo, choice: ModeChoice, pins: Option<PinDirectory>) -> Result<Self> {
        let queue_count = Ethtool::open(&link.name)?.channels()?.rx_queue_count().max(1);
        let left = pins.as_ref().map(|pins| left_behind(pins, link.ifindex)).transpose()?.flatten();
        let (program, attachment) = match left {
            Some(left) => left,
            None => put_on(&link, queue_count, choice, pins.as_ref())?,
        };
        Ok(Self {
            mac: MacAddr(link.mac),
            mtu: (link.mtu as usize).min(MTU_MAX),
            own_addresses: Vec::new(),
            name: link.name,
            queue_count,
            ifindex: link.ifindex,
            program: Arc::new(program),
            attachment,
            netns: None,
            pins,
            stays: AtomicBool::new(false),
            vports: OnceLock::new(),
            _name: None,
        })
    }

    /// What a stack that has `tuples` of it must know of its link: the addresses are the host's, or its own if the device
    /// is.
    pub fn interface(&self, tuples: &[Tuple]) -> Interface {
        if self.is_own() {
            return Interface::new(self.mac, self.own_addresses.clone(), self.mtu, Ownership::Address);
        }
        let mut addresses: Vec<IpAddr> = tuples.iter().map(|tuple| tuple.address).collect();
        addresses.sort_unstable();
        addresses.dedup();
        Interface::new(self.mac, addresses, self.mtu, Ownership::Ports)
    }

    /// The longest IP packet that is exchanged with peers.
    pub fn mtu(&self) -> usize {
        self.mtu
    }

    /// Its link address.
    pub fn mac(&self) -> MacAddr {
        self.mac
    }

    /// Its IP addresses now.
    pub fn addresses(&self) -> Result<Vec<IpAddr>> {
        let found = self.inside(|| Netlink::open()?.addresses_of(self.ifindex))??;
        Ok(found.iter().map(|it| it.ip).collect())
    }

    /// What makes the veths of stacks on it.
    pub(crate) fn vports(&self) -> Result<&Arc<Vports>> {
        if let Some(vports) = self.vports.get() {
            return Ok(vports);
        }
        let mut netlink = Netlink::open()?;
        let link = netlink.link_of(self.ifindex)?;
        let addresses: Vec<IpAddr> = netlink.addresses_of(self.ifindex)?.iter().map(|it| it.ip).collect();
        let made = Vports::new(Arc::clone(&self.program), &link, &addresses, WayOut::default())?;
        Ok(self.vports.get_or_init(|| made))
    }

    /// Leaves the program on the device when this is dropped, if it is pinned.
    pub(crate) fn stay(&self) {
        self.stays.store(true, Ordering::Relaxed);
    }

    /// Whether it is a virtual NIC that goes when nobody has it any more.
    pub fn is_own(&self) -> bool {
        self.netns.is_some()
    }

    /// Whether the program is still there: `tidegate detach` takes it off whatever has it.
    pub(crate) fn is_attached(&self) -> Result<bool> {
        Ok(self.attachment.is_attached()?)
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

    fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T> {
        match &self.netns {
            Some(netns) => Ok(netns.run(work)?),
            None => Ok(work()),
        }
    }
}

impl Drop for Nic {
    fn drop(&mut self) {
        let Some(pins) = self.pins.as_ref().filter(|_| !self.stays.load(Ordering::Relaxed)) else { return };
        if let Err(error) = pins.remove() {
            tracing::warn!(device = self.name, "the XDP program stays on the device: {error}");
        }
    }
}

/// Loads the program and attaches it, pinned if that is wanted.
fn put_on(
    link: &LinkInfo,
    queue_count: u32,
    choice: ModeChoice,
    pins: Option<&PinDirectory>,
) -> Result<(XdpProgram, Attachment)> {
    let program = XdpProgram::load(&LoadOptions { queue_count_max: queue_count, ..Default::default() })?;
    let attachment = attach(&program, link.ifindex, &link.name, choice)?;
    pins.map(|pins| pins.pin(&program, &attachment)).transpose()?;
    Ok((program, attachment))
}

/// What an earlier process left on the device. What is of another version, or on no device any more, is removed.
fn left_behind(pins: &PinDirectory, ifindex: u32) -> Result<Option<(XdpProgram, Attachment)>> {
    match pins.open() {
        Ok((program, attachment)) if attachment.ifindex() == ifindex => Ok(Some((program, attachment))),
        Err(PinError::Absent { .. }) => Ok(None),
        Ok(_) | Err(PinError::OtherVersion { .. } | PinError::Defunct { .. }) => {
            pins.remove()?;
            Ok(None)
        }
        Err(error) => Err(error.into()),
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
