//! Unix sockets that keep messages apart (SOCK_SEQPACKET), with a descriptor sent along where one is wanted: whole messages,
//! never blocking. [`local_socket`](crate::local_socket) makes them.
//!
//! Source: unix(7), cmsg(3), "SCM_RIGHTS".

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::local_socket::Connection;
use crate::syscall::{check, check_len, option, or_later};

/// What came.
#[derive(Debug)]
pub enum Message {
    /// A message of so many bytes, and the descriptor that came with it.
    Data(usize, Option<OwnedFd>),
    /// The peer is gone.
    Closed,
}

/// One connection.
#[derive(Debug)]
pub struct Channel(OwnedFd);

/// The process at the other end of a connection, as it was when it connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its number in the caller's PID namespace.
    pub pid: u32,
    /// Its effective user.
    pub uid: u32,
}

/// Room for one descriptor beside a message, aligned as `cmsghdr` wants it: CMSG_SPACE of four bytes is 24.
#[repr(C, align(8))]
struct Ancillary([u8; 32]);

impl Connection for Channel {
    const KIND: i32 = libc::SOCK_SEQPACKET;

    fn from_socket(socket: OwnedFd) -> io::Result<Self> {
        Ok(Self(socket))
    }
}

impl Channel {
    /// Who is at the other end. Source: unix(7), SO_PEERCRED.
    pub fn peer(&self) -> io::Result<Peer> {
        // SAFETY: a structure of integers, valid whatever the kernel writes.
        let found: libc::ucred = unsafe { option(self.0.as_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED) }?;
        Ok(Peer { pid: found.pid.unsigned_abs(), uid: found.uid })
    }

    /// Ends the connection: both ends read its end, and nothing is sent any more.
    pub fn shut_down(&self) -> io::Result<()> {
        // SAFETY: takes no pointers.
        check(unsafe { libc::shutdown(self.0.as_raw_fd(), libc::SHUT_RDWR) })?;
        Ok(())
    }

    /// Sends a message. False if the peer takes none now.
    pub fn try_send(&self, message: &[u8]) -> io::Result<bool> {
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        // SAFETY: `message` is valid for reads of its length.
        let sent = check_len(unsafe {
            libc::send(self.0.as_raw_fd(), message.as_ptr().cast(), message.len(), flags)
        });
        Ok(or_later(sent)?.is_some())
    }

    /// Sends a message with a descriptor, of which the peer gets a copy. False if the peer takes none now.
    pub fn try_send_with(&self, message: &[u8], fd: BorrowedFd<'_>) -> io::Result<bool> {
        let mut ancillary = Ancillary([0; 32]);
        let mut part = libc::iovec { iov_base: message.as_ptr().cast_mut().cast(), iov_len: message.len() };
        // SAFETY: plain data, for which zero is valid.
        let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
        header.msg_iov = &raw mut part;
        header.msg_iovlen = 1;
        header.msg_control = (&raw mut ancillary).cast();
        // SAFETY: pure arithmetic.
        header.msg_controllen = unsafe { libc::CMSG_SPACE(size_of::<libc::c_int>() as u32) } as usize;
        // SAFETY: `msg_control` has room for one header and one descriptor, so the first header exists and is ours to write.
        unsafe {
            let first = libc::CMSG_FIRSTHDR(&raw const header);
            (*first).cmsg_level = libc::SOL_SOCKET;
            (*first).cmsg_type = libc::SCM_RIGHTS;
            (*first).cmsg_len = libc::CMSG_LEN(size_of::<libc::c_int>() as u32) as usize;
            libc::CMSG_DATA(first).cast::<libc::c_int>().write_unaligned(fd.as_raw_fd());
        }
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        // SAFETY: all that `header` points to lives for the length of the call; the kernel only reads.
        let sent = check_len(unsafe { libc::sendmsg(self.0.as_raw_fd(), &raw const header, flags) });
        Ok(or_later(sent)?.is_some())
    }

