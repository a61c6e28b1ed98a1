//! A network device seen from beside the kernel's stack: all its frames come in as copies, and frames go out through it.
//!
//! What the kernel does with a frame is not changed: it goes on to the stack too. Frames that this machine sends through
//! the device are not seen. A VLAN tag that the kernel took off is put back.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use crate::syscall::{check, check_len, or_later, set_option, socket};

/// linux/if_ether.h: all protocols.
const ETH_P_ALL: u16 = 3;
/// linux/if_packet.h: frames that this machine sends are not wanted.
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;
/// linux/if_packet.h: the tag's EtherType is told.
const TP_STATUS_VLAN_TPID_VALID: u32 = 1 << 6;
/// linux/if_packet.h: there was a tag.
const TP_STATUS_VLAN_VALID: u32 = 1 << 4;
/// IEEE 802.1Q.
const ETHER_TYPE_VLAN: u16 = 0x8100;
/// Both addresses stand before a tag.
const TAG_AT: usize = 12;
const TAG_LEN: usize = 4;

/// A socket bound to one device.
#[derive(Debug)]
pub struct DeviceSocket(OwnedFd);

/// A frame that came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Bytes of it in the buffer.
    pub len: usize,
    /// It was longer than the buffer.
    pub is_cut: bool,
}

/// Room for one `tpacket_auxdata`, aligned as `cmsghdr` wants it.
#[repr(C, align(8))]
struct Ancillary([u8; 64]);

impl DeviceSocket {
    /// Opens the device `ifindex` of the calling thread's network namespace, and has it take frames to any address.
    ///
    /// Needs CAP_NET_RAW. Source: packet(7).
    pub fn open(ifindex: u32) -> io::Result<DeviceSocket> {
        // Protocol zero: nothing comes in before the socket is bound to its device.
        let fd = socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_NONBLOCK, 0)?;
        set_option(fd.as_fd(), libc::SOL_PACKET, libc::PACKET_AUXDATA, &1i32)?;
        set_option(fd.as_fd(), libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, &1i32)?;
        // SAFETY: `sockaddr_ll` is plain data, for which zero is valid.
        let mut name: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        name.sll_family = libc::AF_PACKET as u16;
        name.sll_protocol = ETH_P_ALL.to_be();
        name.sll_ifindex = ifindex as i32;
        let len = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: `name` is valid for reads of `len` bytes for the length of the call.
        check(unsafe { libc::bind(fd.as_raw_fd(), (&raw const name).cast(), len) })?;
        let wish = libc::packet_mreq {
            mr_ifindex: ifindex as i32,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        set_option(fd.as_fd(), libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &wish)?;
        Ok(DeviceSocket(fd))
    }

    /// The next frame, or none if there is none now. An error is the device's: it is down, or gone.
    ///
    /// Source: recvmsg(2), packet(7).
    pub fn try_receive(&self, buffer: &mut [u8]) -> io::Result<Option<Received>> {
        // A tag that is put back needs room.
        let room = buffer.len().saturating_sub(TAG_LEN);
        let mut ancillary = Ancillary([0; 64]);
        let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: room };
        // SAFETY: plain data, for which zero is valid.
        let mut header: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
        header.msg_iov = &raw mut part;
        header.msg_iovlen = 1;
        header.msg_control = (&raw mut ancillary).cast();
        header.msg_controllen = size_of::<Ancillary>();
        // SAFETY: all that `header` points to lives for the length of the call and is writable for the lengths that it names.
        let got =
            check_len(unsafe { libc::recvmsg(self.0.as_raw_fd(), &raw mut header, libc::MSG_DONTWAIT) });
        let Some(len) = or_later(got)? else { return Ok(None) };
        let is_cut = header.msg_flags & libc::MSG_TRUNC != 0;
        let tag = tag_of(&header).filter(|_| len >= TAG_AT);
        let Some(tag) = tag else { return Ok(Some(Received { len, is_cut })) };
        buffer.copy_within(TAG_AT..len, TAG_AT + TAG_LEN);
        buffer[TAG_AT..TAG_AT + TAG_LEN].copy_from_slice(&tag);
        Ok(Some(Received { len: len + TAG_LEN, is_cut }))
    }

    /// Sends a frame. False if the device takes none now.
    pub fn try_send(&self, frame: &[u8]) -> io::Result<bool> {
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        // SAFETY: `frame` is valid for reads of its length.
        let sent =
            check_len(unsafe { libc::send(self.0.as_raw_fd(), frame.as_ptr().cast(), frame.len(), flags) });
        match sent {
            // The device's queue is full.
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => Ok(false),
            other => Ok(or_later(other)?.is_some()),
        }
    }
}

