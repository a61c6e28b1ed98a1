//! Gives fields of every frame random values, evenly spread between two bounds.
//!
//! | | |
//! |---|---|
//! | gates | in: 0; out: 0 |
//! | parameters | fields: offset, size (1 to 8 bytes), least and greatest value; seed |
//! | commands | `add`, `clear` |
//! | short frames | fields that do not fit are left out |
//! | rate | 2.2 ns a frame of 60 bytes on one core (`make bench-pipeline`) |

use crate::parameter::ParameterError;
use crate::window::Window;
use tidegate_base::Rng;
use tidegate_packet::Batch;
use tidegate_pipeline::{Context, GateCounts, Module};

/// A field and the bounds of its values, big-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RandomField {
    /// Bytes from the frame's start.
    pub offset: u64,
    /// Bytes, 1 to 8.
    pub size: u64,
    /// The least value.
    pub min: u64,
    /// The greatest value.
    pub max: u64,
}

struct Drawn {
    window: Window,
    min: u64,
    /// How many values there are less one.
    span: u64,
}

impl Drawn {
    fn new(field: &RandomField) -> Result<Self, ParameterError> {
        let RandomField { offset, size, min, max } = *field;
        let window = Window::new(offset, size)?;
        window.fit(max)?;
        if min > max {
            return Err(ParameterError::EmptyRange { min, max });
        }
        Ok(Self { window, min, span: max - min })
    }

    #[inline]
    fn draw(&self, rng: &mut Rng) -> u64 {
        match self.span.checked_add(1) {
            Some(count) => self.min + rng.below(count),
            None => rng.next_u64(),
        }
    }
}

/// The module.
pub struct RandomUpdate {
    fields: Vec<Drawn>,
    rng: Rng,
}

impl RandomUpdate {
    /// Writes these fields; none is allowed. The same seed gives the same values.
    pub fn new(fields: &[RandomField], seed: u64) -> Result<Self, ParameterError> {
        let mut module = Self { fields: Vec::new(), rng: Rng::new(seed) };
        module.add(fields)?;
        Ok(module)
    }

    /// Writes these fields too, after the others. None of them, if one is wrong.
    pub fn add(&mut self, fields: &[RandomField]) -> Result<(), ParameterError> {
        let made: Vec<_> = fields.iter().map(Drawn::new).collect::<Result<_, _>>()?;
        self.fields.extend(made);
        Ok(())
    }

    /// Writes nothing from now on.
    pub fn clear(&mut self) {
        self.fields.clear();
    }
}

impl Module for RandomUpdate {
    fn class(&self) -> &'static str {
        "random_update"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::THROUGH
    }

    #[inline]
    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        let Self { fields, rng } = self;
        for field in fields {
            field.window.write_each(batch, || field.draw(rng));
        }
        ctx.emit_batch(0, batch);
    }
}
