//! A query read just far enough to look up its ready answer, and nothing that needs more.
//!
//! ```text
//!   | header, 12 | name | type | class |                                        a plain query, or with
//!                                      | 0 | 41 | size | 0 0 | DO | len | options |   one OPT record
//! ```
//! Whatever looks otherwise (another opcode or class, a record where none belongs, options that cannot be read, a
//! TSIG, a wrong length) is not judged here: it goes to the reader of whole messages. So a glance never refuses; it
//! only passes on.
//!
//! Invariant: a query that gets past a glance is well-formed, asks one question of class IN, and wants EDNS
//! version 0 or none.

use crate::message;
use crate::store::{Key, NAME_LEN_MAX, NameWords};

/// Octets in a message's header (RFC 1035 section 4.1.1).
pub(crate) const HEADER_LEN: usize = 12;
/// Octets in an OPT record without options (RFC 6891 section 6.1.2).
pub(crate) const OPT_LEN: usize = 11;
/// Octets of type and class behind a question's name.
pub(crate) const QUESTION_TAIL_LEN: usize = 4;

const CLASS_IN: u16 = 1;
const TYPE_OPT: u16 = 41;
/// The TTL of an OPT record with the DO bit (RFC 3225 section 3).
const TTL_DNSSEC: u32 = 0x8000;
/// Types that ask for something else than records of that type (RFC 6895 section 3.1), ANY not among them.
const TYPES_META: std::ops::RangeInclusive<u16> = 128..=254;
/// QR, opcode and TC: what must be zero in a query of the plain kind.
const FLAGS_SPECIAL: u16 = 0xfa00;
/// The high bits of a length octet that begins no label.
const LABEL_KIND: u8 = 0xc0;

/// How the store's keys are got from a query (Sandstorm paper, section 2.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum KeyForm {
    /// From the name as it is in the message; a compressed one, which no client sends, goes the long way.
    #[default]
    Wire,
    /// From the name copied out label by label, pointers followed: slower, but no slower for a compressed name.
    Expanded,
}

/// What a query asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Glance {
    pub(crate) key: Key,
    /// Where the question ends in the message.
    pub(crate) question_end: u16,
    pub(crate) edns: Option<Edns>,
    /// Its name is compressed: the answer's question cannot be the query's own octets.
    pub(crate) is_compressed: bool,
}

/// What a query's OPT record says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edns {
    pub(crate) udp_size: u16,
    pub(crate) wants_dnssec: bool,
    /// One of its options wants one in the answer: it has a cookie, or asks who this is.
    pub(crate) wants_option: bool,
}

impl Glance {
    /// Reads `message`; its name in lower case goes to `words`.
    #[inline]
    pub(crate) fn read(message: &[u8], form: KeyForm, seed: u64, words: &mut NameWords) -> Option<Self> {
        check_header(message.first_chunk()?)?;
        match form {
            KeyForm::Wire => {
                let end = name_end(message)?;
                Self::read_tail(message, end, message.get(..end)?, seed, words)
            }
            KeyForm::Expanded => {
                let mut expanded = Expanded::new();
                let (end, is_compressed) = expanded.fill(message)?;
                let glance = Self::read_tail(message, end, expanded.octets(), seed, words)?;
                Some(Self { is_compressed, ..glance })
            }
        }
    }

    /// Reads what follows the question's name, which ends at `name_end` and is, behind a header's octets, `name`.
    #[inline]
    fn read_tail(
        message: &[u8],
        name_end: usize,
        name: &[u8],
        seed: u64,
        words: &mut NameWords,
    ) -> Option<Self> {
        let (tail, rest) = message.get(name_end..)?.split_first_chunk::<QUESTION_TAIL_LEN>()?;
        let [t0, t1, c0, c1] = *tail;
        // The header's check has left no more than one additional record.
        let has_opt = message.get(HEADER_LEN - 1)? & 1 != 0;
        if u16::from_be_bytes([c0, c1]) != CLASS_IN || (!has_opt && !rest.is_empty()) {
            return None;
        }
        let edns = if has_opt { Some(Edns::read(rest)?) } else { None };
        let qtype = u16::from_be_bytes([t0, t1]);
        if TYPES_META.contains(&qtype) {
            return None;
        }
        let wants_dnssec = edns.is_some_and(|edns| edns.wants_dnssec);
        let key = Key::new(seed, name, name.len() - HEADER_LEN, qtype, wants_dnssec, words)?;
        let question_end = (name_end + QUESTION_TAIL_LEN) as u16;
        Some(Self { key, question_end, edns, is_compressed: false })
    }
}

