//! What is wrong with a module's parameters, and the checks that several modules make.
//!
//! Invariant: a module that was made has parameters that cannot fail later, whatever frames come.

use std::ops::RangeInclusive;
use thiserror::Error;
use tidegate_pipeline::GATE_COUNT_MAX;

/// Bytes of a frame that a parameter may speak of, as in BESS.
pub const FRAME_LEN_MAX: usize = 2048;

/// Why a module cannot be made or changed so. One line, that says what to change.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParameterError {
    /// An empty list.
    #[error("no {0}: give at least one")]
    Missing(&'static str),
    /// A number that is too small or too large.
    #[error("{what} is {value}: give {min} to {max}")]
    OutOfRange {
        /// What the number is.
        what: &'static str,
        /// What was given.
        value: u64,
        /// The least allowed.
        min: u64,
        /// The most allowed.
        max: u64,
    },
    /// A field that reaches out of every frame.
    #[error(
        "the field of {size} bytes at offset {offset} ends behind byte {FRAME_LEN_MAX}: frames are not so long"
    )]
    BeyondFrame {
        /// Where it starts.
        offset: u64,
        /// Bytes.
        size: u64,
    },
    /// A value with more bytes than its field.
    #[error("the value {value:#x} does not fit into {size} bytes: give a smaller one or a larger size")]
    TooLarge {
        /// What was given.
        value: u64,
        /// Bytes of the field.
        size: usize,
    },
    /// Bytes of another length than their field's.
    #[error("{what} has {len} bytes but the field {size}: give as many")]
    WrongLen {
        /// What the bytes are.
        what: &'static str,
        /// How many were given.
        len: usize,
        /// How many the field has.
        size: usize,
    },
    /// A range whose ends are the wrong way round.
    #[error("the smallest value {min} is above the largest {max}: swap them")]
    EmptyRange {
        /// The smallest.
        min: u64,
        /// The largest.
        max: u64,
    },
    /// A share that is none.
    #[error("{what} is {value}: give a share from 0 to 1")]
    NotAShare {
        /// What the share is.
        what: &'static str,
        /// What was given.
        value: String,
    },
    /// A word that the module does not know.
    #[error("`{given}` is no {what}: give one of {known}")]
    Unknown {
        /// What the word should be.
        what: &'static str,
        /// What was given.
        given: String,
        /// What there is.
        known: &'static str,
    },
    /// An attribute that a command names for the first time.
    #[error("the module was made without the attribute `{0}`: make it anew with it")]
    Undeclared(String),
    /// A size that is no power of two.
    #[error("a size of {0}: give a power of two, {low} or {high}", low = .0.next_power_of_two() / 2, high = .0.next_power_of_two())]
    NotPowerOfTwo(u64),
    /// Numbers out of order.
    #[error("the {0} are not in order: give them rising")]
    Unsorted(&'static str),
    /// A real number that is none, not above zero, or too large.
    #[error("{what} is {value}: give a number above 0, up to {max}")]
    NoRate {
        /// What the number is.
        what: &'static str,
        /// What was given.
        value: String,
        /// The most allowed.
        max: u64,
    },
    /// An attribute without a name.
    #[error("an attribute has no name: give it one")]
    Nameless,
}

/// `value`, if it is in `range`.
pub(crate) fn in_range(
    what: &'static str,
    value: u64,
    range: RangeInclusive<u64>,
) -> Result<u64, ParameterError> {
    let (min, max) = (*range.start(), *range.end());
    if range.contains(&value) { Ok(value) } else { Err(ParameterError::OutOfRange { what, value, min, max }) }
}

/// `gate` as an output gate's number.
pub(crate) fn gate(gate: u64) -> Result<u16, ParameterError> {
    in_range("an output gate", gate, 0..=GATE_COUNT_MAX as u64 - 1).map(|gate| gate as u16)
}

/// `gates` as output gates' numbers, at least one.
pub(crate) fn gates(gates: &[u64]) -> Result<Box<[u16]>, ParameterError> {
    if gates.is_empty() {
        return Err(ParameterError::Missing("output gates"));
    }
    in_range("the number of output gates", gates.len() as u64, 1..=GATE_COUNT_MAX as u64)?;
    gates.iter().map(|it| gate(*it)).collect()
}

/// `value` as a share of all.
pub(crate) fn share(what: &'static str, value: f64) -> Result<f64, ParameterError> {
    let is_share = (0.0..=1.0).contains(&value);
    is_share.then_some(value).ok_or_else(|| ParameterError::NotAShare { what, value: value.to_string() })
}
