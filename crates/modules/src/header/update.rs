//! Gives fields of every frame fixed values.
//!
//! | | |
//! |---|---|
//! | gates | in: 0; out: 0 |
//! | parameters | fields: offset, size (1 to 8 bytes), value; written in their order |
//! | commands | `add`, `clear` |
//! | short frames | fields that do not fit are left out |
//! | rate | 2.0 ns a frame of 60 bytes on one core (`make bench-pipeline`) |

use crate::parameter::ParameterError;
use crate::window::Window;
use tidegate_packet::Batch;
use tidegate_pipeline::{Context, GateCounts, Module};

/// A field and its value, big-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateField {
    /// Bytes from the frame's start.
    pub offset: u64,
    /// Bytes, 1 to 8.
    pub size: u64,
    /// What is written there.
    pub value: u64,
}

/// The module.
#[derive(Default)]
pub struct Update {
    fields: Vec<(Window, u64)>,
}

impl Update {
    /// Writes these fields; none is allowed.
    pub fn new(fields: &[UpdateField]) -> Result<Self, ParameterError> {
        let mut module = Self::default();
        module.add(fields)?;
        Ok(module)
    }

    /// Writes these fields too, after the others. None of them, if one is wrong.
    pub fn add(&mut self, fields: &[UpdateField]) -> Result<(), ParameterError> {
        let made = fields.iter().map(|field| {
            let window = Window::new(field.offset, field.size)?;
            Ok((window, window.fit(field.value)?))
        });
        let made: Vec<_> = made.collect::<Result<_, ParameterError>>()?;
        self.fields.extend(made);
        Ok(())
    }

    /// Writes nothing from now on.
    pub fn clear(&mut self) {
        self.fields.clear();
    }
}

impl Module for Update {
    fn class(&self) -> &'static str {
        "update"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::THROUGH
    }

    #[inline]
    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        for (window, value) in &self.fields {
            window.write_each(batch, || *value);
        }
        ctx.emit_batch(0, batch);
    }
}
