//! What the XDP program and its loader share: the Rust side of `xdp/abi.h`.
//!
//! Not a second definition to keep in step by hand: the tests compare each name and number here with the
//! header, and each offset and size with the type information (BTF) in the compiled object.

use tidegate_wire::egress::EgressVerdict;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Who gets a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Verdict {
    /// The host's stack.
    Pass = 0,
    /// The AF_XDP socket of the frame's receive queue.
    Socket = 1,
    /// The AF_XDP socket of a stack's slot.
    SlotSocket = 2,
    /// The device of a stack's slot.
    Device = 3,
    /// Nobody.
    Drop = 4,
    /// The sender: the frame has become a reply.
    Answer = 5,
}

impl Verdict {
    /// What the program tells the kernel to do.
    pub const fn action(self) -> Action {
        match self {
            Self::Pass => Action::Pass,
            Self::Socket | Self::SlotSocket | Self::Device => Action::Redirect,
            Self::Drop => Action::Drop,
            Self::Answer => Action::Transmit,
        }
    }
}

/// What an XDP program tells the kernel to do with a frame, of `linux/bpf.h`'s actions those that ours return.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Action {
    /// To drop it.
    Drop = libbpf_sys::XDP_DROP,
    /// To go on as without a program.
    Pass = libbpf_sys::XDP_PASS,
    /// To hand it to a socket or a device.
    Redirect = libbpf_sys::XDP_REDIRECT,
    /// To send it back by the device that it came in on.
    Transmit = libbpf_sys::XDP_TX,
}

impl Action {
    pub(crate) fn from_number(number: u32) -> Option<Self> {
        let known = [Self::Drop, Self::Pass, Self::Redirect, Self::Transmit];
        known.into_iter().find(|action| *action as u32 == number)
    }
}

/// Declares [`Reason`] with a name and a verdict for each.
macro_rules! reasons {
    ($($(#[doc = $doc:literal])* $reason:ident = $number:literal, $name:literal, $verdict:ident;)*) => {
        /// Why a frame got its verdict. Each frame counts under exactly one reason.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u32)]
        pub enum Reason {
            $($(#[doc = $doc])* $reason = $number,)*
        }

        impl Reason {
            /// Every reason, in the order of their numbers.
            pub const ALL: [Self; [$($number),*].len()] = [$(Self::$reason),*];

            /// The name in statistics and metrics.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$reason => $name,)*
                }
            }

            /// What became of the frames that were counted under this reason.
            pub const fn verdict(self) -> Verdict {
                match self {
                    $(Self::$reason => Verdict::$verdict,)*
                }
            }
        }
    };
}

reasons! {
    /// The destination is a registered tuple.
    Tuple = 0, "tuple", Socket;
    /// The destination is a registered tuple without an address.
    Wildcard = 1, "wildcard", Socket;
    /// An ICMP error about a frame that a registered tuple sent (RFC 792, RFC 4443).
    IcmpQuote = 2, "icmp_quote", Socket;
    /// The stack owns the device: no frame is looked at.
    OwnDevice = 3, "own_device", Socket;
    /// Claimed, but no live socket is on the receive queue.
    SocketAbsent = 4, "socket_absent", Pass;
    /// A registered tuple whose verdict is [`Verdict::Pass`].
    Exempt = 5, "exempt", Pass;
    /// UDP or TCP to a tuple that is not registered.
    Unregistered = 6, "unregistered", Pass;
    /// ICMP that quotes no registered tuple.
    IcmpUnrelated = 7, "icmp_unrelated", Pass;
    /// IP, but neither UDP, TCP nor ICMP.
    OtherProtocol = 8, "other_protocol", Pass;
    /// A fragment, the first one too: the host reassembles.
    Fragment = 9, "fragment", Pass;
    /// An IPv6 extension header other than a fragment's.
    Ipv6Extension = 10, "ipv6_extension", Pass;
    /// ARP, a third VLAN tag, anything else that is not IP.
    NotIp = 11, "not_ip", Pass;
    /// The frame ends within its Ethernet header or a VLAN tag.
    MalformedEthernet = 12, "malformed_ethernet", Pass;
    /// A cut IPv4 header, or a version or length in it that cannot be true.
    MalformedIpv4 = 13, "malformed_ipv4", Pass;
    /// A cut IPv6 header, or a version or length in it that cannot be true.
    MalformedIpv6 = 14, "malformed_ipv6", Pass;
    /// A cut TCP header, or a data offset that cannot be true.
    MalformedTcp = 15, "malformed_tcp", Pass;
    /// A cut UDP header, or a length in it that cannot be true.
    MalformedUdp = 16, "malformed_udp", Pass;
    /// A cut ICMP message, or an error whose quoted datagram is.
    MalformedIcmp = 17, "malformed_icmp", Pass;
    /// To a stack on a queue of its own, whichever of the first three reasons says so.
    SlotSocket = 18, "slot_socket", SlotSocket;
    /// To a stack behind a veth of its own, whichever of the first three reasons says so.
    Device = 19, "device", Device;
    /// For a stack, but its slot has no socket or device: it has died.
    SlotAbsent = 20, "slot_absent", Pass;
    /// For a stack whose socket lives, but on another queue.
    WrongQueue = 21, "wrong_queue", Drop;
    /// Answered by a rule, and sent back.
    Offload = 22, "offload", Answer;
}

/// `struct tuple`: the key of the tuple map, in network byte order.
///
/// ```text
///   0                              16     18        19          20
///   | address (IPv4: ::ffff:a.b.c.d) | port | protocol | ip version |
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct TupleKey {
    pub(crate) address: [u8; 16],
    pub(crate) port: [u8; 2],
    pub(crate) protocol: u8,
    pub(crate) ip_version: u8,
}

/// `struct steering`: the value of the tuple map.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct SteeringValue {
    pub(crate) verdict: u32,
    pub(crate) slot: u32,
}

/// `struct stack_counters`: the value of the stacks map, one a CPU.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct StackValue {
    pub(crate) to_frames: u64,
    pub(crate) to_bytes: u64,
    pub(crate) wrong_queue_frames: u64,
    pub(crate) from_bytes: u64,
    pub(crate) from_frames: [u64; EgressVerdict::ALL.len()],
}

