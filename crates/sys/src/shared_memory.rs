//! Memory that another process may read and write at any time, and may not be trusted to leave alone.
//!
//! ```text
//!   create: memfd, sealed against shrinking --SCM_RIGHTS--> open: mapped by the peer
//! ```
//! Obligations, and who keeps them:
//! 1. An access stays inside the mapping: each checks its place against the length, here.
//! 2. The pages stay there: a memfd that could be shrunk would end a reader with SIGBUS, so [`SharedMemory::open`] takes none
//!    that is not sealed against it. [`SharedMemory::open_guarded`] takes others too: there a page that is gone is noticed
//!    (`guard.rs`), and from then on nothing is read and nothing written.
//! 3. No reference to these bytes exists: they are copied, or accessed as atomics, and each read happens once, so that what was
//!    checked is what is used.
//!
//! What is read is what anybody wrote last, or a mixture: it means nothing before it was checked.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};

use crate::syscall::{c_string, check, check_fd};

mod guard;

use guard::Guard;

/// Shared memory could not be had.
#[derive(Debug, thiserror::Error)]
pub enum SharedMemoryError {
    /// The kernel refused.
    #[error("could not {attempt} {len} bytes of shared memory: {source}; ask for fewer or smaller buffers")]
    Refused {
        /// What was attempted.
        attempt: &'static str,
        /// How many bytes were wanted.
        len: usize,
        /// What the kernel said.
        source: io::Error,
    },
    /// The peer could take pages away.
    #[error("the peer's memory is not a memfd sealed against shrinking: it must set F_SEAL_SHRINK")]
    NotSealed,
    /// The peer's memory is on a file system whose pages may take their time.
    #[error(
        "the peer's memory is a file that is not in memory: it must be a memfd, or below /dev/shm or on hugetlbfs"
    )]
    NotInMemory,
    /// The peer's memory is shorter than it says.
    #[error("the peer's memory has {found} bytes, not the {wanted} that it says")]
    TooShort {
        /// What it says.
        wanted: usize,
        /// What there is.
        found: u64,
    },
}

/// A mapping shared with another process; unmapped when dropped.
#[derive(Debug)]
pub struct SharedMemory {
    base: NonNull<u8>,
    /// Bytes that are accessed; of those mapped, which are whole pages, some may be behind the file's end.
    len: usize,
    mapped_len: usize,
    fd: OwnedFd,
    /// Ends before the mapping does.
    guard: Option<Guard>,
}

