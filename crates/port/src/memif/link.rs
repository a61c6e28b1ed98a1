//! The two ends of a connected queue: one sends, one receives, each over a ring of its own.
//!
//! ```text
//!              to-server ring                        to-client ring
//!   client     Sender: buffers ours, moves head      Receiver: reads up to tail, puts buffers back, moves head
//!   server     Receiver: reads up to head, moves tail    Sender: fills what it is given, moves tail
//! ```
//! One copy a frame and side. Invariant: the place that we stand at on a ring is ours alone and never read back from the ring;
//! whatever the peer writes, a call ends after as many steps as the ring has slots.

use std::sync::Arc;

use arrayvec::ArrayVec;
use tidegate_packet::{Batch, Frame, Pool};
use tidegate_sys::event::EventFd;
use tidegate_sys::shared_memory::SharedMemory;

use super::ring::{Descriptor, FLAG_NEXT, Index, Ring};
use crate::PortCounters;
use crate::wake::{LOOKS_PER_HUSH, hush, tell};
use crate::written::{Written, write_out};

/// The memory that descriptors name, by index.
pub(super) type Regions = Arc<[Arc<SharedMemory>]>;

/// Where the buffers of a client's ring are: one after the other, one a slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffers {
    pub(super) first: u32,
    pub(super) len: u32,
}

impl Buffers {
    /// An empty buffer, as a descriptor.
    #[inline]
    fn descriptor(self, slot: u16) -> Descriptor {
        Descriptor { flags: 0, region: 0, len: self.len, offset: self.first + u32::from(slot) * self.len }
    }
}

/// The most parts that a frame is sent in.
const PART_COUNT_MAX: usize = 32;

/// The sending end of a queue.
#[derive(Debug)]
pub(super) struct Sender {
    ring: Ring,
    regions: Regions,
    /// The peer's, which we signal.
    event: Arc<EventFd>,
    /// Ours for a client; a server is given some by the ring.
    buffers: Option<Buffers>,
    next: u16,
    published: u16,
}

impl Sender {
    pub(super) fn new(ring: Ring, regions: Regions, event: Arc<EventFd>, buffers: Option<Buffers>) -> Sender {
        let next = ring.load(if buffers.is_some() { Index::Head } else { Index::Tail });
        Sender { ring, regions, event, buffers, next, published: next }
    }

    /// Slots that can be written now.
    #[inline]
    pub(super) fn room(&self) -> u16 {
        match self.buffers {
            Some(_) => {
                let used = self.next.wrapping_sub(self.ring.load(Index::Tail));
                self.ring.size().saturating_sub(used)
            }
            None => self.ring.ahead(Index::Head, self.next),
        }
    }

    /// Takes frames from the front of the batch while there is room.
    pub(super) fn send(
        &mut self,
        pool: &mut Pool,
        batch: &mut Batch,
        len_max: usize,
        counters: &mut PortCounters,
    ) {
        let mut room = self.room();
        write_out(pool, batch, len_max, counters, |bytes| self.put(bytes, &mut room));
    }

    /// Writes one frame, of which `room` loses the slots that it takes.
    #[inline]
    fn put(&mut self, bytes: &[u8], room: &mut u16) -> Written {
        if *room == 0 {
            return Written::Full;
        }
        let first = self.buffer(self.next);
        if bytes.len() > first.len as usize {
            return self.put_parts(first, bytes, room);
        }
        let is_written = self.write(first, bytes);
        let len = if is_written { bytes.len() as u32 } else { 0 };
        self.advance(Descriptor { flags: 0, len, ..first }, room);
        if is_written { Written::Yes } else { Written::Never }
    }

    /// Writes a frame that is longer than its first buffer.
    fn put_parts(&mut self, first: Descriptor, bytes: &[u8], room: &mut u16) -> Written {
        let mut parts: ArrayVec<Descriptor, PART_COUNT_MAX> = ArrayVec::new();
        let mut held = first.len as usize;
        parts.push(first);
        while held < bytes.len() {
            if parts.len() >= usize::from(self.ring.size()).min(PART_COUNT_MAX) {
                return Written::Never;
            }
            if parts.len() >= usize::from(*room) {
                return Written::Full;
            }
            let part = self.buffer(self.next.wrapping_add(parts.len() as u16));
            held = held.saturating_add(part.len as usize);
            parts.push(part);
        }
        let mut rest = bytes;
        let mut is_written = true;
        let last = parts.len() - 1;
        for (n, part) in parts.into_iter().enumerate() {
            let (now, later) = rest.split_at(rest.len().min(part.len as usize));
            is_written &= self.write(part, now);
            rest = later;
            let flags = if n < last { FLAG_NEXT } else { 0 };
            // A chain that ends with nothing written is one that the receiver drops.
            let len = if is_written { now.len() as u32 } else { 0 };
            self.advance(Descriptor { flags, len, ..part }, room);
        }
        if is_written { Written::Yes } else { Written::Never }
    }

    #[inline]
    fn buffer(&self, index: u16) -> Descriptor {
        match self.buffers {
            Some(buffers) => buffers.descriptor(index & (self.ring.size() - 1)),
            None => self.ring.descriptor(index),
        }
    }

    #[inline]
    fn write(&self, part: Descriptor, bytes: &[u8]) -> bool {
        let region = self.regions.get(usize::from(part.region));
        region.is_some_and(|region| region.write(part.offset as usize, bytes))
    }

