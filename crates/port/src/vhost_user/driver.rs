//! The guest's part, for tests: a front end and a virtio-net driver that does as it is told, also what no driver should.
//!
//! ```text
//!   memory, 4 MiB at guest address 1 MiB:  a ring each 64 KiB: descriptors | available (+16 K) | used (+32 K)
//!                                          buffers of 2 KiB, one a slot, from 2 MiB of it on
//! ```

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU32, Ordering};

use tidegate_sys::shared_memory::SharedMemory;
use vhost::vhost_user::{Frontend, VhostUserFrontend, VhostUserProtocolFeatures};
use vhost::{VhostBackend, VhostUserMemoryRegionInfo, VringConfigData};
use vmm_sys_util::eventfd::EventFd;

use super::device::feature;

pub(super) const MEMORY_LEN: u64 = 4 << 20;
/// Where the guest, and where the front end, has its memory.
pub(super) const GUEST_START: u64 = 1 << 20;
const USER_START: u64 = 1 << 40;
const RING_LEN: usize = 64 << 10;
const AVAILABLE: usize = 16 << 10;
const USED: usize = 32 << 10;
const BUFFERS: usize = 2 << 20;
pub(super) const BUFFER_LEN: usize = 2048;
pub(super) const SIZE: u16 = 128;

pub(super) const NEXT: u16 = 1;
pub(super) const WRITE: u16 = 2;
pub(super) const INDIRECT: u16 = 4;

pub(super) const FEATURES: u64 =
    feature::MODERN | feature::MERGED_BUFFERS | feature::CHECKSUM | feature::PROTOCOL | feature::INDIRECT;

/// A file in memory that nothing keeps from shrinking, as guests' memory often is.
pub(super) fn unsealed(len: u64) -> File {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("tidegate-guest-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let path = std::path::Path::new("/dev/shm").join(name);
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    file.set_len(len).unwrap();
    file
}

/// One ring as the driver has it.
#[derive(Debug)]
struct Ring {
    available: u16,
    seen: u16,
    kick: EventFd,
    call: EventFd,
}

/// A descriptor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Raw {
    pub(super) address: u64,
    pub(super) len: u32,
    pub(super) flags: u16,
    pub(super) next: u16,
}

pub(super) struct Driver {
    pub(super) front: Frontend,
    pub(super) file: File,
    pub(super) memory: SharedMemory,
    rings: Vec<Ring>,
    header_len: usize,
}

impl Driver {
    /// A front end that has connected and brought its memory; no ring runs.
    pub(super) fn attach(front: Frontend, features: u64, queue_count: usize) -> Driver {
        let mut front = front;
        front.set_owner().unwrap();
        assert_eq!(front.get_features().unwrap() & features, features);
        front.set_features(features).unwrap();
        if features & feature::PROTOCOL != 0 {
            let offered = front.get_protocol_features().unwrap();
            assert!(offered.contains(VhostUserProtocolFeatures::MQ));
            // The number of queues is not asked for: the crate takes it for one of rings.
            front.set_protocol_features(VhostUserProtocolFeatures::MQ).unwrap();
        }
        let file = unsealed(MEMORY_LEN);
        let memory =
            SharedMemory::open_guarded(file.try_clone().unwrap().into(), MEMORY_LEN as usize).unwrap();
        let event = || EventFd::new(libc_nonblock()).unwrap();
        let ring = |_| Ring { available: 0, seen: 0, kick: event(), call: event() };
        let modern = features & (feature::MODERN | feature::MERGED_BUFFERS) != 0;
        let driver = Driver {
            front,
            file,
            memory,
            rings: (0..2 * queue_count).map(ring).collect(),
            header_len: if modern { 12 } else { 10 },
        };
        driver.share_memory();
        driver
    }

    pub(super) fn share_memory(&self) {
        // In two regions, the second of which begins in the middle of the file.
        let half = MEMORY_LEN / 2;
        let region = |start| VhostUserMemoryRegionInfo {
            guest_phys_addr: GUEST_START + start,
            memory_size: half,
            userspace_addr: USER_START + start,
            mmap_offset: start,
            mmap_handle: self.file.as_raw_fd(),
        };
        self.front.set_mem_table(&[region(0), region(half)]).unwrap();
    }

    /// Starts a ring at `base`.
    pub(super) fn start(&mut self, index: usize, base: u16) {
        let ring = &self.rings[index];
        let at = USER_START + (index * RING_LEN) as u64;
        self.front.set_vring_call(index, &ring.call).unwrap();
        self.front.set_vring_num(index, SIZE).unwrap();
        self.front.set_vring_base(index, base).unwrap();
        let config = VringConfigData {
            queue_max_size: SIZE,
            queue_size: SIZE,
            flags: 0,
            desc_table_addr: at,
            used_ring_addr: at + USED as u64,
            avail_ring_addr: at + AVAILABLE as u64,
            log_addr: None,
        };
        self.front.set_vring_addr(index, &config).unwrap();
        self.front.set_vring_kick(index, &ring.kick).unwrap();
    }

    /// Starts or stops a started ring, and waits until the device has heeded this and all that was said before.
    pub(super) fn enable(&mut self, index: usize, is_enabled: bool) {
        self.front.set_vring_enable(index, is_enabled).unwrap();
        // Messages are taken in their order, and this one is answered.
        self.front.get_features().unwrap();
    }

