//! Socket calls, frames and time in; frames out. No I/O: whoever owns it says what time it is and carries the frames.
//!
//! Each call is what the BSD call of its name is, without blocking. Documented here is what differs.

use crate::datagram::{Outgoing, ROOM_INTERVAL, TRY_COUNT_MAX, TRY_INTERVAL};
use crate::error::Error;
use crate::id::SocketId;
use crate::listener::Listener;
use crate::options::{Options, ProfileKey};
use crate::places::{Places, any_of};
use crate::readiness::Readiness;
use crate::sockets::{Entry, Sockets};
use crate::stream::{Phase, Stream};
use bytes::Bytes;
use std::net::{IpAddr, SocketAddr};
use tidegate_base::{DropReason, Duration, Instant};
use tidegate_packet::{Batch, Frame};
use tidegate_stack::{
    ConnId, ConnectError, Egress, Info, Interface, Limits, Origin, Secrets, Stack, StackCounters, TcpConfig,
};
use tidegate_wire::MacAddr;

/// Different settings that connections of one stack may have at a time.
const PROFILE_COUNT_MAX: usize = 1024;
/// Ports that are chosen where none is named (RFC 6335 section 6).
const EPHEMERAL_PORTS: std::ops::RangeInclusive<u16> = 49152..=65535;

/// Which directions a socket gives up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shutdown {
    /// What arrives from now on is not kept.
    Read,
    /// A FIN follows what was written.
    Write,
    /// Both.
    Both,
}

/// All sockets of one interface, with the stack below them.
pub struct Host<E: Egress> {
    stack: Stack<Sockets>,
    out: E,
    now: Instant,
    config: TcpConfig,
    profiles: Vec<ProfileKey>,
    defaults: Options,
    next_port: u16,
    /// Where sockets can be.
    places: Places,
}

impl<E: Egress> Host<E> {
    /// A host at `interface` that sends by `out`. What sockets cannot set is as in `config`.
    pub fn new(
        now: Instant,
        interface: Interface,
        config: TcpConfig,
        limits: Limits,
        secrets: &Secrets,
        out: E,
    ) -> Self {
        let defaults =
            Options { congestion: config.congestion, option: config.option.clone(), ..Options::default() };
        let first = defaults.tcp_config(&config);
        Self {
            stack: Stack::new(now, interface, first, limits, secrets, Sockets::new()),
            out,
            now,
            config,
            profiles: vec![defaults.profile_key()],
            defaults,
            next_port: *EPHEMERAL_PORTS.start() + (secrets.flow % 16384) as u16,
            places: Places::default(),
        }
    }

    /// Takes a received frame.
    pub fn input(&mut self, now: Instant, frame: Frame) {
        self.now = now;
        self.stack.on_frame(now, frame, &mut self.out);
    }

    /// Takes received frames that came together.
    pub fn input_batch(&mut self, now: Instant, batch: &mut Batch) {
        self.now = now;
        self.stack.on_batch(now, batch, &mut self.out);
    }

    /// Timers, and what was written since the last call. Call it once a round, and at [`next_deadline`](Self::next_deadline).
    pub fn poll(&mut self, now: Instant) {
        self.now = now;
        self.stack.poll(now, &mut self.out);
        self.send_datagrams(now);
    }

