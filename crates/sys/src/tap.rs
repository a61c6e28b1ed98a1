//! TAP devices: Ethernet frames between the kernel's stack and this process, one read or write each.
//!
//! Not fast: a system call a frame. For tests, for machines without AF_XDP, for looking at one's own stack
//! from the kernel's.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use crate::syscall::{check, device_name, or_later, text};
use crate::vnet::{FINISHED, SegmentPlan, Unfinished, VNET_LEN};

/// A TAP device could not be made.
#[derive(Debug, thiserror::Error)]
#[error("could not open the TAP device {name}: {source}; {}", self.hint())]
pub struct TapError {
    /// Its name.
    pub name: String,
    /// What the kernel said.
    pub source: io::Error,
}

impl TapError {
    fn hint(&self) -> &'static str {
        match self.source.raw_os_error() {
            Some(libc::EPERM) => "run as root or with CAP_NET_ADMIN",
            Some(libc::EBUSY) => "another process has it open",
            Some(libc::ENOENT | libc::ENODEV) => "this kernel has no TUN/TAP driver (/dev/net/tun)",
            Some(libc::EINVAL) => "its name must have 1 to 15 characters and belong to no other kind of link",
            _ => "see networking/tuntap.rst",
        }
    }
}

/// One end of a TAP device; the other is a link of the kernel. The link goes when this is dropped, unless
/// someone made it persistent.
#[derive(Debug)]
pub struct Tap {
    file: File,
    name: String,
}

impl Tap {
    /// Makes (or takes over) the TAP device `name` in the calling thread's network namespace, down; `%d` in
    /// the name is replaced by the first free number.
    ///
    /// Needs CAP_NET_ADMIN. Source: networking/tuntap.rst.
    pub fn open(name: &str) -> Result<Tap, TapError> {
        Self::attach(name, 0).map_err(|source| TapError { name: name.into(), source })
    }

    fn attach(name: &str, flags: libc::c_int) -> io::Result<Tap> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
        // SAFETY: `ifreq` is plain data, for which zero is valid.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        request.ifr_name = device_name(name)?;
        request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI | flags) as libc::c_short;
        // SAFETY: `request` is valid for reads and writes for the length of the call.
        check(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) })?;
        Ok(Tap { file, name: text(&request.ifr_name) })
    }

    /// The link's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The next frame that the kernel sent, cut to `buffer`: its length, or none if there is no frame now.
    pub fn try_receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        or_later(self.file.read(buffer))
    }

    /// Hands a frame to the kernel. False if it takes none now.
    pub fn try_send(&mut self, frame: &[u8]) -> io::Result<bool> {
        Ok(or_later(self.file.write(frame))?.is_some())
    }
}

/// A TAP device whose kernel leaves checksums and the cutting of TCP to this process, and takes large frames from it.
#[derive(Debug)]
pub struct BulkTap(Tap);

/// A frame that the kernel sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Bytes, over both pieces.
    pub len: usize,
    /// What is left to do.
    pub unfinished: Unfinished,
}

impl BulkTap {
    /// As [`Tap::open`].
    pub fn open(name: &str) -> Result<BulkTap, TapError> {
        let error = |source| TapError { name: name.into(), source };
        let tap = Tap::attach(name, libc::IFF_VNET_HDR).map_err(error)?;
        let offloads =
            libc::c_ulong::from(libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN);
        // SAFETY: the request takes a number and no pointer.
        check(unsafe { libc::ioctl(tap.file.as_raw_fd(), libc::TUNSETOFFLOAD, offloads) }).map_err(error)?;
        Ok(BulkTap(tap))
    }

    /// The link's name.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// The next frame that the kernel sent, its first bytes in `head` and the others in `tail`; what does not fit into
    /// both is lost. None if there is no frame now.
    pub fn try_receive(&mut self, head: &mut [u8], tail: &mut [u8]) -> io::Result<Option<Received>> {
        let mut header = [0; VNET_LEN];
        let mut pieces = [IoSliceMut::new(&mut header), IoSliceMut::new(head), IoSliceMut::new(tail)];
        let Some(len) = or_later(self.0.file.read_vectored(&mut pieces))? else { return Ok(None) };
        let unfinished = Unfinished::parse(&header).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Some(Received { len: len.saturating_sub(VNET_LEN), unfinished }))
    }

    /// Hands a frame in two pieces to the kernel: a finished one, or one to be taken for the segments of a plan. False if
    /// it takes none now.
    pub fn try_send(&mut self, plan: Option<SegmentPlan>, head: &[u8], tail: &[u8]) -> io::Result<bool> {
        let header = plan.map_or(FINISHED, SegmentPlan::emit);
        let pieces = [IoSlice::new(&header), IoSlice::new(head), IoSlice::new(tail)];
        Ok(or_later(self.0.file.write_vectored(&pieces))?.is_some())
    }
}

impl AsFd for BulkTap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Interest, poll};
    use crate::netlink::Netlink;
    use crate::netns::Netns;
    use tidegate_base::Duration;

    #[test]
    fn frames_cross_in_both_directions() {
        let netns = Netns::create().unwrap();
        netns.run(raised_tap_carries_frames).unwrap();
    }

    fn raised_tap_carries_frames() {
        let mut tap = Tap::open("tap%d").unwrap();
        assert_eq!(tap.name(), "tap0");
        let mut netlink = Netlink::open().unwrap();
        let link = netlink.link("tap0").unwrap();
        // With a link-local address to announce, the kernel sends something of its own accord.
        netlink.set_up(link.ifindex, true).unwrap();
        assert!(poll(&[(tap.as_fd(), Interest::READ)], Some(Duration::from_secs(5))).unwrap() > 0);
        let mut buffer = [0; 2048];
        let len = tap.try_receive(&mut buffer).unwrap().unwrap();
        assert_eq!(buffer[12..14], [0x86, 0xdd], "an IPv6 frame");
        assert!(tap.try_send(&buffer[..len]).unwrap());
        while tap.try_receive(&mut buffer).unwrap().is_some() {}
    }

    #[test]
    fn long_names_are_refused_with_advice() {
        let text = Tap::open("a-name-beyond-15-bytes").unwrap_err().to_string();
        assert!(text.contains("1 to 15"), "{text}");
    }
}
