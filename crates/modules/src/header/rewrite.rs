//! Puts a template in the place of every frame's data; several templates take turns.
//!
//! | | |
//! |---|---|
//! | gates | in: 0; out: 0 |
//! | parameters | templates, 1 to 1,536 bytes each |
//! | commands | `add`, `clear` |
//! | without templates | frames pass unchanged |
//! | dropped | frames whose chunk has no room for the template (`too_long`) |

use crate::parameter::{ParameterError, in_range};
use crate::steer::{Marks, emit_unmarked};
use tidegate_base::DropReason;
use tidegate_packet::{Batch, Frame, HEADROOM_LEN, SCRATCH_LEN};
use tidegate_pipeline::{Context, GateCounts, Module};

/// Bytes of a template, at most.
const TEMPLATE_LEN_MAX: usize = 1536;
/// Templates are copied in blocks of this many bytes, so that no copy's length is unknown to the compiler.
const BLOCK_LEN: usize = 64;

struct Template {
    blocks: Vec<[u8; BLOCK_LEN]>,
    len: usize,
}

impl Template {
    fn new(bytes: &[u8]) -> Result<Self, ParameterError> {
        in_range("a template's length in bytes", bytes.len() as u64, 1..=TEMPLATE_LEN_MAX as u64)?;
        let block = |part: &[u8]| {
            let mut block = [0; BLOCK_LEN];
            block[..part.len()].copy_from_slice(part);
            block
        };
        Ok(Self { blocks: bytes.chunks(BLOCK_LEN).map(block).collect(), len: bytes.len() })
    }

    /// Makes the template the frame's data. False, with the frame empty, if it does not fit.
    #[inline]
    fn put(&self, frame: &mut Frame) -> bool {
        frame.reset(SCRATCH_LEN + HEADROOM_LEN);
        let Some(room) = frame.push_back(self.blocks.len() * BLOCK_LEN) else {
            return self.put_exactly(frame);
        };
        for (place, block) in room.as_chunks_mut().0.iter_mut().zip(&self.blocks) {
            *place = *block;
        }
        frame.truncate(self.len);
        true
    }

    /// Where the chunk ends within the last block.
    #[cold]
    fn put_exactly(&self, frame: &mut Frame) -> bool {
        self.blocks.as_flattened().get(..self.len).is_some_and(|bytes| frame.extend(bytes))
    }
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
            [Template { blocks, len }] if blocks.len() == 1 => put_block(&blocks[0], *len, batch),
            _ => self.put_in_turn(batch),
        };
        emit_unmarked(ctx, batch, full, DropReason::TooLong);
    }
}

/// One short template for all: it stays in registers.
#[inline]
fn put_block(block: &[u8; BLOCK_LEN], len: usize, batch: &mut Batch) -> Marks {
    let block = *block;
    let mut full = 0;
    for (n, frame) in batch.iter_mut().enumerate() {
        frame.reset(SCRATCH_LEN + HEADROOM_LEN);
        match frame.push_back(BLOCK_LEN).and_then(|room| room.first_chunk_mut()) {
            Some(place) => *place = block,
            None => full |= Marks::from(!frame.extend(&block[..len])) << n,
        }
        frame.truncate(len);
    }
    full
}