// SAFETY: the mapping belongs to the process; all access is by copies and atomics, as the module says.
unsafe impl Send for SharedMemory {}
// SAFETY: as above; that others write at the same time is what this type is for.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    /// `len` zeroed bytes (one at the least) under a name for the eyes of /proc, sealed against changes of its size.
    ///
    /// Needs no capability. Source: memfd_create(2), fcntl(2) "File Sealing".
    pub fn create(name: &str, len: usize) -> Result<SharedMemory, SharedMemoryError> {
        let made = create(name, len.max(1)).and_then(|fd| map(fd, len.max(1), libc::MAP_POPULATE));
        made.map_err(|source| SharedMemoryError::Refused { attempt: "create", len, source })
    }

    /// The first `len` bytes of a peer's memory.
    ///
    /// Needs no capability. Source: fcntl(2) "File Sealing".
    pub fn open(fd: OwnedFd, len: usize) -> Result<SharedMemory, SharedMemoryError> {
        let refused = |source| SharedMemoryError::Refused { attempt: "map", len, source };
        // SAFETY: takes no pointers.
        unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, libc::F_SEAL_SHRINK) };
        // SAFETY: takes no pointers.
        let seals = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GET_SEALS) };
        if seals < 0 || seals & libc::F_SEAL_SHRINK == 0 {
            return Err(SharedMemoryError::NotSealed);
        }
        let file = std::fs::File::from(fd);
        let found = file.metadata().map_err(refused)?.len();
        if len == 0 || found < len as u64 {
            return Err(SharedMemoryError::TooShort { wanted: len, found });
        }
        map(file.into(), len, 0).map_err(refused)
    }

    /// The first `len` bytes of a peer's memory that the peer may shrink, or punch holes into, at any time: once a page was
    /// missing, [`is_gone`](Self::is_gone) says so, nothing is read or written any more, and numbers are zero.
    ///
    /// Takes over SIGBUS for the process, for accesses to such memory; others have it as before. Needs no capability. Source:
    /// mmap(2), sigaction(2), fstatfs(2).
    pub fn open_guarded(fd: OwnedFd, len: usize) -> Result<SharedMemory, SharedMemoryError> {
        let refused = |source| SharedMemoryError::Refused { attempt: "map", len, source };
        let page_len = page_len(&fd).map_err(refused)?.ok_or(SharedMemoryError::NotInMemory)?;
        let file = std::fs::File::from(fd);
        let found = file.metadata().map_err(refused)?.len();
        if len == 0 || found < len as u64 {
            return Err(SharedMemoryError::TooShort { wanted: len, found });
        }
        let too_long = || refused(io::ErrorKind::InvalidInput.into());
        let mapped_len = len.checked_next_multiple_of(page_len).ok_or_else(too_long)?;
        let mut memory = map(file.into(), mapped_len, 0).map_err(refused)?;
        memory.len = len;
        // SAFETY: the whole of the mapping that was just made, which `memory` keeps until it has dropped the guard; its bytes
        // mean nothing before they were checked, zeros as little as others.
        memory.guard = Some(unsafe { Guard::new(memory.base, mapped_len) }.map_err(refused)?);
        Ok(memory)
    }

    /// The first `len` bytes of memory that the kernel made and that keeps its size, such as that of a BPF map made with
    /// BPF_F_MMAPABLE.
    ///
    /// Needs no capability. Source: mmap(2), bpf-helpers(7).
    pub fn of_kernel(fd: OwnedFd, len: usize) -> Result<SharedMemory, SharedMemoryError> {
        map(fd, len, 0).map_err(|source| SharedMemoryError::Refused { attempt: "map", len, source })
    }

    /// Whether pages of guarded memory were taken away, as far as anybody has noticed.
    #[inline]
    pub fn is_gone(&self) -> bool {
        self.guard.as_ref().is_some_and(Guard::is_gone)
    }

    /// Bytes mapped.
    #[allow(clippy::len_without_is_empty)] // never empty: one byte at the least
    pub fn len(&self) -> usize {
        self.len
    }

    /// Where `len` bytes at `at` are; nothing if they are not all inside.
    #[inline]
    fn place(&self, at: usize, len: usize) -> Option<NonNull<u8>> {
        let is_inside = at <= self.len && len <= self.len - at;
        // SAFETY: obligation 1, checked on the line above.
        is_inside.then(|| unsafe { self.base.add(at) })
    }

    /// The two bytes at `at`, which is even, as an atomic; nothing if they are not inside.
    #[inline]
    fn atomic_u16(&self, at: usize) -> Option<&AtomicU16> {
        let place = self.place(at, 2).filter(|_| at.is_multiple_of(2))?;
        // SAFETY: inside the mapping, which lives as long as `self`, and aligned, because the mapping is; atomics may be shared
        // with whoever writes.
        Some(unsafe { place.cast::<AtomicU16>().as_ref() })
    }

    /// The four bytes at `at`, a multiple of four, as an atomic; nothing if they are not inside.
    #[inline]
    fn atomic_u32(&self, at: usize) -> Option<&AtomicU32> {
        let place = self.place(at, 4).filter(|_| at.is_multiple_of(4))?;
        // SAFETY: as in `atomic_u16`.
        Some(unsafe { place.cast::<AtomicU32>().as_ref() })
    }

    /// The eight bytes at `at`, a multiple of eight, as an atomic; nothing if they are not inside.
    #[inline]
    fn atomic_u64(&self, at: usize) -> Option<&AtomicU64> {
        let place = self.place(at, 8).filter(|_| at.is_multiple_of(8))?;
        // SAFETY: as in `atomic_u16`.
        Some(unsafe { place.cast::<AtomicU64>().as_ref() })
    }

    /// The number at `at`, zero where there is none.
    #[inline]
    pub fn load_u16(&self, at: usize, order: Ordering) -> u16 {
        self.atomic_u16(at).map_or(0, |place| place.load(order))
    }

    /// Puts a number at `at`, if that is inside.
    #[inline]
    pub fn store_u16(&self, at: usize, value: u16, order: Ordering) {
        if let Some(place) = self.atomic_u16(at) {
            place.store(value, order);
        }
    }

    /// Puts a number at `at`, if that is inside. Unordered.
    #[inline]
    pub fn store_u32(&self, at: usize, value: u32) {
        if let Some(place) = self.atomic_u32(at) {
            place.store(value, Ordering::Relaxed);
        }
    }

    /// The number at `at`, zero where there is none. Unordered.
    #[inline]
    pub fn load_u64(&self, at: usize) -> u64 {
        self.atomic_u64(at).map_or(0, |place| place.load(Ordering::Relaxed))
    }

    /// Puts a number at `at`, if that is inside. Unordered.
    #[inline]
    pub fn store_u64(&self, at: usize, value: u64) {
        if let Some(place) = self.atomic_u64(at) {
            place.store(value, Ordering::Relaxed);
        }
    }

    /// The number at `at`, zero where there is none; what was written before it is seen behind this.
    #[inline]
    pub fn acquire_u64(&self, at: usize) -> u64 {
        self.atomic_u64(at).map_or(0, |place| place.load(Ordering::Acquire))
    }

    /// Puts a number at `at`, if that is inside, behind all that was written before.
    #[inline]
    pub fn release_u64(&self, at: usize, value: u64) {
        if let Some(place) = self.atomic_u64(at) {
            place.store(value, Ordering::Release);
        }
    }

    /// Puts `new` at `at` if `old` is there; whether it was.
    #[inline]
    pub fn replace_u64(&self, at: usize, old: u64, new: u64) -> bool {
        let replaced =
            |place: &AtomicU64| place.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst);
        self.atomic_u64(at).is_some_and(|place| replaced(place).is_ok())
    }

    /// Copies bytes out. False if they are not all inside, with nothing changed, or gone, with anything in `bytes`.
    #[inline]
    pub fn read(&self, at: usize, bytes: &mut [u8]) -> bool {
        let Some(place) = self.place(at, bytes.len()) else { return false };
        // SAFETY: as many bytes are inside the mapping; `bytes` is memory of this process alone, so they do not overlap. A writer
        // at the same time makes it a mixture, which obligation 3 allows for: nothing but the copy is looked at.
        unsafe { std::ptr::copy_nonoverlapping(place.as_ptr(), bytes.as_mut_ptr(), bytes.len()) };
        !self.is_gone()
    }

    /// Copies bytes in. False if there is no room for them all, with nothing changed, or the memory is gone.
    #[inline]
    pub fn write(&self, at: usize, bytes: &[u8]) -> bool {
        let Some(place) = self.place(at, bytes.len()) else { return false };
        // SAFETY: as in `read`.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), place.as_ptr(), bytes.len()) };
        !self.is_gone()
    }
}

