//! The single-producer, single-consumer protocol of AF_XDP rings, apart from the memory they lie in.
//!
//! ```text
//!          consumer index                     producer index
//!                v                                  v
//!   +----+----+----+----+----+----+----+----+----+----+----+----+
//!   | .. | .. |full|full|full|full|full|full|full|free|free| .. |   slot = index & (size - 1)
//!   +----+----+----+----+----+----+----+----+----+----+----+----+
//!                |<--------- entries ------------->|
//!   both indices only grow and wrap at 2^32; producer - consumer = entries <= size
//! ```
//! One side of each ring is the kernel, the other this process:
//!
//! ```text
//!   fill         process --addresses of free chunks-->          kernel
//!   rx           process <--descriptors of received frames--    kernel
//!   tx           process --descriptors of frames to send-->     kernel
//!   completion   process <--addresses of sent chunks--          kernel
//! ```
//! Indices are published with release and read with acquire, so that the slots between them are seen as
//! they were written. Each side keeps its own index privately and the other's as last seen, and looks at
//! the shared cache line again only when the copy says that it must.
//!
//! Source: networking/af_xdp.rst. Not here: what an entry means.

/// The shared memory of one ring. The protocol runs over this trait, so that tests can run it over plain
/// memory and under a model checker.
pub trait RingMemory<T> {
    /// Slots; a power of two.
    fn size(&self) -> u32;
    /// The producer's index, read with acquire.
    fn load_producer(&self) -> u32;
    /// Publishes the producer's index with release.
    fn store_producer(&self, index: u32);
    /// The consumer's index, read with acquire.
    fn load_consumer(&self) -> u32;
    /// Publishes the consumer's index with release.
    fn store_consumer(&self, index: u32);
    /// The entry in the slot of `index`; only the consumer calls it, for indices that are filled.
    fn read(&self, index: u32) -> T;
    /// Puts an entry into the slot of `index`; only the producer calls it, for indices that are free.
    fn write(&self, index: u32, entry: T);
}

/// The process's end of a ring that the kernel consumes: fill and transmit.
#[derive(Debug)]
pub struct Producer<M> {
    memory: M,
    /// Where the next entry goes. Ahead of the shared index by what was pushed and not yet published.
    next: u32,
    /// The shared producer index as this side last stored it; nobody else writes it.
    published: u32,
    /// The kernel's index as last seen, plus the ring's size: pushing up to here overwrites nothing. The
    /// kernel's index only grows, so a stale copy is merely cautious.
    room_end: u32,
}

impl<M> Producer<M> {
    /// Takes over the producing end; the indices may stand anywhere.
    pub fn new<T>(memory: M) -> Self
    where
        M: RingMemory<T>,
    {
        let next = memory.load_producer();
        let room_end = memory.load_consumer().wrapping_add(memory.size());
        Self { memory, next, published: next, room_end }
    }

    /// How many entries can be pushed now. Looks at the kernel's index only if fewer than `wanted` are
    /// known to fit.
    #[inline]
    pub fn room<T>(&mut self, wanted: u32) -> u32
    where
        M: RingMemory<T>,
    {
        let known = self.room_end.wrapping_sub(self.next);
        if known >= wanted {
            return known;
        }
        self.room_end = self.memory.load_consumer().wrapping_add(self.memory.size());
        self.room_end.wrapping_sub(self.next).min(self.memory.size())
    }

    /// Writes an entry into the next slot, unseen by the kernel until [`publish`](Self::publish). False,
    /// and nothing is written, if the ring is full.
    #[inline]
    pub fn push<T>(&mut self, entry: T) -> bool
    where
        M: RingMemory<T>,
    {
        if self.room(1) == 0 {
            return false;
        }
        self.memory.write(self.next, entry);
        self.next = self.next.wrapping_add(1);
        true
    }

    /// Shows the kernel what was pushed; returns how many entries that were.
    #[inline]
    pub fn publish<T>(&mut self) -> u32
    where
        M: RingMemory<T>,
    {
        let count = self.next.wrapping_sub(self.published);
        if count > 0 {
            self.memory.store_producer(self.next);
            self.published = self.next;
        }
        count
    }

    /// How many published entries the kernel has not consumed yet.
    pub fn pending<T>(&self) -> u32
    where
        M: RingMemory<T>,
    {
        self.published.wrapping_sub(self.memory.load_consumer())
    }

    /// The memory beneath.
    pub fn memory(&self) -> &M {
        &self.memory
    }
}

/// The process's end of a ring that the kernel produces: receive and completion.
#[derive(Debug)]
pub struct Consumer<M> {
    memory: M,
    /// The entry that is read next. Ahead of the shared index by what was popped and not yet released.
    next: u32,
    /// The shared consumer index as this side last stored it; nobody else writes it.
    released: u32,
    /// The kernel's index as last seen: reading up to here reads only what was written. The kernel's index
    /// only grows, so a stale copy merely hides the newest entries.
    filled_end: u32,
}

impl<M> Consumer<M> {
    /// Takes over the consuming end; the indices may stand anywhere.
    pub fn new<T>(memory: M) -> Self
    where
        M: RingMemory<T>,
    {
        let next = memory.load_consumer();
        let filled_end = memory.load_producer();
        Self { memory, next, released: next, filled_end }
    }

    /// How many entries can be popped now. Looks at the kernel's index only if fewer than `wanted` are
    /// known.
    #[inline]
    pub fn available<T>(&mut self, wanted: u32) -> u32
    where
        M: RingMemory<T>,
    {
        let known = self.filled_end.wrapping_sub(self.next);
        if known >= wanted {
            return known;
        }
        self.filled_end = self.memory.load_producer();
        self.filled_end.wrapping_sub(self.next)
    }

    /// Reads the next entry; its slot stays taken until [`release`](Self::release).
    #[inline]
    pub fn pop<T>(&mut self) -> Option<T>
    where
        M: RingMemory<T>,
    {
        if self.available(1) == 0 {
            return None;
        }
        let entry = self.memory.read(self.next);
        self.next = self.next.wrapping_add(1);
        Some(entry)
    }

    /// Gives the slots of what was popped back to the kernel; returns how many that were.
    #[inline]
    pub fn release<T>(&mut self) -> u32
    where
        M: RingMemory<T>,
    {
        let count = self.next.wrapping_sub(self.released);
        if count > 0 {
            self.memory.store_consumer(self.next);
            self.released = self.next;
        }
        count
    }

    /// The memory beneath.
    pub fn memory(&self) -> &M {
        &self.memory
    }
}

#[cfg(test)]
#[path = "ring_tests.rs"]
mod tests;
