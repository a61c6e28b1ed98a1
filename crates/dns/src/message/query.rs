//! A query, read in one walk: header, question, and of the records behind it OPT and TSIG.
//!
//! Not a judge of what is asked: an unknown type or class is a query like any other.
//!
//! Invariant: whatever the bytes are, parsing ends within one walk over them; it neither panics nor allocates.

use super::codes::{Class, Opcode, Rcode, Rtype};
use super::edns::Edns;
use super::refusal::{ErrorReply, Refusal, Silence};
use super::{Flags, HEADER_LEN, UDP_LEN_MIN};
use crate::name::{Name, NameBuf, NameError};

/// Octets of a record between its owner and its data: type, class, TTL, length.
const RECORD_FIXED_LEN: usize = 10;

/// What is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Question<'a> {
    /// The name, in the letters of the asker: an answer repeats them, or clients that mix cases against
    /// spoofing will not have it.
    pub name: &'a Name,
    /// Which records.
    pub rtype: Rtype,
    /// Of which class.
    pub class: Class,
}

impl Question<'_> {
    /// Octets in wire format, uncompressed.
    #[inline]
    pub fn wire_len(&self) -> usize {
        self.name.wire_len() + 4
    }
}

/// A query that can be answered.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// Its number, for the answer to repeat.
    pub id: u16,
    /// Opcode and flags as they came.
    pub flags: Flags,
    /// What is asked.
    pub question: Question<'a>,
    /// Whether the question's name came without pointers, so that its octets are the message's from 12 on.
    pub is_plain: bool,
    /// The OPT record, if it has one; its version is 0.
    pub edns: Option<Edns<'a>>,
    /// Where in the message the TSIG record begins: the last record, if it is there (RFC 8945 section 5.1).
    pub tsig_at: Option<usize>,
    /// The whole message.
    pub message: &'a [u8],
}

impl<'a> Query<'a> {
    /// Reads `message`. `decompressed` holds the question's name if it came with pointers, and is not touched
    /// otherwise.
    #[inline]
    pub fn parse(message: &'a [u8], decompressed: &'a mut NameBuf) -> Result<Self, Refusal<'a>> {
        let Some(header) = message.first_chunk::<HEADER_LEN>() else {
            return Err(Refusal::Silence(Silence::TooShort));
        };
        let word = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let (id, flags) = (word(0), Flags(word(2)));
        if flags.has(Flags::QR) {
            // Answering an answer is how two servers come to talk for ever.
            return Err(Refusal::Silence(Silence::IsResponse));
        }
        let refusal = ErrorReply { id, flags, rcode: Rcode::FORMERR, question: None, edns: None };
        if !matches!(flags.opcode(), Opcode::QUERY | Opcode::NOTIFY) {
            return Err(refusal.because(Rcode::NOTIMP));
        }
        // RFC 9619 section 4: just one question.
        if word(4) != 1 {
            return Err(refusal.into());
        }
        let Some((question, is_plain, end)) = read_question(message, decompressed) else {
            return Err(refusal.into());
        };
        // A name that came with pointers is longer in full, and what is refused gets no more than it sent.
        let refusal = ErrorReply { question: is_plain.then_some(question), ..refusal };
        let mut query = Self { id, flags, question, is_plain, edns: None, tsig_at: None, message };
        let counts = Counts { answer: word(6), authority: word(8), additional: word(10) };
        if counts.are_allowed(flags.opcode(), question.rtype).is_none()
            || query.read_records(end, counts).is_none()
        {
            return Err(ErrorReply { edns: query.edns, ..refusal }.into());
        }
        if query.edns.is_some_and(|edns| edns.version != 0) {
            // RFC 6891 section 6.1.3.
            return Err(ErrorReply { edns: query.edns, ..refusal }.because(Rcode::BADVERS));
        }
        Ok(query)
    }

    /// What kind of query it is: QUERY or NOTIFY.
    #[inline]
    pub const fn opcode(&self) -> Opcode {
        self.flags.opcode()
    }

    /// Whether DNSSEC records are wanted (RFC 3225).
    #[inline]
    pub fn dnssec_ok(&self) -> bool {
        self.edns.is_some_and(|edns| edns.dnssec_ok)
    }

    /// How long an answer over UDP may be, if this server sends no more than `own_max` (RFC 6891 section 6.2.3:
    /// a claim below 512 counts as 512).
    #[inline]
    pub fn udp_len_max(&self, own_max: usize) -> usize {
        let claimed = self.edns.map_or(UDP_LEN_MIN, |edns| usize::from(edns.udp_size));
        claimed.min(own_max).max(UDP_LEN_MIN)
    }

    /// Reads what stands behind the question. `None` for what RFC 6891 and RFC 8945 have answered with FORMERR.
    #[inline]
    fn read_records(&mut self, mut at: usize, counts: Counts) -> Option<()> {
        for _ in 0..u32::from(counts.answer) + u32::from(counts.authority) {
            at = Record::parse(self.message, at)?.end;
        }
        for left in (0..counts.additional).rev() {
            let record = Record::parse(self.message, at)?;
            match record.rtype {
                Rtype::OPT => self.read_opt(&record, at)?,
                // RFC 8945 section 5.1: the last of all records, and the only one.
                Rtype::TSIG if left == 0 => self.tsig_at = Some(at),
                Rtype::TSIG => return None,
                _ => {}
            }
            at = record.end;
        }
        Some(())
    }

    #[inline]
    fn read_opt(&mut self, record: &Record<'a>, at: usize) -> Option<()> {
        // RFC 6891 sections 6.1.1 and 6.1.2: one only, and of the root.
        let is_of_root = self.message.get(at) == Some(&0);
        if self.edns.is_some() || !is_of_root {
            return None;
        }
        self.edns = Some(Edns::parse(record.class, record.ttl, record.data).ok()?);
        Some(())
    }
}

