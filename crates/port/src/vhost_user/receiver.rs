//! Frames from the guest: its transmit ring, an odd number among the device's.
//!
//! One copy a frame, into the pool's chunk. Invariant: buffers go back in the order in which they came, all that were looked at
//! before a call ends, so that one index says both how far we have read and how far we have given back.

use std::sync::Arc;

use tidegate_packet::{Batch, Frame, Pool};
use tidegate_sys::event::EventFd;

use super::chain::{BadChain, Chain, Part};
use super::header::{self, BadHeader, HEADER_LEN_MAX};
use super::memory::GuestMemory;
use super::port::VhostUserDrops;
use super::ring::Ring;
use crate::PortCounters;
use crate::wake::{LOOKS_PER_HUSH, hush, tell};

/// The most buffers that one call looks at: what a guest puts in that nobody can use must not take a worker's time.
const LOOK_COUNT_MAX: u16 = 128;

/// What both directions have of what was agreed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Agreed {
    /// Bytes before each frame.
    pub(super) header_len: usize,
    /// Frames for the guest may take several buffers.
    pub(super) is_merging: bool,
    /// Frames from the guest may have a partial checksum.
    pub(super) may_be_partial: bool,
}

/// Why a buffer made no frame.
enum Refusal {
    NoChunk,
    BadBuffer,
    BadHeader,
    TooLong,
}

impl From<BadChain> for Refusal {
    fn from(_: BadChain) -> Refusal {
        Refusal::BadBuffer
    }
}

impl VhostUserDrops {
    fn count(&mut self, why: &Refusal) {
        match why {
            Refusal::NoChunk => self.no_chunk_count += 1,
            Refusal::BadBuffer => self.bad_buffer_count += 1,
            Refusal::BadHeader => self.bad_header_count += 1,
            Refusal::TooLong => self.too_long_count += 1,
        }
    }
}

impl From<BadHeader> for Refusal {
    fn from(_: BadHeader) -> Refusal {
        Refusal::BadHeader
    }
}

/// The receiving end of a queue pair.
#[derive(Debug)]
pub(super) struct Receiver {
    ring: Ring,
    memory: Arc<GuestMemory>,
    agreed: Agreed,
    /// The driver signals it, if it is asked to.
    kick: Arc<EventFd>,
    /// Signalled for the driver.
    call: Option<Arc<EventFd>>,
    next: u16,
    /// The driver was asked to signal, so many empty looks ago.
    armed: Option<u32>,
}

impl Receiver {
    pub(super) fn new(
        ring: Ring,
        memory: Arc<GuestMemory>,
        agreed: Agreed,
        kick: Arc<EventFd>,
        call: Option<Arc<EventFd>>,
    ) -> Receiver {
        // What happens before the first look wakes as well.
        ring.ask_for_kicks(true);
        let next = ring.used_index();
        Receiver { ring, memory, agreed, kick, call, next, armed: Some(0) }
    }

    pub(super) fn kick(&self) -> &Arc<EventFd> {
        &self.kick
    }

    /// Where the next one goes on.
    pub(super) const fn index(&self) -> u16 {
        self.next
    }

    /// Whether the front end took pages away.
    pub(super) fn is_gone(&self) -> bool {
        self.ring.is_gone() || self.memory.is_gone()
    }

    /// Appends what is there to the batch, as far as it has room; returns how many frames.
    pub(super) fn receive(
        &mut self,
        pool: &mut Pool,
        batch: &mut Batch,
        counters: &mut PortCounters,
        drops: &mut VhostUserDrops,
    ) -> usize {
        let mut available = self.ring.available(self.next);
        if available == 0 {
            available = self.found_nothing(counters);
        } else if self.armed.take().is_some() {
            self.ring.ask_for_kicks(false);
            counters.syscall_count += hush(&self.kick);
        }
        let (before, start) = (batch.len(), self.next);
        let mut left = available.min(LOOK_COUNT_MAX);
        while left > 0 && batch.room() > 0 {
            left -= 1;
            match self.take(pool) {
                Ok(frame) => {
                    counters.count_received(frame.len());
                    if let Err(frame) = batch.push(frame) {
                        pool.free(frame);
                    }
                }
                Err(why) => {
                    counters.rx_drop_count += 1;
                    drops.count(&why);
                }
            }
        }
        if self.next != start && self.ring.publish(self.next) {
            counters.syscall_count += self.call.as_deref().map_or(0, tell);
        }
        batch.len() - before
    }

    /// Asks to be woken; returns what came meanwhile.
    fn found_nothing(&mut self, counters: &mut PortCounters) -> u16 {
        match &mut self.armed {
            None => {
                self.ring.ask_for_kicks(true);
                self.armed = Some(0);
                self.ring.available(self.next)
            }
            Some(looks) => {
                *looks += 1;
                if looks.is_multiple_of(LOOKS_PER_HUSH) {
                    counters.syscall_count += hush(&self.kick);
                    return self.ring.available(self.next);
                }
                0
            }
        }
    }

    /// The next buffer's frame, and the buffer back.
    #[inline]
    fn take(&mut self, pool: &mut Pool) -> Result<Frame, Refusal> {
        let head = self.ring.head(self.next);
        let taken = self.copy(head, pool);
        self.ring.give_back(self.next, head, 0);
        self.next = self.next.wrapping_add(1);
        taken
    }

    #[inline]
    fn copy(&self, head: u16, pool: &mut Pool) -> Result<Frame, Refusal> {
        let mut frame = pool.alloc().ok_or(Refusal::NoChunk)?;
        match self.fill(head, &mut frame) {
            Ok(()) => Ok(frame),
            Err(why) => {
                pool.free(frame);
                Err(why)
            }
        }
    }

    /// Copies what a buffer holds, header apart, and does what the header says is left to do.
    #[inline]
    fn fill(&self, head: u16, frame: &mut Frame) -> Result<(), Refusal> {
        let mut chain = Chain::new(&self.ring, &self.memory, head, false);
        let mut header = [0; HEADER_LEN_MAX];
        let mut wanted = &mut header[..self.agreed.header_len];
        while let Some(Part { address, len }) = chain.next_part()? {
            let now = wanted.len().min(len as usize);
            let (start, rest) = std::mem::take(&mut wanted).split_at_mut(now);
            wanted = rest;
            if now > 0 && !self.memory.read(address, start) {
                return Err(Refusal::BadBuffer);
            }
            let data_len = len as usize - now;
            if data_len > 0 {
                let room = frame.push_back(data_len).ok_or(Refusal::TooLong)?;
                // An address that wraps is in no region.
                if !self.memory.read(address.wrapping_add(now as u64), room) {
                    return Err(Refusal::BadBuffer);
                }
            }
        }
        if !wanted.is_empty() || frame.is_empty() {
            return Err(Refusal::BadBuffer);
        }
        header::finish(&header, frame.data_mut(), self.agreed.may_be_partial)?;
        Ok(())
    }
}
