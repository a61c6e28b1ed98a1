//! Puts a template in the place of every frame's data; several templates take turns.
//!
//! | | |
//! |---|---|
//! | gates | in: 0; out: 0 |
//! | parameters | templates, 1 to 1,536 bytes each |
//! | commands | `add`, `clear` |
//! | without templates | frames pass unchanged |
//! | dropped | frames whose chunk has no room for the template (`too_long`) |
//! | data starts | behind 256 bytes of headroom; for templates of up to 1,024 bytes up to 448 bytes further |
//! | rate | 2.4 ns a frame of 60 bytes on one core, where source and sink take 2.5 (`tidegate-bench pipeline`) |

use crate::parameter::{ParameterError, in_range};
use crate::steer::{Marks, emit_unmarked};
use tidegate_base::DropReason;
use tidegate_packet::{Batch, Frame, HEADROOM_LEN, SCRATCH_LEN};
use tidegate_pipeline::{Context, GateCounts, Module};

/// Bytes of a template, at most.
const TEMPLATE_LEN_MAX: usize = 1536;
/// Templates are copied in blocks of this many bytes, the last of which may overlap the one before, so that no copy's
/// length is unknown to the compiler.
const BLOCK_LEN: usize = 32;
/// Where data starts: behind the headroom, or up to seven cache lines further. Chunks are powers of two apart, so data at
/// the same place of each would share two sets of the first cache, which a batch overflows.
const START: usize = SCRATCH_LEN + HEADROOM_LEN;
const LINE_LEN: usize = 64;
const LINE_COUNT: usize = 8;
/// Templates no longer than this are spread so, in chunks of 2,048 bytes and more.
const SPREAD_LEN_MAX: usize = 1024;

struct Template {
    bytes: Vec<u8>,
}

impl Template {
    fn new(bytes: &[u8]) -> Result<Self, ParameterError> {
        in_range("a template's length in bytes", bytes.len() as u64, 1..=TEMPLATE_LEN_MAX as u64)?;
        Ok(Self { bytes: bytes.to_vec() })
    }

    /// Makes the template the frame's data. False, with nothing changed, if it does not fit.
    #[inline]
    fn put(&self, frame: &mut Frame) -> bool {
        let Some(data) = room_of(frame, self.bytes.len()) else { return false };
        match (data.last_chunk_mut::<BLOCK_LEN>(), self.bytes.last_chunk::<BLOCK_LEN>()) {
            (Some(place), Some(last)) => *place = *last,
            _ => data.copy_from_slice(&self.bytes),
        }
        let (places, blocks) = (data.as_chunks_mut::<BLOCK_LEN>().0, self.bytes.as_chunks::<BLOCK_LEN>().0);
        for (place, block) in places.iter_mut().zip(blocks) {
            *place = *block;
        }
        true
    }
}

/// The frame's data, made `len` bytes long.
#[inline]
fn room_of(frame: &mut Frame, len: usize) -> Option<&mut [u8]> {
    // The lowest bit of the number tells the two sets apart already.
    let line = if len <= SPREAD_LEN_MAX { frame.index() as usize / 2 % LINE_COUNT } else { 0 };
    frame.replace(START + line * LINE_LEN, len)
}

/// The module.
#[derive(Default)]
pub struct Rewrite {
    templates: Vec<Template>,
    next: usize,
}

impl Rewrite {
    /// Puts these templates in the place of frames; none is allowed.
    pub fn new(templates: &[Vec<u8>]) -> Result<Self, ParameterError> {
        let mut module = Self::default();
        module.add(templates)?;
        Ok(module)
    }

    /// Uses these templates too, after the others. None of them, if one is wrong.
    pub fn add(&mut self, templates: &[Vec<u8>]) -> Result<(), ParameterError> {
        let made: Vec<_> = templates.iter().map(|bytes| Template::new(bytes)).collect::<Result<_, _>>()?;
        self.templates.extend(made);
        Ok(())
    }

    /// Lets frames pass unchanged from now on.
    pub fn clear(&mut self) {
        self.templates.clear();
        self.next = 0;
    }

    fn put_in_turn(&mut self, batch: &mut Batch) -> Marks {
        let mut full = 0;
        for (n, frame) in batch.iter_mut().enumerate() {
            full |= Marks::from(!self.templates[self.next].put(frame)) << n;
            self.next += 1;
            if self.next == self.templates.len() {
                self.next = 0;
            }
        }
        full
    }
}

impl Module for Rewrite {
    fn class(&self) -> &'static str {
        "rewrite"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::THROUGH
    }

    #[inline]
    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        let full = match self.templates.as_slice() {
            [] => 0,
            [template] => match head_and_tail(&template.bytes) {
                Some((head, tail)) => put_short(head, tail, template.bytes.len(), batch),
                None => self.put_in_turn(batch),
            },
            _ => self.put_in_turn(batch),
        };
        emit_unmarked(ctx, batch, full, DropReason::TooLong);
    }
}

/// The first and the last block of a template that has no byte between them.
#[inline]
fn head_and_tail(bytes: &[u8]) -> Option<(&[u8; BLOCK_LEN], &[u8; BLOCK_LEN])> {
    let is_short = bytes.len() <= 2 * BLOCK_LEN;
    Some((bytes.first_chunk()?, bytes.last_chunk()?)).filter(|_| is_short)
}

/// One short template for all: it stays in registers.
#[inline]
fn put_short(head: &[u8; BLOCK_LEN], tail: &[u8; BLOCK_LEN], len: usize, batch: &mut Batch) -> Marks {
    let (head, tail) = (*head, *tail);
    let mut full = 0;
    for (n, frame) in batch.iter_mut().enumerate() {
        match room_of(frame, len) {
            Some(data) => {
                data.first_chunk_mut().into_iter().for_each(|place| *place = head);
                data.last_chunk_mut().into_iter().for_each(|place| *place = tail);
            }
            None => full |= 1 << n,
        }
    }
    full
}
