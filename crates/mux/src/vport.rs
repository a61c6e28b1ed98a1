//! A stack's own veth: the one way in and out of a process that is not trusted.
//!
//! ```text
//!   the host's namespace                                a namespace without a name, for this stack alone
//!   NIC --demux--> tgvI-S =============veth============> stack: stack_end --> AF_XDP socket, handed to its owner
//!   NIC <--host_ingress, host_egress-- tgvI-S <======== stack <------------- the same
//! ```
//! I is the NIC's number, S the stack's slot. The owner needs no capability: the socket is opened here, and it maps memory
//! of its own and binds. It can do no more with it than send from and receive at its end of the veth.
//!
//! Lifetime: the pair lives for as long as the socket does, in whatever process, because a socket keeps its namespace, so
//! that it outlives a daemon that restarts ([`Vports::adopt`]); dropping the [`Vport`] removes it at once.
//!
//! Invariant: the check is on the host's end before that is raised, and the host's stack has no part in it: no address, no ARP,
//! no IPv6, and nothing that comes in on it goes up.

use crate::error::{Attempt, Result};
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tidegate_base::Duration;
use tidegate_bpf::{Nic, StackCounters, WayOut, XdpProgram};
use tidegate_sys::ethtool::{Ethtool, Offload};
use tidegate_sys::netlink::{LinkInfo, MacAddress, Netlink, VethEnd, disable_ipv6};
use tidegate_sys::netns::Netns;
use tidegate_sys::xsk::XskSocket;
use tidegate_wire::MacAddr;

/// The stack's end in its namespace.
const STACK_END: &str = "stack";

/// A veth in driver mode keeps a frame in a page, beside the kernel's own (drivers/net/veth.c).
const MTU_MAX: u32 = 3500;

/// How long the kernel may take to bring a pair into use.
const PATIENCE: Duration = Duration::from_secs(10);

/// What makes the veths of the stacks on one NIC.
#[derive(Debug)]
pub struct Vports {
    program: Arc<XdpProgram>,
    ifindex: u32,
    mac: MacAddress,
    mtu: u32,
    /// Of the namespace that the NIC is in.
    netlink: Mutex<Netlink>,
}

/// A stack's veth. Dropped, it is gone, and with it what its owner's socket is good for.
#[derive(Debug)]
#[must_use = "the veth goes when this is dropped"]
pub struct Vport {
    vports: Arc<Vports>,
    slot: u32,
    ifindex: u32,
}

impl Vports {
    /// For the NIC `link` of this thread's network namespace, which runs `program`. Stacks with a port of every address send
    /// from `addresses`.
    pub fn new(
        program: Arc<XdpProgram>,
        link: &LinkInfo,
        addresses: &[IpAddr],
        way_out: WayOut,
    ) -> Result<Arc<Self>> {
        let mtu = link.mtu.min(MTU_MAX);
        program.set_nic(&Nic { ifindex: link.ifindex, mac: MacAddr(link.mac), mtu, way_out })?;
        for address in addresses {
            program.add_address(*address)?;
        }
        let netlink = Mutex::new(Netlink::open()?);
        Ok(Arc::new(Self { program, ifindex: link.ifindex, mac: link.mac, mtu, netlink }))
    }

    /// The longest IP packet that its veths carry.
    pub fn mtu(&self) -> u32 {
        self.mtu
    }

    /// Makes the veth of the stack `slot`, as new as if nobody had had the slot, and the socket for its owner.
    ///
    /// The calling thread is in the namespace of the NIC. Needs CAP_NET_ADMIN, CAP_NET_RAW and CAP_SYS_ADMIN.
    pub fn create(self: &Arc<Self>, slot: u32) -> Result<(Vport, OwnedFd)> {
        self.program.clear_slot(slot)?;
        let netns = Netns::create()?;
        let name = self.name(slot);
        self.remove_left_behind(slot, &name)?;
        let end_ifindex = XdpProgram::stack_end_ifindex(slot);
        let end = VethEnd {
            netns: Some(&netns),
            mac: Some(self.mac),
            mtu: Some(self.mtu),
            ifindex: Some(end_ifindex),
            ..VethEnd::new(STACK_END)
        };
        let host_end = VethEnd { mtu: Some(self.mtu), ..VethEnd::new(&name) };
        self.netlink().create_veth(end, host_end)?;
        let ifindex = self.netlink().link(&name)?.ifindex;
        // From here on a failure removes the pair.
        let vport = Vport { vports: self.clone(), slot, ifindex };
        let socket = netns.run(|| self.open_end(end_ifindex))??;
        self.program.set_end_socket(slot, &socket)?;
        vport.raise(&name)?;
        Ok((vport, socket))
    }

