//! What a connection has received and not answered yet. It exists only while there is something: a message that
//! is not whole, queries that wait their turn, a transfer.
//!
//! Invariant: `bytes` starts at the first byte of a message's length; `held` of them are still on the peer's
//! account.

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
