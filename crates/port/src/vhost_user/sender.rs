//! Frames to the guest: its receive ring, an even number among the device's.
//!
//! ```text
//!   plan: the parts of one buffer, or of several if they may be merged --> header and frame written along them --> given back
//! ```
//! Invariant: a buffer is taken only when the frame is sure to go into it, or never will; nothing is written before that.

use std::sync::Arc;

use arrayvec::ArrayVec;
use tidegate_packet::{Batch, Pool};
use tidegate_sys::event::EventFd;

use super::chain::{BadChain, Chain, Part};
use super::header::{self, HEADER_LEN_MAX};
use super::memory::GuestMemory;
use super::receiver::Agreed;
use super::ring::Ring;
use crate::PortCounters;
use crate::wake::tell;
use crate::written::{Written, write_out};

/// The most buffers that a frame takes, and the most parts of all of them.
const BUFFER_COUNT_MAX: usize = 32;
const PART_COUNT_MAX: usize = 128;

/// Where a frame goes.
#[derive(Default)]
struct Plan {
    parts: ArrayVec<Part, PART_COUNT_MAX>,
    /// Each buffer's first descriptor, and what is written into it.
    buffers: ArrayVec<(u16, u32), BUFFER_COUNT_MAX>,
}

/// The sending end of a queue pair.
#[derive(Debug)]
pub(super) struct Sender {
    ring: Ring,
    memory: Arc<GuestMemory>,
    agreed: Agreed,
    /// Signalled for the driver.
    call: Option<Arc<EventFd>>,
    next: u16,
    published: u16,
}

impl Sender {
    pub(super) fn new(
        ring: Ring,
        memory: Arc<GuestMemory>,
        agreed: Agreed,
        call: Option<Arc<EventFd>>,
    ) -> Sender {
        // Nobody sleeps until there is room.
        ring.ask_for_kicks(false);
        let next = ring.used_index();
        Sender { ring, memory, agreed, call, next, published: next }
    }

    /// Buffers that can be taken now.
    #[inline]
    pub(super) fn room(&self) -> u16 {
        self.ring.available(self.next)
    }

    /// Where the next one goes on: what was written and not shown yet is shown.
    pub(super) fn stop(&mut self) -> u16 {
        self.publish();
        self.next
    }

    /// Whether the front end took pages away.
    pub(super) fn is_gone(&self) -> bool {
        self.ring.is_gone() || self.memory.is_gone()
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

    /// Writes one frame, of which `room` loses the buffers that it takes.
    #[inline]
    fn put(&mut self, bytes: &[u8], room: &mut u16) -> Written {
        let mut plan = Plan::default();
        let planned = self.plan(bytes.len(), *room, &mut plan);
        if planned == Written::Full {
            return Written::Full;
        }
        let is_written = planned == Written::Yes && self.write(&plan, bytes);
        for (head, len) in &plan.buffers {
            self.ring.give_back(self.next, *head, if is_written { *len } else { 0 });
            self.next = self.next.wrapping_add(1);
        }
        *room -= plan.buffers.len() as u16;
        if is_written { Written::Yes } else { Written::Never }
    }

    /// Finds buffers for a frame of `len` bytes. Where none will do, those that were tried are in the plan.
    #[inline]
    fn plan(&self, len: usize, room: u16, plan: &mut Plan) -> Written {
        let mut left = self.agreed.header_len + len;
        while left > 0 {
            let tried = plan.buffers.len();
            if tried > 0 && !self.agreed.is_merging || plan.buffers.is_full() {
                return Written::Never;
            }
            if tried >= usize::from(room) {
                return Written::Full;
            }
            let head = self.ring.head(self.next.wrapping_add(tried as u16));
            let gathered = self.gather(head, left, &mut plan.parts);
            plan.buffers.push((head, gathered.unwrap_or(0)));
            match gathered {
                Ok(gathered) => left -= gathered as usize,
                Err(BadChain) => return Written::Never,
            }
        }
        Written::Yes
    }

    /// Adds a buffer's parts, as far as `wanted` bytes need them; returns how many bytes they hold.
    #[inline]
    fn gather(
        &self,
        head: u16,
        wanted: usize,
        parts: &mut ArrayVec<Part, PART_COUNT_MAX>,
    ) -> Result<u32, BadChain> {
        let mut chain = Chain::new(&self.ring, &self.memory, head, true);
        // A frame and its header are far below 4 GiB.
        let mut left = wanted as u32;
        while left > 0 {
            let Some(part) = chain.next_part()? else { break };
            let len = part.len.min(left);
            parts.try_push(Part { len, ..part }).map_err(|_| BadChain)?;
            left -= len;
        }
        Ok(wanted as u32 - left)
    }

    /// Writes header and frame along the plan's parts, which are just long enough. False if they are not where they say.
    #[inline]
    fn write(&self, plan: &Plan, bytes: &[u8]) -> bool {
        let header: [u8; HEADER_LEN_MAX] = header::emit(plan.buffers.len() as u16);
        let mut header = &header[..self.agreed.header_len];
        let mut bytes = bytes;
        plan.parts.iter().all(|part| {
            let (first, later) = header.split_at(header.len().min(part.len as usize));
            header = later;
            let (second, later) = bytes.split_at(bytes.len().min(part.len as usize - first.len()));
            bytes = later;
            // An address that wraps is in no region.
            let second_at = part.address.wrapping_add(first.len() as u64);
            (first.is_empty() || self.memory.write(part.address, first))
                && (second.is_empty() || self.memory.write(second_at, second))
        })
    }

    /// Shows the driver what was written; returns how many system calls that took.
    #[inline]
    pub(super) fn publish(&mut self) -> u64 {
        if self.next == self.published {
            return 0;
        }
        self.published = self.next;
        if self.ring.publish(self.next) { self.call.as_deref().map_or(0, tell) } else { 0 }
    }
}
