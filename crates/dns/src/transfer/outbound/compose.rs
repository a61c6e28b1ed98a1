//! Records of a transfer laid into a message, their names compressed (RFC 5936 section 3.4).
//!
//! Not the writer of answers: that one writes into a datagram and knows about truncation. A transfer's message
//! holds hundreds of names, so this one finds the ends that they share by a table.
//!
//! Invariant: an offset in the table is the start of a label written earlier in the same message, below the
//! reach of a pointer.

use crate::name::{Folded, LABEL_COUNT_MAX, Name, NameBuf};
use crate::zone::rdata::Shape;
use arrayvec::ArrayVec;
use domain::base::iana::Rtype;

const CLASS_IN: u16 = 1;
/// Offsets that a pointer's 14 bits reach (RFC 1035 section 4.1.4).
const POINTER_REACH: usize = 1 << 14;
const SLOT_COUNT: usize = 2048;

/// Where ends of names lie in the message at hand.
pub(super) struct Suffixes {
    /// By hash; 0 is none, for a message starts with its header.
    slots: Box<[u16; SLOT_COUNT]>,
    /// The owner of the last record and where it is: most records have the one before's.
    last_owner: NameBuf,
    last_at: usize,
}

impl Suffixes {
    pub(super) fn new() -> Self {
        Self { slots: Box::new([0; SLOT_COUNT]), last_owner: NameBuf::new(), last_at: 0 }
    }

    /// A new message begins.
    fn clear(&mut self) {
        self.slots.fill(0);
        self.last_at = 0;
    }
}

/// A message that is being filled.
pub(super) struct Composer<'a> {
    message: &'a mut [u8],
    len: usize,
    suffixes: &'a mut Suffixes,
}

/// There is no room for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Full;

impl<'a> Composer<'a> {
    pub(super) fn new(message: &'a mut [u8], suffixes: &'a mut Suffixes) -> Self {
        suffixes.clear();
        Self { message, len: 0, suffixes }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Bytes as they are.
    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<(), Full> {
        let room = self.message.get_mut(self.len..self.len + bytes.len()).ok_or(Full)?;
        room.copy_from_slice(bytes);
        self.len += bytes.len();
        Ok(())
    }

    fn put_u16(&mut self, value: u16) -> Result<(), Full> {
        self.put(&value.to_be_bytes())
    }

    /// One record; nothing of it if there is no room for all of it. The message is then to be finished: its
    /// table may know of names that are not there.
    pub(super) fn record(&mut self, owner: &Name, rtype: Rtype, ttl: u32, rdata: &[u8]) -> Result<(), Full> {
        let start = self.len;
        let written = self.try_record(owner, rtype, ttl, rdata);
        if written.is_err() {
            self.len = start;
        }
        written
    }

    fn try_record(&mut self, owner: &Name, rtype: Rtype, ttl: u32, rdata: &[u8]) -> Result<(), Full> {
        self.owner(owner)?;
        self.put_u16(rtype.to_int())?;
        self.put_u16(CLASS_IN)?;
        self.put(&ttl.to_be_bytes())?;
        let len_at = self.len;
        self.put_u16(0)?;
        self.rdata(rtype, rdata)?;
        let rdata_len = (self.len - len_at - 2) as u16;
        self.message[len_at..len_at + 2].copy_from_slice(&rdata_len.to_be_bytes());
        Ok(())
    }

    fn owner(&mut self, owner: &Name) -> Result<(), Full> {
        let is_last = self.suffixes.last_at != 0 && self.suffixes.last_owner.as_wire() == owner.as_wire();
        if is_last && self.suffixes.last_at < POINTER_REACH {
            return self.put_u16(pointer(self.suffixes.last_at));
        }
        let at = self.len;
        self.name(owner)?;
        self.suffixes.last_owner.assign(owner);
        self.suffixes.last_at = at;
        Ok(())
    }

    /// RFC 3597 section 4: only the types of RFC 1035 may have their names compressed.
    fn rdata(&mut self, rtype: Rtype, rdata: &[u8]) -> Result<(), Full> {
        let shape = Shape::of(rtype);
        if !shape.compressible {
            return self.put(rdata);
        }
        let (prefix, mut rest) = rdata.split_at_checked(usize::from(shape.prefix)).ok_or(Full)?;
        self.put(prefix)?;
        for _ in 0..shape.names {
            let Ok((name, behind)) = Name::split_from(rest) else { break };
            self.name(name)?;
            rest = behind;
        }
        self.put(rest)
    }

    /// A name: labels that are new, then a pointer to those that are not.
    pub(super) fn name(&mut self, name: &Name) -> Result<(), Full> {
        let folded = Folded::of(name);
        // The root first; a name's own hash last.
        let mut hashes: ArrayVec<u64, { LABEL_COUNT_MAX + 1 }> = ArrayVec::new();
        hashes.extend(folded.suffixes().map(|key| key.hash()));
        for suffix in name.ancestors() {
            let hash = hashes.pop().unwrap_or_default();
            let Some(label) = suffix.first_label() else { break };
            let slot = hash as usize % SLOT_COUNT;
            let known = usize::from(self.suffixes.slots[slot]);
            if known != 0 && self.is_at(known, suffix) {
                return self.put_u16(pointer(known));
            }
            if self.len < POINTER_REACH {
                self.suffixes.slots[slot] = self.len as u16;
            }
            self.put(&[label.len() as u8])?;
            self.put(label)?;
        }
        self.put(&[0])
    }

    /// Whether the name at `at` is `name`, octet by octet: a transfer keeps the case of names.
    fn is_at(&self, at: usize, name: &Name) -> bool {
        let mut there = NameBuf::new();
        let written = self.message.get(..self.len).unwrap_or_default();
        there.decompress(written, at).is_ok() && there.as_wire() == name.as_wire()
    }
}

/// RFC 1035 section 4.1.4.
const fn pointer(at: usize) -> u16 {
    0xc000 | at as u16
}
