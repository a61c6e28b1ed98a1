//! The service: all sockets of a stack, and what the stack tells them.

use crate::datagram::{DatagramSocket, OutgoingQueue};
use crate::error::Error;
use crate::id::SocketId;
use crate::listener::Listener;
use crate::options::Options;
use crate::readiness::Readiness;
use crate::slots::Slots;
use crate::stream::{Phase, Stream};
use bytes::Bytes;
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use tidegate_base::{Instant, Sum};
use tidegate_packet::{Frame, Pool, SharedBytes, Tail};
use tidegate_stack::{Closed, Conn, ConnId, Datagram, FetchError, Payload, Reply, Service};

/// Pieces shorter than this are not worth a frame that is cut behind the port.
const BULK_LEN_MIN: usize = 3000;

/// One socket.
pub(crate) enum Entry {
    /// Neither listening nor connected yet.
    Fresh {
        bound: Option<SocketAddr>,
        options: Options,
    },
    Listener(Box<Listener>),
    Stream(Box<Stream>),
    Datagram(Box<DatagramSocket>),
}

/// All sockets of one stack, by number.
pub struct Sockets {
    pub(crate) slots: Slots<Entry>,
    /// Listeners and datagram sockets by port.
    pub(crate) listeners: HashMap<u16, Vec<SocketId>>,
    pub(crate) datagrams: HashMap<u16, Vec<SocketId>>,
    pub(crate) outgoing: OutgoingQueue,
    /// Streams that have something for the stack.
    dirty: VecDeque<SocketId>,
    /// Sockets whose readiness changed.
    named: VecDeque<SocketId>,
}

impl Sockets {
    /// None yet.
    pub(crate) fn new() -> Self {
        Self {
            slots: Slots::new(),
            listeners: HashMap::new(),
            datagrams: HashMap::new(),
            outgoing: OutgoingQueue::default(),
            dirty: VecDeque::new(),
            named: VecDeque::new(),
        }
    }

    /// How many there are, connections that were closed and are still being sent included.
    pub fn count(&self) -> usize {
        self.slots.len()
    }

    /// A socket that its owner has not closed.
    pub(crate) fn entry(&mut self, id: SocketId) -> Result<&mut Entry, Error> {
        match self.slots.get_mut(id) {
            Some(Entry::Stream(stream)) if stream.is_left => Err(Error::BadSocket),
            entry => entry.ok_or(Error::BadSocket),
        }
    }

    pub(crate) fn open(&mut self, entry: Entry) -> Result<SocketId, Error> {
        self.slots.insert(entry).ok_or(Error::TooManySockets)
    }

    /// A connection that its owner has, or had.
    pub(crate) fn stream_mut(&mut self, id: SocketId) -> Option<&mut Stream> {
        match self.slots.get_mut(id) {
            Some(Entry::Stream(stream)) => Some(stream),
            _ => None,
        }
    }