    #[inline]
    fn advance(&mut self, descriptor: Descriptor, room: &mut u16) {
        self.ring.put(self.next, descriptor);
        self.next = self.next.wrapping_add(1);
        *room -= 1;
    }

    /// Shows the peer what was written; returns how many system calls that took.
    #[inline]
    pub(super) fn publish(&mut self) -> u64 {
        if self.next == self.published {
            return 0;
        }
        let index = if self.buffers.is_some() { Index::Head } else { Index::Tail };
        self.ring.store(index, self.next);
        self.published = self.next;
        if self.ring.wants_interrupt() { tell(&self.event) } else { 0 }
    }
}

/// The receiving end of a queue.
#[derive(Debug)]
pub(super) struct Receiver {
    ring: Ring,
    regions: Regions,
    /// Ours, which the peer signals.
    event: Arc<EventFd>,
    /// Ours for a client, which puts them back.
    buffers: Option<Buffers>,
    next: u16,
    released: u16,
    /// The peer was asked to signal, so many empty looks ago.
    armed: Option<u32>,
}

impl Receiver {
    /// A client's ring gets all its buffers.
    pub(super) fn new(
        ring: Ring,
        regions: Regions,
        event: Arc<EventFd>,
        buffers: Option<Buffers>,
    ) -> Receiver {
        let next = ring.load(Index::Tail);
        // What happens before the first look wakes as well.
        ring.ask_for_interrupt(true);
        let mut receiver = Receiver { ring, regions, event, buffers, next, released: next, armed: Some(0) };
        if receiver.buffers.is_some() {
            receiver.released = next.wrapping_sub(receiver.ring.size());
            receiver.release();
        }
        receiver
    }

    pub(super) fn event(&self) -> &Arc<EventFd> {
        &self.event
    }

    #[inline]
    fn available(&self) -> u16 {
        let theirs = if self.buffers.is_some() { Index::Tail } else { Index::Head };
        self.ring.ahead(theirs, self.next)
    }

    /// Appends what is there to the batch, as far as it has room; returns how many frames.
    pub(super) fn receive(
        &mut self,
        pool: &mut Pool,
        batch: &mut Batch,
        counters: &mut PortCounters,
    ) -> usize {
        let mut available = self.available();
        if available == 0 {
            available = self.found_nothing(counters);
        } else if self.armed.take().is_some() {
            self.ring.ask_for_interrupt(false);
            counters.syscall_count += hush(&self.event);
        }
        let before = batch.len();
        while available > 0 && batch.room() > 0 {
            let Some(frame) = self.take(pool, &mut available, counters) else { continue };
            counters.count_received(frame.len());
            if let Err(frame) = batch.push(frame) {
                pool.free(frame);
            }
        }
        self.release();
        batch.len() - before
    }

    /// Asks to be woken; returns what came meanwhile.
    fn found_nothing(&mut self, counters: &mut PortCounters) -> u16 {
        match &mut self.armed {
            None => {
                self.ring.ask_for_interrupt(true);
                self.armed = Some(0);
                self.available()
            }
            Some(looks) => {
                *looks += 1;
                if looks.is_multiple_of(LOOKS_PER_HUSH) {
                    counters.syscall_count += hush(&self.event);
                    return self.available();
                }
                0
            }
        }
    }

    /// The next frame, whole; nothing, counted as dropped, if there is no chunk for it or its descriptors are wrong.
    #[inline]
    fn take(&mut self, pool: &mut Pool, available: &mut u16, counters: &mut PortCounters) -> Option<Frame> {
        let mut frame = pool.alloc();
        let mut is_whole = frame.is_some();
        loop {
            let part = self.ring.descriptor(self.next);
            self.next = self.next.wrapping_add(1);
            *available -= 1;
            is_whole = is_whole && frame.as_mut().is_some_and(|frame| self.append(frame, part));
            if part.flags & FLAG_NEXT == 0 {
                break;
            }
            if self.buffers.is_none() {
                // DPDK's client leaves the flag in the slot when it writes a frame of one part there a lap later.
                self.ring.put(self.next.wrapping_sub(1), Descriptor { flags: 0, ..part });
            }
            if *available == 0 {
                // It says that it goes on, and nothing follows.
                is_whole = false;
                break;
            }
        }
        match frame {
            Some(frame) if is_whole && !frame.is_empty() => return Some(frame),
            Some(frame) => pool.free(frame),
            None => {}
        }
        counters.rx_drop_count += 1;
        None
    }

    /// Copies a part behind the frame's data; false if it is not where it says or does not fit.
    #[inline]
    fn append(&self, frame: &mut Frame, part: Descriptor) -> bool {
        let Some(region) = self.regions.get(usize::from(part.region)) else { return false };
        let Some(room) = frame.push_back(part.len as usize) else { return false };
        region.read(part.offset as usize, room)
    }

    /// Gives the slots of what was taken back to the peer.
    #[inline]
    fn release(&mut self) {
        if self.released == self.next {
            return;
        }
        match self.buffers {
            None => self.ring.store(Index::Tail, self.next),
            Some(buffers) => {
                let mask = self.ring.size() - 1;
                let mut index = self.released;
                while index != self.next {
                    self.ring.put(index, buffers.descriptor(index & mask));
                    index = index.wrapping_add(1);
                }
                self.ring.store(Index::Head, self.next.wrapping_add(self.ring.size()));
            }
        }
        self.released = self.next;
    }
}

/// A queue that is connected.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
}
