//! Packet sockets as a way out for bulk: one frame carries what the kernel, or the NIC, cuts
//! into TCP segments (generic segmentation offload).
//!
//! Not a way in: the socket is bound to no protocol, so the kernel delivers nothing to it and no frame of the
//! machine is copied for it.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use crate::syscall::{check, set_option, socket};
pub use crate::vnet::SegmentPlan;
use crate::vnet::VNET_LEN;

/// A frame in two pieces, and how it is cut.
#[derive(Clone, Copy, Debug)]
pub struct Bulk<'a> {
    /// How.
    pub plan: SegmentPlan,
    /// Its headers, and as much payload as lies behind them.
    pub head: &'a [u8],
    /// The rest of the payload.
    pub tail: &'a [u8],
}

/// What became of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The kernel has copies of so many frames, from the first on; what it then loses is lost on the way.
    Taken(usize),
    /// It takes none now: what was sent before is still on its way.
    Full,
    /// The device is down or gone.
    DeviceGone,
}

/// The most frames of one call.
pub const SEND_COUNT_MAX: usize = 32;

/// A socket that sends through one device.
#[derive(Debug)]
pub struct PacketSocket {
    fd: OwnedFd,
    ifindex: i32,
}

impl PacketSocket {
    /// A socket for sending through the device `ifindex`, with about `buffer_size` bytes on the way at most.
    ///
    /// Needs CAP_NET_RAW, and CAP_NET_ADMIN to go beyond net.core.wmem_max. Source: packet(7), socket(7).
    pub fn open(ifindex: u32, buffer_size: u32) -> io::Result<PacketSocket> {
        // Protocol zero: nothing is received.
        let fd = socket(libc::AF_PACKET, libc::SOCK_RAW, 0)?;
        set_option(fd.as_fd(), libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1i32)?;
        set_option(fd.as_fd(), libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &buffer_size)
            .or_else(|_| set_option(fd.as_fd(), libc::SOL_SOCKET, libc::SO_SNDBUF, &buffer_size))?;
        Ok(PacketSocket { fd, ifindex: ifindex as i32 })
    }

    /// Sends the first [`SEND_COUNT_MAX`] of `frames`, or fewer. One system call.
    ///
    /// Source: sendmmsg(2).
    pub fn try_send(&self, frames: &[Bulk<'_>]) -> Sent {
        let frames = &frames[..frames.len().min(SEND_COUNT_MAX)];
        let mut plans = [[0; VNET_LEN]; SEND_COUNT_MAX];
        for (slot, frame) in plans.iter_mut().zip(frames) {
            *slot = frame.plan.emit();
        }
        let mut pieces = [[IoSlice::new(&[]); PIECE_COUNT]; SEND_COUNT_MAX];
        for ((slot, frame), plan) in pieces.iter_mut().zip(frames).zip(&plans) {
            *slot = [IoSlice::new(plan), IoSlice::new(frame.head), IoSlice::new(frame.tail)];
        }
        sent(self.send_messages(&pieces[..frames.len()]))
    }

    fn send_messages(&self, messages: &[[IoSlice<'_>; PIECE_COUNT]]) -> io::Result<usize> {
        // SAFETY: `sockaddr_ll` is plain data, for which zero is valid.
        let mut to: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        to.sll_family = libc::AF_PACKET as u16;
        to.sll_ifindex = self.ifindex;
        // SAFETY: `mmsghdr` is plain data, for which zero is valid.
        let mut headers: [libc::mmsghdr; SEND_COUNT_MAX] = unsafe { std::mem::zeroed() };
        for (header, pieces) in headers.iter_mut().zip(messages) {
            header.msg_hdr.msg_name = (&raw mut to).cast();
            header.msg_hdr.msg_namelen = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
            // An IoSlice has the layout of an iovec; the kernel only reads what it points to.
            header.msg_hdr.msg_iov = pieces.as_ptr().cast_mut().cast();
            header.msg_hdr.msg_iovlen = PIECE_COUNT;
        }
        let (fd, count) = (self.fd.as_raw_fd(), messages.len() as libc::c_uint);
        // SAFETY: the headers name an address and slices that live for the length of the call, and there are at
        // least `count` of them: `try_send` passes at most SEND_COUNT_MAX messages.
        let taken = unsafe { libc::sendmmsg(fd, headers.as_mut_ptr(), count, libc::MSG_DONTWAIT) };
        Ok(check(taken)? as usize)
    }
}

/// The plan, the head and the tail.
const PIECE_COUNT: usize = 3;

fn sent(result: io::Result<usize>) -> Sent {
    match result.map_err(|error| error.raw_os_error()) {
        Ok(count) => Sent::Taken(count),
        // The device's queue was full and lost a part of the first frame, as a wire does; nobody knows which.
        Err(Some(libc::ENOBUFS)) => Sent::Taken(1),
        Err(Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV)) => Sent::DeviceGone,
        Err(_) => Sent::Full,
    }
}
