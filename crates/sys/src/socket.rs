//! Placeholders: sockets that are bound and never used, so that the host cannot give a port away that a
//! user-space stack serves.
//!
//! Not a listener: the host still resets what reaches it, which is right while nobody serves the port.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use crate::syscall::{check, set_option, socket};

/// A transport protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

impl Transport {
    fn kind(self) -> i32 {
        match self {
            Transport::Tcp => libc::SOCK_STREAM,
            Transport::Udp => libc::SOCK_DGRAM,
        }
    }

    /// The kernel's lists of its sockets: proc_net(5).
    fn tables(self) -> [&'static str; 2] {
        match self {
            Transport::Tcp => ["/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"],
            Transport::Udp => ["/proc/thread-self/net/udp", "/proc/thread-self/net/udp6"],
        }
    }
}

impl std::fmt::Display for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Transport::Tcp => "TCP",
            Transport::Udp => "UDP",
        })
    }
}

/// A process that has a socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Its number.
    pub pid: u32,
    /// Its command's name.
    pub command: String,
}

/// A port could not be kept.
#[derive(Debug, thiserror::Error)]
pub enum ReserveError {
    /// Someone has it.
    #[error("{transport} {address} is taken by {owner}; stop it or choose another port", owner = describe(.owner))]
    Taken {
        /// The protocol.
        transport: Transport,
        /// The address and port.
        address: SocketAddr,
        /// Who has it, as far as it can be seen.
        owner: Option<Owner>,
    },
    /// No link of this network namespace has the address.
    #[error("no interface has the address {}; add it to one or listen on another", .address.ip())]
    NotOurs {
        /// The address and port.
        address: SocketAddr,
    },
    /// The kernel refused for another reason.
    #[error("could not bind {transport} {address}: {source}; ports below 1024 need CAP_NET_BIND_SERVICE")]
    Refused {
        /// The protocol.
        transport: Transport,
        /// The address and port.
        address: SocketAddr,
        /// What the kernel said.
        source: io::Error,
    },
}

fn describe(owner: &Option<Owner>) -> String {
    match owner {
        Some(owner) => format!("{} (process {})", owner.command, owner.pid),
        None => "a socket without a visible owner".into(),
    }
}

/// A port of the host that stays taken until this is dropped.
#[derive(Debug)]
pub struct Placeholder {
    _socket: OwnedFd,
    address: SocketAddr,
}

impl Placeholder {
    /// Binds `address` in the calling thread's network namespace. SO_REUSEADDR is off afterwards: with it
    /// on, a later server of the host could bind the same port. It is on for the call itself where nobody
    /// holds the port but connections of an earlier server in TIME-WAIT.
    ///
    /// Needs CAP_NET_BIND_SERVICE below port 1024. Source: bind(2), socket(7), ip(7), ipv6(7).
    pub fn bind(transport: Transport, address: SocketAddr) -> Result<Placeholder, ReserveError> {
        let is_held = |error: &io::Error| error.raw_os_error() == Some(libc::EADDRINUSE);
        let bound = match bind(transport, address, false) {
            Err(error) if is_held(&error) && owner(transport, address).is_none() => {
                bind(transport, address, true)
            }
            other => other,
        };
        let bound = bound.map_err(|source| match source.raw_os_error() {
            Some(libc::EADDRINUSE) => {
                ReserveError::Taken { transport, address, owner: owner(transport, address) }
            }
            Some(libc::EADDRNOTAVAIL) => ReserveError::NotOurs { address },
            _ => ReserveError::Refused { transport, address, source },
        });
        Ok(Placeholder { _socket: bound?, address })
    }

    /// What is kept.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

fn bind(transport: Transport, address: SocketAddr, beside_time_wait: bool) -> io::Result<OwnedFd> {
    let reuse = |socket: &OwnedFd, on: bool| {
        set_option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_REUSEADDR, &i32::from(on))
    };
    let socket = match address {
        SocketAddr::V4(v4) => {
            let socket = socket(libc::AF_INET, transport.kind(), 0)?;
            reuse(&socket, beside_time_wait)?;
            let name = libc::sockaddr_in {
                sin_family: libc::AF_INET as u16,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                sin_zero: [0; 8],
            };
            bind_to(socket, &name)?
        }
        SocketAddr::V6(v6) => {
            let socket = socket(libc::AF_INET6, transport.kind(), 0)?;
            set_option(socket.as_fd(), libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, &1_i32)?;
            reuse(&socket, beside_time_wait)?;
            let name = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as u16,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: 0,
                sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                sin6_scope_id: v6.scope_id(),
            };
            bind_to(socket, &name)?
        }
    };
    reuse(&socket, false)?;
    Ok(socket)
}

/// bind(2) to a C address structure.
fn bind_to<T>(socket: OwnedFd, name: &T) -> io::Result<OwnedFd> {
    let len = size_of::<T>() as libc::socklen_t;
    // SAFETY: `name` is valid for reads of `len` bytes for the length of the call.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const *name).cast(), len) })?;
    Ok(socket)
}