/// `struct nic`: the value of the map of the way out.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct NicValue {
    pub(crate) ifindex: u32,
    pub(crate) mtu: u32,
    pub(crate) mac: [u8; 6],
    pub(crate) is_redirected_by_xdp: u8,
    pub(crate) padding: u8,
}

/// `struct pace`: the value of the paces map.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct PaceValue {
    pub(crate) byte_cost: u64,
    pub(crate) burst: u64,
    pub(crate) full_at: u64,
}

/// `struct address`: the key of the NIC's addresses.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct AddressKey {
    pub(crate) address: [u8; 16],
    pub(crate) ip_version: u32,
}

/// `STACK_END_IFINDEX_MIN`: the number of slot 0's stack's end.
pub(crate) const STACK_END_IFINDEX_MIN: u32 = 2;

/// `struct settings`: the value of the settings map.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct Settings {
    pub(crate) own_device: u32,
}

/// Declares an enumeration that counts, with a name for each number.
macro_rules! counted {
    ($(#[doc = $doc:literal])* $kind:ident: $($(#[doc = $variant_doc:literal])* $variant:ident = $number:literal, $name:literal;)*) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u32)]
        pub enum $kind {
            $($(#[doc = $variant_doc])* $variant = $number,)*
        }

        impl $kind {
            /// Every one, in the order of their numbers.
            pub const ALL: [Self; [$($number),*].len()] = [$(Self::$variant),*];

            /// The name in statistics and metrics.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

counted! {
    /// What became of a datagram for a service of the offload. Each counts under exactly one.
    OffloadOutcome:
    /// A rule matched, and the frame is the reply.
    Answered = 0, "answered";
    /// Passed: no rule matches.
    Miss = 1, "miss";
    /// Passed, and what a rule says it makes stale was dropped.
    Invalidated = 2, "invalidated";
    /// Passed: IPv4 options, or more than one VLAN tag.
    Headers = 3, "headers";
    /// Passed: the UDP length is not what the IP packet has room for.
    Length = 4, "length";
    /// Passed: longer than any rule can match.
    TooLong = 5, "too_long";
    /// Passed: not to the NIC's MAC address, or from an address or port that nobody answers to.
    Address = 6, "address";
    /// Passed: the checksum of the IPv4 header or of the datagram is wrong, or missing over IPv6.
    Checksum = 7, "checksum";
    /// Passed: the reply is longer than the NIC's MTU.
    Mtu = 8, "mtu";
    /// Passed: the reply is longer than the request, and the frame cannot grow.
    NoRoom = 9, "no_room";
    /// Passed: the service's table is gone, or makes no sense.
    NoTable = 10, "no_table";
}

counted! {
    /// Where a datagram was looked at. What XDP has no room for is looked at again at tc.
    OffloadPlace:
    /// By the program on the device.
    Xdp = 0, "xdp";
    /// By the second program, behind it.
    Tc = 1, "tc";
}

/// `TABLE_PAGE_LEN`: bytes of a page of a table.
pub(crate) const OFFLOAD_PAGE_LEN: u32 = 1 << 16;

/// `struct service`: the value of the services map.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct ServiceValue {
    pub(crate) table: u32,
}

/// `struct offload`: the value of the offload map.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct OffloadValue {
    pub(crate) mtu: u32,
    pub(crate) mac: [u8; 6],
    pub(crate) padding: [u8; 2],
}

#[cfg(test)]
mod tests;
