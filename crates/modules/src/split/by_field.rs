//! `split`: steers each frame to the output gate whose number a field of it holds.
//!
//! | | |
//! |---|---|
//! | gates | in: 0; out: any |
//! | parameters | field: 1 to 8 bytes at an offset or of an attribute, big-endian |
//! | attributes | reads the one it is given |
//! | dropped | frames that end before the field, values above 8,191 (`policy`) |
//! | rate | 2.6 ns a frame of 60 bytes on one core (`make bench-pipeline`) |

use crate::field::{Field, Reader};
use crate::parameter::ParameterError;
use crate::steer::{Gates, NO_GATE, emit_each};
use tidegate_packet::{BATCH_LEN_MAX, Batch};
use tidegate_pipeline::metadata::{Attribute, Place};
use tidegate_pipeline::{Context, GATE_COUNT_MAX, GateCounts, Module};

/// The module.
pub struct Split {
    reader: Reader,
    attributes: Vec<Attribute>,
}

impl Split {
    /// Steers by this field.
    pub fn new(field: &Field) -> Result<Self, ParameterError> {
        let reader = Reader::new(field)?;
        Ok(Self { reader, attributes: field.attribute().into_iter().collect() })
    }
}

impl Module for Split {
    fn class(&self) -> &'static str {
        "split"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::SPLIT
    }

    #[inline]
    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        let mut gates: Gates = [0; BATCH_LEN_MAX];
        for (gate, frame) in gates.iter_mut().zip(batch.iter()) {
            let value = self.reader.read(frame).filter(|value| *value < GATE_COUNT_MAX as u64);
            *gate = value.map_or(NO_GATE, |value| value as u16);
        }
        emit_each(ctx, batch, &gates);
    }

    fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    fn bind(&mut self, places: &[Place]) {
        self.reader.bind(&mut places.iter());
    }
}
