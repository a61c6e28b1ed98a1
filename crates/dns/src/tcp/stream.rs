//! What a connection has received and not answered yet. It exists only while there is something: a message that
//! is not whole, queries that wait their turn, a transfer.
//!
//! Invariant: `bytes` starts at the first byte of a message's length; `held` of them are still on the peer's
//! account.

use super::framing;
use tidegate_base::Instant;

/// A connection's unanswered input.
pub(super) struct Stream<T> {
    pub(super) bytes: Vec<u8>,
    pub(super) transfer: Option<T>,
    /// Too much is not acknowledged for another answer.
    pub(super) waits_for_room: bool,
    pub(super) held: u32,
    /// When the message that is not whole began.
    pub(super) since: Option<Instant>,
}

impl<T> Default for Stream<T> {
    fn default() -> Self {
        Self { bytes: Vec::new(), transfer: None, waits_for_room: false, held: 0, since: None }
    }
}

impl<T> Stream<T> {
    /// Keeps `data` behind what there is. Room is made once for a whole message, and for no more than it says to be:
    /// room that doubles as a message trickles in would leave the heap in pieces.
    pub(super) fn keep(&mut self, data: &[u8]) {
        let whole = framing::first_len(if self.bytes.is_empty() { data } else { &self.bytes });
        self.bytes.reserve_exact(whole.saturating_sub(self.bytes.len()));
        self.bytes.extend_from_slice(data);
    }

    /// Whether the next thing to happen is up to acknowledgements, not to more input.
    pub(super) const fn is_waiting(&self) -> bool {
        self.transfer.is_some() || self.waits_for_room
    }

    /// Whether there is something to send yet, if the peer sends no more.
    pub(super) const fn owes_answers(&self) -> bool {
        self.is_waiting()
    }

    /// Whether it need not exist.
    pub(super) const fn is_blank(&self) -> bool {
        self.bytes.is_empty() && !self.is_waiting()
    }
}
