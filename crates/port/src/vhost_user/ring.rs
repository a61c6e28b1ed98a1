//! One split virtqueue in memory that the guest writes as well (virtio 1.3 section 2.7).
//!
//! ```text
//!   descriptors  16 bytes each: address (u64) length (u32) flags next (u16 each)     written by the driver
//!   available    flags index (u16 each), then a head (u16) a slot                    written by the driver
//!   used         flags index (u16 each), then head length (u32 each) a slot          written here
//! ```
//! Indices only grow and wrap at 2^16; the slot is the number modulo the ring's size. The three parts are where the front end
//! says, aligned to 16, 2 and 4 bytes.
//!
//! Invariant: an index of the driver that is not between ours and ours plus the size counts as "nothing new"; what a slot holds
//! is read once.

use std::sync::atomic::{Ordering, fence};

use super::memory::{GuestMemory, Spot};

/// The most slots (virtio 1.3 section 2.7).
pub(super) const RING_SIZE_MAX: u16 = 1 << 15;
/// Bytes of a descriptor.
pub(super) const DESCRIPTOR_LEN: usize = 16;
/// Bytes before the slots of the available and the used ring.
const HEADER_LEN: usize = 4;
const INDEX_AT: usize = 2;
const USED_LEN: usize = 8;
/// The driver looks by itself (available), or the device does (used).
const FLAG_QUIET: u16 = 1;

/// Where the parts are, by the front end's addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RingPlace {
    pub(super) descriptors: u64,
    pub(super) available: u64,
    pub(super) used: u64,
}

/// A ring.
#[derive(Debug)]
pub(super) struct Ring {
    descriptors: Spot,
    available: Spot,
    used: Spot,
    /// Slots less one.
    mask: u16,
}

impl Ring {
    /// The ring of `size` slots at `place`; what is wrong with it, if it cannot be.
    pub(super) fn new(memory: &GuestMemory, place: RingPlace, size: u16) -> Result<Ring, &'static str> {
        if !size.is_power_of_two() || size > RING_SIZE_MAX {
            return Err("a ring's size is a power of two up to 32768");
        }
        let slots = usize::from(size);
        let find = |address, align, len: usize| {
            let spot = memory.spot_of_user(address).ok_or("it is in none of the memory that was shared")?;
            if !spot.at.is_multiple_of(align) {
                return Err("descriptors, available and used ring are aligned to 16, 2 and 4 bytes");
            }
            if spot.room < len as u64 {
                return Err("it does not end inside the memory that was shared");
            }
            Ok(spot)
        };
        Ok(Ring {
            descriptors: find(place.descriptors, 16, slots * DESCRIPTOR_LEN)?,
            available: find(place.available, 2, HEADER_LEN + slots * 2)?,
            used: find(place.used, 4, HEADER_LEN + slots * USED_LEN)?,
            mask: size - 1,
        })
    }

    pub(super) const fn size(&self) -> u16 {
        self.mask + 1
    }

    #[inline]
    const fn slot(&self, index: u16) -> usize {
        (index & self.mask) as usize
    }

    /// How many buffers the driver has put in beyond `ours`: nothing where that cannot be.
    #[inline]
    pub(super) fn available(&self, ours: u16) -> u16 {
        let theirs = self.available.memory.load_u16(self.available.at + INDEX_AT, Ordering::Acquire);
        let count = theirs.wrapping_sub(ours);
        if count <= self.size() { count } else { 0 }
    }

    /// The first descriptor of the buffer at an index.
    #[inline]
    pub(super) fn head(&self, index: u16) -> u16 {
        let at = self.available.at + HEADER_LEN + 2 * self.slot(index);
        self.available.memory.load_u16(at, Ordering::Relaxed)
    }

    /// A descriptor's sixteen bytes.
    #[inline]
    pub(super) fn descriptor(&self, index: u16) -> [u8; DESCRIPTOR_LEN] {
        let at = self.descriptors.at + DESCRIPTOR_LEN * usize::from(index);
        let mut bytes = [0; DESCRIPTOR_LEN];
        // There are as many as slots; zeros, if the memory is gone, are a descriptor that nobody can use.
        self.descriptors.memory.read(at, &mut bytes);
        bytes
    }

    /// How far the device had come, whoever it was before.
    pub(super) fn used_index(&self) -> u16 {
        self.used.memory.load_u16(self.used.at + INDEX_AT, Ordering::Acquire)
    }

    /// Gives a buffer back, with `len` bytes written into it. The driver sees it with the next [`publish`](Self::publish).
    #[inline]
    pub(super) fn give_back(&self, index: u16, head: u16, len: u32) {
        let at = self.used.at + HEADER_LEN + USED_LEN * self.slot(index);
        self.used.memory.store_u32(at, head.into());
        self.used.memory.store_u32(at + 4, len);
    }

    /// Shows the driver all buffers that were given back before `index`; true if it wants to be told.
    #[inline]
    pub(super) fn publish(&self, index: u16) -> bool {
        self.used.memory.store_u16(self.used.at + INDEX_AT, index, Ordering::Release);
        // What was published must be seen by a driver that asked to be told just before it last looked.
        fence(Ordering::SeqCst);
        self.available.memory.load_u16(self.available.at, Ordering::Relaxed) & FLAG_QUIET == 0
    }

    /// Asks the driver to tell of what it puts in, or to let it be. What it put in before it knew is seen by whoever looks
    /// afterwards.
    pub(super) fn ask_for_kicks(&self, wanted: bool) {
        let flags = if wanted { 0 } else { FLAG_QUIET };
        self.used.memory.store_u16(self.used.at, flags, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Whether the front end took pages of it away.
    pub(super) fn is_gone(&self) -> bool {
        [&self.descriptors, &self.available, &self.used].iter().any(|spot| spot.memory.is_gone())
    }
}
