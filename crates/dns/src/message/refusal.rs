//! What is not a query, and what is sent back for it.
//!
//! | the bytes | answer |
//! |---|---|
//! | fewer than 12 | none: nothing tells whose they are |
//! | QR is set | none: it is an answer |
//! | an opcode other than QUERY and NOTIFY | NOTIMP |
//! | not just one question, or one that cannot be read | FORMERR |
//! | records that a query cannot have, are cut off, or are an OPT or TSIG out of place | FORMERR |
//! | EDNS of another version | BADVERS, with our version in the OPT record |
//!
//! Invariant: a reply is no longer than what it replies to.

use super::codes::Rcode;
use super::edns::{Edns, Opt};
use super::query::Question;
use super::{Flags, Section, Writer};

/// Why there is no query.
#[derive(Clone, Copy, Debug)]
pub enum Refusal<'a> {
    /// Nothing is sent back.
    Silence(Silence),
    /// This is sent back.
    Reply(ErrorReply<'a>),
}

/// Why nothing is sent back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Silence {
    /// Fewer octets than a header.
    TooShort,
    /// A response.
    IsResponse,
}

/// An answer that is not more than an rcode.
#[derive(Clone, Copy, Debug)]
pub struct ErrorReply<'a> {
    /// The query's number.
    pub id: u16,
    /// The query's flags.
    pub flags: Flags,
    /// What was wrong.
    pub rcode: Rcode,
    /// The question, if it could be read and came without pointers: it is repeated.
    pub question: Option<Question<'a>>,
    /// The OPT record, as far as it was read: it has one in reply (RFC 6891 section 7).
    pub edns: Option<Edns<'a>>,
}

impl<'a> ErrorReply<'a> {
    /// The same for another reason.
    #[inline]
    pub(super) fn because(self, rcode: Rcode) -> Refusal<'a> {
        Refusal::Reply(Self { rcode, ..self })
    }

    /// Writes the reply at the beginning of `out` and gives its length; `None` if it does not fit. `udp_size`
    /// is what this server takes over UDP.
    pub fn emit(&self, udp_size: u16, out: &mut [u8]) -> Option<usize> {
        // RFC 1035 section 4.1.1: ID, opcode and RD are the query's.
        let flags = self.flags.only(Flags::RD).with_opcode(self.flags.opcode()).with(Flags::QR);
        let limit = out.len();
        let mut writer = Writer::new(out, limit, self.id, flags)?;
        writer.set_rcode(self.rcode);
        if let Some(edns) = &self.edns {
            writer.set_opt(Opt::new(udp_size, edns.dnssec_ok)).ok()?;
        }
        if let Some(question) = &self.question {
            writer.begin(Section::Question);
            writer.question(question).ok()?;
        }
        Some(writer.finish())
    }
}

impl<'a> From<ErrorReply<'a>> for Refusal<'a> {
    #[inline]
    fn from(reply: ErrorReply<'a>) -> Self {
        Self::Reply(reply)
    }
}
