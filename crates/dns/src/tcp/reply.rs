//! What is sent on a connection: a block of bytes that can be asked for again until it is acknowledged.

use tidegate_base::Sum;
use tidegate_packet::Pool;
use tidegate_stack::{FetchError, Payload};

/// One or more answers, each behind its length.
#[derive(Debug)]
pub struct Reply(Box<[u8]>);

impl Reply {
    pub(super) fn new(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }

    /// How many bytes it is.
    pub const fn len(&self) -> u64 {
        self.0.len() as u64
    }

    /// Whether there is nothing in it.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The `len` bytes from `offset` on, in a frame.
    pub fn fetch(&self, offset: u64, len: usize, pool: &mut Pool) -> Result<Payload, FetchError> {
        let start = usize::try_from(offset).map_err(|_| FetchError::Gone)?;
        let bytes = self.0.get(start..).and_then(|rest| rest.get(..len)).ok_or(FetchError::Gone)?;
        let mut frame = pool.alloc().ok_or(FetchError::NoFrame)?;
        if !frame.extend(bytes) {
            pool.free(frame);
            return Err(FetchError::Gone);
        }
        Ok(Payload { frame, sum: Sum::of(bytes) })
    }
}
