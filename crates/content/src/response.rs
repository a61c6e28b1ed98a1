//! What one connection sends: a prepared response, how much of it, and the stamp it got.
//!
//! Small, because each connection keeps one a request until it is acknowledged: it is the send buffer.

use crate::prepared::{CHUNK_LENS, Prepared};
use crate::stamp::Stamp;
use std::sync::Arc;

/// A response under way.
#[derive(Clone, Debug)]
pub struct Response {
    prepared: Arc<Prepared>,
    stamp: Stamp,
    len: u64,
}

const _: () = assert!(size_of::<Response>() <= 32, "a connection keeps one of these a request");

/// What is shorter is no bulk: its few segments are as cheap one by one.
const BULK_LEN_MIN: u64 = 4 * CHUNK_LENS[0] as u64;

impl Response {
    /// Head and body.
    pub fn whole(prepared: Arc<Prepared>, stamp: Stamp) -> Self {
        Self { len: prepared.len(), prepared, stamp }
    }

    /// The head alone, as HEAD asks for (RFC 9110 section 9.3.2).
    pub fn head_only(prepared: Arc<Prepared>, stamp: Stamp) -> Self {
        Self { len: prepared.head_len(), prepared, stamp }
    }

    /// How many bytes are sent.
    #[inline]
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether nothing is sent.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How long a segment from `offset` on should be, if it may have `max` bytes: up to the end of a chunk.
    #[inline]
    pub fn segment_len(&self, offset: u64, max: usize) -> usize {
        let left = self.len.saturating_sub(offset).min(max as u64) as usize;
        self.prepared.segment_len(offset, left)
    }

    /// How many of the bytes from `offset` on can be sent as bulk ([`Packer::fetch_bulk`](crate::Packer::fetch_bulk)), at
    /// most `max`.
    #[inline]
    pub fn bulk_len(&self, offset: u64, max: usize) -> usize {
        if self.len < BULK_LEN_MIN {
            return 0;
        }
        let left = self.len.saturating_sub(offset).min(max as u64) as usize;
        self.prepared.bulk_len(offset, left)
    }

    /// What it is made from.
    pub const fn prepared(&self) -> &Arc<Prepared> {
        &self.prepared
    }

    /// The values of its head's slots.
    pub const fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// Whether the rest of it can still be sent. False once its file was seen to have changed under it: the
    /// connection must be aborted then, since the length that the head announced cannot be kept.
    pub fn is_intact(&self) -> bool {
        self.prepared.is_intact()
    }
}