impl Edns {
    /// Reads an OPT record with nothing behind it.
    #[inline]
    fn read(octets: &[u8]) -> Option<Self> {
        let ([root, t0, t1, s0, s1, extended_rcode, version, z0, _, l0, l1], options) =
            octets.split_first_chunk::<OPT_LEN>()?;
        let is_plain =
            *root == 0 && [*t0, *t1] == TYPE_OPT.to_be_bytes() && [*extended_rcode, *version] == [0, 0];
        if !is_plain || usize::from(u16::from_be_bytes([*l0, *l1])) != options.len() {
            return None;
        }
        let udp_size = u16::from_be_bytes([*s0, *s1]);
        let wants_option = match options {
            [] => false,
            _ => wants_option(&message::Edns::parse(udp_size, 0, options).ok()?)?,
        };
        Some(Self { udp_size, wants_dnssec: z0 & 0x80 != 0, wants_option })
    }

    /// The same with all that its options say, from the octets that follow the question.
    pub(crate) fn whole<'a>(&self, octets: &'a [u8]) -> Option<message::Edns<'a>> {
        let ttl = if self.wants_dnssec { TTL_DNSSEC } else { 0 };
        message::Edns::parse(self.udp_size, ttl, octets.get(OPT_LEN..)?).ok()
    }
}

/// Whether an answer over UDP has an option because of those of the query; `None` if that depends on the zone (RFC
/// 7314).
#[inline]
const fn wants_option(edns: &message::Edns<'_>) -> Option<bool> {
    if edns.wants_expire { None } else { Some(edns.cookie.is_some() || edns.wants_nsid) }
}

/// `None` if the header is not that of a plain query with at most one additional record, which may be OPT.
#[inline]
fn check_header(header: &[u8; HEADER_LEN]) -> Option<()> {
    let [_, _, f0, f1, counts @ ..] = *header;
    let is_plain = u16::from_be_bytes([f0, f1]) & FLAGS_SPECIAL == 0;
    (is_plain && u64::from_be_bytes(counts) & !1 == 1 << 48).then_some(())
}

/// Where the name that follows the header ends, if it is one without pointers.
#[inline]
pub(super) fn name_end(message: &[u8]) -> Option<usize> {
    let mut at = HEADER_LEN;
    loop {
        let len = *message.get(at)?;
        if len & LABEL_KIND != 0 {
            return None;
        }
        at += usize::from(len) + 1;
        if len == 0 {
            return (at - HEADER_LEN <= NAME_LEN_MAX).then_some(at);
        }
    }
}

/// A name copied out of a message, behind as many octets as a header has.
pub(crate) struct Expanded {
    buffer: [u8; HEADER_LEN + NAME_LEN_MAX],
    end: usize,
}

impl Expanded {
    #[inline]
    pub(crate) fn new() -> Self {
        Self { buffer: [0; HEADER_LEN + NAME_LEN_MAX], end: HEADER_LEN }
    }

    /// The octets before the name, and the name.
    #[inline]
    fn octets(&self) -> &[u8] {
        self.buffer.get(..self.end).unwrap_or_default()
    }

    /// The name.
    pub(crate) fn name(&self) -> &[u8] {
        self.buffer.get(HEADER_LEN..self.end).unwrap_or_default()
    }

    /// Copies the name that follows the header; returns where its octets there end, and whether it has pointers.
    /// They may lead to what is before them only (RFC 1035 section 4.1.4), so that every chain ends.
    #[inline]
    pub(crate) fn fill(&mut self, message: &[u8]) -> Option<(usize, bool)> {
        let (mut at, mut end) = (HEADER_LEN, None);
        loop {
            let len = *message.get(at)?;
            match len & LABEL_KIND {
                0 => at = self.push(message.get(at..=at + usize::from(len))?).map(|len| at + len)?,
                LABEL_KIND => {
                    let target = usize::from(len & !LABEL_KIND) << 8 | usize::from(*message.get(at + 1)?);
                    end = end.or(Some(at + 2));
                    at = Some(target).filter(|target| *target < at)?;
                }
                _ => return None,
            }
            if len == 0 {
                return Some((end.unwrap_or(at), end.is_some()));
            }
        }
    }

    #[inline]
    fn push(&mut self, label: &[u8]) -> Option<usize> {
        self.buffer.get_mut(self.end..self.end + label.len())?.copy_from_slice(label);
        self.end += label.len();
        Some(label.len())
    }
}
