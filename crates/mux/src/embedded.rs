//! A virtual NIC of our own: a veth pair whose far end nobody else has.
//!
//! ```text
//!   the host's namespace                        a namespace without a name, held by this process
//!   tidegateN 10.77.N.1/24, fd77:0:0:N::1/64 ====== service: 10.77.N.2, fd77:0:0:N::2, our stack's
//! ```
//! The kernel of the far end has no address there and sees no frame: the program gives them all to us. A
//! queue before each end makes veth stop whoever sends too much, as a NIC does, instead of dropping frames.

use crate::error::{MuxError, Result, wrong_input};
use crate::name::NameClaim;
use crate::nic::{Nic, attach};
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tidegate_bpf::{LoadOptions, ModeChoice, XdpProgram};
use tidegate_sys::ethtool::{Ethtool, Offload};
use tidegate_sys::netlink::{Address, LinkInfo, MacAddress, Netlink, NetlinkError, VethEnd};
use tidegate_sys::netns::Netns;
use tidegate_wire::MacAddr;

/// The far end's name, in a namespace where it is alone.
const FAR_END: &str = "service";
/// How long the kernel may take to remove what nobody holds any more.
const REMOVAL_PATIENCE: Duration = Duration::from_secs(2);
const POLL_PERIOD: Duration = Duration::from_millis(5);

/// Names and addresses of the virtual NIC number N.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    name: String,
    number: u8,
}

impl Plan {
    /// The one called `tidegateN`.
    pub fn of_name(name: &str) -> Result<Self> {
        let number = name.strip_prefix("tidegate").and_then(|n| n.parse().ok());
        let number = number.ok_or_else(|| {
            wrong_input(format!(
                "--name {name}: a virtual NIC is called tidegate0, tidegate1, ... tidegate255"
            ))
        })?;
        Ok(Self { name: format!("tidegate{number}"), number })
    }

    fn address_v4(&self, host: u8) -> IpAddr {
        Ipv4Addr::new(10, 77, self.number, host).into()
    }

    fn address_v6(&self, host: u8) -> IpAddr {
        Ipv6Addr::new(0xfd77, 0, 0, self.number.into(), 0, 0, 0, host.into()).into()
    }

    fn prefixes(&self, host: u8) -> [Address; 2] {
        [
            Address { ip: self.address_v4(host), prefix_len: 24 },
            Address { ip: self.address_v6(host), prefix_len: 64 },
        ]
    }

    /// Locally administered, and readable: it ends as the IPv4 address does.
    fn mac(&self, host: u8) -> MacAddress {
        [0x02, 0, 10, 77, self.number, host]
    }

    /// Where a service on it is to be found, over IPv4 and over IPv6.
    pub fn addresses(&self) -> [IpAddr; 2] {
        [self.address_v4(2), self.address_v6(2)]
    }

    /// Whether `ip` is one of the service's addresses.
    pub fn has(&self, ip: IpAddr) -> bool {
        self.addresses().contains(&ip)
    }

    /// The same place at an address of this NIC.
    pub fn resolve(&self, wanted: SocketAddr) -> Result<SocketAddr> {
        let [v4, v6] = self.addresses();
        let ip = if wanted.is_ipv4() { v4 } else { v6 };
        if !wanted.ip().is_unspecified() && !self.has(wanted.ip()) {
            return Err(wrong_input(format!(
                "--listen {wanted}: add --dev with the interface that has this address, or listen on {v4} or \
                 {v6} of the virtual NIC"
            )));
        }
        Ok(SocketAddr::new(ip, wanted.port()))
    }
}

