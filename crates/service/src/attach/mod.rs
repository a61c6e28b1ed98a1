//! Where a service meets the network: a device with Tidegate's XDP program on it, and the queues whose
//! frames come to user space.
//!
//! ```text
//!   embedded:  host --tidegate0 ====veth==== service--+         the whole device is ours
//!   device:    wire --eth0----------------------------+--> queues --> workers
//!                       \--> the host, for all that is not registered
//! ```
//!
//! Invariant: nothing here outlives the process. The program's link is not pinned, the veth's far end is in
//! a namespace without a name, the placeholders are sockets: the kernel removes all of it with our last
//! descriptor, however we end.

mod claim;
pub(crate) mod device;
pub(crate) mod embedded;

use crate::config::{Gso, XdpMode};
use crate::error::{Attempt, Result, ServiceError, wrong_input};
use crate::kind::Endpoint;
use claim::NameClaim;
use std::sync::Arc;
use tidegate_bpf::{AttachError, AttachMode, Attachment, Counters, ModeChoice, Steering, Tuple, XdpProgram};
use tidegate_port::{AfXdpPort, Push};
use tidegate_stack::Interface;
use tidegate_sys::ethtool::Ethtool;
use tidegate_sys::netlink::Netlink;
use tidegate_sys::netns::Netns;
use tidegate_sys::packet_socket::PacketSocket;
use tidegate_sys::socket::Placeholder;
use tidegate_sys::xsk::{DriverMode, Umem, XskConfig};

/// Bytes of bulk that may be on the way to a device: more than its queue holds.
const BULK_BUFFER_SIZE: u32 = 32 << 20;

/// A device with the program on it.
pub struct Device {
    /// Its name in the host.
    pub name: String,
    /// Where the services are to be found.
    pub listen: Vec<Endpoint>,
    /// The host that the stack is on this device.
    pub interface: Interface,
    /// Receive queues; each has a socket.
    pub queue_count: u32,
    /// What is claimed; nothing: every frame.
    rules: Vec<Tuple>,
    ifindex: u32,
    program: XdpProgram,
    attachment: Attachment,
    /// Where the device is, if not in the process's own namespace.
    netns: Option<Netns>,
    _name: Option<NameClaim>,
    _placeholders: Vec<Placeholder>,
}

impl Device {
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

/// Gives the devices up, and returns when a virtual NIC is gone: the kernel removes it a moment after its
/// far end's namespace lost its last holder.
pub fn leave(devices: Arc<Vec<Device>>) -> Result<()> {
    let own: Vec<String> =
        devices.iter().filter(|device| device.netns.is_some()).map(|device| device.name.clone()).collect();
    drop(devices);
    let mut netlink = Netlink::open()?;
    own.iter().try_for_each(|name| embedded::await_removal(&mut netlink, name))
}

/// Attaches the program, and says so where it is not in the driver.
fn attach(program: &XdpProgram, ifindex: u32, name: &str, mode: XdpMode) -> Result<Attachment> {
    let choice = match mode {
        XdpMode::Auto => ModeChoice::DriverThenGeneric,
        XdpMode::Native => ModeChoice::DriverOnly,
        XdpMode::Generic => ModeChoice::GenericOnly,
    };
    let attachment = program.attach(ifindex, choice).map_err(|error| refused(error, name))?;
    if let Some(refusal) = attachment.driver_refusal() {
        tracing::warn!(device = name, "the driver refuses XDP ({refusal}): generic mode, which is slower");
    }
    Ok(attachment)
}

/// The error in terms of what was typed.
fn refused(error: AttachError, device: &str) -> ServiceError {
    match error {
        AttachError::Occupied { program_id, name, .. } if name == "tidegate" => {
            ServiceError::Occupied(format!(
                "{device} is served by another Tidegate already (XDP program {program_id}): stop that one, or \
             take it off with: tidegate detach {device}"
            ))
        }
        AttachError::Occupied { program_id, name, .. } => ServiceError::Occupied(format!(
            "{device} has the XDP program `{name}` ({program_id}) of someone else: stop its owner, or take \
             it off with: ip link set dev {device} xdp off"
        )),
        AttachError::Refused { mode: AttachMode::Driver, source, .. } => {
            wrong_input(format!("the driver of {device} refuses XDP ({source}): use --xdp-mode generic"))
        }
        other => other.into(),
    }
}
