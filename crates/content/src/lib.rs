//! Content that is ready before it is asked for.
//!
//! ```text
//!   Library --load--> Prepared (head with slots + body, cut and summed once, shared)
//!                        |  + Stamp (date, fate of the connection)
//!                     Response (24 bytes, what a connection keeps)
//!                        |  fetch(offset, len)
//!                     Packer (a worker's) --> Payload { frame, sum }
//! ```
//!
//! A [`Packer`] turns a piece of a response into a frame with only headers missing, in one of two ways
//! (Sandstorm paper, section 2.2): *pre-copy* posts a frame that holds the piece already, *memcopy* copies it
//! into a fresh one. Both send the same bytes.
//!
//! What is absent: HTTP. Which heads there are, and what a request asks for, is the business of whoever hands
//! in a [`HeadTemplate`]. No system call is made here on behalf of a response that is in memory.
#![forbid(unsafe_code)]

mod block;
mod body;
mod file;
mod head;
mod index;
mod library;
mod packer;
mod prepared;
mod read_ahead;
mod response;
mod shelf;
mod stamp;

pub use head::{HeadTemplate, HeadWriter};
pub use library::{
    Completion, Document, Encoding, Entry, FileMeta, Library, LibraryConfig, LibraryCounters, LibraryError,
    LoadError, Loaded, Present, Reader, Requested, Subject, Variant, Waker,
};
pub use packer::{Mode, Packer, PackerCounters, Payload};
pub use prepared::{CHUNK_LENS, Part, Prepared};
pub use response::Response;
pub use stamp::{CONNECTION_LEN, DATE_LEN, Stamp};

#[cfg(test)]
mod scratch_dir;
#[cfg(test)]
mod streamed_tests;
#[cfg(test)]
mod tests;
