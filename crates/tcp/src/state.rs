//! The states of a connection (RFC 9293 section 3.3.2). LISTEN is not among them: a listener is the
//! stack's table entry, and a connection begins with the first SYN.

/// Where a connection is between its SYN and its end.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum State {
    /// Nothing is sent or accepted any more.
    Closed,
    /// We sent a SYN and wait for one.
    SynSent,
    /// Both SYNs are under way; ours is not acknowledged yet.
    SynReceived,
    /// Data flows both ways.
    Established,
    /// We have closed; our FIN is not acknowledged yet.
    FinWait1,
    /// Our FIN is acknowledged; the peer may still send.
    FinWait2,
    /// The peer has closed; we may still send.
    CloseWait,
    /// Both FINs crossed; ours is not acknowledged yet.
    Closing,
    /// The peer closed first, then we; our FIN is not acknowledged yet.
    LastAck,
    /// Both sides are done; old segments may still be under way.
    TimeWait,
}

impl State {
    /// Whether both sides' initial sequence numbers are known and acknowledged.
    pub const fn is_synchronized(self) -> bool {
        !matches!(self, Self::Closed | Self::SynSent | Self::SynReceived)
    }

    /// Whether the peer may still send data that we take.
    pub const fn can_receive(self) -> bool {
        matches!(self, Self::Established | Self::FinWait1 | Self::FinWait2)
    }

    /// Whether data or a FIN of ours may still have to be sent or sent again.
    pub const fn can_send(self) -> bool {
        matches!(self, Self::Established | Self::FinWait1 | Self::CloseWait | Self::Closing | Self::LastAck)
    }

    /// Whether the peer's FIN has arrived in order.
    pub const fn has_received_fin(self) -> bool {
        matches!(self, Self::CloseWait | Self::Closing | Self::LastAck | Self::TimeWait)
    }

    /// Whether an abort tells the peer by a RST (RFC 9293 section 3.10.5).
    pub(crate) const fn is_reset_on_abort(self) -> bool {
        !matches!(self, Self::Closed | Self::SynSent | Self::TimeWait)
    }
}
