//! The kernel's device behind a port: what controllers ask of it and set on it.

use super::{LINK_LEN, Opened, failed};
use tidegate_control::controller::PortSettings;
use tidegate_control::proto::bess::{GetLinkStatusResponse, PortConf};
use tidegate_control::{Errno, Fault};
use tidegate_port::TapPort;
use tidegate_sys::ethtool;
use tidegate_sys::netlink::{LinkInfo, Netlink, NetlinkError};
use tidegate_sys::netns::Netns;
use tidegate_sys::tap::Tap;

/// A device, wherever it is.
pub(crate) struct Device {
    /// Another namespace than the daemon's.
    netns: Option<Netns>,
    ifindex: u32,
    /// The daemon made it, so that a controller may change it.
    is_own: bool,
}

impl Device {
    /// A device of the host's.
    pub(crate) fn find(name: &str) -> Result<Self, Fault> {
        let mut netlink = Netlink::open().map_err(refused)?;
        let missing = |error: NetlinkError| Fault::new(Errno::ENODEV, error.to_string());
        let ifindex = netlink.link(name).map_err(missing)?.ifindex;
        Ok(Self { netns: None, ifindex, is_own: false })
    }

    /// A device that the daemon has just made, raised.
    pub(super) fn own(name: &str, netns: Option<Netns>) -> Result<Self, Fault> {
        let mut device = Self { netns, ifindex: 0, is_own: true };
        let mut netlink = device.netlink()?;
        device.ifindex = netlink.link(name).map_err(refused)?.ifindex;
        netlink.set_up(device.ifindex, true).map_err(refused)?;
        Ok(device)
    }

    /// The port on a TAP device that is this.
    pub(super) fn on_tap(self, tap: Tap) -> Result<Opened, Fault> {
        let mtu = self.info()?.mtu as usize;
        Ok(Opened { queues: vec![Box::new(TapPort::new(tap, mtu + LINK_LEN))], device: Some(self) })
    }

    pub(super) const fn ifindex(&self) -> u32 {
        self.ifindex
    }

    pub(super) fn netlink(&self) -> Result<Netlink, Fault> {
        let opened = match &self.netns {
            None => Netlink::open(),
            Some(netns) => Netlink::open_in(netns),
        };
        opened.map_err(refused)
    }

    pub(super) fn info(&self) -> Result<LinkInfo, Fault> {
        self.netlink()?.link_of(self.ifindex).map_err(refused)
    }

    /// Its address as text.
    pub(crate) fn mac(&self) -> Result<String, Fault> {
        Ok(tidegate_wire::MacAddr(self.info()?.mac).to_string())
    }

    /// What is set on it.
    pub(crate) fn settings(&self) -> Result<PortConf, Fault> {
        let info = self.info()?;
        let mac_addr = tidegate_wire::MacAddr(info.mac).to_string();
        Ok(PortConf { mac_addr, mtu: info.mtu, admin_up: info.flags.is_up() })
    }

    /// Sets it, if the daemon made it; what is so already may be asked of any.
    pub(crate) fn set(&self, wish: &PortSettings) -> Result<(), Fault> {
        let info = self.info()?;
        let is_so = wish.mac.is_none_or(|mac| mac == info.mac)
            && wish.mtu.is_none_or(|mtu| mtu == info.mtu)
            && wish.up == info.flags.is_up();
        if is_so {
            return Ok(());
        }
        if !self.is_own {
            let text = format!("{} is a device of the host: change it there (ip link)", info.name);
            return Err(Fault::new(Errno::EPERM, text));
        }
        let mut netlink = self.netlink()?;
        if let Some(mac) = wish.mac.filter(|mac| *mac != info.mac) {
            netlink.set_mac(self.ifindex, mac).map_err(refused)?;
        }
        if let Some(mtu) = wish.mtu.filter(|mtu| *mtu != info.mtu) {
            netlink.set_mtu(self.ifindex, mtu).map_err(refused)?;
        }
        netlink.set_up(self.ifindex, wish.up).map_err(refused)
    }

    /// The state of its link. What its speed is, is told in the daemon's own namespace only.
    pub(crate) fn link(&self) -> Result<GetLinkStatusResponse, Fault> {
        let info = self.info()?;
        let speed = if self.netns.is_none() { ethtool::speed_mbps(&info.name) } else { None };
        Ok(GetLinkStatusResponse {
            error: None,
            speed: speed.unwrap_or(0),
            full_duplex: true,
            autoneg: false,
            link_up: info.flags.is_up() && info.flags.is_running(),
        })
    }
}

fn refused(error: NetlinkError) -> Fault {
    failed(error.to_string())
}
