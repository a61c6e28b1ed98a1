//! A smoltcp host with one socket, fed and drained packet by packet.

use crate::stream_byte;
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{Socket, SocketBuffer, State};
use smoltcp::time::Instant as SmolInstant;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use tidegate_base::Instant;

pub(crate) const OUR_PORT: u16 = 80;
pub(crate) const PEER_PORT: u16 = 4000;

pub(crate) fn our_address() -> IpAddr {
    Ipv4Addr::new(10, 0, 0, 1).into()
}

pub(crate) fn peer_address() -> IpAddr {
    Ipv4Addr::new(10, 0, 0, 2).into()
}

/// Which side opens, seen from the peer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Connects,
    Listens,
}

/// Two queues of IP packets.
#[derive(Default)]
struct Wire {
    rx: VecDeque<Vec<u8>>,
    tx: Vec<Vec<u8>>,
}

struct Received(Vec<u8>);
struct Sender<'a>(&'a mut Vec<Vec<u8>>);

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, take: F) -> R {
        take(&self.0)
    }
}

impl TxToken for Sender<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, fill: F) -> R {
        let mut bytes = vec![0; len];
        let result = fill(&mut bytes);
        self.0.push(bytes);
        result
    }
}

impl Device for Wire {
    type RxToken<'a> = Received;
    type TxToken<'a> = Sender<'a>;

    fn receive(&mut self, _now: SmolInstant) -> Option<(Received, Sender<'_>)> {
        self.rx.pop_front().map(|bytes| (Received(bytes), Sender(&mut self.tx)))
    }

    fn transmit(&mut self, _now: SmolInstant) -> Option<Sender<'_>> {
        Some(Sender(&mut self.tx))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = 1500;
        capabilities
    }
}

pub(crate) struct Peer {
    wire: Wire,
    interface: Interface,
    sockets: SocketSet<'static>,
    handle: SocketHandle,
    to_send: usize,
    sent: usize,
    expected: usize,
    received: usize,
}

impl Peer {
    pub(crate) fn new(role: Role, to_send: usize, expected: usize, seed: u64) -> Self {
        let mut wire = Wire::default();
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = seed;
        let mut interface = Interface::new(config, &mut wire, SmolInstant::ZERO);
        interface.update_ip_addrs(|addresses| {
            addresses.push(IpCidr::new(IpAddress::from(peer_address()), 24)).expect("room for one address");
        });
        let buffer = || SocketBuffer::new(vec![0; 65_535]);
        let mut socket = Socket::new(buffer(), buffer());
        match role {
            Role::Connects => {
                let to = (IpAddress::from(our_address()), OUR_PORT);
                socket.connect(interface.context(), to, PEER_PORT).expect("a closed socket connects");
            }
            Role::Listens => socket.listen(PEER_PORT).expect("a closed socket listens"),
        }
        let mut sockets = SocketSet::new(Vec::new());
        let handle = sockets.add(socket);
        Self { wire, interface, sockets, handle, to_send, sent: 0, expected, received: 0 }
    }

    /// Takes what arrived and gives what is to be sent.
    pub(crate) fn poll(&mut self, now: Instant, arrived: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        self.wire.rx.extend(arrived);
        let now = SmolInstant::from_micros((now.as_nanos() / 1000) as i64);
        self.interface.poll(now, &mut self.wire, &mut self.sockets);
        self.use_socket();
        self.interface.poll(now, &mut self.wire, &mut self.sockets);
        std::mem::take(&mut self.wire.tx)
    }

    fn use_socket(&mut self) {
        let socket = self.sockets.get_mut::<Socket<'_>>(self.handle);
        while socket.can_recv() {
            let received = &mut self.received;
            let taken = socket.recv(|bytes| {
                for byte in bytes.iter() {
                    assert_eq!(*byte, stream_byte(*received));
                    *received += 1;
                }
                (bytes.len(), ())
            });
            taken.expect("a socket that can receive");
        }
        if socket.can_send() && self.sent < self.to_send {
            let end = self.to_send.min(self.sent + 10_000);
            let bytes: Vec<u8> = (self.sent..end).map(stream_byte).collect();
            self.sent += socket.send_slice(&bytes).expect("a socket that can send");
        }
        if self.sent == self.to_send && socket.may_send() {
            socket.close();
        }
    }

    pub(crate) fn received(&self) -> usize {
        self.received
    }

    pub(crate) fn state(&self) -> State {
        self.sockets.get::<Socket<'_>>(self.handle).state()
    }

    pub(crate) fn is_done(&self) -> bool {
        self.received == self.expected && matches!(self.state(), State::Closed | State::TimeWait)
    }
}