    pub(crate) fn has_dirty(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// Has the stack look at a stream in its next round.
    pub(crate) fn mark_dirty(&mut self, id: SocketId) {
        if let Some(stream) = self.stream_mut(id)
            && !std::mem::replace(&mut stream.is_dirty, true)
        {
            self.dirty.push_back(id);
        }
    }

    /// Names a socket as ready, once until that is heard.
    pub(crate) fn name(&mut self, id: SocketId) {
        let is_named = match self.slots.get_mut(id) {
            Some(Entry::Stream(stream)) if !stream.is_left => &mut stream.is_named,
            Some(Entry::Datagram(socket)) => &mut socket.is_named,
            // A listener is named for each connection; hearing of one twice does no harm.
            Some(Entry::Listener(_)) => return self.named.push_back(id),
            _ => return,
        };
        if !std::mem::replace(is_named, true) {
            self.named.push_back(id);
        }
    }

    pub(crate) fn has_named(&self) -> bool {
        !self.named.is_empty()
    }

    /// The next socket whose readiness changed, with what it is ready for now.
    pub(crate) fn next_named(&mut self) -> Option<(SocketId, Readiness)> {
        loop {
            let id = self.named.pop_front()?;
            let Ok(entry) = self.entry(id) else { continue };
            match entry {
                Entry::Stream(stream) => stream.is_named = false,
                Entry::Datagram(socket) => socket.is_named = false,
                _ => {}
            }
            let readiness = entry.readiness();
            if !readiness.is_none() {
                return Some((id, readiness));
            }
        }
    }

    fn listener_for(&mut self, local: SocketAddr) -> Option<(SocketId, &mut Listener)> {
        let ids = self.listeners.get(&local.port())?;
        let hears =
            |id: &&SocketId| matches!(self.slots.get(**id), Some(Entry::Listener(l)) if l.hears(local));
        let id = *ids.iter().find(hears)?;
        match self.slots.get_mut(id) {
            Some(Entry::Listener(listener)) => Some((id, listener)),
            _ => None,
        }
    }

    /// A handshake is complete: the connection waits to be accepted.
    fn admit(&mut self, conn: &mut Conn<'_, Self>) {
        let (local, peer) = (conn.local(), conn.peer());
        let Some((at, listener)) = self.listener_for(local) else { return conn.abort() };
        let mut stream = Stream::new(Phase::Open, local, peer, listener.options.clone());
        stream.conn = Some(conn.id());
        let Some(id) = self.slots.insert(Entry::Stream(Box::new(stream))) else { return conn.abort() };
        *conn.state() = Some(id);
        if let Some((_, listener)) = self.listener_for(local) {
            listener.queue.push_back(id);
        }
        self.name(at);
    }

    /// Hands the stack what the owner did meanwhile.
    fn hand_over(&mut self, conn: &mut Conn<'_, Self>) {
        let Some(stream) = conn.state().and_then(|id| self.stream_mut(id)) else { return };
        stream.is_dirty = false;
        conn.take(std::mem::take(&mut stream.take_due));
        if stream.is_abort_due {
            return conn.abort();
        }
        stream.take_written().for_each(|piece| conn.write(piece));
        if stream.is_write_shut && !std::mem::replace(&mut stream.is_fin_told, true) {
            conn.close();
        }
        if std::mem::take(&mut stream.is_ack_due) {
            conn.acknowledge();
        }
        if let Some(after) = stream.linger_due.take() {
            conn.arm_timer(after);
        }
    }

    fn datagram_socket_for(&mut self, local: SocketAddr, peer: SocketAddr) -> Option<SocketId> {
        let ids = self.datagrams.get(&local.port())?;
        let hears =
            |id: &&SocketId| matches!(self.slots.get(**id), Some(Entry::Datagram(s)) if s.hears(local, peer));
        ids.iter().find(hears).copied()
    }
}

impl Entry {
    pub(crate) fn readiness(&self) -> Readiness {
        match self {
            Self::Fresh { .. } => Readiness::WRITABLE | Readiness::HANGUP,
            Self::Listener(listener) => Readiness::READABLE.when(!listener.queue.is_empty()),
            Self::Stream(stream) => stream.readiness(),
            Self::Datagram(socket) => socket.readiness(),
        }
    }
}

impl Service for Sockets {
    type Response = Bytes;
    type State = Option<SocketId>;

    fn on_syn(&mut self, _: SocketAddr, local: SocketAddr) -> bool {
        self.listener_for(local).is_none_or(|(_, listener)| !listener.is_full())
    }

    fn on_accept(&mut self, _: SocketAddr, local: SocketAddr) -> bool {
        self.listener_for(local).is_some_and(|(_, listener)| !listener.is_overfull())
    }

    fn on_open(&mut self, conn: &mut Conn<'_, Self>) {
        let Some(id) = *conn.state() else { return self.admit(conn) };
        let local = conn.local();
        if let Some(stream) = self.stream_mut(id) {
            stream.phase = Phase::Open;
            stream.local = local;
            self.name(id);
            self.hand_over(conn);
        }
    }

