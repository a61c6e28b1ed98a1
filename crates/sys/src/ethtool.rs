//! Offloads, channels and driver names of a device: the ethtool ioctl.
//!
//! Invariant: an offload is switched and then read back, so that success means that it is so.

use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use crate::syscall::{check, device_name, socket, text};

/// The speed of a device in the calling thread's namespace, in Mbit/s, if it has one and a link.
///
/// Source: Documentation/ABI/testing/sysfs-class-net.
pub fn speed_mbps(device: &str) -> Option<u32> {
    device_name(device).ok().filter(|_| !device.contains('/'))?;
    std::fs::read_to_string(format!("/sys/class/net/{device}/speed")).ok()?.trim().parse().ok()
}

/// A device could not be asked or changed.
#[derive(Debug, thiserror::Error)]
#[error("could not {attempted} on {device}: {source}; {}", self.hint())]
pub struct EthtoolError {
    /// What was asked, in words.
    pub attempted: String,
    /// The device.
    pub device: String,
    /// What the kernel said.
    pub source: io::Error,
}

impl EthtoolError {
    fn hint(&self) -> &'static str {
        match self.source.raw_os_error() {
            Some(libc::EPERM) => "run as root or with CAP_NET_ADMIN",
            Some(libc::ENODEV) => "see which interfaces there are with: ip link",
            _ => "see what the driver can do with: ethtool -k",
        }
    }
}

/// Work that a device, or the kernel's lowest layer, does for the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offload {
    /// Checksums of received packets are verified.
    RxChecksum,
    /// Checksums of sent packets are completed.
    TxChecksum,
    /// Large TCP segments are cut by the device (TSO).
    TcpSegmentation,
    /// Large packets are cut as late as possible (GSO).
    GenericSegmentation,
    /// Received packets are merged by the kernel (GRO). On veth it also turns NAPI on.
    GenericReceive,
    /// Received packets are merged by the device (LRO).
    LargeReceive,
}

/// linux/ethtool.h: get and set commands of one value each.
const ETHTOOL_GDRVINFO: u32 = 0x03;
const ETHTOOL_GCHANNELS: u32 = 0x3c;
const ETHTOOL_GFLAGS: u32 = 0x25;
const ETHTOOL_SFLAGS: u32 = 0x26;
const ETH_FLAG_LRO: u32 = 1 << 15;

impl Offload {
    /// (get, set, the bits of the value that are meant).
    fn commands(self) -> (u32, u32, u32) {
        match self {
            Offload::RxChecksum => (0x14, 0x15, 1),
            Offload::TxChecksum => (0x16, 0x17, 1),
            Offload::TcpSegmentation => (0x1e, 0x1f, 1),
            Offload::GenericSegmentation => (0x23, 0x24, 1),
            Offload::GenericReceive => (0x2b, 0x2c, 1),
            Offload::LargeReceive => (ETHTOOL_GFLAGS, ETHTOOL_SFLAGS, ETH_FLAG_LRO),
        }
    }
}

impl fmt::Display for Offload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Offload::RxChecksum => "rx checksumming",
            Offload::TxChecksum => "tx checksumming",
            Offload::TcpSegmentation => "TCP segmentation offload",
            Offload::GenericSegmentation => "generic segmentation offload",
            Offload::GenericReceive => "generic receive offload",
            Offload::LargeReceive => "large receive offload",
        })
    }
}

/// Queues of a device: `struct ethtool_channels`, the counts in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channels {
    /// Queues that only receive.
    pub rx_count: u32,
    /// Queues that only send.
    pub tx_count: u32,
    /// Queues that do both.
    pub combined_count: u32,
}

impl Channels {
    /// Receive queues in use: those that AF_XDP sockets can be bound to.
    pub fn rx_queue_count(&self) -> u32 {
        self.rx_count + self.combined_count
    }
}

/// A device of one network namespace, to be asked and changed.
#[derive(Debug)]
pub struct Ethtool {
    socket: OwnedFd,
    device: String,
}

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

impl Ethtool {
    /// The device `device` of the calling thread's network namespace.
    ///
    /// Asking needs no capability, changing needs CAP_NET_ADMIN. Source: linux/ethtool.h, netdevice(7).
    pub fn open(device: &str) -> Result<Ethtool, EthtoolError> {
        let opened = socket(libc::AF_INET, libc::SOCK_DGRAM, 0);
        let error =
            |source| EthtoolError { attempted: "open a socket".into(), device: device.into(), source };
        Ok(Ethtool { socket: opened.map_err(error)?, device: device.into() })
    }

    /// Switches an offload on or off. A device that cannot do it at all is "off" without complaint.
    pub fn set(&self, offload: Offload, on: bool) -> Result<(), EthtoolError> {
        if self.is_on(offload)? == on {
            return Ok(());
        }
        let (get, set, bits) = offload.commands();
        let attempted = || format!("switch {offload} {}", if on { "on" } else { "off" });
        // GFLAGS and SFLAGS carry other features in the same word.
        let others = if bits == 1 { 0 } else { self.value(get, 0).map_err(self.error(attempted()))? & !bits };
        self.value(set, others | if on { bits } else { 0 }).map_err(self.error(attempted()))?;
        if self.is_on(offload)? != on {
            return Err(self.error(attempted())(io::ErrorKind::Unsupported.into()));
        }
        Ok(())
    }

