//! Frames: fixed-size buffers in a pool, and batches of handles to them.
//!
//! ```text
//!   pool memory (the AF_XDP UMEM, or any memory handed in)
//!   | chunk 0 | chunk 1 | chunk 2 | ...
//!
//!   one chunk, 2048 bytes by default
//!   +---------------+--------------+----------------------+-----------+
//!   | 0, 64 or 128  | headroom 256 | data (start, len)    | tailroom  |
//!   +---------------+--------------+----------------------+-----------+
//!                   ^ origin, staggered for the cache's sake
//! ```
//!
//! A [`Frame`] is the only way to a chunk's bytes and cannot be copied, so a chunk has one owner at a
//! time: the pool's free list, a frame, a port (the kernel may read or write it), or a store that
//! retained it. [`Pool`] records which, and refuses what contradicts the record.
//!
//! This crate knows no header and no kernel interface. Its memory is handed in from outside, so that
//! the pipeline runs over huge pages, a heap block or a simulator alike.

mod batch;
mod fill;
mod frame;
mod free_list;
mod groups;
mod header;
mod memory;
mod pool;
mod prefetch;
mod tail;
mod tail_buffers;

pub use batch::{BATCH_LEN_MAX, Batch};
pub use frame::{FRESH_LEN_MAX, Frame, HEADROOM_LEN, SCRATCH_LEN, STAGGER_LEN_MAX};
pub use groups::Groups;
pub use memory::{HeapMemory, Memory};
pub use pool::{ChunkAddr, Occupancy, Pool, PoolError, Retained};
pub use prefetch::prefetch;
pub use tail::{Cut, SharedBytes, Tail};
pub use tail_buffers::{TAIL_BUFFER_LEN, TailBuffer, TailBuffers};
