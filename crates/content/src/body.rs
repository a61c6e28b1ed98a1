//! What follows a head: nothing, one stretch of bytes, or several in a row (multipart/byteranges).
//!
//! A stretch is a part of a block in memory or of an open file, shared and never copied, so the body of a
//! range costs no more to make than its head.
//!
//! Invariant: each extent lies inside its source.

use crate::block::Block;
use crate::file::StreamedFile;
use crate::read_ahead::ReadAhead;
use std::sync::Arc;
use tidegate_packet::{SharedBytes, Tail};

/// Where bytes come from.
#[derive(Clone, Debug)]
enum Source {
    Memory(Arc<Block>),
    File(Arc<StreamedFile>),
}

/// A stretch of a source.
#[derive(Clone, Debug)]
struct Extent {
    source: Source,
    offset: u64,
    len: u64,
}

impl Extent {
    /// The `len` bytes from `offset` of this extent on; the caller has checked that it has them.
    fn part(&self, offset: u64, len: u64) -> Self {
        Self { source: self.source.clone(), offset: self.offset + offset, len }
    }

    #[inline]
    fn read(&self, offset: u64, out: &mut [u8], read_ahead: &mut ReadAhead) -> bool {
        let start = self.offset + offset;
        match &self.source {
            Source::Memory(block) => copy(block.bytes(), start, out),
            Source::File(file) => read_ahead.read(file, start, out),
        }
    }

    fn is_intact(&self) -> bool {
        match &self.source {
            Source::Memory(_) => true,
            Source::File(file) => file.is_intact(),
        }
    }
}

#[inline]
fn copy(bytes: &[u8], start: u64, out: &mut [u8]) -> bool {
    let start = start as usize;
    let found = bytes.get(start..start + out.len());
    if let Some(found) = found {
        out.copy_from_slice(found);
    }
    found.is_some()
}

/// Extents in a row; one of them needs no list.
#[derive(Clone, Debug)]
enum Extents {
    One(Extent),
    Several(Box<[Extent]>),
}

/// The bytes behind a head.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    extents: Extents,
    len: u64,
}

impl Body {
    /// The bytes of a block.
    pub(crate) fn of_block(block: Block) -> Self {
        let len = block.bytes().len() as u64;
        Self::one(Source::Memory(Arc::new(block)), len)
    }

    /// The bytes of an open file.
    pub(crate) fn of_file(file: StreamedFile) -> Self {
        let len = file.len();
        Self::one(Source::File(Arc::new(file)), len)
    }

    /// Bodies one behind the other.
    pub(crate) fn join(bodies: impl IntoIterator<Item = Self>) -> Self {
        Self::of_extents(bodies.into_iter().flat_map(|body| body.extents().to_vec()).collect())
    }

    fn one(source: Source, len: u64) -> Self {
        Self { extents: Extents::One(Extent { source, offset: 0, len }), len }
    }

    fn of_extents(extents: Vec<Extent>) -> Self {
        let len = extents.iter().map(|e| e.len).sum();
        let extents = match <[Extent; 1]>::try_from(extents) {
            Ok([extent]) => Extents::One(extent),
            Err(extents) => Extents::Several(extents.into_boxed_slice()),
        };
        Self { extents, len }
    }

    pub(crate) const fn len(&self) -> u64 {
        self.len
    }

    /// Whether all of it is in memory.
    pub(crate) fn is_in_memory(&self) -> bool {
        self.extents().iter().all(|e| matches!(e.source, Source::Memory(_)))
    }

    /// Whether no file in it is known to have changed since it was opened.
    pub(crate) fn is_intact(&self) -> bool {
        self.extents().iter().all(Extent::is_intact)
    }

    /// The `len` bytes from `offset` on, shared with this body. `None` if it does not have them.
    pub(crate) fn part(&self, offset: u64, len: u64) -> Option<Self> {
        let end = offset.checked_add(len).filter(|end| *end <= self.len)?;
        let mut extents = Vec::with_capacity(1);
        let mut at = 0;
        for extent in self.extents() {
            let from = offset.clamp(at, at + extent.len);
            let to = end.clamp(at, at + extent.len);
            if from < to {
                extents.push(extent.part(from - at, to - from));
            }
            at += extent.len;
        }
        Some(Self::of_extents(extents))
    }

    /// How many bytes from `offset` on lie in a row in memory.
    #[inline]
    pub(crate) fn contiguous_len(&self, offset: u64) -> u64 {
        match &self.extents {
            Extents::One(Extent { source: Source::Memory(_), len, .. }) => len.saturating_sub(offset),
            _ => 0,
        }
    }

    /// The `len` bytes from `offset` on where they lie, if they lie in a row in memory.
    pub(crate) fn tail(&self, offset: u64, len: usize) -> Option<Tail> {
        match &self.extents {
            Extents::One(Extent { source: Source::Memory(block), offset: start, .. }) => {
                let start = usize::try_from(start + offset).ok()?;
                let block: SharedBytes = Arc::<Block>::clone(block);
                Tail::new(block, start..start.checked_add(len)?)
            }
            _ => None,
        }
    }

    /// Fills `out` with the bytes from `offset` on. False if a file no longer has them, or the body never
    /// had.
    #[inline]
    pub(crate) fn read(&self, offset: u64, out: &mut [u8], read_ahead: &mut ReadAhead) -> bool {
        match &self.extents {
            Extents::One(extent) if offset + out.len() as u64 <= extent.len => {
                extent.read(offset, out, read_ahead)
            }
            Extents::One(_) => out.is_empty(),
            Extents::Several(extents) => read_several(extents, offset, out, read_ahead),
        }
    }

    fn extents(&self) -> &[Extent] {
        match &self.extents {
            Extents::One(extent) => std::slice::from_ref(extent),
            Extents::Several(extents) => extents,
        }
    }
}

fn read_several(extents: &[Extent], mut offset: u64, mut out: &mut [u8], read_ahead: &mut ReadAhead) -> bool {
    for extent in extents {
        if offset >= extent.len {
            offset -= extent.len;
            continue;
        }
        let here_len = out.len().min((extent.len - offset) as usize);
        let (here, rest) = out.split_at_mut(here_len);
        if !extent.read(offset, here, read_ahead) {
            return false;
        }
        (offset, out) = (0, rest);
    }
    out.is_empty()
}
