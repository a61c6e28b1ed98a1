//! What stacks and the daemon say to each other over the mux's socket: one message a datagram, integers little-endian.
//!
//! ```text
//!   0        2         3      4
//!   | magic  | version | kind | fields of the kind, docs/specs/mux.md |
//! ```
//! Invariant: whatever bytes come, a message comes out or nothing; every message fits [`LEN_MAX`] bytes.

use crate::registry::{Grade, Token, Wanted};
use std::net::{IpAddr, Ipv6Addr};
use tidegate_bpf::{Protocol, Tuple};

/// Bytes of the longest message.
pub const LEN_MAX: usize = 1024;
/// Addresses of a NIC that are told.
const ADDRESS_COUNT_MAX: usize = 16;
/// Bytes of a refusal's text.
const TEXT_LEN_MAX: usize = 512;
/// Bytes of a device's name, its end counted (linux/if.h, IFNAMSIZ).
const DEVICE_LEN: usize = 16;
/// Bytes of a socket's path (unix(7)).
const PATH_LEN_MAX: usize = 107;
/// "TM".
const MAGIC: u16 = 0x4d54;
const VERSION: u8 = 1;
/// No queue, no interface.
const NONE: u32 = u32::MAX;

/// What a stack says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// First of all: what it wants to be, or the token of what it was.
    Attach {
        /// What it wants.
        wanted: Wanted,
        /// What a daemon that has ended since gave it.
        token: Option<Token>,
    },
    /// A tuple, please.
    Bind(Tuple),
    /// A tuple is not wanted any more.
    Release(Tuple),
}

/// What the daemon answers: one answer a request, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is attached. An AF_XDP socket comes along with grades `queue` and `veth`, unless it was reclaimed.
    Attached(Place),
    /// It is done.
    Done,
    /// It is not; why, and what to do, in a line.
    Refused(String),
}

/// Where a stack is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its slot.
    pub slot: u32,
    /// What it claims its lease back with when the daemon was restarted.
    pub token: Token,
    /// How it is attached.
    pub grade: Grade,
    /// The address that its frames must have as source.
    pub mac: [u8; 6],
    /// The longest IP packet.
    pub mtu: u32,
    /// The device that its socket is to be bound to, in the socket's network namespace.
    pub ifindex: u32,
    /// The queue of that.
    pub queue: u32,
    /// The NIC's addresses.
    pub addresses: Vec<IpAddr>,
    /// The memif socket of grade memif, empty otherwise.
    pub path: String,
}

impl Request {
    /// Its bytes.
    pub fn emit(&self) -> Vec<u8> {
        match self {
            Self::Attach { wanted, token } => {
                let mut device = [0; DEVICE_LEN];
                let len = wanted.device.len().min(DEVICE_LEN - 1);
                device[..len].copy_from_slice(&wanted.device.as_bytes()[..len]);
                let mut message = Writer::new(1);
                message.put(&[wanted.grade as u8, token.is_some().into()]);
                message.put(&token.unwrap_or_default());
                message.put(&wanted.queue.unwrap_or(NONE).to_le_bytes());
                message.put(&device);
                message.0
            }
            Self::Bind(tuple) => Writer::new(2).tuple(tuple),
            Self::Release(tuple) => Writer::new(3).tuple(tuple),
        }
    }

    /// What the bytes say, if they say anything.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (kind, mut fields) = Reader::new(bytes)?;
        let request = match kind {
            1 => {
                let [grade, has_token] = fields.take()?;
                let token: Token = fields.take()?;
                let queue = fields.number()?;
                let device = fields.take::<DEVICE_LEN>()?;
                let device = text(device.split(|byte| *byte == 0).next()?)?;
                let queue = (queue != NONE).then_some(queue);
                let wanted = Wanted { device, grade: Grade::numbered(grade)?, queue };
                Self::Attach { wanted, token: (has_token != 0).then_some(token) }
            }
            2 => Self::Bind(fields.tuple()?),
            3 => Self::Release(fields.tuple()?),
            _ => return None,
        };
        fields.0.is_empty().then_some(request)
    }
}

impl Answer {
    /// Its bytes.
    pub fn emit(&self) -> Vec<u8> {
        match self {
            Self::Attached(place) => {
                let mut message = Writer::new(0x81);
                let addresses = &place.addresses[..place.addresses.len().min(ADDRESS_COUNT_MAX)];
                let path = &place.path.as_bytes()[..place.path.len().min(PATH_LEN_MAX)];
                message.put(&place.slot.to_le_bytes());
                message.put(&place.token);
                message.put(&[place.grade as u8]);
                message.put(&place.mac);
                for number in [place.mtu, place.ifindex, place.queue] {
                    message.put(&number.to_le_bytes());
                }
                message.put(&[addresses.len() as u8]);
                addresses.iter().for_each(|address| message.address(*address));
                message.put(&[path.len() as u8]);
                message.put(path);
                message.0
            }
            Self::Done => Writer::new(0x82).0,
            Self::Refused(text) => {
                let mut message = Writer::new(0x83);
                message.put(&text.as_bytes()[..text.floor_char_boundary(TEXT_LEN_MAX)]);
                message.0
            }
        }
    }

    /// What the bytes say, if they say anything.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (kind, mut fields) = Reader::new(bytes)?;
        let answer = match kind {
            0x81 => Self::Attached(fields.place()?),
            0x82 => Self::Done,
            0x83 => Self::Refused(text(std::mem::take(&mut fields.0))?),
            _ => return None,
        };
        fields.0.is_empty().then_some(answer)
    }
}

