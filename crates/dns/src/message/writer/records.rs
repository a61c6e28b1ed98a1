//! Questions and records into the message, their names compressed: each whole or not at all.

use super::{Full, Writer};
use crate::message::codes::{Class, Rtype};
use crate::message::compress::Targets;
use crate::message::query::Question;
use crate::name::Name;

impl Writer<'_> {
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