    /// When [`poll`](Self::poll) has something to do even if no frame arrives: at once, if something was written.
    pub fn next_deadline(&self) -> Option<Instant> {
        if self.has_work() {
            return Some(Instant::ZERO);
        }
        [self.stack.next_deadline(), self.stack.service().outgoing.next_deadline()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Whether socket calls have left something for the next [`poll`](Self::poll).
    pub(crate) fn has_work(&self) -> bool {
        let sockets = self.stack.service();
        sockets.has_dirty() || sockets.outgoing.next_deadline() == Some(Instant::ZERO)
    }

    /// Whether [`next_event`](Self::next_event) has something.
    pub fn has_event(&self) -> bool {
        self.stack.service().has_named()
    }

    /// A socket whose readiness grew since it was last named, with all that it is ready for. Named once for what came: read
    /// or accept until [`Error::WouldBlock`].
    pub fn next_event(&mut self) -> Option<(SocketId, Readiness)> {
        self.sockets().next_named()
    }

    /// The way out, and the pool behind it.
    pub const fn egress(&mut self) -> &mut E {
        &mut self.out
    }

    /// What the stack counted.
    pub fn counters(&self) -> StackCounters {
        self.stack.counters()
    }

    /// Packets that were not served, by reason.
    pub const fn drops(&self) -> &tidegate_base::DropCounters {
        self.stack.drops()
    }

    /// How many sockets there are, those included that were closed and still send.
    pub fn socket_count(&self) -> usize {
        self.stack.service().count()
    }

    /// The time of the last round.
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// The host's place in the network.
    pub const fn interface(&self) -> &Interface {
        self.stack.interface()
    }

    /// Records the link address of a neighbour, or of the gateway under each address behind it.
    pub fn set_neighbour(&mut self, addr: IpAddr, mac: MacAddr) {
        self.stack.set_neighbour(addr, mac);
        let waiting = self.sockets().outgoing.0.iter_mut();
        waiting
            .filter(|outgoing| outgoing.peer.ip() == addr)
            .for_each(|outgoing| outgoing.next = Instant::ZERO);
    }

    /// A peer whose link address [`set_neighbour`](Self::set_neighbour) is to tell, where the kernel owns the addresses.
    pub fn poll_unresolved(&mut self) -> Option<IpAddr> {
        self.stack.poll_unresolved()
    }

    /// Whether [`poll_unresolved`](Self::poll_unresolved) has one.
    pub(crate) fn has_unresolved(&self) -> bool {
        self.stack.has_unresolved()
    }

    /// Has a peer's link address asked for anew by the next connection to it.
    pub fn forget_neighbour(&mut self, addr: IpAddr) {
        self.stack.forget_neighbour(addr);
    }

    /// Lets sockets have these addresses and ports and no others, because the others are somebody else's: frames to them do
    /// not come here. An unspecified address is all of the interface's.
    pub fn confine(&mut self, places: Vec<SocketAddr>) {
        self.places = Places::only(places);
    }

    /// The settings of sockets opened from now on.
    pub const fn defaults_mut(&mut self) -> &mut Options {
        &mut self.defaults
    }

    fn sockets(&mut self) -> &mut Sockets {
        self.stack.service_mut()
    }

    fn entry(&mut self, id: SocketId) -> Result<&mut Entry, Error> {
        self.sockets().entry(id)
    }

    fn stream(&mut self, id: SocketId) -> Result<&mut Stream, Error> {
        match self.entry(id)? {
            Entry::Stream(stream) => Ok(stream),
            Entry::Datagram(_) => Err(Error::NotSupported),
            _ => Err(Error::NotConnected),
        }
    }

    /// A new socket for TCP.
    pub fn stream_socket(&mut self) -> Result<SocketId, Error> {
        let options = self.defaults.clone();
        self.sockets().open(Entry::Fresh { bound: None, options })
    }

    /// A new socket for UDP.
    pub fn datagram_socket(&mut self) -> Result<SocketId, Error> {
        self.sockets().open(Entry::Datagram(Box::default()))
    }

    /// Names the socket's own address and port; an unspecified address is all of the interface's, port zero any that is free.
    pub fn bind(&mut self, id: SocketId, local: SocketAddr) -> Result<(), Error> {
        let ip = local.ip();
        if !ip.is_unspecified() && !self.interface().has(ip.into()) {
            return Err(Error::AddressNotAvailable);
        }
        let is_datagram = match self.entry(id)? {
            Entry::Fresh { bound: None, .. } => false,
            Entry::Datagram(socket) if socket.bound.is_none() => true,
            _ => return Err(Error::Invalid),
        };
        if local.port() != 0 && !self.places.has(local) {
            return Err(Error::AddressNotAvailable);
        }
        if local.port() != 0 && self.is_taken(local, is_datagram) {
            return Err(Error::AddressInUse);
        }
        let local = if local.port() == 0 { self.free_port(local, is_datagram)? } else { local };
        match self.entry(id)? {
            Entry::Fresh { bound, .. } => *bound = Some(local),
            Entry::Datagram(socket) => {
                socket.bound = Some(local);
                self.sockets().datagrams.entry(local.port()).or_default().push(id);
            }
            _ => {}
        }
        Ok(())
    }

    fn free_port(&mut self, local: SocketAddr, is_datagram: bool) -> Result<SocketAddr, Error> {
        if !self.places.is_open() {
            let places: Vec<SocketAddr> = self.places.at(local.ip()).collect();
            let free = places.into_iter().find(|place| !self.is_taken(*place, is_datagram));
            return free.ok_or(Error::AddressInUse);
        }
        for _ in EPHEMERAL_PORTS {
            self.next_port = self.next_port.checked_add(1).unwrap_or(*EPHEMERAL_PORTS.start());
            let candidate = SocketAddr::new(local.ip(), self.next_port);
            if !self.is_taken(candidate, is_datagram) {
                return Ok(candidate);
            }
        }
        Err(Error::AddressInUse)
    }

    /// Whether a listener, or a datagram socket, has this address and port.
    fn is_taken(&mut self, local: SocketAddr, is_datagram: bool) -> bool {
        let sockets = self.sockets();
        let by_port = if is_datagram { &sockets.datagrams } else { &sockets.listeners };
        let meets =
            |addr: Option<IpAddr>| addr.is_none_or(|a| a == local.ip() || local.ip().is_unspecified());
        let Some(ids) = by_port.get(&local.port()) else { return false };
        ids.iter().any(|id| match sockets.slots.get(*id) {
            Some(Entry::Listener(listener)) => meets(listener.addr),
            Some(Entry::Datagram(socket)) => {
                meets(socket.bound.map(|b| b.ip()).filter(|ip| !ip.is_unspecified()))
            }
            _ => false,
        })
    }

    /// Accepts connections at the bound address. While `backlog` of them wait to be accepted, those that ask are not
    /// answered, and ask again. On a listener it changes the backlog.
    pub fn listen(&mut self, id: SocketId, backlog: usize) -> Result<(), Error> {
        let backlog = backlog.max(1);
        let (bound, options) = match self.entry(id)? {
            Entry::Fresh { bound, options } => (bound.ok_or(Error::DestinationRequired)?, options.clone()),
            Entry::Listener(listener) => {
                listener.backlog = backlog;
                return Ok(());
            }
            Entry::Stream(_) => return Err(Error::Invalid),
            Entry::Datagram(_) => return Err(Error::NotSupported),
        };
        if self.is_taken(bound, false) {
            return Err(Error::AddressInUse);
        }
        let profile = self.profile(&options)?;
        let addr = Some(bound.ip()).filter(|ip| !ip.is_unspecified());
        let listener = Listener { addr, port: bound.port(), backlog, queue: Default::default(), options };
        *self.entry(id)? = Entry::Listener(Box::new(listener));
        self.sockets().listeners.entry(bound.port()).or_default().push(id);
        self.stack.listen_with(addr, bound.port(), profile);
        Ok(())
    }

    /// The next connection whose handshake is complete, and its peer.
    pub fn accept(&mut self, id: SocketId) -> Result<(SocketId, SocketAddr), Error> {
        let Entry::Listener(listener) = self.entry(id)? else { return Err(Error::Invalid) };
        let accepted = listener.queue.pop_front().ok_or(Error::WouldBlock)?;
        let peer = self.stream(accepted)?.peer;
        Ok((accepted, peer))
    }

    /// Begins to open a connection, which ends well when the socket becomes writable. For datagrams it names the peer.
    pub fn connect(&mut self, id: SocketId, peer: SocketAddr) -> Result<(), Error> {
        let (bound, options) = match self.entry(id)? {
            Entry::Fresh { bound, options } => (*bound, options.clone()),
            Entry::Stream(stream) => {
                return Err(match (stream.error.take(), stream.phase) {
                    (Some(error), _) => error,
                    (None, Phase::Opening) => Error::AlreadyInProgress,
                    (None, _) => Error::IsConnected,
                });
            }
            Entry::Datagram(_) => return self.connect_datagram(id, peer),
            Entry::Listener(_) => return Err(Error::Invalid),
        };
        if peer.port() == 0 || peer.ip().is_unspecified() {
            return Err(Error::ConnectionRefused);
        }
        let profile = self.profile(&options)?;
        let conn = self.connect_as(id, bound, peer, profile)?;
        let local = self.stack.local(conn).or(bound).unwrap_or(peer);
        let mut stream = Stream::new(Phase::Opening, local, peer, options);
        stream.conn = Some(conn);
        *self.entry(id)? = Entry::Stream(Box::new(stream));
        Err(Error::InProgress)
    }

    /// From where the socket is bound to; from any place that there is, if it is not.
    fn connect_as(
        &mut self,
        id: SocketId,
        bound: Option<SocketAddr>,
        peer: SocketAddr,
        profile: u16,
    ) -> Result<ConnId, Error> {
        let ip = bound.map_or(any_of(peer.ip()), |bound| bound.ip());
        let mut places: Vec<SocketAddr> = self.places.at(ip).collect();
        places.retain(|place| bound.is_none_or(|bound| bound.port() == place.port()));
        if self.places.is_open() {
            places.push(bound.unwrap_or(SocketAddr::new(ip, 0)));
        }
        let mut last = Error::AddressNotAvailable;
        for place in places {
            let addr = Some(place.ip()).filter(|ip| !ip.is_unspecified());
            let origin = Origin { addr, port: place.port(), profile };
            match self.stack.connect_from(self.now, origin, peer, Some(id), &mut self.out) {
                Ok(conn) => return Ok(conn),
                Err(error) => last = error.into(),
            }
        }
        Err(last)
    }

    fn connect_datagram(&mut self, id: SocketId, peer: SocketAddr) -> Result<(), Error> {
        let local = self.source_for(peer)?;
        let Entry::Datagram(socket) = self.entry(id)? else { return Err(Error::NotSupported) };
        socket.peer = Some(peer);
        if socket.bound.is_none() {
            self.bind_some(id, local)?;
        }
        Ok(())
    }

    /// Binds to any port at `source`, or to any place that there is.
    fn bind_some(&mut self, id: SocketId, source: IpAddr) -> Result<(), Error> {
        let ip = if self.places.is_open() { source } else { any_of(source) };
        self.bind(id, SocketAddr::new(ip, 0))
    }

    /// An address of the interface of the peer's family.
    fn source_for(&self, peer: SocketAddr) -> Result<IpAddr, Error> {
        let addresses = self.interface().addresses().iter().map(|addr| IpAddr::from(*addr));
        addresses.into_iter().find(|ip| ip.is_ipv4() == peer.is_ipv4()).ok_or(Error::FamilyNotSupported)
    }

    /// Copies received bytes into `buffer` and says how many; none: the peer will send no more.
    pub fn read(&mut self, id: SocketId, buffer: &mut [u8]) -> Result<usize, Error> {
        let received = self.peek(id)?;
        let len = received.len().min(buffer.len());
        buffer[..len].copy_from_slice(&received[..len]);
        self.consume(id, len);
        Ok(len)
    }

    /// The received bytes where they are; [`consume`](Self::consume) those that were used. None: the peer will send no more.
    pub fn peek(&mut self, id: SocketId) -> Result<&[u8], Error> {
        self.stream(id)?.check_read()
    }

    /// Takes the first `len` received bytes away, and makes room for as many.
    pub fn consume(&mut self, id: SocketId, len: usize) {
        if let Ok(stream) = self.stream(id)
            && stream.consume(len)
        {
            self.sockets().mark_dirty(id);
        }
    }

    /// Writes as many of `data` as there is room for, and says how many.
    pub fn write(&mut self, id: SocketId, data: &[u8]) -> Result<usize, Error> {
        let stream = self.stream(id)?;
        if data.is_empty() {
            return Ok(0);
        }
        let len = stream.check_write()?.min(data.len());
        stream.sent.write(&data[..len]);
        stream.wants_room |= len < data.len();
        self.sockets().mark_dirty(id);
        Ok(len)
    }

    /// Writes bytes that are shared and never change, without copying them. All of them are taken, if there is room at all.
    pub fn write_bytes(&mut self, id: SocketId, data: Bytes) -> Result<(), Error> {
        let stream = self.stream(id)?;
        if data.is_empty() {
            return Ok(());
        }
        stream.check_write()?;
        stream.sent.write_bytes(data);
        self.sockets().mark_dirty(id);
        Ok(())
    }

    /// Ends one direction or both.
    pub fn shutdown(&mut self, id: SocketId, how: Shutdown) -> Result<(), Error> {
        let stream = self.stream(id)?;
        if stream.phase != Phase::Open {
            return Err(Error::NotConnected);
        }
        stream.is_read_shut |= how != Shutdown::Write;
        stream.is_write_shut |= how != Shutdown::Read;
        self.sockets().mark_dirty(id);
        self.sockets().name(id);
        Ok(())
    }

    /// Gives the socket up; its number is gone. What was written is still sent, unless something that arrived was not read
    /// (RFC 2525 section 2.17) or the socket lingers for no time: then the peer gets a reset.
    pub fn close(&mut self, id: SocketId) -> Result<(), Error> {
        match self.entry(id)? {
            Entry::Stream(stream) => {
                let is_gone = stream.conn.is_none();
                stream.is_left = true;
                stream.is_write_shut = true;
                stream.is_abort_due = stream.phase == Phase::Opening
                    || !stream.received.is_empty() && !stream.is_read_shut
                    || stream.options.linger == Some(Duration::ZERO);
                stream.linger_due = stream.options.linger;
                if is_gone {
                    self.sockets().slots.remove(id);
                } else {
                    self.sockets().mark_dirty(id);
                }
            }
            Entry::Listener(_) => self.close_listener(id),
            Entry::Fresh { .. } => drop(self.sockets().slots.remove(id)),
            Entry::Datagram(_) => {
                self.sockets().slots.remove(id);
                self.sockets().datagrams.values_mut().for_each(|ids| ids.retain(|other| *other != id));
            }
        }
        Ok(())
    }

    /// Connections that nobody accepted are reset.
    fn close_listener(&mut self, id: SocketId) {
        let Some(Entry::Listener(listener)) = self.sockets().slots.remove(id) else { return };
        self.stack.stop_listening_at(listener.addr, listener.port);
        let sockets = self.sockets();
        if let Some(ids) = sockets.listeners.get_mut(&listener.port) {
            ids.retain(|other| *other != id);
        }
        for waiting in listener.queue {
            if let Some(stream) = self.sockets().stream_mut(waiting) {
                stream.options.linger = Some(Duration::ZERO);
            }
            let _ = self.close(waiting);
        }
    }

    /// What the socket is ready for now.
    pub fn readiness(&mut self, id: SocketId) -> Result<Readiness, Error> {
        Ok(self.entry(id)?.readiness())
    }

    /// The socket's error, if it has one, and has it no more (SO_ERROR).
    pub fn take_error(&mut self, id: SocketId) -> Result<Option<Error>, Error> {
        match self.entry(id)? {
            Entry::Stream(stream) => Ok(stream.error.take()),
            _ => Ok(None),
        }
    }

    /// The socket's own address; unspecified where it has none yet.
    pub fn local_addr(&mut self, id: SocketId) -> Result<SocketAddr, Error> {
        let none = SocketAddr::from(([0, 0, 0, 0], 0));
        Ok(match self.entry(id)? {
            Entry::Fresh { bound, .. } => bound.unwrap_or(none),
            Entry::Stream(stream) => stream.local,
            Entry::Listener(listener) => SocketAddr::new(listener.addr.unwrap_or(none.ip()), listener.port),
            Entry::Datagram(socket) => socket.bound.unwrap_or(none),
        })
    }

    /// The peer's address.
    pub fn peer_addr(&mut self, id: SocketId) -> Result<SocketAddr, Error> {
        match self.entry(id)? {
            Entry::Stream(stream) if stream.phase == Phase::Open => Ok(stream.peer),
            Entry::Datagram(socket) => socket.peer.ok_or(Error::NotConnected),
            _ => Err(Error::NotConnected),
        }
    }

    /// Whether it is a listener.
    pub fn is_listener(&mut self, id: SocketId) -> Result<bool, Error> {
        Ok(matches!(self.entry(id)?, Entry::Listener(_)))
    }

    /// Whether it is for datagrams.
    pub fn is_datagram(&mut self, id: SocketId) -> Result<bool, Error> {
        Ok(matches!(self.entry(id)?, Entry::Datagram(_)))
    }

    /// The socket's settings.
    pub fn options(&mut self, id: SocketId) -> Result<&Options, Error> {
        match self.entry(id)? {
            Entry::Fresh { options, .. } => Ok(options),
            Entry::Listener(listener) => Ok(&listener.options),
            Entry::Stream(stream) => Ok(&stream.options),
            Entry::Datagram(_) => Err(Error::NotSupported),
        }
    }

    /// Changes the socket's settings: lengths beyond what works become the next that works. Those of a listener are for
    /// connections that it accepts from now on.
    pub fn set_options(&mut self, id: SocketId, options: Options) -> Result<(), Error> {
        let options = options.clamped();
        let profile = self.profile(&options)?;
        match self.entry(id)? {
            Entry::Fresh { options: place, .. } => *place = options,
            Entry::Listener(listener) => {
                listener.options = options;
                let (addr, port) = (listener.addr, listener.port);
                self.stack.stop_listening_at(addr, port);
                self.stack.listen_with(addr, port, profile);
            }
            Entry::Stream(stream) => {
                stream.options = options;
                if let Some(conn) = stream.conn {
                    self.stack.set_profile(conn, profile);
                    // What Nagle's algorithm held back may go now.
                    self.sockets().mark_dirty(id);
                }
            }
            Entry::Datagram(_) => return Err(Error::NotSupported),
        }
        Ok(())
    }

    /// What is known of the connection (TCP_INFO).
    pub fn info(&mut self, id: SocketId) -> Result<Info, Error> {
        let conn = self.stream(id)?.conn.ok_or(Error::NotConnected)?;
        self.stack.info(conn).ok_or(Error::NotConnected)
    }

    /// Bytes that may be read, and bytes that were written and are not acknowledged.
    pub fn buffered(&mut self, id: SocketId) -> Result<(usize, u64), Error> {
        let stream = self.stream(id)?;
        Ok((stream.received.len(), stream.sent.len()))
    }

    /// The stack's profile for such options.
    fn profile(&mut self, options: &Options) -> Result<u16, Error> {
        let key = options.profile_key();
        if let Some(known) = self.profiles.iter().position(|profile| *profile == key) {
            return Ok(known as u16);
        }
        if self.profiles.len() >= PROFILE_COUNT_MAX {
            return Err(Error::NoBuffers);
        }
        self.profiles.push(key);
        Ok(self.stack.add_profile(options.tcp_config(&self.config)))
    }

    /// Queues a datagram for `peer`, or for the connected one. It goes with the next [`poll`](Self::poll).
    pub fn send_to(&mut self, id: SocketId, data: &[u8], peer: Option<SocketAddr>) -> Result<usize, Error> {
        let Entry::Datagram(socket) = self.entry(id)? else { return Err(Error::NotSupported) };
        let peer = peer.or(socket.peer).ok_or(Error::DestinationRequired)?;
        let source = self.source_for(peer)?;
        if data.len() > self.interface().mtu() - if peer.is_ipv4() { 28 } else { 48 } {
            return Err(Error::MessageTooLong);
        }
        let Entry::Datagram(socket) = self.entry(id)? else { return Err(Error::NotSupported) };
        let link = socket.link(peer.ip());
        let bound = match socket.bound {
            Some(bound) => bound,
            None => {
                self.bind_some(id, source)?;
                self.local_addr(id)?
            }
        };
        let local =
            SocketAddr::new(if bound.ip().is_unspecified() { source } else { bound.ip() }, bound.port());
        let outgoing = &mut self.sockets().outgoing;
        if outgoing.is_full() {
            return Err(Error::WouldBlock);
        }
        let data = Bytes::copy_from_slice(data);
        outgoing.0.push_back(Outgoing { local, peer, link, data, tries: 0, next: Instant::ZERO });
        Ok(self.sockets().outgoing.0.back().map_or(0, |last| last.data.len()))
    }

    /// Copies the next datagram into `buffer`, cut to it, and says how long it was and who sent it.
    pub fn receive_from(&mut self, id: SocketId, buffer: &mut [u8]) -> Result<(usize, SocketAddr), Error> {
        let Entry::Datagram(socket) = self.entry(id)? else { return Err(Error::NotSupported) };
        let received = socket.pop().ok_or(Error::WouldBlock)?;
        let len = received.data.len().min(buffer.len());
        buffer[..len].copy_from_slice(&received.data[..len]);
        Ok((received.data.len(), received.peer))
    }

    fn send_datagrams(&mut self, now: Instant) {
        let mut queue = std::mem::take(&mut self.sockets().outgoing);
        queue.0.retain_mut(|outgoing| {
            if outgoing.next > now {
                return true;
            }
            let Outgoing { local, peer, link, data, .. } = &*outgoing;
            match self.stack.send_datagram(*local, *peer, *link, data, &mut self.out) {
                Err(DropReason::NoNeighbour) if outgoing.tries < TRY_COUNT_MAX => {
                    outgoing.tries += 1;
                    outgoing.next = now + TRY_INTERVAL;
                    true
                }
                Err(DropReason::RingFull | DropReason::NoFrame) => {
                    outgoing.next = now + ROOM_INTERVAL;
                    true
                }
                _ => false,
            }
        });
        self.sockets().outgoing = queue;
    }
}

impl From<ConnectError> for Error {
    fn from(error: ConnectError) -> Self {
        match error {
            ConnectError::NoAddress => Self::FamilyNotSupported,
            ConnectError::NotOurAddress => Self::AddressNotAvailable,
            ConnectError::NoPort => Self::AddressInUse,
            ConnectError::ConnectionLimit => Self::NoBuffers,
        }
    }
}
