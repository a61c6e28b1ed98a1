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

use thiserror::Error;

use super::codes::{Class, Rcode, Rtype};
use super::compress::Targets;
use super::edns::{ExtendedError, Opt};
use super::query::{Query, Question};
use super::{Flags, HEADER_LEN, Section};
use crate::name::Name;

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

    /// Writes a question. Its name is pointed to by what comes later.
    #[inline]
    pub fn question(&mut self, question: &Question<'_>) -> Result<(), Full> {
        self.whole(|writer| {
            writer.put_name(question.name)?;
            writer.put(&question.rtype.0.to_be_bytes())?;
            writer.put(&question.class.0.to_be_bytes())?;
            writer.counted(1)
        })
    }

    /// Writes one record. Names in `data` are compressed where RFC 3597 section 4 allows it; `data` has them
    /// uncompressed.
    #[inline]
    pub fn record(
        &mut self,
        owner: &Name,
        rtype: Rtype,
        class: Class,
        ttl: u32,
        data: &[u8],
    ) -> Result<(), Full> {
        self.rrset(owner, rtype, class, ttl, core::iter::once(data))
    }

    /// Writes the records of one owner, type and TTL, all or none.
    #[inline]
    pub fn rrset<'d>(
        &mut self,
        owner: &Name,
        rtype: Rtype,
        class: Class,
        ttl: u32,
        data: impl IntoIterator<Item = &'d [u8]>,
    ) -> Result<(), Full> {
        self.whole(|writer| {
            let mut pointer = None;
            for data in data {
                match pointer {
                    Some(pointer) => writer.put(&u16::to_be_bytes(pointer))?,
                    None => pointer = writer.put_owner(owner)?,
                }
                writer.put_behind_owner(rtype, class, ttl, data)?;
                writer.counted(1)?;
            }
            Ok(())
        })
    }

    /// Appends `count` records of the section that were composed elsewhere. Any pointer in them is right in this
    /// message too; none will be made to them.
    #[inline]
    pub fn composed(&mut self, records: &[u8], count: u16) -> Result<(), Full> {
        self.whole(|writer| {
            writer.put(records)?;
            writer.counted(count)
        })
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

    /// Runs `write`, and takes back what it wrote if it did not get to its end.
    #[inline]
    fn whole(&mut self, write: impl FnOnce(&mut Self) -> Result<(), Full>) -> Result<(), Full> {
        let mark = self.mark();
        let outcome = write(self);
        if outcome.is_err() {
            self.roll_back(mark);
        }
        outcome
    }

    #[inline]
    fn counted(&mut self, count: u16) -> Result<(), Full> {
        let counter = &mut self.counts[self.section as usize];
        *counter = counter.checked_add(count).ok_or(Full)?;
        Ok(())
    }

    #[inline]
    fn put(&mut self, octets: &[u8]) -> Result<(), Full> {
        let end = self.len + octets.len();
        let limit = self.out.len() - self.kept;
        let room = self.out.get_mut(..limit).and_then(|out| out.get_mut(self.len..end)).ok_or(Full)?;
        room.copy_from_slice(octets);
        self.len = end;
        Ok(())
    }

    /// Writes an owner, and gives the pointer to it that the set's next records begin with.
    #[inline]
    fn put_owner(&mut self, owner: &Name) -> Result<Option<u16>, Full> {
        let at = self.len;
        match self.put_name(owner)? {
            Some(pointer) => Ok(Some(pointer)),
            None => Ok(Targets::pointer_to(at).filter(|_| !owner.is_root())),
        }
    }

    #[inline]
    fn put_behind_owner(&mut self, rtype: Rtype, class: Class, ttl: u32, data: &[u8]) -> Result<(), Full> {
        let ([a, b], [c, d], [e, f, g, h]) =
            (rtype.0.to_be_bytes(), class.0.to_be_bytes(), ttl.to_be_bytes());
        let [len_high, len_low] = u16::try_from(data.len()).map_err(|_| Full)?.to_be_bytes();
        self.put(&[a, b, c, d, e, f, g, h, len_high, len_low])?;
        match rtype.compressible_names() {
            Some((prefix_len, name_count)) => self.put_compressed(prefix_len, name_count, data),
            None => self.put(data),
        }
    }

    /// Record data with names in it, and its length in the two octets before it.
    fn put_compressed(&mut self, prefix_len: usize, name_count: usize, data: &[u8]) -> Result<(), Full> {
        let at = self.len;
        let (prefix, mut rest) = data.split_at_checked(prefix_len).unwrap_or((data, &[]));
        self.put(prefix)?;
        for _ in 0..name_count {
            // Data that is not what its type says goes through as it is.
            let Ok((name, behind)) = Name::split_from(rest) else { break };
            self.put_name(name)?;
            rest = behind;
        }
        self.put(rest)?;
        // Cannot be cut off: compression makes it no longer than it was.
        let len = (self.len - at) as u16;
        if let Some(place) = self.out.get_mut(at - 2..at) {
            place.copy_from_slice(&len.to_be_bytes());
        }
        Ok(())
    }

    /// Writes a name, its longest tail that is there already as a pointer. Gives the pointer if that is all.
    #[inline]
    fn put_name(&mut self, name: &Name) -> Result<Option<u16>, Full> {
        let wire = name.as_wire();
        let (mut at, mut pointer) = (0, None);
        while let Some(tail) = wire.get(at..).filter(|tail| tail.len() > 1) {
            pointer = self.targets.find(self.out.get(..self.len).unwrap_or_default(), tail);
            if pointer.is_some() {
                break;
            }
            at += 1 + usize::from(tail[0]);
        }
        let start = self.len;
        match pointer {
            Some(pointer) => {
                self.put(wire.get(..at).unwrap_or_default())?;
                self.put(&pointer.to_be_bytes())?;
            }
            None => self.put(wire)?,
        }
        self.remember(wire, at, start);
        Ok(pointer.filter(|_| at == 0))
    }

    /// The labels of `wire` up to octet `end`, which were written at `start`, are targets from now on.
    #[inline]
    fn remember(&mut self, wire: &[u8], end: usize, start: usize) {
        let mut at = 0;
        while let Some(tail) = wire.get(at..).filter(|tail| at < end && tail.len() > 1) {
            self.targets.add(start + at, tail);
            at += 1 + usize::from(tail[0]);
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
