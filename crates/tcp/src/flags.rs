//! A connection's yes-or-no state, a bit each.

/// A set of bits.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Flags(u32);

macro_rules! flags {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// Bit positions.
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[repr(u8)]
        enum Bit { $($name),+ }

        impl Flags {
            $($(#[doc = $doc])+ pub(crate) const $name: Self = Self(1 << Bit::$name as u32);)+
        }
    };
}

flags! {
    /// The handshake began with our SYN.
    ACTIVE_OPEN,
    /// A SYN or SYN-ACK is to be sent.
    SYN_DUE,
    /// `close` was called: a FIN follows the last offered byte.
    CLOSE,
    /// Our FIN is part of the sequence numbers up to SND.NXT.
    FIN_SENT,
    /// A RST is to be sent.
    RESET_DUE,
    /// A window or keep-alive probe is to be sent.
    PROBE_DUE,
    /// A tail loss probe is to be sent (RFC 8985 section 7.3).
    TAIL_PROBE_DUE,
    /// The next segment may be small: the override timeout passed (RFC 9293 section 3.8.6.2.1).
    OVERRIDE,
    /// A round trip is being timed.
    TIMING,
    /// Timestamps were negotiated.
    TIMESTAMPS,
    /// SACK was negotiated.
    SACK,
    /// Window scaling was negotiated.
    SCALING,
    /// ECN was negotiated.
    ECN,
    /// Echo congestion marks until the peer says CWR (RFC 3168 section 6.1.3).
    ECHO_MARK,
    /// The next new data says CWR (RFC 3168 section 6.1.2).
    CWR_DUE,
    /// A reduction is still being answered: marks up to `cwr_high` do not count again.
    CWR_WAIT,
    /// The congestion window was what stopped us last.
    CWND_LIMITED,
    /// Segments were seen to overtake one another (RFC 8985 section 6.2).
    REORDERED,
    /// Text of the peer's SYN was taken; answers leave though our SYN is not acknowledged yet (RFC 7413).
    EARLY,
    /// The congestion control is one by rate.
    BY_RATE,
    /// Text waits for its time to leave.
    PACED,
}

impl Flags {
    pub(crate) const NONE: Self = Self(0);

    /// These and those of `other`.
    pub(crate) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether `flag` is set; of several, whether any is.
    #[inline]
    pub(crate) const fn has(self, flag: Self) -> bool {
        self.0 & flag.0 != 0
    }

    #[inline]
    pub(crate) const fn set(&mut self, flag: Self) {
        self.0 |= flag.0;
    }

    #[inline]
    pub(crate) const fn clear(&mut self, flag: Self) {
        self.0 &= !flag.0;
    }

    #[inline]
    pub(crate) const fn assign(&mut self, flag: Self, on: bool) {
        if on { self.set(flag) } else { self.clear(flag) }
    }

    /// Clears the flag and says whether it was set.
    #[inline]
    pub(crate) const fn take(&mut self, flag: Self) -> bool {
        let was = self.has(flag);
        self.clear(flag);
        was
    }
}
