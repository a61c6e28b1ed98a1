//! Memory that tails are written into and that is used again when the frames that had them are gone.
//!
//! ```text
//!   take            written             tail                      the frame goes
//!   TailBuffers --> TailBuffer ----> TailBuffers, shared with a Tail -----> TailBuffers: may be taken again
//! ```
//! Invariant: a buffer that can be written is nobody else's.

use crate::tail::Tail;
use std::collections::VecDeque;
use std::sync::Arc;

/// Bytes of a buffer: more than the payload that an IP packet's length can name.
pub const TAIL_BUFFER_LEN: usize = 1 << 16;

/// A buffer to be written.
#[derive(Debug)]
pub struct TailBuffer(Arc<Box<[u8]>>);

impl TailBuffer {
    fn new() -> Self {
        Self(Arc::new(vec![0; TAIL_BUFFER_LEN].into_boxed_slice()))
    }

    /// Its bytes, whatever was left there.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // Nobody shares it: only buffers that nobody shares are handed out.
        Arc::get_mut(&mut self.0).map_or(&mut [], |bytes| bytes)
    }
}

/// Buffers of [`TAIL_BUFFER_LEN`] bytes, in the order in which they were lent.
#[derive(Debug)]
pub struct TailBuffers {
    lent: VecDeque<Arc<Box<[u8]>>>,
    count_max: usize,
}

impl TailBuffers {
    /// Remembers at most `count_max` buffers; what is needed beyond is allocated, and freed after use.
    pub fn new(count_max: usize) -> Self {
        Self { lent: VecDeque::with_capacity(count_max), count_max }
    }

    /// A buffer: the one that was lent first if its frame is gone, else a new one.
    pub fn take(&mut self) -> TailBuffer {
        match self.lent.front_mut().map(Arc::get_mut) {
            Some(Some(_)) => self.lent.pop_front().map_or_else(TailBuffer::new, TailBuffer),
            _ => TailBuffer::new(),
        }
    }

    /// The first `len` bytes of `buffer`, or all if it has fewer, as a tail.
    pub fn tail(&mut self, buffer: TailBuffer, len: usize) -> Tail {
        let TailBuffer(bytes) = buffer;
        if self.lent.len() < self.count_max {
            self.lent.push_back(bytes.clone());
        }
        let len = len.min(bytes.len());
        Tail::of_first(bytes, len)
    }

    /// Takes a buffer back that was not used.
    pub fn put_back(&mut self, buffer: TailBuffer) {
        if self.lent.len() < self.count_max {
            self.lent.push_front(buffer.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HeapMemory, Pool};

    #[test]
    fn a_buffer_is_written_again_when_its_frame_is_gone() {
        let mut pool = Pool::new(Box::new(HeapMemory::new(4 * 2048)), 2048).unwrap();
        let mut buffers = TailBuffers::new(2);
        let mut first = buffers.take();
        let place = first.bytes_mut().as_ptr();
        first.bytes_mut()[..5].copy_from_slice(b"first");
        let mut frame = pool.alloc().unwrap();
        frame.append(buffers.tail(first, 5));
        assert_ne!(buffers.take().bytes_mut().as_ptr(), place, "the frame still has it");
        assert_eq!(frame.tail().unwrap().bytes(), b"first");
        pool.free(frame);
        let mut again = buffers.take();
        assert_eq!(again.bytes_mut().as_ptr(), place);
        buffers.put_back(again);
        assert_eq!(buffers.take().bytes_mut().as_ptr(), place);
    }

    #[test]
    fn no_more_are_remembered_than_asked_for() {
        let mut buffers = TailBuffers::new(1);
        let tails: Vec<Tail> = (0..3)
            .map(|_| {
                let buffer = buffers.take();
                buffers.tail(buffer, usize::MAX)
            })
            .collect();
        assert_eq!(buffers.lent.len(), 1);
        assert!(tails.iter().all(|tail| tail.len() == TAIL_BUFFER_LEN));
    }
}