/// Makes the virtual NIC with `queue_count` queues, and puts the program on its far end.
pub fn create(plan: &Plan, queue_count: u32, choice: ModeChoice) -> Result<Nic> {
    let mut host = Netlink::open()?;
    let name = claim(&mut host, &plan.name)?;
    refuse_taken_subnet(&mut host, plan)?;
    let netns = Netns::create()?;
    create_pair(&mut host, plan, &netns, queue_count)?;
    raise_host_end(&mut host, plan)?;
    let (far, program, attachment) = netns.run(|| -> Result<_> {
        let far = raise_far_end()?;
        let program = XdpProgram::load(&LoadOptions { queue_count_max: queue_count, ..Default::default() })?;
        let attachment = attach(&program, far.ifindex, &plan.name, choice)?;
        Ok((far, program, attachment))
    })??;
    Ok(Nic {
        name: plan.name.clone(),
        mac: MacAddr(far.mac),
        mtu: far.mtu as usize,
        own_addresses: plan.addresses().into(),
        queue_count,
        ifindex: far.ifindex,
        program: Arc::new(program),
        attachment,
        netns: Some(netns),
        pins: None,
        stays: AtomicBool::new(false),
        vports: OnceLock::new(),
        _name: Some(name),
    })
}

/// Takes the name, and removes what a killed process left under it, which the kernel would do a moment later.
fn claim(netlink: &mut Netlink, name: &str) -> Result<NameClaim> {
    let Some(claim) = NameClaim::of(name)? else {
        return Err(MuxError::Occupied(format!(
            "another running Tidegate has {name} (see it with: tidegate stats): stop that one, or choose \
             another virtual NIC with --name {}",
            next_name(netlink)?
        )));
    };
    let links = netlink.links()?;
    match links.iter().find(|link| link.name == name) {
        Some(link) if link.kind.as_deref() == Some("veth") => remove(netlink, link.ifindex)?,
        Some(_) => {
            let text =
                format!("there is a {name} that is not Tidegate's: choose another with --name tidegate1");
            return Err(MuxError::Occupied(text));
        }
        None => {}
    }
    Ok(claim)
}

/// Removes a link, unless the kernel was quicker.
fn remove(netlink: &mut Netlink, ifindex: u32) -> Result<()> {
    match netlink.delete_link(ifindex) {
        Err(error) if !is_absence(&error) => Err(error.into()),
        _ => Ok(()),
    }
}

/// Waits until the kernel has removed the link `name`: a moment after its far end's namespace lost its last
/// holder.
pub fn await_removal(netlink: &mut Netlink, name: &str) -> Result<()> {
    let start = Instant::now();
    while exists(netlink, name)? {
        if start.elapsed() > REMOVAL_PATIENCE {
            let text = format!("the kernel still has {name}: remove it with: ip link delete {name}");
            return Err(MuxError::Occupied(text));
        }
        std::thread::sleep(POLL_PERIOD);
    }
    Ok(())
}