impl AsFd for SharedMemory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        self.guard = None;
        // SAFETY: the range was mapped by `map`, by the guard perhaps once more, and is unmapped once, here; the guard, which
        // must not outlive it, is gone.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.mapped_len) };
    }
}

fn create(name: &str, len: usize) -> io::Result<OwnedFd> {
    let name = c_string(name)?;
    // SAFETY: `name` is a string that lives for the length of the call.
    let fd =
        check_fd(unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) })?;
    let file = std::fs::File::from(fd);
    file.set_len(len as u64)?;
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: takes no pointers.
    check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) })?;
    Ok(file.into())
}

fn map(fd: OwnedFd, len: usize, flags: libc::c_int) -> io::Result<SharedMemory> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_SHARED | flags;
    // SAFETY: a fresh mapping at an address of the kernel's choice touches no existing memory.
    let address = unsafe { libc::mmap(std::ptr::null_mut(), len, access, flags, fd.as_raw_fd(), 0) };
    Ok(SharedMemory { base: crate::mem::mapped(address)?, len, mapped_len: len, fd, guard: None })
}

/// Bytes of a page of a file in memory; nothing for a file anywhere else.
fn page_len(fd: &OwnedFd) -> io::Result<Option<usize>> {
    // SAFETY: all-zero bytes are a valid statfs.
    let mut found: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: `found` is valid for writes of one.
    check(unsafe { libc::fstatfs(fd.as_raw_fd(), &raw mut found) })?;
    Ok(match found.f_type {
        libc::HUGETLBFS_MAGIC => usize::try_from(found.f_bsize).ok().filter(|len| len.is_power_of_two()),
        libc::TMPFS_MAGIC => Some(crate::mem::PageKind::Ordinary.size()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_see_what_either_writes() {
        let near = SharedMemory::create("tidegate-test", 4096).unwrap();
        let far = SharedMemory::open(near.as_fd().try_clone_to_owned().unwrap(), 4096).unwrap();
        assert!(near.write(10, b"bytes"));
        near.store_u16(6, 0x1234, Ordering::Release);
        far.store_u64(64, u64::MAX);
        let mut seen = [0; 5];
        assert!(far.read(10, &mut seen));
        assert_eq!(
            (&seen, far.load_u16(6, Ordering::Acquire), near.load_u64(64)),
            (b"bytes", 0x1234, u64::MAX)
        );
    }

    #[test]
    fn nothing_outside_is_touched() {
        let memory = SharedMemory::create("tidegate-test", 100).unwrap();
        let mut bytes = [7; 4];
        for at in [97, 100, 101, 4096, usize::MAX - 1, usize::MAX] {
            assert!(!memory.read(at, &mut bytes) && !memory.write(at, &bytes), "{at}");
        }
        assert_eq!(bytes, [7; 4]);
        assert!(memory.write(96, &bytes) && memory.write(100, &[]));
        for at in [99, 100, usize::MAX, 1] {
            memory.store_u16(at, 1, Ordering::Relaxed);
            memory.store_u64(at, 1);
            assert_eq!((memory.load_u16(at, Ordering::Relaxed), memory.load_u64(at)), (0, 0), "{at}");
        }
    }

    #[test]
    fn a_number_is_replaced_where_it_is_the_old_one() {
        let memory = SharedMemory::create("tidegate-test", 64).unwrap();
        memory.release_u64(8, 5);
        assert!(!memory.replace_u64(8, 4, 6) && memory.replace_u64(8, 5, 6));
        assert_eq!((memory.acquire_u64(8), memory.acquire_u64(64)), (6, 0));
        assert!(!memory.replace_u64(64, 0, 1) && !memory.replace_u64(4, 0, 1));
    }

    /// A file in memory that nothing keeps from shrinking.
    fn unsealed(len: u64) -> std::fs::File {
        // SAFETY: the name is a string that lives as long as the program.
        let fd = check_fd(unsafe { libc::memfd_create(c"tidegate-test".as_ptr(), libc::MFD_CLOEXEC) });
        let file = std::fs::File::from(fd.unwrap());
        file.set_len(len).unwrap();
        file
    }

    #[test]
    fn guarded_memory_may_vanish_while_many_access_it() {
        let keeper = unsealed(4096);
        let kept = SharedMemory::open_guarded(keeper.try_clone().unwrap().into(), 4096).unwrap();
        assert!(kept.write(0, b"here"));
        for _ in 0..20 {
            let file = unsealed(1 << 20);
            let memory = SharedMemory::open_guarded(file.try_clone().unwrap().into(), (1 << 20) - 5).unwrap();
            assert!(memory.write(5000, b"bytes") && !memory.is_gone());
            std::thread::scope(|scope| {
                for n in 0..4 {
                    let memory = &memory;
                    scope.spawn(move || {
                        let mut bytes = [7; 64];
                        let mut at = n * 64;
                        while memory.read(at, &mut bytes) && memory.write(at, &bytes) {
                            memory.store_u32(at, memory.load_u64(at) as u32);
                            at = (at + 4096) % ((1 << 20) - 4096);
                        }
                        assert!(memory.is_gone());
                    });
                }
                file.set_len(0).unwrap();
            });
            assert_eq!(memory.load_u16(5000, Ordering::Relaxed), 0);
            memory.store_u16(0, 1, Ordering::Relaxed);
            assert!(!memory.read(0, &mut [0; 4]) && !memory.write(0, &[0; 4]));
        }
        let mut bytes = [0; 4];
        assert!(kept.read(0, &mut bytes) && bytes == *b"here");
    }

    #[test]
    fn guarded_memory_is_in_memory_and_as_long_as_it_is_said_to_be() {
        let disk = std::fs::File::open("/proc/self/maps").unwrap();
        assert!(matches!(SharedMemory::open_guarded(disk.into(), 16), Err(SharedMemoryError::NotInMemory)));
        for len in [0, 4097, usize::MAX] {
            let refused = SharedMemory::open_guarded(unsealed(4096).into(), len);
            assert!(matches!(refused, Err(SharedMemoryError::TooShort { .. })), "{len}");
        }
    }

    #[test]
    fn memory_that_can_shrink_or_is_too_short_is_refused() {
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        let text = SharedMemory::open(file.into(), 16).unwrap_err().to_string();
        assert!(text.contains("F_SEAL_SHRINK"), "{text}");
        let memory = SharedMemory::create("tidegate-test", 4096).unwrap();
        for len in [0, 4097, usize::MAX] {
            let fd = memory.as_fd().try_clone_to_owned().unwrap();
            assert!(matches!(SharedMemory::open(fd, len), Err(SharedMemoryError::TooShort { .. })));
        }
        // SAFETY: takes no pointers.
        assert_eq!(unsafe { libc::ftruncate(memory.as_fd().as_raw_fd(), 0) }, -1);
    }
}