    pub(super) fn start_all(&mut self) {
        for index in 0..self.rings.len() {
            self.start(index, 0);
            self.enable(index, true);
        }
    }

    /// A buffer's guest address.
    pub(super) fn buffer(&self, ring: usize, slot: u16) -> u64 {
        GUEST_START + self.buffer_at(ring, slot) as u64
    }

    fn buffer_at(&self, ring: usize, slot: u16) -> usize {
        BUFFERS + (ring * usize::from(SIZE) + usize::from(slot % SIZE)) * BUFFER_LEN
    }

    pub(super) fn describe(&self, ring: usize, slot: u16, raw: Raw) {
        self.write_descriptor(ring * RING_LEN + 16 * usize::from(slot % SIZE), raw);
    }

    pub(super) fn write_descriptor(&self, at: usize, raw: Raw) {
        self.memory.store_u64(at, raw.address);
        self.memory
            .store_u64(at + 8, u64::from(raw.len) | u64::from(raw.flags) << 32 | u64::from(raw.next) << 48);
    }

    /// Puts the buffer that begins with `head` into a ring, and shows it.
    pub(super) fn offer(&mut self, ring: usize, head: u16) {
        let state = &mut self.rings[ring];
        let at = ring * RING_LEN + AVAILABLE;
        let slot = at + 4 + 2 * usize::from(state.available % SIZE);
        self.memory.store_u16(slot, head, Ordering::Relaxed);
        state.available = state.available.wrapping_add(1);
        self.memory.store_u16(at + 2, state.available, Ordering::Release);
    }

    /// Tells the device, if it wants to be told.
    pub(super) fn kick(&self, ring: usize) -> bool {
        std::sync::atomic::fence(Ordering::SeqCst);
        let is_wanted = self.memory.load_u16(ring * RING_LEN + USED, Ordering::Relaxed) & 1 == 0;
        if is_wanted {
            self.rings[ring].kick.write(1).unwrap();
        }
        is_wanted
    }

    /// Whether the device has told of what it gave back.
    pub(super) fn was_called(&self, ring: usize) -> bool {
        self.rings[ring].call.read().is_ok()
    }

    /// Sends a frame in one descriptor a part, the header in front of the first.
    pub(super) fn send_parts(&mut self, pair: usize, header: &[u8], parts: &[&[u8]]) {
        let ring = 2 * pair + 1;
        let first = self.rings[ring].available;
        let all: Vec<&[u8]> = std::iter::once(header).chain(parts.iter().copied()).collect();
        for (n, bytes) in all.iter().enumerate() {
            let slot = first.wrapping_mul(4).wrapping_add(n as u16) % SIZE;
            assert!(self.memory.write(self.buffer_at(ring, slot), bytes));
            let flags = if n + 1 < all.len() { NEXT } else { 0 };
            let address = self.buffer(ring, slot);
            self.describe(
                ring,
                slot,
                Raw { address, len: bytes.len() as u32, flags, next: (slot + 1) % SIZE },
            );
        }
        self.offer(ring, first.wrapping_mul(4) % SIZE);
    }

    /// Sends a frame, with its header, in one descriptor.
    pub(super) fn send(&mut self, pair: usize, frame: &[u8]) {
        let mut bytes = vec![0; self.header_len];
        bytes.extend(frame);
        self.send_parts(pair, &bytes, &[]);
    }

    /// Gives a buffer of `len` bytes to receive into.
    pub(super) fn give(&mut self, pair: usize, len: u32) {
        let ring = 2 * pair;
        let slot = self.rings[ring].available % SIZE;
        let address = self.buffer(ring, slot);
        self.describe(ring, slot, Raw { address, len, flags: WRITE, next: 0 });
        self.offer(ring, slot);
    }

    /// What the device has given back: heads and lengths.
    pub(super) fn used(&mut self, ring: usize) -> Vec<(u16, u32)> {
        let at = ring * RING_LEN + USED;
        let index = self.memory.load_u16(at + 2, Ordering::Acquire);
        let state = &mut self.rings[ring];
        let mut all = Vec::new();
        while state.seen != index {
            let mut entry = [0; 8];
            let slot = usize::from(state.seen % SIZE);
            assert!(self.memory.read(at + 4 + 8 * slot, &mut entry));
            let entry = u64::from_le_bytes(entry);
            all.push((entry as u16, (entry >> 32) as u32));
            state.seen = state.seen.wrapping_add(1);
        }
        all
    }

    /// Frames that have come.
    pub(super) fn take(&mut self, pair: usize) -> Vec<Vec<u8>> {
        let ring = 2 * pair;
        let mut frames = Vec::new();
        let mut used = self.used(ring).into_iter();
        while let Some((head, len)) = used.next() {
            let mut bytes = vec![0; len as usize];
            assert!(self.memory.read(self.buffer_at(ring, head), &mut bytes));
            if bytes.is_empty() {
                continue;
            }
            let count = if self.header_len == 12 { u16::from_le_bytes([bytes[10], bytes[11]]) } else { 1 };
            for _ in 1..count {
                let (head, len) = used.next().unwrap();
                let mut more = vec![0; len as usize];
                assert!(self.memory.read(self.buffer_at(ring, head), &mut more));
                bytes.extend(more);
            }
            frames.push(bytes.split_off(self.header_len));
        }
        frames
    }
}

/// EFD_NONBLOCK of linux/eventfd.h, which is O_NONBLOCK.
const fn libc_nonblock() -> i32 {
    0o4000
}