fn text(bytes: &[u8]) -> Option<String> {
    String::from_utf8(bytes.to_vec()).ok()
}

struct Writer(Vec<u8>);

impl Writer {
    fn new(kind: u8) -> Self {
        let [low, high] = MAGIC.to_le_bytes();
        Self(vec![low, high, VERSION, kind])
    }

    fn put(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// The IP version, and 16 bytes: an IPv4 address as `::ffff:a.b.c.d`.
    fn address(&mut self, address: IpAddr) {
        let (version, bytes) = match address {
            IpAddr::V4(v4) => (4, v4.to_ipv6_mapped().octets()),
            IpAddr::V6(v6) => (6, v6.octets()),
        };
        self.put(&[version]);
        self.put(&bytes);
    }

    fn tuple(mut self, tuple: &Tuple) -> Vec<u8> {
        self.put(&[tuple.protocol as u8]);
        self.put(&tuple.port.to_le_bytes());
        self.address(tuple.address);
        self.0
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// The kind, and the fields.
    fn new(bytes: &'a [u8]) -> Option<(u8, Self)> {
        let mut fields = Self(bytes);
        let (magic, [version, kind]) = (u16::from_le_bytes(fields.take()?), fields.take()?);
        (magic == MAGIC && version == VERSION).then_some((kind, fields))
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    fn number(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn address(&mut self) -> Option<IpAddr> {
        let [version] = self.take()?;
        let address = Ipv6Addr::from(self.take::<16>()?);
        match version {
            4 => address.to_ipv4_mapped().map(IpAddr::V4),
            6 => Some(IpAddr::V6(address)),
            _ => None,
        }
    }

    fn tuple(&mut self) -> Option<Tuple> {
        let [protocol] = self.take()?;
        let protocol = [Protocol::Tcp, Protocol::Udp].into_iter().find(|it| *it as u8 == protocol)?;
        let port = u16::from_le_bytes(self.take()?);
        Some(Tuple { protocol, address: self.address()?, port })
    }

    fn place(&mut self) -> Option<Place> {
        let slot = self.number()?;
        let token = self.take()?;
        let [grade] = self.take()?;
        let mac = self.take()?;
        let (mtu, ifindex, queue) = (self.number()?, self.number()?, self.number()?);
        let [count] = self.take()?;
        let addresses = (0..count).map(|_| self.address()).collect::<Option<_>>()?;
        let [len] = self.take()?;
        let (path, rest) = self.0.split_at_checked(len.into())?;
        self.0 = rest;
        let grade = Grade::numbered(grade)?;
        Some(Place { slot, token, grade, mac, mtu, ifindex, queue, addresses, path: text(path)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_tuple() -> impl Strategy<Value = Tuple> {
        (any::<bool>(), any::<IpAddr>(), any::<u16>()).prop_map(|(is_tcp, address, port)| {
            if is_tcp { Tuple::tcp(address, port) } else { Tuple::udp(address, port) }
        })
    }

    fn any_request() -> impl Strategy<Value = Request> {
        let wanted =
            ("[a-z0-9.]{1,15}", 0_usize..3, any::<Option<u16>>()).prop_map(|(device, grade, queue)| Wanted {
                device,
                grade: Grade::ALL[grade],
                queue: queue.map(u32::from),
            });
        prop_oneof![
            (wanted, any::<Option<Token>>()).prop_map(|(wanted, token)| Request::Attach { wanted, token }),
            any_tuple().prop_map(Request::Bind),
            any_tuple().prop_map(Request::Release),
        ]
    }

    fn any_answer() -> impl Strategy<Value = Answer> {
        let numbers = (any::<[u32; 4]>(), any::<Token>(), any::<[u8; 6]>(), 0_usize..3);
        let lists = (prop::collection::vec(any::<IpAddr>(), 0..=16), "[ -~]{0,107}");
        let place = (numbers, lists).prop_map(|((numbers, token, mac, grade), (addresses, path))| {
            let [slot, mtu, ifindex, queue] = numbers;
            Place { slot, token, grade: Grade::ALL[grade], mac, mtu, ifindex, queue, addresses, path }
        });
        prop_oneof![
            place.prop_map(Answer::Attached),
            Just(Answer::Done),
            "\\PC{0,60}".prop_map(Answer::Refused),
        ]
    }

    proptest! {
        #[test]
        fn what_is_said_is_understood(request in any_request(), answer in any_answer()) {
            prop_assert_eq!(Request::parse(&request.emit()), Some(request));
            prop_assert!(answer.emit().len() <= LEN_MAX);
            prop_assert_eq!(Answer::parse(&answer.emit()), Some(answer));
        }

        #[test]
        fn anything_may_come(mut bytes in prop::collection::vec(any::<u8>(), 0..80), is_headed: bool) {
            if is_headed && bytes.len() >= 3 {
                bytes[..3].copy_from_slice(&[0x54, 0x4d, 1]);
            }
            let _ = (Request::parse(&bytes), Answer::parse(&bytes));
        }
    }

    #[test]
    fn a_long_text_is_cut_between_two_characters() {
        let answer = Answer::Refused("\u{fc}".repeat(600));
        assert_eq!(Answer::parse(&answer.emit()), Some(Answer::Refused("\u{fc}".repeat(256))));
    }

    #[test]
    fn the_bytes_are_those_of_the_specification() {
        let bytes = Request::Bind(Tuple::tcp("10.0.0.5".parse().unwrap(), 8080)).emit();
        assert_eq!(bytes[..8], [0x54, 0x4d, 1, 2, 6, 0x90, 0x1f, 4]);
        assert_eq!(bytes[8..], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 5]);
    }
}