    /// The next message, cut to `buffer`, or none if there is none now. Of several descriptors that came with it the kernel
    /// closes all but the first.
    pub fn try_receive(&self, buffer: &mut [u8]) -> io::Result<Option<Message>> {
        let mut ancillary = Ancillary([0; 32]);
        let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        // SAFETY: plain data, for which zero is valid.
        let mut header: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
        header.msg_iov = &raw mut part;
        header.msg_iovlen = 1;
        header.msg_control = (&raw mut ancillary).cast();
        // Room for exactly one descriptor (a longer room would let a second through, to be leaked).
        // SAFETY: pure arithmetic.
        header.msg_controllen = unsafe { libc::CMSG_LEN(size_of::<libc::c_int>() as u32) } as usize;
        let flags = libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC;
        // SAFETY: all that `header` points to lives for the length of the call and is writable for the lengths that it names.
        let got = check_len(unsafe { libc::recvmsg(self.0.as_raw_fd(), &raw mut header, flags) });
        let len = match or_later(got) {
            Ok(None) => return Ok(None),
            Ok(Some(len)) => len,
            Err(error) if error.raw_os_error() == Some(libc::ECONNRESET) => return Ok(Some(Message::Closed)),
            Err(error) => return Err(error),
        };
        let fd = received_fd(&header);
        if len == 0 && fd.is_none() {
            return Ok(Some(Message::Closed));
        }
        Ok(Some(Message::Data(len, fd)))
    }

    /// The next message without a descriptor, cut to `buffer`: its length, zero if the peer is gone, none if there is none
    /// now. A descriptor that came along is closed.
    pub fn try_receive_data(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        // SAFETY: `buffer` is valid for writes of its length. Without room for them the kernel closes descriptors.
        let got = check_len(unsafe {
            libc::recv(self.0.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), libc::MSG_DONTWAIT)
        });
        or_later(got)
    }
}

/// The descriptor that recvmsg(2) has just installed for this process, if it did.
fn received_fd(header: &libc::msghdr) -> Option<OwnedFd> {
    // SAFETY: the kernel filled `msg_control` up to `msg_controllen`; the first header is null where that is too short for
    // one, and its data is a descriptor where level, type and length say so. Nobody else knows its number.
    unsafe {
        let first = libc::CMSG_FIRSTHDR(&raw const *header);
        if first.is_null() {
            return None;
        }
        let is_fd = (*first).cmsg_level == libc::SOL_SOCKET
            && (*first).cmsg_type == libc::SCM_RIGHTS
            && (*first).cmsg_len >= libc::CMSG_LEN(size_of::<libc::c_int>() as u32) as usize;
        is_fd.then(|| OwnedFd::from_raw_fd(libc::CMSG_DATA(first).cast::<libc::c_int>().read_unaligned()))
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::EventFd;
    use crate::local_socket::{Listener, connect};

    fn joined(name: &str) -> (Listener<Channel>, Channel, Channel) {
        let address = format!("@tidegate-{name}-{}", std::process::id());
        let listener = Listener::bind(&address).unwrap();
        let near = connect(&address).unwrap();
        let far = listener.try_accept().unwrap().unwrap();
        (listener, near, far)
    }

    #[test]
    fn messages_stay_apart_and_the_end_is_told() {
        let (_listener, near, far) = joined("apart");
        let mut buffer = [0; 64];
        assert!(far.try_receive(&mut buffer).unwrap().is_none());
        for message in [&b"one"[..], b"three"] {
            assert!(near.try_send(message).unwrap());
        }
        assert!(matches!(far.try_receive(&mut buffer).unwrap(), Some(Message::Data(3, None))));
        assert_eq!(far.try_receive_data(&mut buffer).unwrap(), Some(5));
        drop(near);
        assert!(matches!(far.try_receive(&mut buffer).unwrap(), Some(Message::Closed)));
        assert!(far.try_send(b"x").is_err(), "an error and no signal");
    }

    #[test]
    fn each_end_knows_who_is_at_the_other() {
        let (_listener, near, far) = joined("peer");
        let own = Peer {
            pid: std::process::id(),
            uid: std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap()),
        };
        assert_eq!((near.peer().unwrap(), far.peer().unwrap()), (own, own));
        near.shut_down().unwrap();
        assert!(matches!(far.try_receive(&mut [0; 64]).unwrap(), Some(Message::Closed)));
        assert!(matches!(near.try_receive(&mut [0; 64]).unwrap(), Some(Message::Closed)));
    }

    #[test]
    fn a_descriptor_comes_along() {
        let (_listener, near, far) = joined("along");
        let event = EventFd::new().unwrap();
        assert!(near.try_send_with(b"event", event.as_fd()).unwrap());
        let Some(Message::Data(5, Some(fd))) = far.try_receive(&mut [0; 64]).unwrap() else {
            panic!("no descriptor")
        };
        EventFd::from_peer(fd).unwrap().signal().unwrap();
        assert_eq!(event.clear().unwrap(), 1);
        assert!(EventFd::from_peer(near.0).is_err(), "a socket");
    }
}
