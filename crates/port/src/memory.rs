//! Two ports of one process joined to each other, without a kernel between them.
//!
//! ```text
//!   joined_by_copy     two workers, two pools:   frame -> bytes -> frame of the other pool
//!   joined_by_move     one thread, one pool:     the frame itself crosses
//! ```
//! The first is a wire for tests and for workers that meet. The second costs some nanoseconds a frame and
//! lets a bench measure a stack and nothing else.
//!
//! Invariant: order is kept and nothing is lost between the ends; a full wire refuses.

mod by_copy;
mod by_move;

pub use by_copy::{CopyPort, joined_by_copy};
pub use by_move::{MovePort, joined_by_move};

#[cfg(test)]
mod tests;
