//! What goes into a connection and what comes out of it.

use tidegate_base::DropReason;
use tidegate_wire::TcpRepr;

/// A segment that arrived, its checksum found good.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// Its header.
    pub repr: &'a TcpRepr,
    /// Its data.
    pub payload: &'a [u8],
    /// The ECN bits of the IP header that carried it (RFC 3168).
    pub ecn: u8,
}

/// A segment to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outgoing {
    /// Its header. The ports are the caller's to fill in.
    pub repr: TcpRepr,
    /// The stream offset of its first data byte; meaningless without data.
    pub offset: u64,
    /// Bytes of data.
    pub payload_len: usize,
    /// The ECN bits for the IP header that carries it.
    pub ecn: u8,
}

/// What an event meant beyond the connection's own state.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Outcome {
    /// The segment was not used, for this reason.
    pub drop: Option<DropReason>,
    /// The connection ended, or is in TIME-WAIT. Reported once.
    pub closed: Option<Closed>,
    /// The handshake completed with this event.
    pub established: bool,
    /// Bytes of ours, or our FIN, were acknowledged.
    pub acked: bool,
    /// The peer's FIN arrived: no more data will be delivered.
    pub peer_closed: bool,
    /// The segment is to be answered with [`crate::reset::reply`].
    pub reply_reset: bool,
}

impl Outcome {
    /// Nothing to report.
    pub const NONE: Self = Self {
        drop: None,
        closed: None,
        established: false,
        acked: false,
        peer_closed: false,
        reply_reset: false,
    };

    pub(crate) const fn dropped(reason: DropReason) -> Self {
        Self { drop: Some(reason), ..Self::NONE }
    }

    pub(crate) const fn closed(why: Closed) -> Self {
        Self { closed: Some(why), ..Self::NONE }
    }
}

/// How a connection ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Closed {
    /// Both sides sent all their data and a FIN, and both were acknowledged.
    Finished,
    /// The peer reset it.
    Reset,
    /// The peer refused our SYN.
    Refused,
    /// The peer did not answer, or did not read, for too long.
    TimedOut,
    /// We aborted it.
    Aborted,
}