/// The question at the usual place, whether it came without pointers, and where it ends.
#[inline]
fn read_question<'a>(
    message: &'a [u8],
    decompressed: &'a mut NameBuf,
) -> Option<(Question<'a>, bool, usize)> {
    let (name, is_plain, name_end) = match Name::split_from(message.get(HEADER_LEN..)?) {
        Ok((name, _)) => (name, true, HEADER_LEN + name.wire_len()),
        Err(NameError::NotALabel) => {
            let end = decompressed.decompress(message, HEADER_LEN).ok()?;
            (decompressed.as_name(), false, end)
        }
        Err(_) => return None,
    };
    let end = name_end + 4;
    let [type_high, type_low, class_high, class_low] = *message.get(name_end..end)?.first_chunk()?;
    let rtype = Rtype(u16::from_be_bytes([type_high, type_low]));
    let class = Class(u16::from_be_bytes([class_high, class_low]));
    Some((Question { name, rtype, class }, is_plain, end))
}

/// How many records a header announces.
#[derive(Clone, Copy)]
struct Counts {
    answer: u16,
    authority: u16,
    additional: u16,
}

impl Counts {
    /// A query brings no records but an IXFR's SOA (RFC 1995 section 3) and, in a NOTIFY, the new ones (RFC 1996
    /// section 3.7).
    #[inline]
    fn are_allowed(self, opcode: Opcode, rtype: Rtype) -> Option<()> {
        let may_bring = (self.answer == 0 || opcode == Opcode::NOTIFY)
            && (self.authority == 0 || opcode == Opcode::NOTIFY || rtype == Rtype::IXFR);
        may_bring.then_some(())
    }
}

/// A record of a query, as far as it matters here.
struct Record<'a> {
    rtype: Rtype,
    class: u16,
    ttl: u32,
    data: &'a [u8],
    end: usize,
}

impl<'a> Record<'a> {
    #[inline]
    fn parse(message: &'a [u8], at: usize) -> Option<Self> {
        let fixed_at = skip_name(message, at)?;
        let fixed = message.get(fixed_at..)?.first_chunk::<RECORD_FIXED_LEN>()?;
        let word = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
        let data_at = fixed_at + RECORD_FIXED_LEN;
        let end = data_at + usize::from(word(8));
        let data = message.get(data_at..end)?;
        let ttl = u32::from(word(4)) << 16 | u32::from(word(6));
        Some(Self { rtype: Rtype(word(0)), class: word(2), ttl, data, end })
    }
}

/// Where the name at `at` ends; it is not followed where it goes on elsewhere.
#[inline]
fn skip_name(message: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match *message.get(at)? {
            0 => return Some(at + 1),
            len @ 1..=63 => at += 1 + usize::from(len),
            64..=191 => return None,
            192.. => return Some(at + 2),
        }
    }
}