    /// Whether an offload is on.
    pub fn is_on(&self, offload: Offload) -> Result<bool, EthtoolError> {
        let (get, _, bits) = offload.commands();
        let value = self.value(get, 0).map_err(self.error(format!("ask for {offload}")))?;
        Ok(value & bits != 0)
    }

    /// How many queues are in use. A driver that does not tell has one.
    pub fn channels(&self) -> Result<Channels, EthtoolError> {
        // struct ethtool_channels: command, four maxima, then rx, tx, other, combined.
        let mut fields = [0_u32; 9];
        fields[0] = ETHTOOL_GCHANNELS;
        match self.ioctl(&mut fields) {
            Ok(()) => Ok(Channels { rx_count: fields[5], tx_count: fields[6], combined_count: fields[8] }),
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
                Ok(Channels { rx_count: 0, tx_count: 0, combined_count: 1 })
            }
            Err(source) => Err(self.error("ask for the channels")(source)),
        }
    }

    /// The name of the device's driver, such as `veth` or `ixgbe`.
    pub fn driver(&self) -> Result<String, EthtoolError> {
        /// `struct ethtool_drvinfo` up to what is wanted; the kernel writes 196 bytes.
        #[repr(C)]
        struct DriverInfo {
            command: u32,
            driver: [libc::c_char; 32],
            rest: [u8; 160],
        }
        let mut info = DriverInfo { command: ETHTOOL_GDRVINFO, driver: [0; 32], rest: [0; 160] };
        self.ioctl(&mut info).map_err(self.error("ask for the driver"))?;
        Ok(text(&info.driver))
    }

    /// One command with one number in and out.
    fn value(&self, command: u32, data: u32) -> io::Result<u32> {
        let mut value = Value { command, data };
        self.ioctl(&mut value)?;
        Ok(value.data)
    }

    /// The ioctl with one of the C structures above, each as large as what its command writes.
    fn ioctl<T>(&self, argument: &mut T) -> io::Result<()> {
        // SAFETY: `ifreq` is plain data, for which zero is valid.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        request.ifr_name =
            device_name(&self.device).map_err(|_| io::Error::from_raw_os_error(libc::ENODEV))?;
        request.ifr_ifru.ifru_data = (&raw mut *argument).cast();
        let command = libc::SIOCETHTOOL as libc::Ioctl;
        // SAFETY: `request` and what it points to live for the length of the call, and each `T` passed here
        // has the size that the kernel copies for its command.
        check(unsafe { libc::ioctl(self.socket.as_raw_fd(), command, &raw mut request) })?;
        Ok(())
    }

    fn error(&self, attempted: impl Into<String>) -> impl FnOnce(io::Error) -> EthtoolError {
        let (attempted, device) = (attempted.into(), self.device.clone());
        move |source| EthtoolError { attempted, device, source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::{Netlink, VethEnd};
    use crate::netns::Netns;

    /// Runs a check beside a veth pair `a`, `b` in a namespace of its own.
    fn beside_veth(check: impl FnOnce() + Send) {
        let netns = Netns::create().unwrap();
        Netlink::open_in(&netns).unwrap().create_veth(VethEnd::new("a"), VethEnd::new("b")).unwrap();
        netns.run(check).unwrap();
    }

    #[test]
    fn offloads_of_a_veth_go_off_and_on() {
        beside_veth(|| {
            let device = Ethtool::open("a").unwrap();
            for offload in [Offload::TxChecksum, Offload::TcpSegmentation, Offload::GenericSegmentation] {
                device.set(offload, false).unwrap();
                assert!(!device.is_on(offload).unwrap(), "{offload}");
            }
            device.set(Offload::GenericReceive, true).unwrap();
            assert!(device.is_on(Offload::GenericReceive).unwrap());
            device.set(Offload::LargeReceive, false).unwrap();
        });
    }

    #[test]
    fn what_a_device_cannot_do_is_an_error_that_names_it() {
        beside_veth(|| {
            let refused =
                Ethtool::open("a").unwrap().set(Offload::LargeReceive, true).unwrap_err().to_string();
            assert!(refused.contains("large receive offload on on a"), "{refused}");
        });
    }

    #[test]
    fn a_veth_says_so_and_has_one_queue() {
        beside_veth(|| {
            let device = Ethtool::open("a").unwrap();
            assert_eq!(device.driver().unwrap(), "veth");
            assert_eq!(device.channels().unwrap().rx_queue_count(), 1);
        });
    }

    #[test]
    fn an_absent_device_is_named() {
        let text = Ethtool::open("absent0").unwrap().driver().unwrap_err().to_string();
        assert!(text.contains("absent0") && text.contains("ip link"), "{text}");
    }
}
