//! An answer, put together in a buffer of the caller's.
//!
//! ```text
//!   | header | question | answer .. | authority .. | additional .. |  room  | OPT |
//!   0        12                                       position() --^        ^-- room kept
//! ```
//!
//! Sections are written in their order. What does not fit is [`Full`] and leaves no trace: [`Writer::record`] and
//! [`Writer::rrset`] are written whole or not at all, and [`Writer::roll_back`] takes back everything since a
//! [`Mark`]. The header and the OPT record are written by [`Writer::finish`], so that truncation never costs the
//! OPT record (RFC 6891 section 7).
//!
//! Not a judge of what may be left out: that is the answer's business, which says TC where it must.

mod records;

use thiserror::Error;

use super::codes::Rcode;
use super::compress::Targets;
use super::edns::{ExtendedError, Opt};
use super::query::Query;
use super::{Flags, HEADER_LEN, Section};

/// It does not fit; nothing was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("the message is full")]
pub struct Full;

/// A point that a writer can go back to.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    len: usize,
    target_count: usize,
    section: Section,
    counts: [u16; 4],
}

/// A message being written.
pub struct Writer<'a> {
    /// As much of the buffer as the message may have.
    out: &'a mut [u8],
    len: usize,
    /// Octets at the end that are kept for the OPT record and for [`Writer::reserve`].
    kept: usize,
    section: Section,
    counts: [u16; 4],
    id: u16,
    flags: Flags,
    rcode: Rcode,
    opt: Option<Opt<'a>>,
    targets: Targets,
}

impl<'a> Writer<'a> {
    /// A message of at most `limit` octets in `out`. `None` if not even a header fits.
    #[inline]
    pub fn new(out: &'a mut [u8], limit: usize, id: u16, flags: Flags) -> Option<Self> {
        let len_max = limit.min(out.len());
        let out = out.get_mut(..len_max).filter(|out| out.len() >= HEADER_LEN)?;
        Some(Self {
            out,
            len: HEADER_LEN,
            kept: 0,
            section: Section::Question,
            counts: [0; 4],
            id,
            flags,
            rcode: flags.rcode(),
            opt: None,
            targets: Targets::new(),
        })
    }

    /// An answer to `query` of at most `limit` octets, with its ID, opcode and RD (RFC 1035 section 4.1.1), CD
    /// clear (RFC 4035 section 3.1.6), and its question, letter by letter; NOERROR and no AA yet. `None` if
    /// `out` is too short for that.
    #[inline]
    pub fn answering(query: &Query<'_>, out: &'a mut [u8], limit: usize) -> Option<Self> {
        let flags = query.flags.only(Flags::RD).with_opcode(query.opcode()).with(Flags::QR);
        let mut writer = Self::new(out, limit, query.id, flags)?;
        writer.question(&query.question).ok()?;
        Some(writer)
    }

    /// Octets written so far.
    #[inline]
    pub const fn position(&self) -> usize {
        self.len
    }

    /// Octets that still fit.
    #[inline]
    pub const fn room(&self) -> usize {
        self.out.len().saturating_sub(self.len + self.kept)
    }

    /// What was written so far; the header comes last.
    #[inline]
    pub fn written(&self) -> &[u8] {
        self.out.get(..self.len).unwrap_or_default()
    }

    /// How many records `section` has.
    #[inline]
    pub const fn count(&self, section: Section) -> u16 {
        self.counts[section as usize]
    }

    /// Whose records come now. A section that was left does not open again.
    #[inline]
    pub fn begin(&mut self, section: Section) {
        self.section = self.section.max(section);
    }

    /// The section whose records come now.
    #[inline]
    pub const fn section(&self) -> Section {
        self.section
    }

    /// The flags as they are.
    #[inline]
    pub const fn flags(&self) -> Flags {
        self.flags
    }

    /// Sets `flags` beside those that are set.
    #[inline]
    pub fn set_flags(&mut self, flags: Flags) {
        self.flags = self.flags.with(flags);
    }

    /// Clears `flags`.
    #[inline]
    pub fn clear_flags(&mut self, flags: Flags) {
        self.flags = self.flags.without(flags);
    }

    /// Sets the rcode. What has more than four bits shows only with an OPT record.
    #[inline]
    pub fn set_rcode(&mut self, rcode: Rcode) {
        self.rcode = rcode;
    }

    /// The rcode as it is.
    #[inline]
    pub const fn rcode(&self) -> Rcode {
        self.rcode
    }

    /// Keeps room for `opt`, which [`Writer::finish`] writes behind everything else; it takes the place of the
    /// one before.
    #[inline]
    pub fn set_opt(&mut self, opt: Opt<'a>) -> Result<(), Full> {
        let before = self.opt_len();
        if opt.wire_len() > self.room() + before {
            return Err(Full);
        }
        self.kept = self.kept - before + opt.wire_len();
        self.opt = Some(opt);
        Ok(())
    }

    /// Adds a reason to the OPT record, if there is one and it fits (RFC 8914 section 3: it may be left out).
    #[inline]
    pub fn set_extended_error(&mut self, error: ExtendedError) {
        if let Some(opt) = self.opt {
            // No room: the answer is as right without it.
            let _ = self.set_opt(Opt { extended_error: Some(error), ..opt });
        }
    }

    /// The OPT record that will be written.
    #[inline]
    pub const fn opt(&self) -> Option<&Opt<'a>> {
        self.opt.as_ref()
    }

    #[inline]
    fn opt_len(&self) -> usize {
        self.opt.as_ref().map_or(0, Opt::wire_len)
    }

    /// Keeps `len` octets free at the message's end, for a record that is added after [`Writer::finish`] (TSIG).
    #[inline]
    pub fn reserve(&mut self, len: usize) -> Result<(), Full> {
        if len > self.room() {
            return Err(Full);
        }
        self.kept += len;
        Ok(())
    }

    /// Where the message stands, to go back to.
    #[inline]
    pub const fn mark(&self) -> Mark {
        Mark { len: self.len, target_count: self.targets.count(), section: self.section, counts: self.counts }
    }

    /// Takes back everything since `mark`. Flags, rcode and OPT stay as they are.
    #[inline]
    pub fn roll_back(&mut self, mark: Mark) {
        self.len = mark.len;
        self.targets.truncate(mark.target_count);
        self.section = mark.section;
        self.counts = mark.counts;
    }

    /// Completes the message and gives its length.
    #[inline]
    pub fn finish(mut self) -> usize {
        if let Some(opt) = self.opt {
            let room = self.out.get_mut(self.len..).unwrap_or_default();
            if let Some(opt_len) = opt.emit(self.rcode, room) {
                self.len += opt_len;
                self.counts[Section::Additional as usize] += 1;
            }
        }
        self.put_header();
        self.len
    }

    #[inline]
    fn put_header(&mut self) {
        let [question, answer, authority, additional] = self.counts;
        let flags = self.flags.with_rcode(self.rcode).0;
        let words = [self.id, flags, question, answer, authority, additional];
        for (place, word) in self.out.as_chunks_mut().0.iter_mut().zip(words) {
            *place = word.to_be_bytes();
        }
    }
}

impl Mark {
    /// Octets that were written when it was made.
    #[inline]
    pub const fn position(&self) -> usize {
        self.len
    }
}
