//! A response before anyone asked for it: a head with holes, a body, and the sums of both.
//!
//! ```text
//!   | head, slots zero         | body                                                   |   one byte stream
//!   | chunk 0 (1448)   | chunk 1 (1448)   | chunk 2 (1448)   | chunk 3   |   cut for IPv4
//!   | chunk 4 (1428)  | chunk 5 (1428)  | chunk 6 (1428)  | chunk 7      |   cut for IPv6
//!     one sum each, slots not in them
//! ```
//!
//! The cuts are the same for all peers of a family, so a chunk's sum is computed once, and a pre-copy store can
//! keep the chunk as a ready packet. What is made for a single request (a range, a multipart answer) shares its bytes
//! with the whole and has no sums of its own: they are computed as it is sent. A body that is streamed from a
//! file has none either.
//!
//! Invariant: the bytes of a `Prepared` never change; a streamed file that did is noticed and not sent.

use crate::block::Block;
use crate::body::Body;
use crate::file::StreamedFile;
use crate::head::HeadTemplate;
use crate::index::DenseIndex;
use crate::read_ahead::ReadAhead;
use crate::stamp::Fill;
use std::fs::File;
use std::io;
use std::sync::Arc;
use tidegate_base::Sum;
use tidegate_packet::Tail;

/// Bytes in a chunk but the last, for each family: what fits a 1,500-byte MTU less the timestamps option and
/// its padding (RFC 7323 section 3). IPv4: 1460 - 12; IPv6: 1440 - 12. The longer first.
pub const CHUNK_LENS: [usize; 2] = [1448, 1428];

/// What of a head goes into the frame of a bulk segment: it must leave its tailroom.
const HEAD_IN_FRAME_LEN_MAX: u64 = 1024;

/// A response that any number of requests share.
#[derive(Debug)]
pub struct Prepared {
    head: HeadTemplate,
    body: Body,
    len: u64,
    ready: Option<Ready>,
}

/// What makes a response fit for a pre-copy store.
#[derive(Debug)]
struct Ready {
    index: DenseIndex,
    sums: [Box<[Sum]>; CHUNK_LENS.len()],
}

/// A piece of a body put together for one request.
#[derive(Clone, Debug)]
pub enum Part<'a> {
    /// Bytes of its own.
    Text(Vec<u8>),
    /// `len` bytes of another response's body, from `offset` on.
    Range {
        /// Whose body.
        of: &'a Prepared,
        /// From where on.
        offset: u64,
        /// How many bytes.
        len: u64,
    },
}

impl Prepared {
    /// A response of `head` and `body` that will be sent often.
    pub fn new(head: HeadTemplate, body: impl Into<Vec<u8>>) -> Arc<Self> {
        Self::to_keep(head, Body::of_block(Block::unbooked(body.into())))
    }

    /// A response of `head` and a file that is read as it is sent. Fails if the file's size cannot be read.
    pub fn streamed(head: HeadTemplate, file: File) -> io::Result<Arc<Self>> {
        Ok(Self::to_keep(head, Body::of_file(StreamedFile::new(file)?)))
    }

