//! The guest's memory: regions that the front end has brought, at the addresses of the guest and of the front end.
//!
//! ```text
//!   guest address  = start ..............+ len      descriptors name these
//!   front end's    = user_start .........+ len      the addresses of rings are these
//!   file           [ offset ............. offset + len ]   mapped whole: huge pages can be mapped no other way
//! ```

use std::os::fd::OwnedFd;
use std::sync::Arc;

use tidegate_sys::shared_memory::{SharedMemory, SharedMemoryError};

/// Where a region is, as the front end says.
#[derive(Clone, Copy, Debug)]
pub(super) struct RegionPlace {
    pub(super) start: u64,
    pub(super) user_start: u64,
    pub(super) len: u64,
    /// Into the file.
    pub(super) offset: u64,
}

#[derive(Debug)]
struct Region {
    memory: Arc<SharedMemory>,
    start: u64,
    user_start: u64,
    len: u64,
    offset: usize,
}

/// All regions; replaced as a whole.
#[derive(Debug, Default)]
pub(super) struct GuestMemory(Vec<Region>);

/// A place in a region.
#[derive(Clone, Debug)]
pub(super) struct Spot {
    pub(super) memory: Arc<SharedMemory>,
    pub(super) at: usize,
    /// Bytes of the region from there on.
    pub(super) room: u64,
}

impl Region {
    fn open(place: RegionPlace, fd: OwnedFd) -> Result<Region, SharedMemoryError> {
        // What does not fit into a number here is longer than any file.
        let end = place.offset.checked_add(place.len).and_then(|end| usize::try_from(end).ok());
        let memory = SharedMemory::open_guarded(fd, end.unwrap_or(usize::MAX))?;
        let RegionPlace { start, user_start, len, offset } = place;
        Ok(Region { memory: Arc::new(memory), start, user_start, len, offset: offset as usize })
    }
}

impl GuestMemory {
    /// Maps the regions; one that cannot be is an error for all.
    pub(super) fn open(
        regions: impl IntoIterator<Item = (RegionPlace, OwnedFd)>,
    ) -> Result<GuestMemory, SharedMemoryError> {
        regions
            .into_iter()
            .map(|(place, fd)| Region::open(place, fd))
            .collect::<Result<_, _>>()
            .map(GuestMemory)
    }

    /// Where the front end's address is.
    pub(super) fn spot_of_user(&self, address: u64) -> Option<Spot> {
        self.0.iter().find_map(|region| {
            let into = address.wrapping_sub(region.user_start);
            let at = region.offset + into as usize;
            (into < region.len).then(|| Spot {
                memory: Arc::clone(&region.memory),
                at,
                room: region.len - into,
            })
        })
    }

    /// Where `len` bytes at the guest's address are, if one region has them all.
    #[inline]
    fn find(&self, address: u64, len: usize) -> Option<(&SharedMemory, usize)> {
        self.0.iter().find_map(|region| {
            let into = address.wrapping_sub(region.start);
            let is_inside = into < region.len && len as u64 <= region.len - into;
            is_inside.then(|| (&*region.memory, region.offset + into as usize))
        })
    }

    /// Copies bytes out. False if they are not all in one region, or gone.
    #[inline]
    pub(super) fn read(&self, address: u64, bytes: &mut [u8]) -> bool {
        self.find(address, bytes.len()).is_some_and(|(memory, at)| memory.read(at, bytes))
    }

    /// Copies bytes in. False if one region has no room for them all, or is gone.
    #[inline]
    pub(super) fn write(&self, address: u64, bytes: &[u8]) -> bool {
        self.find(address, bytes.len()).is_some_and(|(memory, at)| memory.write(at, bytes))
    }

    /// Whether the front end took pages away, as far as anybody has noticed.
    #[inline]
    pub(super) fn is_gone(&self) -> bool {
        self.0.iter().any(|region| region.memory.is_gone())
    }
}