    fn on_recv(&mut self, conn: &mut Conn<'_, Self>, data: &[u8]) {
        let Some(id) = *conn.state() else { return };
        let Some(stream) = self.stream_mut(id) else { return };
        if stream.is_left {
            // Nobody will read it, and the peer should know (RFC 9293 section 3.6).
            return conn.abort();
        }
        if stream.is_read_shut {
            return;
        }
        stream.received.push(data);
        stream.is_ack_due = true;
        conn.hold(data.len() as u32);
        conn.take(std::mem::take(&mut stream.take_due));
        conn.acknowledge_late();
        self.mark_dirty(id);
        self.name(id);
    }

    fn on_eof(&mut self, conn: &mut Conn<'_, Self>) {
        let Some(id) = *conn.state() else { return };
        if let Some(stream) = self.stream_mut(id) {
            stream.is_eof = true;
            self.name(id);
        }
    }

    fn on_acked(&mut self, conn: &mut Conn<'_, Self>) {
        let (Some(id), left) = (*conn.state(), conn.unsent_len()) else { return };
        let Some(stream) = self.stream_mut(id) else { return };
        stream.sent.offered_len = left;
        if stream.wants_room && stream.has_worthwhile_room() {
            stream.wants_room = false;
            self.name(id);
        }
    }

    fn on_timer(&mut self, conn: &mut Conn<'_, Self>) {
        // Only lingering arms it.
        conn.abort();
    }

    fn on_wake(&mut self, conn: &mut Conn<'_, Self>) {
        self.hand_over(conn);
    }

    fn on_closed(&mut self, _: ConnId, state: Option<SocketId>, why: Closed) {
        let Some(id) = state else { return };
        let Some(stream) = self.stream_mut(id) else { return };
        stream.end(why);
        if stream.is_left {
            self.slots.remove(id);
        } else {
            self.name(id);
        }
    }

    fn poll_wake(&mut self, _: Instant) -> Option<ConnId> {
        loop {
            let id = self.dirty.pop_front()?;
            let Some(stream) = self.stream_mut(id) else { continue };
            match stream.conn {
                Some(conn) => return Some(conn),
                None => stream.is_dirty = false,
            }
        }
    }

    fn response_len(piece: &Bytes) -> u64 {
        piece.len() as u64
    }

    fn segment_len(_: &Bytes, _: u64, max: usize) -> usize {
        max
    }

    fn fetch(
        &mut self,
        piece: &Bytes,
        offset: u64,
        len: usize,
        pool: &mut Pool,
    ) -> Result<Payload, FetchError> {
        let data = part(piece, offset, len).ok_or(FetchError::Gone)?;
        let mut frame = pool.alloc().ok_or(FetchError::NoFrame)?;
        if !frame.extend(data) {
            pool.free(frame);
            return Err(FetchError::Gone);
        }
        Ok(Payload { sum: Sum::of(data), frame })
    }

    fn bulk_len(piece: &Bytes, offset: u64, max: usize) -> usize {
        let len = max.min(piece.len().saturating_sub(offset as usize));
        if len >= BULK_LEN_MIN { len } else { 0 }
    }

    fn fetch_bulk(
        &mut self,
        piece: &Bytes,
        offset: u64,
        len: usize,
        pool: &mut Pool,
    ) -> Result<Frame, FetchError> {
        let start = offset as usize;
        let owner: SharedBytes = Arc::new(piece.clone());
        let tail = Tail::new(owner, start..start + len).ok_or(FetchError::Gone)?;
        let mut frame = pool.alloc().ok_or(FetchError::NoFrame)?;
        frame.append(tail);
        Ok(frame)
    }

    fn on_datagrams(&mut self, _: Instant, burst: &mut [Datagram], _: &mut Pool) {
        for datagram in burst {
            let (peer, local, link) = (datagram.peer(), datagram.local(), datagram.link());
            let Some(id) = self.datagram_socket_for(local, peer) else {
                datagram.reply = Reply::Refuse;
                continue;
            };
            let Some(Entry::Datagram(socket)) = self.slots.get_mut(id) else { continue };
            if socket.push(peer, link, datagram.data()) {
                self.name(id);
            } else {
                datagram.reply = Reply::Drop(tidegate_base::DropReason::RateLimited);
            }
        }
    }
}

fn part(piece: &Bytes, offset: u64, len: usize) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    piece.get(start..start.checked_add(len)?)
}
