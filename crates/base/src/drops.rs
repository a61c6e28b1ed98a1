//! Why a packet was not served. Every packet that is neither answered nor handed on is counted under
//! exactly one of these; `tidegate stats` and the metrics show them by [`DropReason::as_str`].

macro_rules! drop_reasons {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal,)+) => {
        /// The one reason for which a packet was dropped.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        pub enum DropReason {
            $($(#[doc = $doc])+ $name,)+
        }

        impl DropReason {
            /// All reasons, in counter order.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// The name under which it is shown and exported.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text),+ }
            }

            /// What it means, in a sentence.
            pub const fn describe(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc),+).trim_ascii()),+ }
            }
        }
    };
}

drop_reasons! {
    /// Shorter than the header it claims, or with a header or total length that contradicts the frame.
    Malformed = "malformed",
    /// A checksum over the IP header or the transport segment does not hold.
    BadChecksum = "bad_checksum",
    /// Addressed to another MAC address.
    NotOurMac = "not_our_mac",
    /// Addressed to an IP address that this stack does not serve.
    NotOurAddress = "not_our_address",
    /// An EtherType or IP protocol that this stack does not speak.
    UnknownProtocol = "unknown_protocol",
    /// An IP fragment; fragments are the host's business.
    Fragment = "fragment",
    /// A source address that no honest sender has: multicast, broadcast, loopback or our own.
    MartianSource = "martian_source",
    /// No listener and no connection for it.
    NoListener = "no_listener",
    /// A TCP segment outside the window, answered with an acknowledgement where the RFC asks for one.
    OutOfWindow = "out_of_window",
    /// A RST or SYN that a blind attacker could have sent (RFC 5961).
    ChallengeAck = "challenge_ack",
    /// A segment older than one already seen (RFC 7323 PAWS).
    StaleTimestamp = "stale_timestamp",
    /// An acknowledgement that completes no handshake: a wrong or old SYN cookie.
    BadCookie = "bad_cookie",
    /// The limit on connections, in all or for this peer, is reached.
    ConnectionLimit = "connection_limit",
    /// The service refused the connection.
    Refused = "refused",
    /// Data that does not fit the receive window or the reassembly budget.
    ReassemblyFull = "reassembly_full",
    /// No free frame in the pool.
    NoFrame = "no_frame",
    /// The transmit ring is full.
    RingFull = "ring_full",
    /// Too many error replies in this second.
    RateLimited = "rate_limited",
    /// The next hop's link address is not known.
    NoNeighbour = "no_neighbour",
    /// Larger than the port can send.
    TooLong = "too_long",
    /// Dropped on purpose by a module (loss, ACL, a closed gate).
    Policy = "policy",
}

/// One counter a [`DropReason`].
#[derive(Clone, Debug)]
pub struct DropCounters([u64; DropReason::ALL.len()]);

impl DropCounters {
    /// All zero.
    pub const fn new() -> Self {
        Self([0; DropReason::ALL.len()])
    }

    /// Counts one packet.
    #[inline]
    pub fn count(&mut self, reason: DropReason) {
        self.0[reason as usize] += 1;
    }

    /// Counts several packets.
    #[inline]
    pub fn count_many(&mut self, reason: DropReason, count: u64) {
        self.0[reason as usize] += count;
    }

    /// How many packets were dropped for `reason`.
    pub fn of(&self, reason: DropReason) -> u64 {
        self.0[reason as usize]
    }

    /// How many packets were dropped in all.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Each reason with its count, zero ones too.
    pub fn iter(&self) -> impl Iterator<Item = (DropReason, u64)> + '_ {
        DropReason::ALL.iter().map(|r| (*r, self.of(*r)))
    }

    /// Adds another set of counters to this one.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine += theirs;
        }
    }
}