    /// A response of `head` and the parts in a row, for one request: nothing is computed ahead. `None` if a
    /// part reaches beyond its body.
    pub fn assemble<'a>(head: HeadTemplate, parts: impl IntoIterator<Item = Part<'a>>) -> Option<Arc<Self>> {
        let bodies: Option<Vec<Body>> = parts.into_iter().map(Part::into_body).collect();
        Some(Self::once(head, Body::join(bodies?)))
    }

    /// A response of `head` and `len` bytes of this one's body from `offset` on, for one request. `None` if
    /// this body does not have them.
    pub fn range(&self, head: HeadTemplate, offset: u64, len: u64) -> Option<Arc<Self>> {
        Some(Self::once(head, self.body.part(offset, len)?))
    }

    pub(crate) fn once(head: HeadTemplate, body: Body) -> Arc<Self> {
        let len = head.len() as u64 + body.len();
        Arc::new(Self { head, body, len, ready: None })
    }

    /// A response that stays: its sums are computed now, unless its body is streamed.
    pub(crate) fn to_keep(head: HeadTemplate, body: Body) -> Arc<Self> {
        let len = head.len() as u64 + body.len();
        let ready = body.is_in_memory().then(|| Ready {
            index: DenseIndex::take(),
            sums: CHUNK_LENS.map(|cut| chunk_sums(&head, &body, len, cut)),
        });
        Arc::new(Self { head, body, len, ready })
    }

    /// Bytes of head and body.
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether it has no bytes at all.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of the head.
    pub const fn head_len(&self) -> u64 {
        self.head.len() as u64
    }

    /// Bytes of the body.
    pub const fn body_len(&self) -> u64 {
        self.body.len()
    }

    /// How many chunks the longer cut gives.
    pub(crate) const fn chunk_count(&self) -> usize {
        self.len.div_ceil(CHUNK_LENS[0] as u64) as usize
    }

    /// Whether its bytes can still be sent: false once a streamed file was seen to have changed.
    pub fn is_intact(&self) -> bool {
        self.body.is_intact()
    }

    /// Whether its body is read from a file as it is sent.
    pub fn is_streamed(&self) -> bool {
        !self.body.is_in_memory()
    }

    /// The same body behind another head, to be sent often.
    pub fn with_head(&self, head: HeadTemplate) -> Arc<Self> {
        Self::to_keep(head, self.body.clone())
    }

    /// The number under which a pre-copy store files it; `None` if it is not worth keeping there.
    #[inline]
    pub(crate) fn index(&self) -> Option<usize> {
        self.ready.as_ref().map(|ready| ready.index.as_usize())
    }

    /// Which chunk the `len` bytes from `offset` on are, if they are one whose sum is known.
    #[inline]
    pub(crate) fn chunk_at(&self, offset: u64, len: usize) -> Option<Chunk> {
        let sums = &self.ready.as_ref()?.sums;
        let mut first = 0;
        for (cut, sums) in CHUNK_LENS.into_iter().zip(sums) {
            if offset.is_multiple_of(cut as u64) && len == self.len_to_cut(offset, cut) {
                let nth = (offset / cut as u64) as usize;
                return sums.get(nth).map(|sum| Chunk { number: first + nth, offset, len, sum: *sum });
            }
            first += sums.len();
        }
        None
    }

    /// How long a segment from `offset` on should be, if it may have `max` bytes: as far as the farther of the
    /// chunks' ends that it can reach. Who cannot take a whole chunk gets slices of any length.
    #[inline]
    pub(crate) fn segment_len(&self, offset: u64, max: usize) -> usize {
        let [longer, shorter] = CHUNK_LENS.map(|cut| self.len_to_cut(offset, cut));
        if max < CHUNK_LENS[1] {
            return max;
        }
        let (farther, nearer) = (longer.max(shorter), longer.min(shorter));
        if farther <= max { farther } else { nearer.min(max) }
    }

    /// How many of the bytes from `offset` on [`Prepared::split`] can give, at most `max`: none of what is not in a row
    /// in memory.
    #[inline]
    pub(crate) fn bulk_len(&self, offset: u64, max: usize) -> usize {
        let head_left = self.head_len().saturating_sub(offset);
        let body_left = self.body.contiguous_len(offset.saturating_sub(self.head_len()));
        let all = if body_left == 0 || head_left > HEAD_IN_FRAME_LEN_MAX { 0 } else { head_left + body_left };
        all.min(max as u64) as usize
    }

    /// The `len` bytes from `offset` on as how many of them are the head's, and the rest where it lies.
    pub(crate) fn split(&self, offset: u64, len: usize) -> Option<(usize, Tail)> {
        let from_head = (self.head_len().saturating_sub(offset) as usize).min(len);
        let body_offset = (offset + from_head as u64).saturating_sub(self.head_len());
        Some((from_head, self.body.tail(body_offset, len - from_head)?))
    }

    /// How many bytes there are from `offset` to the end of its chunk.
    #[inline]
    const fn len_to_cut(&self, offset: u64, cut: usize) -> usize {
        let in_chunk = cut - (offset % cut as u64) as usize;
        let left = self.len.saturating_sub(offset);
        if in_chunk as u64 > left { left as usize } else { in_chunk }
    }

    /// Copies the bytes from `offset` on, slots zero. False if they are no longer to be had.
    #[inline]
    pub(crate) fn read(&self, offset: u64, out: &mut [u8], read_ahead: &mut ReadAhead) -> bool {
        let from_head = self.head.copy_to(offset, out);
        let rest = &mut out[from_head..];
        let body_offset = (offset + from_head as u64).saturating_sub(self.head_len());
        rest.is_empty() || self.body.read(body_offset, rest, read_ahead)
    }

    /// Fills the slots that lie in `window`, the bytes from `offset` on; returns what they add to its sum.
    #[inline]
    pub(crate) fn fill(&self, offset: u64, window: &mut [u8], fill: &Fill<'_>) -> Sum {
        if offset < self.head_len() { self.head.fill(offset, window, fill) } else { Sum::ZERO }
    }
}

/// One piece of the cut, with its sum but for the slots.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk {
    pub(crate) number: usize,
    pub(crate) offset: u64,
    pub(crate) len: usize,
    pub(crate) sum: Sum,
}

impl Part<'_> {
    fn into_body(self) -> Option<Body> {
        match self {
            Self::Text(bytes) => Some(Body::of_block(Block::unbooked(bytes))),
            Self::Range { of, offset, len } => of.body.part(offset, len),
        }
    }
}

fn chunk_sums(head: &HeadTemplate, body: &Body, len: u64, cut: usize) -> Box<[Sum]> {
    let mut read_ahead = ReadAhead::new();
    let mut chunk = [0; CHUNK_LENS[0]];
    let offsets = (0..len).step_by(cut);
    offsets
        .map(|offset| {
            let out = &mut chunk[..cut.min((len - offset) as usize)];
            let from_head = head.copy_to(offset, out);
            let body_offset = (offset + from_head as u64).saturating_sub(head.len() as u64);
            body.read(body_offset, &mut out[from_head..], &mut read_ahead);
            Sum::of(out)
        })
        .collect()
}
