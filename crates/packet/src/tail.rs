//! Bulk that is not in a chunk: the frame holds the headers, the bytes stay where they are and are shared.
//!
//! ```text
//!   Frame   [ scratch | headroom | headers, first bytes of the payload ]
//!   Tail      -> | .............. | start .. start + len | ....... |      somebody's memory, never changed
//!   on the wire: headers + payload of both, cut into segments by whoever sends it
//! ```
//! Only a port that says so takes a frame with a tail; to everyone else a frame is its own data.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Bytes that several may read and nobody changes.
pub type SharedBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// How a frame with a tail is cut into segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cut {
    /// Which IP its headers are.
    pub is_ipv4: bool,
    /// Bytes from the frame's start to its TCP header, whose checksum field holds the pseudo header's sum.
    pub transport_start: u16,
    /// Bytes from the frame's start to the payload.
    pub header_len: u16,
    /// Bytes of payload a segment; the last may have fewer. Zero: as many as fit.
    pub segment_len: u16,
}

/// What follows a frame's data on the wire.
pub struct Tail {
    owner: SharedBytes,
    range: Range<usize>,
    /// How the whole is cut; nothing until the headers are there.
    pub cut: Cut,
}

impl Tail {
    /// The bytes `range` of `owner`; `None` if it does not have them.
    pub fn new(owner: SharedBytes, range: Range<usize>) -> Option<Self> {
        (*owner).as_ref().get(range.clone())?;
        Some(Self { owner, range, cut: Cut::default() })
    }

    /// The first `len` bytes of `owner`, which has as many.
    pub(crate) fn of_first(owner: Arc<Box<[u8]>>, len: usize) -> Self {
        Self { owner, range: 0..len, cut: Cut::default() }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        // An owner whose bytes shrank breaks its promise: then there are none.
        (*self.owner).as_ref().get(self.range.clone()).unwrap_or_default()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }
}

impl fmt::Debug for Tail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tail").field("range", &self.range).field("cut", &self.cut).finish_non_exhaustive()
    }
}