/// The process whose socket keeps others from binding `address`, if this process may see it.
///
/// Needs CAP_SYS_PTRACE for other users' processes. Source: proc_net(5), proc_pid_fd(5).
pub fn owner(transport: Transport, address: SocketAddr) -> Option<Owner> {
    let tables = transport.tables().map(|table| fs::read_to_string(table).unwrap_or_default());
    let mut inodes = tables.iter().flat_map(|table| table.lines()).filter_map(parse_line);
    let (_, inode) = inodes.find(|(local, inode)| *inode != 0 && clashes(*local, address))?;
    processes().find(|pid| has_socket(*pid, inode)).map(|pid| Owner { pid, command: command(pid) })
}

/// Whether a socket bound to `local` keeps another from binding `wanted`.
fn clashes(local: SocketAddr, wanted: SocketAddr) -> bool {
    let (one, other) = (canonical(local.ip()), canonical(wanted.ip()));
    local.port() == wanted.port() && (one == other || one.is_unspecified() || other.is_unspecified())
}

fn canonical(ip: IpAddr) -> IpAddr {
    ip.to_canonical()
}

/// `sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode ...`, addresses in hexadecimal
/// words of the machine's order.
fn parse_line(line: &str) -> Option<(SocketAddr, u64)> {
    let mut fields = line.split_whitespace();
    let (ip, port) = fields.nth(1)?.split_once(':')?;
    let inode = fields.nth(7)?.parse().ok()?;
    Some((SocketAddr::new(parse_ip(ip)?, u16::from_str_radix(port, 16).ok()?), inode))
}

fn parse_ip(hex: &str) -> Option<IpAddr> {
    let word = |index: usize| u32::from_str_radix(hex.get(index * 8..index * 8 + 8)?, 16).ok();
    let octets = |index: usize| word(index).map(u32::to_ne_bytes);
    match hex.len() {
        8 => Some(Ipv4Addr::from(octets(0)?).into()),
        32 => {
            let words = [octets(0)?, octets(1)?, octets(2)?, octets(3)?];
            Some(Ipv6Addr::from(<[u8; 16]>::try_from(words.as_flattened()).ok()?).into())
        }
        _ => None,
    }
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn has_socket(pid: u32, inode: u64) -> bool {
    let wanted = format!("socket:[{inode}]");
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let mut targets = descriptors.filter_map(|entry| fs::read_link(entry.path()).ok());
    targets.any(|target| target.as_os_str() == wanted.as_str())
}

fn command(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).map_or_else(|_| "?".into(), |name| name.trim().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netns::Netns;
    use std::net::{TcpListener, UdpSocket};

    fn inside(check: impl FnOnce() + Send) {
        Netns::create().unwrap().run(check).unwrap();
    }

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_kept_port_is_refused_to_servers_and_free_afterwards() {
        inside(|| {
            for text in ["127.0.0.1:80", "[::1]:80"] {
                let kept = Placeholder::bind(Transport::Tcp, address(text)).unwrap();
                assert!(TcpListener::bind(kept.address()).is_err(), "{text}");
                drop(kept);
                TcpListener::bind(text).unwrap();
            }
        });
    }

    #[test]
    fn connections_in_time_wait_do_not_hold_a_port_and_reusing_servers_do_not_get_it() {
        inside(|| {
            crate::netlink::Netlink::open().unwrap().set_up(1, true).unwrap();
            let server = TcpListener::bind("127.0.0.1:80").unwrap();
            let client = std::net::TcpStream::connect("127.0.0.1:80").unwrap();
            // Who closes first waits: the server's side.
            drop(server.accept().unwrap());
            drop(client);
            drop(server);
            let kept = Placeholder::bind(Transport::Tcp, address("127.0.0.1:80")).unwrap();
            // The standard library's listeners set SO_REUSEADDR.
            assert!(TcpListener::bind(kept.address()).is_err());
        });
    }

    #[test]
    fn a_taken_port_names_the_owner() {
        inside(|| {
            let _server = TcpListener::bind("0.0.0.0:8080").unwrap();
            let text = Placeholder::bind(Transport::Tcp, address("127.0.0.1:8080")).unwrap_err().to_string();
            assert!(text.contains(&format!("(process {})", std::process::id())), "{text}");
            assert!(text.contains("TCP 127.0.0.1:8080"), "{text}");
        });
    }

    #[test]
    fn a_dual_stack_server_owns_the_ipv4_port_too() {
        inside(|| {
            let _server = UdpSocket::bind("[::]:53").unwrap();
            let seen = owner(Transport::Udp, address("127.0.0.1:53"));
            assert_eq!(seen.map(|owner| owner.pid), Some(std::process::id()));
        });
    }

    #[test]
    fn an_address_of_nobody_is_said_to_be() {
        inside(|| {
            let text = Placeholder::bind(Transport::Udp, address("192.0.2.1:53")).unwrap_err().to_string();
            assert!(text.contains("no interface has the address 192.0.2.1"), "{text}");
        });
    }

    #[test]
    fn a_line_of_proc_net_tcp6() {
        let line = "  0: 00000000000000000000000001000000:1F90 00000000000000000000000000000000:0000 0A \
                    00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100 0 0 10 0";
        assert_eq!(parse_line(line), Some((address("[::1]:8080"), 4711)));
        assert_eq!(parse_line("  sl  local_address rem_address"), None);
    }
}
