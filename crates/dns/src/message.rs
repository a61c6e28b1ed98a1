//! Messages of the DNS: reading a query, writing an answer. No allocation in either.
//!
//! ```text
//!    0  ID
//!    2  QR  opcode  AA TC RD | RA 0 AD CD  rcode      Flags
//!    4  QDCOUNT  ANCOUNT  NSCOUNT  ARCOUNT            one a Section
//!   12  the question: name, type, class               Question
//!    .. records: owner, type, class, TTL, length, data
//! ```
//! (RFC 1035 section 4.1)
//!
//! [`Query::parse`] reads all that a server must know of a query in one walk, or says in a [`Refusal`] why there
//! is none and what to send back. [`Writer`] puts an answer together in a buffer of the caller's, with names
//! compressed, never past the limit it was given, and with room kept for the OPT record.
//!
//! Not a general reader of messages: the records of answers are read where a secondary needs them.

mod codes;
mod compress;
mod cursor;
mod edns;
mod query;
mod refusal;
#[cfg(test)]
mod tests;
mod writer;

pub use codes::{Class, Opcode, Rcode, Rtype, UnknownCode};
pub(crate) use compress::TARGET_COUNT_MAX;
pub(crate) use cursor::{Cursor, Malformed};
pub use edns::{Cookie, Edns, EdnsOption, EdnsOptions, ExtendedError, Opt, OptionCode};
pub use query::{Query, Question};
pub use refusal::{ErrorReply, Refusal, Silence};
pub use writer::{Full, Mark, Writer};

/// Octets of a header (RFC 1035 section 4.1.1).
pub const HEADER_LEN: usize = 12;
/// What a client takes over UDP that does not say otherwise (RFC 1035 section 4.2.1), and the least that one
/// may say (RFC 6891 section 6.2.3).
pub const UDP_LEN_MIN: usize = 512;
/// Octets of the longest message (RFC 1035 section 4.2.2).
pub const MESSAGE_LEN_MAX: usize = 65_535;

/// A header's second 16 bits: QR, opcode, the flags and the rcode's low four bits.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Flags(pub u16);

impl Flags {
    /// QR: this is a response.
    pub const QR: Self = Self(0x8000);
    /// AA: authoritative answer.
    pub const AA: Self = Self(0x0400);
    /// TC: truncated.
    pub const TC: Self = Self(0x0200);
    /// RD: recursion desired.
    pub const RD: Self = Self(0x0100);
    /// RA: recursion available; never set here.
    pub const RA: Self = Self(0x0080);
    /// AD: authentic data (RFC 4035 section 3.2.3).
    pub const AD: Self = Self(0x0020);
    /// CD: checking disabled (RFC 4035 section 3.2.2).
    pub const CD: Self = Self(0x0010);

    /// Whether all of `flags` are set.
    #[inline]
    pub const fn has(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// These and those.
    #[inline]
    #[must_use]
    pub const fn with(self, flags: Self) -> Self {
        Self(self.0 | flags.0)
    }

    /// These without those.
    #[inline]
    #[must_use]
    pub const fn without(self, flags: Self) -> Self {
        Self(self.0 & !flags.0)
    }

    /// These, where they are among `flags`.
    #[inline]
    #[must_use]
    pub const fn only(self, flags: Self) -> Self {
        Self(self.0 & flags.0)
    }

    /// What kind of query it is.
    #[inline]
    pub const fn opcode(self) -> Opcode {
        Opcode((self.0 >> 11 & 0xf) as u8)
    }

    /// The same flags with another opcode.
    #[inline]
    #[must_use]
    pub const fn with_opcode(self, opcode: Opcode) -> Self {
        Self(self.0 & !0x7800 | (opcode.0 as u16 & 0xf) << 11)
    }

    /// The rcode's low four bits.
    #[inline]
    pub const fn rcode(self) -> Rcode {
        Rcode(self.0 & 0xf)
    }

    /// The same flags with the low four bits of another rcode.
    #[inline]
    #[must_use]
    pub const fn with_rcode(self, rcode: Rcode) -> Self {
        Self(self.0 & !0xf | rcode.0 & 0xf)
    }
}

/// A part of a message after its header, in their order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Section {
    /// What is asked.
    Question,
    /// Records that answer it.
    Answer,
    /// Records that say who knows more, or that there is nothing.
    Authority,
    /// Records that may help.
    Additional,
}
