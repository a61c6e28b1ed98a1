//! Links, addresses, routes and neighbours by rtnetlink(7): what `ip` does, without `ip`.
//!
//! Small and synchronous: one request, its answer, done. Not a cache, and no subscription to changes. A
//! socket speaks about the network namespace that it was opened in, wherever it is used.

mod address;
mod link;
mod message;
mod neighbour;
mod netdev;
mod queueing;
mod route;

pub use address::{Address, AddressInfo};
pub use link::{LinkFlags, LinkInfo, MacAddress, VethEnd, disable_ipv6};
pub use neighbour::Neighbour;
pub use netdev::{NapiInstance, QueueWatch, napi_instances};
pub use route::{Prefix, Route};

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use crate::netns::Netns;
use crate::syscall::{check, check_len, set_option, socket};
use message::{Message, Request, messages};

/// The kernel did not do what was asked over netlink.
#[derive(Debug, thiserror::Error)]
#[error("could not {attempted}: {source}{}; {}", self.kernel_note(), self.hint())]
pub struct NetlinkError {
    /// What was asked, in words, with the names of what it concerned.
    pub attempted: String,
    /// The errno that the kernel answered.
    pub source: io::Error,
    /// What the kernel said in words, if it did.
    pub note: Option<String>,
}

impl NetlinkError {
    fn kernel_note(&self) -> String {
        self.note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default()
    }

    fn hint(&self) -> &'static str {
        match self.source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => "run as root or with CAP_NET_ADMIN",
            Some(libc::ENODEV) => "see which interfaces there are with: ip link",
            Some(libc::EEXIST) => "it exists already: choose another name or delete it first",
            Some(libc::ENETUNREACH | libc::EHOSTUNREACH) => "there is no route to it: see ip route",
            Some(libc::EOPNOTSUPP) => "this kernel or this driver cannot do it",
            _ => "see rtnetlink(7)",
        }
    }
}

/// What went wrong, before it is known what it meant for the caller.
#[derive(Debug)]
struct Refusal {
    source: io::Error,
    note: Option<String>,
}

impl From<io::Error> for Refusal {
    fn from(source: io::Error) -> Self {
        Refusal { source, note: None }
    }
}

impl Refusal {
    fn errno(errno: i32) -> Self {
        io::Error::from_raw_os_error(errno).into()
    }

    fn of(self, attempted: impl Into<String>) -> NetlinkError {
        NetlinkError { attempted: attempted.into(), source: self.source, note: self.note }
    }
}

/// A connection to the kernel's tables of one network namespace.
#[derive(Debug)]
pub struct Netlink {
    socket: Transport,
}

impl Netlink {
    /// Opens the tables of the calling thread's network namespace.
    ///
    /// Reading needs no capability, changing needs CAP_NET_ADMIN in that namespace. Source: rtnetlink(7).
    pub fn open() -> Result<Netlink, NetlinkError> {
        let socket = Transport::open(libc::NETLINK_ROUTE).map_err(|refusal| refusal.of("open rtnetlink"))?;
        Ok(Netlink { socket })
    }

    /// Opens the tables of `netns`.
    pub fn open_in(netns: &Netns) -> Result<Netlink, NetlinkError> {
        netns.run(Netlink::open).unwrap_or_else(|error| {
            Err(Refusal::from(error.source).of(format!("enter network namespace {}", error.name)))
        })
    }

    fn change(&mut self, attempted: impl Into<String>, request: Request) -> Result<(), NetlinkError> {
        self.socket.acknowledge(request).map_err(|refusal| refusal.of(attempted))
    }
}

/// One netlink socket: requests out, answers in.
#[derive(Debug)]
struct Transport {
    socket: OwnedFd,
    sequence: u32,
}

/// The largest datagram that the kernel sends on dumps (NLMSG_GOODSIZE is at most 16 KiB; 32 with room).
const DATAGRAM_LEN: usize = 32 << 10;

impl Transport {
    fn open(protocol: i32) -> Result<Transport, Refusal> {
        let socket = socket(libc::AF_NETLINK, libc::SOCK_RAW, protocol)?;
        // Errors in words, without the request's echo: both best effort, since old kernels lack them.
        let _ = set_option(socket.as_fd(), libc::SOL_NETLINK, libc::NETLINK_EXT_ACK, &1_i32);
        let _ = set_option(socket.as_fd(), libc::SOL_NETLINK, libc::NETLINK_CAP_ACK, &1_i32);
        Ok(Transport { socket, sequence: 0 })
    }

    /// Sends a request and waits until the kernel has done it or refused it.
    fn acknowledge(&mut self, request: Request) -> Result<(), Refusal> {
        self.ask(request, |_| {})
    }

    /// Sends a request and hands each message of the answer to `each`.
    ///
    /// The request carries NLM_F_ACK or NLM_F_DUMP, so that the end of the answer shows.
    fn ask(&mut self, request: Request, mut each: impl FnMut(Message<'_>)) -> Result<(), Refusal> {
        self.sequence = self.sequence.wrapping_add(1);
        self.send(&request.finish(self.sequence))?;
        let mut datagram = vec![0; DATAGRAM_LEN];
        loop {
            let len = self.receive(&mut datagram)?;
            let ours = |message: &Message<'_>| message.sequence == self.sequence;
            for message in messages(&datagram[..len]).filter(ours) {
                match i32::from(message.kind) {
                    libc::NLMSG_ERROR | libc::NLMSG_DONE => return verdict(&message),
                    _ => each(message),
                }
            }
        }
    }

    fn send(&self, bytes: &[u8]) -> io::Result<()> {
        // SAFETY: `bytes` is valid for reads of its length.
        check_len(unsafe { libc::send(self.socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) })?;
        Ok(())
    }

    fn receive(&self, datagram: &mut [u8]) -> io::Result<usize> {
        loop {
            // SAFETY: `datagram` is valid for writes of its length.
            let received = check_len(unsafe {
                libc::recv(self.socket.as_raw_fd(), datagram.as_mut_ptr().cast(), datagram.len(), 0)
            });
            match received {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }
}

/// The end of an answer: errno negated, then (with NLM_F_ACK_TLVS) the request's header and attributes.
fn verdict(message: &Message<'_>) -> Result<(), Refusal> {
    let errno = message::u32_at(message.body, 0).map_or(0, |code| (code as i32).wrapping_neg());
    if errno == 0 {
        return Ok(());
    }
    let is_error = i32::from(message.kind) == libc::NLMSG_ERROR;
    let attributes_at = if is_error { 4 + message::HEADER_LEN } else { 4 };
    let with_note = i32::from(message.flags) & libc::NLM_F_ACK_TLVS != 0;
    let attributes = message.body.get(attributes_at..).filter(|_| with_note).unwrap_or_default();
    let note = message::text(attributes, NLMSGERR_ATTR_MSG);
    Err(Refusal { source: io::Error::from_raw_os_error(errno), note })
}

/// linux/netlink.h, `enum nlmsgerr_attrs`.
const NLMSGERR_ATTR_MSG: u16 = 1;

/// Flags of a request that makes something new.
const CREATE: i32 = libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL;
/// Flags of a request that makes something or replaces it.
const REPLACE: i32 = libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_REPLACE;

/// The number of the device `name` in the calling thread's namespace, if there is one.
///
/// Source: netdevice(7), if_nametoindex(3).
pub fn ifindex(name: &str) -> io::Result<u32> {
    let name = crate::syscall::c_string(name)?;
    // SAFETY: `name` is a C string that lives for the length of the call.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    if index == 0 { check(-1).map(|_| 0) } else { Ok(index) }
}

#[cfg(test)]
mod tests;
