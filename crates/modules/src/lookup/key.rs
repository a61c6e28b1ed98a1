//! The fields that a match compares: where each is found in a frame or in what it carries beside, and the keys of a
//! batch.
//!
//! An attribute is read as a field of the scratch area, by the same load as one of the frame.

use crate::field::{Field, Position};
use crate::lookup::LookupError;
use crate::parameter::ParameterError;
use crate::steer::Marks;
use crate::window::Window;
use tidegate_packet::{Batch, Frame};
use tidegate_pipeline::metadata::{Attribute, Place};
use tidegate_table::{self as table, BATCH_LEN_MAX, Fields, Gate, Keys};

/// Where the values of one field come from.
enum Source {
    Frame(Window),
    /// `None`: nobody writes it, so it is zero.
    Scratch(Option<Window>),
}

/// All fields of a match.
pub(super) struct KeyFields {
    given: Vec<Field>,
    sources: Vec<Source>,
    attributes: Vec<Attribute>,
    fields: Fields,
}

impl KeyFields {
    /// Fields of which the bits of `masks` count, or all where there are no masks.
    pub(super) fn new(given: Vec<Field>, masks: &[u64]) -> Result<Self, LookupError> {
        if given.is_empty() {
            return Err(ParameterError::Missing("fields").into());
        }
        if !masks.is_empty() && masks.len() != given.len() {
            let (given, expected) = (masks.len(), given.len());
            return Err(table::MatchError::Count { given, expected }.into());
        }
        let sources = given.iter().map(source_of).collect::<Result<Vec<_>, _>>()?;
        let with_mask = |(n, field): (usize, &Field)| {
            let whole = table::Field::new(field.size as u8);
            table::Field { mask: masks.get(n).copied().unwrap_or(whole.mask), ..whole }
        };
        let fields: Vec<_> = given.iter().enumerate().map(with_mask).collect();
        let attributes = given.iter().filter_map(Field::attribute).collect();
        Ok(Self { fields: Fields::new(&fields)?, sources, attributes, given })
    }

    /// As they were given.
    pub(super) fn given(&self) -> &[Field] {
        &self.given
    }

    pub(super) fn fields(&self) -> &Fields {
        &self.fields
    }

    pub(super) fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    /// Gives the attributes their places.
    pub(super) fn bind(&mut self, places: &[Place]) {
        let mut places = places.iter();
        for (source, field) in self.sources.iter_mut().zip(&self.given) {
            if let Source::Scratch(window) = source {
                let offset = places.next().and_then(|place| place.offset());
                *window = offset.and_then(|offset| Window::new(offset.into(), field.size).ok());
            }
        }
    }

    /// Fills `keys` from a batch; marks the frames that end before a field does.
    #[inline]
    pub(super) fn fill(&self, batch: &Batch, keys: &mut Keys) -> Marks {
        let frames = batch.as_slice();
        let mut short = 0;
        keys.reset(frames.len());
        for (field, source) in self.sources.iter().enumerate() {
            match source {
                Source::Frame(window) => self.fields.fill(keys, field, |n| {
                    let value = window.read(frames[n].data());
                    short |= Marks::from(value.is_none()) << n;
                    value.unwrap_or(0)
                }),
                Source::Scratch(Some(window)) => {
                    let value = |frame: &Frame| window.read(frame.scratch()).unwrap_or(0);
                    self.fields.fill(keys, field, |n| value(&frames[n]));
                }
                Source::Scratch(None) => {}
            }
        }
        short
    }
}

/// Sends frames that end before a field to `gate`, whatever the table says of them; returns how many there are.
#[inline]
pub(super) fn send_short(short: Marks, gates: &mut [Gate; BATCH_LEN_MAX], gate: Gate) -> u64 {
    let mut left = short;
    while left != 0 {
        gates[left.trailing_zeros() as usize] = gate;
        left &= left - 1;
    }
    short.count_ones().into()
}

fn source_of(field: &Field) -> Result<Source, ParameterError> {
    match &field.position {
        Position::Offset(offset) => Ok(Source::Frame(Window::new(*offset, field.size)?)),
        Position::Attribute(name) if name.is_empty() => Err(ParameterError::Nameless),
        Position::Attribute(_) => Window::new(0, field.size).map(|_| Source::Scratch(None)),
    }
}