    /// An owner that lost its lease and lives on, as where the program was detached, still has its veth.
    fn remove_left_behind(&self, slot: u32, name: &str) -> Result<()> {
        let links = self.netlink().links()?;
        let Some(left) = links.iter().find(|link| link.name == name) else { return Ok(()) };
        self.program.take_device(slot, left.ifindex)?;
        Ok(self.netlink().delete_link(left.ifindex)?)
    }

    /// The veth of the stack `slot` that another process made and its owner still holds, if there is one.
    pub fn adopt(self: &Arc<Self>, slot: u32) -> Result<Option<Vport>> {
        let given = self.program.given_devices()?;
        let Some((ifindex, _)) = given.into_iter().find(|(_, of)| *of == slot) else { return Ok(None) };
        let lives = self.netlink().link_of(ifindex).is_ok_and(|link| link.name == self.name(slot));
        Ok(lives.then(|| Vport { vports: self.clone(), slot, ifindex }))
    }

    /// Sets up the stack's end and opens the socket, in the stack's namespace.
    fn open_end(&self, ifindex: u32) -> Result<OwnedFd> {
        let mut netlink = Netlink::open()?;
        disable_ipv6(STACK_END)
            .attempting(|| "could not take IPv6 off the stack's end of a veth".to_owned())?;
        netlink.disable_arp(ifindex)?;
        let fed = self.program.feed(ifindex);
        fed.attempting(|| "could not put the XDP program on the stack's end of a veth".to_owned())?;
        netlink.set_up(ifindex, true)?;
        XskSocket::open().attempting(|| "could not open an AF_XDP socket for a stack".to_owned())
    }

    fn name(&self, slot: u32) -> String {
        format!("tgv{}-{slot}", self.ifindex)
    }

    fn netlink(&self) -> MutexGuard<'_, Netlink> {
        self.netlink.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Vport {
    /// The stack's number on its NIC.
    pub fn slot(&self) -> u32 {
        self.slot
    }

    /// The number of the host's end.
    pub fn ifindex(&self) -> u32 {
        self.ifindex
    }

    /// What went to and came from the stack.
    pub fn counters(&self) -> Result<StackCounters> {
        Ok(self.vports.program.stack_counters(self.slot)?)
    }

    /// Waits until the kernel has brought the pair into use: what a stack sends earlier may be lost.
    pub fn await_running(&self) -> Result<()> {
        Ok(self.vports.netlink().await_running(self.ifindex, PATIENCE)?)
    }

    /// Puts the check on the host's end, and raises it.
    fn raise(&self, name: &str) -> Result<()> {
        let Vports { program, .. } = &*self.vports;
        disable_ipv6(name).attempting(|| format!("could not take IPv6 off {name}"))?;
        self.vports.netlink().disable_arp(self.ifindex)?;
        program
            .guard(self.ifindex)
            .attempting(|| format!("could not put the check of what stacks send on {name}"))?;
        // XDP has switched it on: frames leave as they were sent, not merged.
        Ethtool::open(name)?.set(Offload::GenericReceive, false)?;
        program.give_device(self.slot, self.ifindex)?;
        Ok(self.vports.netlink().set_up(self.ifindex, true)?)
    }
}

impl Drop for Vport {
    /// What cannot be removed is gone already: its namespace went with its owner.
    fn drop(&mut self) {
        let _ = self.vports.program.take_device(self.slot, self.ifindex);
        let _ = self.vports.netlink().delete_link(self.ifindex);
    }
}
