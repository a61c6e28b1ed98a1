//! Packet sockets as a way out for bulk: one frame carries what the kernel, or the NIC, cuts
//! into TCP segments (generic segmentation offload).
//!
//! Not a way in: the socket is bound to no protocol, so the kernel delivers nothing to it and no frame of the
//! machine is copied for it.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use crate::syscall::{check, set_option, socket};

/// How one frame is cut into segments: `struct virtio_net_hdr` (linux/virtio_net.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentPlan {
    /// Which IP the segments travel in.
    pub is_ipv4: bool,
    /// Bytes from the frame's start to the TCP header, whose checksum field holds the pseudo header's sum.
    pub transport_start: u16,
    /// Bytes from the frame's start to the payload.
    pub header_len: u16,
    /// Payload bytes a segment; the last may have fewer.
    pub segment_len: u16,
    /// Payload bytes altogether.
    pub payload_len: usize,
}

/// Bytes of `struct virtio_net_hdr`.
const PLAN_LEN: usize = 10;
const NEEDS_CHECKSUM: u8 = 1;
const GSO_NONE: u8 = 0;
const GSO_TCPV4: u8 = 1;
const GSO_TCPV6: u8 = 4;
/// Where a TCP header has its checksum (RFC 9293 section 3.1).
const TCP_CHECKSUM_OFFSET: u16 = 16;

impl SegmentPlan {
    fn emit(self) -> [u8; PLAN_LEN] {
        let is_one = self.payload_len <= usize::from(self.segment_len);
        let (kind, segment_len) = match (is_one, self.is_ipv4) {
            (true, _) => (GSO_NONE, 0),
            (false, true) => (GSO_TCPV4, self.segment_len),
            (false, false) => (GSO_TCPV6, self.segment_len),
        };
        let mut bytes = [0; PLAN_LEN];
        bytes[0] = NEEDS_CHECKSUM;
        bytes[1] = kind;
        let fields = [self.header_len, segment_len, self.transport_start, TCP_CHECKSUM_OFFSET];
        for (slot, field) in bytes[2..].chunks_exact_mut(2).zip(fields) {
            slot.copy_from_slice(&field.to_ne_bytes());
        }
        bytes
    }
}

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
        let mut plans = [[0; PLAN_LEN]; SEND_COUNT_MAX];
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

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: SegmentPlan = SegmentPlan {
        is_ipv4: true,
        header_len: 66,
        transport_start: 34,
        segment_len: 1448,
        payload_len: 5000,
    };

    #[test]
    fn the_plan_is_a_virtio_net_header() {
        let bytes = PLAN.emit();
        assert_eq!(bytes[..2], [1, 1]);
        let field = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        assert_eq!([field(2), field(4), field(6), field(8)], [66, 1448, 34, 16]);
    }

    #[test]
    fn one_segment_is_not_cut() {
        let bytes = SegmentPlan { payload_len: 1448, ..PLAN }.emit();
        assert_eq!(bytes[..2], [1, 0]);
        assert_eq!(bytes[4..6], [0, 0]);
    }
}