impl AsFd for DeviceSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The tag that the kernel took off a frame, as it was on the wire.
fn tag_of(header: &libc::msghdr) -> Option<[u8; TAG_LEN]> {
    // SAFETY: the kernel filled `msg_control` up to `msg_controllen`; the first header is null where that is too short for
    // one, and its data is a `tpacket_auxdata` where level, type and length say so.
    let data = unsafe {
        let first = libc::CMSG_FIRSTHDR(header);
        if first.is_null() {
            return None;
        }
        let is_told = (*first).cmsg_level == libc::SOL_PACKET
            && (*first).cmsg_type == libc::PACKET_AUXDATA
            && (*first).cmsg_len >= libc::CMSG_LEN(size_of::<libc::tpacket_auxdata>() as u32) as usize;
        is_told.then(|| libc::CMSG_DATA(first).cast::<libc::tpacket_auxdata>().read_unaligned())?
    };
    if data.tp_status & TP_STATUS_VLAN_VALID == 0 {
        return None;
    }
    let has_type = data.tp_status & TP_STATUS_VLAN_TPID_VALID != 0;
    let ether_type = if has_type { data.tp_vlan_tpid } else { ETHER_TYPE_VLAN };
    let ([a, b], [c, d]) = (ether_type.to_be_bytes(), data.tp_vlan_tci.to_be_bytes());
    Some([a, b, c, d])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Interest, poll};
    use crate::netlink::{Netlink, VethEnd};
    use crate::netns::Netns;
    use tidegate_base::Duration;

    fn frame(tag: Option<u16>) -> Vec<u8> {
        let mut frame = vec![0xff; 12];
        if let Some(tci) = tag {
            frame.extend([0x81, 0x00]);
            frame.extend(tci.to_be_bytes());
        }
        frame.extend([0x88, 0xb5]);
        frame.resize(64, 7);
        frame
    }

    fn receive(socket: &DeviceSocket) -> Vec<u8> {
        let mut buffer = [0; 256];
        loop {
            if let Some(got) = socket.try_receive(&mut buffer).unwrap() {
                return buffer[..got.len].to_vec();
            }
            assert!(poll(&[(socket.as_fd(), Interest::READ)], Some(Duration::from_secs(10))).unwrap() > 0);
        }
    }

    #[test]
    fn frames_cross_a_cable_with_their_tags_and_are_not_seen_going_out() {
        let netns = Netns::create().unwrap();
        let mut netlink = Netlink::open_in(&netns).unwrap();
        netlink.create_veth(VethEnd::new("a"), VethEnd::new("b")).unwrap();
        let [a, b] = ["a", "b"].map(|name| {
            let ifindex = netlink.link(name).unwrap().ifindex;
            netlink.disable_ipv6_address_generation(ifindex).unwrap();
            netlink.set_up(ifindex, true).unwrap();
            ifindex
        });
        for ifindex in [a, b] {
            netlink.await_running(ifindex, Duration::from_secs(10)).unwrap();
        }
        let sockets = netns.run(move || [a, b].map(|ifindex| DeviceSocket::open(ifindex).unwrap()));
        let [near, far] = sockets.unwrap();
        for sent in [frame(None), frame(Some(0x2064))] {
            assert!(near.try_send(&sent).unwrap());
            assert_eq!(receive(&far), sent);
        }
        assert_eq!(near.try_receive(&mut [0; 256]).unwrap(), None);
        assert!(near.try_send(&frame(None)).unwrap());
        poll(&[(far.as_fd(), Interest::READ)], Some(Duration::from_secs(10))).unwrap();
        let cut = far.try_receive(&mut [0; 40]).unwrap().unwrap();
        assert_eq!(cut, Received { len: 36, is_cut: true });
    }

    #[test]
    fn device_that_is_not_there_is_an_error() {
        let netns = Netns::create().unwrap();
        assert!(netns.run(|| DeviceSocket::open(77)).unwrap().is_err());
    }
}