fn exists(netlink: &mut Netlink, name: &str) -> Result<bool, NetlinkError> {
    match netlink.link(name) {
        Ok(_) => Ok(true),
        Err(error) if is_absence(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// ENODEV, by its number because std has no kind for it.
fn is_absence(error: &NetlinkError) -> bool {
    const ENODEV: i32 = 19;
    error.source.raw_os_error() == Some(ENODEV) || error.source.kind() == ErrorKind::NotFound
}

fn next_name(netlink: &mut Netlink) -> Result<String> {
    let links = netlink.links()?;
    let free = (0..=u8::MAX).map(|number| format!("tidegate{number}"));
    free.into_iter()
        .find(|name| links.iter().all(|link| link.name != *name))
        .ok_or_else(|| MuxError::Occupied("all names from tidegate0 to tidegate255 are taken".to_owned()))
}

/// Two links with one subnet would draw the traffic of one to the other.
fn refuse_taken_subnet(netlink: &mut Netlink, plan: &Plan) -> Result<()> {
    let taken = netlink.addresses()?.into_iter().map(|info| info.address.ip);
    let wanted = plan.prefixes(1);
    let Some(clash) = taken.into_iter().find(|ip| wanted.iter().any(|prefix| holds(prefix, *ip))) else {
        return Ok(());
    };
    Err(MuxError::Occupied(format!(
        "the host has {clash} already, which {} needs: choose another with --name tidegate1",
        plan.name
    )))
}

/// Whether `ip` shares the prefix's leading bits; prefixes here end between bytes.
fn holds(prefix: &Address, ip: IpAddr) -> bool {
    let len = usize::from(prefix.prefix_len / 8);
    match (prefix.ip, ip) {
        (IpAddr::V4(a), IpAddr::V4(b)) => a.octets()[..len] == b.octets()[..len],
        (IpAddr::V6(a), IpAddr::V6(b)) => a.octets()[..len] == b.octets()[..len],
        _ => false,
    }
}

fn create_pair(netlink: &mut Netlink, plan: &Plan, netns: &Netns, queue_count: u32) -> Result<()> {
    let near = VethEnd { mac: Some(plan.mac(1)), queue_count, ..VethEnd::new(&plan.name) };
    let far = VethEnd { mac: Some(plan.mac(2)), queue_count, netns: Some(netns), ..VethEnd::new(FAR_END) };
    Ok(netlink.create_veth(near, far)?)
}

/// Addresses, and frames as they would be on a wire: cut to size, with their checksums, and merged where
/// they arrive.
fn raise_host_end(netlink: &mut Netlink, plan: &Plan) -> Result<()> {
    let near = netlink.link(&plan.name)?.ifindex;
    let offloads = Ethtool::open(&plan.name)?;
    for offload in [Offload::TcpSegmentation, Offload::GenericSegmentation, Offload::TxChecksum] {
        offloads.set(offload, false)?;
    }
    offloads.set(Offload::GenericReceive, true)?;
    for address in plan.prefixes(1) {
        netlink.add_address(near, address)?;
    }
    Ok(netlink.set_up(near, true)?)
}

/// Raises the far end, on a thread that is in its namespace.
fn raise_far_end() -> Result<LinkInfo> {
    let mut netlink = Netlink::open()?;
    let far = netlink.link(FAR_END)?;
    netlink.disable_ipv6_address_generation(far.ifindex)?;
    netlink.set_up(far.ifindex, true)?;
    Ok(far)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_in_the_name_is_the_subnet() {
        let plan = Plan::of_name("tidegate7").expect("a good name");
        assert_eq!(plan.addresses().map(|ip| ip.to_string()), ["10.77.7.2", "fd77:0:0:7::2"]);
        assert_eq!(Plan::of_name("tidegate0").expect("a good name").address_v6(1).to_string(), "fd77::1");
    }

    #[test]
    fn an_address_of_another_interface_is_refused_with_what_to_do() {
        let plan = Plan::of_name("tidegate0").expect("a good name");
        let address = |text: &str| text.parse().expect("an address");
        let all = plan.resolve(address("0.0.0.0:8080")).expect("all of IPv4");
        assert_eq!(all.to_string(), "10.77.0.2:8080");
        let said = plan.resolve(address("192.0.2.7:80")).expect_err("not ours").to_string();
        assert!(said.contains("--dev") && said.contains("10.77.0.2"), "{said}");
    }

    #[test]
    fn other_names_are_refused_with_the_right_ones() {
        for name in ["eth0", "tidegate", "tidegate256", "tidegate-1"] {
            let said = Plan::of_name(name).expect_err("a bad name").to_string();
            assert!(said.contains(name) && said.contains("tidegate0"), "{said}");
        }
    }

    #[test]
    fn a_subnet_holds_its_addresses_only() {
        let [v4, v6] = Plan::of_name("tidegate3").expect("a good name").prefixes(1);
        assert!(holds(&v4, "10.77.3.200".parse().expect("an address")));
        assert!(!holds(&v4, "10.77.4.1".parse().expect("an address")));
        assert!(holds(&v6, "fd77:0:0:3::99".parse().expect("an address")));
        assert!(!holds(&v6, "fd77::1".parse().expect("an address")));
    }
}
