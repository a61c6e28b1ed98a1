//! VPort and BulkTapPort: a virtual interface in the host, in a namespace or in a container.
//!
//! ```text
//!   namespace or container                       daemon
//!   stack -- TAP device `ifname` (ip_addrs) ---- port
//! ```
//! BESS has a module of its own in the kernel for this. A stock kernel has TAP devices: they go with the descriptor that
//! holds them, so that nothing is left when the daemon is killed, and a container that ends takes its device along.

use super::device::Device;
use super::{LINK_LEN, Opened, failed};
use std::net::IpAddr;
use std::process::Command;
use tidegate_control::proto::bess::{BulkTapPortArg, VPortArg, v_port_arg::Cpid};
use tidegate_control::{Errno, Fault};
use tidegate_port::BulkTapPort;
use tidegate_sys::netlink::Address;
use tidegate_sys::netns::{Netns, NetnsError};
use tidegate_sys::tap::{BulkTap, Tap, TapError};

pub(super) fn open(name: &str, arg: &VPortArg) -> Result<Opened, Fault> {
    check(arg)?;
    let netns = arg.cpid.as_ref().map(netns_of).transpose()?;
    let ifname = if arg.ifname.is_empty() { name } else { &arg.ifname };
    let (tap, device) = raise(ifname, netns, &arg.ip_addrs, Tap::open, Tap::name)?;
    device.on_tap(tap)
}

/// The same, whose kernel sends and takes large TCP frames.
pub(super) fn open_bulk(name: &str, arg: &BulkTapPortArg) -> Result<Opened, Fault> {
    let netns = (!arg.netns.is_empty()).then(|| netns_of(&Cpid::Netns(arg.netns.clone()))).transpose()?;
    let ifname = if arg.ifname.is_empty() { name } else { &arg.ifname };
    let (tap, device) = raise(ifname, netns, &arg.ip_addrs, BulkTap::open, BulkTap::name)?;
    let mtu = device.info()?.mtu as usize;
    Ok(Opened { queues: vec![Box::new(BulkTapPort::new(tap, mtu + LINK_LEN))], device: Some(device) })
}

/// A device in a namespace, up and with addresses.
fn raise<T: Send>(
    ifname: &str,
    netns: Option<Netns>,
    addresses: &[String],
    open: fn(&str) -> Result<T, TapError>,
    name_of: fn(&T) -> &str,
) -> Result<(T, Device), Fault> {
    let addresses = addresses.iter().map(|text| address(text)).collect::<Result<Vec<_>, _>>()?;
    let tap = match &netns {
        None => open(ifname),
        Some(netns) => netns.run(|| open(ifname)).map_err(|error| gone(&error))?,
    };
    let tap = tap.map_err(|error| failed(error.to_string()))?;
    let device = Device::own(name_of(&tap), netns)?;
    let mut netlink = device.netlink()?;
    for address in addresses {
        netlink.add_address(device.ifindex(), address).map_err(|error| failed(error.to_string()))?;
    }
    Ok((tap, device))
}

/// What a TAP device cannot do.
fn check(arg: &VPortArg) -> Result<(), Fault> {
    let wrong = if arg.loopback {
        "loopback"
    } else if arg.tx_tci != 0 || arg.tx_outer_tci != 0 {
        "tx_tci and tx_outer_tci (VLANPush puts tags on)"
    } else if !arg.rxq_cpus.is_empty() {
        "rxq_cpus (a port has one queue)"
    } else {
        return Ok(());
    };
    Err(Fault::unsupported(format!("a VPort is a TAP device here, which has no {wrong}: leave it out")))
}

fn netns_of(of: &Cpid) -> Result<Netns, Fault> {
    let opened = match of {
        Cpid::Netns(path) if path.contains('/') => Netns::open(path),
        Cpid::Netns(name) => Netns::named(name),
        Cpid::ContainerPid(pid) => Netns::open(format!("/proc/{pid}/ns/net")),
        Cpid::Docker(container) => Netns::open(format!("/proc/{}/ns/net", pid_of(container)?)),
    };
    opened.map_err(|error| gone(&error))
}

fn gone(error: &NetnsError) -> Fault {
    Fault::new(Errno::ENOENT, error.to_string())
}

/// The first process of a Docker container.
fn pid_of(container: &str) -> Result<u32, Fault> {
    let shown = container.escape_debug();
    if container.starts_with('-') {
        return Err(Fault::invalid(format!("`{shown}` is no container's name")));
    }
    let asked = Command::new("docker").args(["inspect", "--format", "{{.State.Pid}}", container]).output();
    let output =
        asked.map_err(|error| failed(format!("cannot ask docker for container {shown}: {error}")))?;
    let pid = std::str::from_utf8(&output.stdout).ok().and_then(|text| text.trim().parse().ok());
    // A container that does not run has the number 0.
    let pid = pid.filter(|pid| *pid > 0 && output.status.success());
    pid.ok_or_else(|| Fault::missing(format!("docker knows no running container {shown}: see docker ps")))
}

/// An address as `10.0.0.1/24`.
fn address(text: &str) -> Result<Address, Fault> {
    let wrong = || Fault::invalid(format!("`{}` is no address like 10.0.0.1/24", text.escape_debug()));
    let (ip, len) = text.split_once('/').ok_or_else(wrong)?;
    let ip: IpAddr = ip.parse().map_err(|_| wrong())?;
    let len_max = if ip.is_ipv4() { 32 } else { 128 };
    let prefix_len = len.parse().ok().filter(|len| *len <= len_max).ok_or_else(wrong)?;
    Ok(Address { ip, prefix_len })
}
