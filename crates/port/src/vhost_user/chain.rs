//! The parts of one buffer: descriptors that name each other, or a table of their own (virtio 1.3 sections 2.7.5 and 2.7.7).
//!
//! ```text
//!   head --next--> descriptor --next--> descriptor, the last
//!   head ==indirect==> table in the guest's memory: 0 --next--> 1 --next--> ..
//! ```
//! Invariant: a walk ends after [`PART_COUNT_MAX`] parts, whatever the descriptors say; each is read once.

use super::memory::GuestMemory;
use super::ring::{DESCRIPTOR_LEN, Ring};

/// The most parts of a buffer. A driver whose frames are in pages needs a dozen and a half.
pub(super) const PART_COUNT_MAX: u16 = 64;

const FLAG_NEXT: u16 = 1;
const FLAG_WRITE: u16 = 2;
const FLAG_INDIRECT: u16 = 4;

/// A stretch of the guest's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) address: u64,
    pub(super) len: u32,
}

/// Descriptors that mean nothing: a loop, a number beyond the table, a direction that is not this ring's, tables in tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BadChain;

#[derive(Clone, Copy, Debug)]
struct Descriptor {
    part: Part,
    flags: u16,
    next: u16,
}

impl Descriptor {
    #[inline]
    fn parse(bytes: [u8; DESCRIPTOR_LEN]) -> Descriptor {
        let word = u128::from_le_bytes(bytes);
        Descriptor {
            part: Part { address: word as u64, len: (word >> 64) as u32 },
            flags: (word >> 96) as u16,
            next: (word >> 112) as u16,
        }
    }
}

/// Where the next descriptor is looked up.
#[derive(Clone, Copy, Debug)]
enum Table {
    Ring,
    /// A table of this many descriptors.
    Own {
        address: u64,
        count: u32,
    },
}

/// A walk along the parts of one buffer.
#[derive(Debug)]
pub(super) struct Chain<'a> {
    ring: &'a Ring,
    memory: &'a GuestMemory,
    table: Table,
    next: Option<u16>,
    left: u16,
    /// Whether the device writes the parts.
    is_writable: bool,
}

impl<'a> Chain<'a> {
    /// The buffer that begins with descriptor `head`, in a ring whose buffers are all written here, or all read.
    pub(super) fn new(ring: &'a Ring, memory: &'a GuestMemory, head: u16, is_writable: bool) -> Chain<'a> {
        Chain { ring, memory, table: Table::Ring, next: Some(head), left: PART_COUNT_MAX, is_writable }
    }

    /// The next part; nothing behind the last.
    #[inline]
    pub(super) fn next_part(&mut self) -> Result<Option<Part>, BadChain> {
        let Some(index) = self.next else { return Ok(None) };
        let mut descriptor = self.look_up(index)?;
        if descriptor.flags & FLAG_INDIRECT != 0 {
            self.enter(descriptor)?;
            descriptor = self.look_up(0)?;
        }
        if (descriptor.flags & FLAG_WRITE != 0) != self.is_writable || descriptor.flags & FLAG_INDIRECT != 0 {
            return Err(BadChain);
        }
        self.left = self.left.checked_sub(1).ok_or(BadChain)?;
        self.next = (descriptor.flags & FLAG_NEXT != 0).then_some(descriptor.next);
        Ok(Some(descriptor.part))
    }

    /// Goes on in a descriptor's table, which ends the buffer.
    fn enter(&mut self, descriptor: Descriptor) -> Result<(), BadChain> {
        let Part { address, len } = descriptor.part;
        let is_table = len != 0 && (len as usize).is_multiple_of(DESCRIPTOR_LEN);
        if matches!(self.table, Table::Own { .. }) || descriptor.flags & FLAG_NEXT != 0 || !is_table {
            return Err(BadChain);
        }
        self.table = Table::Own { address, count: len / DESCRIPTOR_LEN as u32 };
        Ok(())
    }

    #[inline]
    fn look_up(&self, index: u16) -> Result<Descriptor, BadChain> {
        match self.table {
            Table::Ring if index < self.ring.size() => Ok(Descriptor::parse(self.ring.descriptor(index))),
            Table::Own { address, count } if u32::from(index) < count => {
                let mut bytes = [0; DESCRIPTOR_LEN];
                let at = address.checked_add(u64::from(index) * DESCRIPTOR_LEN as u64).ok_or(BadChain)?;
                if self.memory.read(at, &mut bytes) { Ok(Descriptor::parse(bytes)) } else { Err(BadChain) }
            }
            _ => Err(BadChain),
        }
    }
}
