//! Puts a template in the place of every frame's data; several templates take turns.
//!
//! | | |
//! |---|---|
//! | gates | in: 0; out: 0 |
//! | parameters | templates, 1 to 1,536 bytes each |
//! | commands | `add`, `clear` |
//! | without templates | frames pass unchanged |
//! | data starts | behind 256 bytes of headroom |
//! | rate | 1.8 ns a frame of 60 bytes on one core (`make bench-pipeline`) |

use crate::parameter::{ParameterError, in_range};
use tidegate_packet::{Batch, FRESH_LEN_MAX};
use tidegate_pipeline::{Context, GateCounts, Module};

/// Bytes of a template, at most.
const TEMPLATE_LEN_MAX: usize = 1536;
/// Templates are copied in blocks of this many bytes, the last of which may overlap the one before, so that no copy's
/// length is unknown to the compiler.
const BLOCK_LEN: usize = 32;

const _: () = assert!(TEMPLATE_LEN_MAX <= FRESH_LEN_MAX, "every template fits every chunk");

struct Template {
    bytes: Vec<u8>,
}

impl Template {
    fn new(bytes: &[u8]) -> Result<Self, ParameterError> {
        in_range("a template's length in bytes", bytes.len() as u64, 1..=TEMPLATE_LEN_MAX as u64)?;
        Ok(Self { bytes: bytes.to_vec() })
    }

    /// Makes the template a frame's data.
    #[inline]
    fn put(&self, data: &mut [u8]) {
        match (data.last_chunk_mut::<BLOCK_LEN>(), self.bytes.last_chunk::<BLOCK_LEN>()) {
            (Some(place), Some(last)) => *place = *last,
            _ => data.copy_from_slice(&self.bytes),
        }
        let (places, blocks) = (data.as_chunks_mut::<BLOCK_LEN>().0, self.bytes.as_chunks::<BLOCK_LEN>().0);
        for (place, block) in places.iter_mut().zip(blocks) {
            *place = *block;
        }
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

    fn put_in_turn(&mut self, batch: &mut Batch) {
        for frame in batch.iter_mut() {
            let template = &self.templates[self.next];
            template.put(frame.renew(template.bytes.len()));
            self.next += 1;
            if self.next == self.templates.len() {
                self.next = 0;
            }
        }
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
        match self.templates.as_slice() {
            [] => {}
            [template] => batch.fill(&template.bytes),
            _ => self.put_in_turn(batch),
        }
        ctx.emit_batch(0, batch);
    }
}
