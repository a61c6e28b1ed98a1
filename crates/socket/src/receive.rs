//! Bytes that arrived and were not read yet.

/// A room larger than this is given back when it is empty.
const KEPT_LEN_MAX: usize = 16 << 10;

/// In order; what is read leaves at the front.
#[derive(Default)]
pub(crate) struct ReceiveBuffer {
    bytes: Vec<u8>,
    start: usize,
}

impl ReceiveBuffer {
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() - self.start
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What is there.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    pub(crate) fn push(&mut self, data: &[u8]) {
        // Moved to the front when that costs less than what was read.
        if self.start > 0 && self.start >= self.len() {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        self.bytes.extend_from_slice(data);
    }

    /// The first `n` bytes have been read.
    pub(crate) fn consume(&mut self, n: usize) {
        self.start = (self.start + n).min(self.bytes.len());
        if self.start == self.bytes.len() {
            self.start = 0;
            self.bytes.clear();
            if self.bytes.capacity() > KEPT_LEN_MAX {
                self.bytes = Vec::new();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_pushed_is_read_in_order(steps in proptest::collection::vec((0..3000usize, 0..3000usize), 1..60)) {
            let (mut buffer, mut written, mut read) = (ReceiveBuffer::default(), 0u64, 0u64);
            for (push, take) in steps {
                let data: Vec<u8> = (written..written + push as u64).map(|at| (at * 7 % 251) as u8).collect();
                buffer.push(&data);
                written += push as u64;
                prop_assert_eq!(buffer.len() as u64, written - read);
                let take = take.min(buffer.len());
                for (at, byte) in (read..).zip(&buffer.bytes()[..take]) {
                    prop_assert_eq!(*byte, (at * 7 % 251) as u8);
                }
                buffer.consume(take);
                read += take as u64;
            }
        }
    }
}
