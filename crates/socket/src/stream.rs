//! A connection with its buffers, from `connect` or a handshake until it is closed on both sides and nobody holds it.
//!
//! ```text
//!   Opening --established--> Open --both sides finished, or an error--> Ended
//!                             | close: the socket's number is gone at once, what was written is still sent (`is_left`)
//! ```

use crate::error::Error;
use crate::options::Options;
use crate::readiness::Readiness;
use crate::receive::ReceiveBuffer;
use crate::send::SendBuffer;
use bytes::Bytes;
use std::net::SocketAddr;
use tidegate_base::Duration;
use tidegate_stack::{Closed, ConnId};

/// How far a connection is, as its socket sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    Opening,
    Open,
    Ended,
}

pub(crate) struct Stream {
    /// Its name in the stack, while that has it.
    pub(crate) conn: Option<ConnId>,
    pub(crate) phase: Phase,
    pub(crate) local: SocketAddr,
    pub(crate) peer: SocketAddr,
    pub(crate) received: ReceiveBuffer,
    /// Read, and still on the peer's account.
    pub(crate) take_due: u32,
    pub(crate) sent: SendBuffer,
    pub(crate) options: Options,
    pub(crate) error: Option<Error>,
    /// The peer will send no more.
    pub(crate) is_eof: bool,
    pub(crate) is_read_shut: bool,
    pub(crate) is_write_shut: bool,
    /// The end of what is written was told the stack.
    pub(crate) is_fin_told: bool,
    /// Its owner closed it.
    pub(crate) is_left: bool,
    pub(crate) is_abort_due: bool,
    /// The owner has not had the time to answer what arrived.
    pub(crate) is_ack_due: bool,
    pub(crate) linger_due: Option<Duration>,
    /// A write found no room.
    pub(crate) wants_room: bool,
    /// It waits to be woken, and to be named as ready.
    pub(crate) is_dirty: bool,
    pub(crate) is_named: bool,
}

impl Stream {
    pub(crate) fn new(phase: Phase, local: SocketAddr, peer: SocketAddr, options: Options) -> Self {
        Self {
            conn: None,
            phase,
            local,
            peer,
            received: ReceiveBuffer::default(),
            take_due: 0,
            sent: SendBuffer::default(),
            options,
            error: None,
            is_eof: false,
            is_read_shut: false,
            is_write_shut: false,
            is_fin_told: false,
            is_left: false,
            is_abort_due: false,
            is_ack_due: false,
            linger_due: None,
            wants_room: false,
            is_dirty: false,
            is_named: false,
        }
    }

    pub(crate) fn readiness(&self) -> Readiness {
        let is_ended = self.phase == Phase::Ended;
        let (no_more_in, no_more_out) =
            (self.is_eof || self.is_read_shut || is_ended, self.is_write_shut || is_ended);
        let has_input = !self.received.is_empty() || no_more_in;
        let has_room = self.phase != Phase::Opening && (no_more_out || self.room() > 0);
        Readiness::READABLE.when(has_input && self.phase != Phase::Opening)
            | Readiness::WRITABLE.when(has_room)
            | Readiness::PEER_CLOSED.when(self.is_eof || is_ended)
            | Readiness::HANGUP.when(is_ended || no_more_in && no_more_out)
            | Readiness::ERROR.when(self.error.is_some())
    }

    /// Bytes that a write would take.
    pub(crate) fn room(&self) -> usize {
        u64::from(self.options.send_buffer_len).saturating_sub(self.sent.len()) as usize
    }

    /// Whether enough of the buffer is free to be worth a word to a writer that found none.
    pub(crate) fn has_worthwhile_room(&self) -> bool {
        self.room() >= self.options.send_buffer_len as usize / 4
    }

    /// What is there to read: some bytes, none at the end, or why not.
    pub(crate) fn check_read(&mut self) -> Result<&[u8], Error> {
        if !self.received.is_empty() && !self.is_read_shut {
            return Ok(self.received.bytes());
        }
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        match self.phase {
            Phase::Opening => Err(Error::WouldBlock),
            Phase::Open if !self.is_eof && !self.is_read_shut => Err(Error::WouldBlock),
            _ => Ok(&[]),
        }
    }

    /// Counts the first `n` bytes as read. True if the peer should hear of the room soon.
    pub(crate) fn consume(&mut self, n: usize) -> bool {
        let n = n.min(self.received.len());
        self.received.consume(n);
        self.take_due += n as u32;
        self.take_due >= self.options.receive_buffer_len / 4
    }

    /// How many bytes a write may hand over.
    pub(crate) fn check_write(&mut self) -> Result<usize, Error> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        if self.is_write_shut || self.phase == Phase::Ended {
            return Err(Error::BrokenPipe);
        }
        let room = if self.phase == Phase::Open { self.room() } else { 0 };
        if room == 0 {
            self.wants_room = true;
            return Err(Error::WouldBlock);
        }
        Ok(room)
    }

    /// Takes what was written, piece by piece, and counts it as offered.
    pub(crate) fn take_written(&mut self) -> impl Iterator<Item = Bytes> + '_ {
        self.sent.offered_len += self.sent.waiting_len() as u64;
        self.sent.take_pieces()
    }

    /// The connection is gone from the stack.
    pub(crate) fn end(&mut self, why: Closed) {
        let error = match why {
            Closed::Finished => None,
            Closed::Reset => Some(Error::ConnectionReset),
            Closed::Refused => Some(Error::ConnectionRefused),
            Closed::TimedOut => Some(Error::TimedOut),
            Closed::Aborted => Some(Error::ConnectionAborted),
        };
        self.error = self.error.or(error);
        self.is_eof = true;
        self.phase = Phase::Ended;
        self.conn = None;
        self.sent = SendBuffer::default();
    }
}
