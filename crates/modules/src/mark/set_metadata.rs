//! Gives every frame attributes: fixed values, or what stands in the frame.
//!
//! | | |
//! |---|---|
//! | gates | in: 0; out: 0 |
//! | parameters | attributes: name, size (1 to 32 bytes), and a number, bytes, or an offset with a mask and a shift |
//! | attributes | writes those it is given |
//! | short frames | of what is behind their end zeros are taken |
//! | rate | 0.5 ns a frame of 60 bytes on one core (`make bench-pipeline`) |
//!
//! A value from the frame is masked, then shifted, as one big-endian number of the attribute's size.

use crate::parameter::{FRAME_LEN_MAX, ParameterError, in_range};
use crate::window::Window;
use tidegate_packet::{Batch, Frame};
use tidegate_pipeline::metadata::{ATTRIBUTE_LEN_MAX, Attribute, Place, Slot, Span};
use tidegate_pipeline::{Context, GateCounts, Module};

/// Where an attribute's value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetadataSource {
    /// This number, big-endian.
    Number(u64),
    /// These bytes.
    Bytes(Vec<u8>),
    /// The frame's bytes at an offset.
    Frame {
        /// Bytes from the frame's start.
        offset: u64,
        /// Bits that are kept; empty: all.
        mask: Vec<u8>,
        /// Bits by which the rest is shifted to the right; to the left, if negative.
        shift_right: i32,
    },
}

/// An attribute to set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetadataValue {
    /// Its name.
    pub name: String,
    /// Its size in bytes, 1 to 32.
    pub size: u64,
    /// Its value.
    pub source: MetadataSource,
}

const LEN_MAX: usize = ATTRIBUTE_LEN_MAX as usize;

enum Source {
    /// Its first bytes, as many as the attribute has.
    Fixed([u8; LEN_MAX]),
    /// Up to eight bytes, which is what nearly all are.
    Word {
        window: Window,
        mask: u64,
        shift_right: i32,
    },
    Long {
        offset: usize,
        mask: [u8; LEN_MAX],
        shift_right: i32,
    },
}

struct Setter {
    size: u8,
    source: Source,
    place: Place,
}

/// The module.
pub struct SetMetadata {
    values: Vec<MetadataValue>,
    setters: Vec<Setter>,
    attributes: Vec<Attribute>,
}

impl SetMetadata {
    /// Sets these attributes, at least one.
    pub fn new(values: &[MetadataValue]) -> Result<Self, ParameterError> {
        if values.is_empty() {
            return Err(ParameterError::Missing("attributes"));
        }
        let setters = values.iter().map(Setter::new).collect::<Result<_, _>>()?;
        let attribute = |value: &MetadataValue| Attribute::write(value.name.clone(), value.size as u8);
        Ok(Self { values: values.to_vec(), setters, attributes: values.iter().map(attribute).collect() })
    }

    /// What it was made with.
    pub fn values(&self) -> &[MetadataValue] {
        &self.values
    }
}

impl Module for SetMetadata {
    fn class(&self) -> &'static str {
        "set_metadata"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::THROUGH
    }

    #[inline]
    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        self.setters.iter().for_each(|setter| setter.set_all(batch));
        ctx.emit_batch(0, batch);
    }

    fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    fn bind(&mut self, places: &[Place]) {
        for (setter, place) in self.setters.iter_mut().zip(places) {
            setter.place = *place;
        }
    }
}

impl Setter {
    fn new(value: &MetadataValue) -> Result<Self, ParameterError> {
        if value.name.is_empty() {
            return Err(ParameterError::Nameless);
        }
        let size = in_range("an attribute's size in bytes", value.size, 1..=LEN_MAX as u64)? as u8;
        let source = Source::new(&value.source, usize::from(size))?;
        Ok(Self { size, source, place: Place::Unread })
    }

    /// Gives the attribute to every frame. Of most sizes the compiler knows how to copy them.
    #[inline]
    fn set_all(&self, batch: &mut Batch) {
        match self.size {
            1 => self.set_all_of::<1>(batch),
            2 => self.set_all_of::<2>(batch),
            4 => self.set_all_of::<4>(batch),
            8 => self.set_all_of::<8>(batch),
            size => {
                let span = Span::new(self.place, size);
                for frame in batch.iter_mut() {
                    let value = self.source.value(usize::from(size), frame.data());
                    let bytes = span.bytes_mut(frame);
                    bytes.copy_from_slice(&value[..bytes.len()]);
                }
            }
        }
    }

    #[inline]
    fn set_all_of<const N: usize>(&self, batch: &mut Batch) {
        let slot = Slot::<N>::new(self.place);
        let put = |frame: &mut Frame, value: [u8; LEN_MAX]| {
            value.first_chunk().into_iter().for_each(|bytes| slot.write(frame, *bytes));
        };
        match &self.source {
            Source::Fixed(value) => batch.iter_mut().for_each(|frame| put(frame, *value)),
            source => batch.iter_mut().for_each(|frame| put(frame, source.value(N, frame.data()))),
        }
    }
}

impl Source {
    fn new(source: &MetadataSource, size: usize) -> Result<Self, ParameterError> {
        match source {
            MetadataSource::Number(number) => fixed_number(*number, size).map(Self::Fixed),
            MetadataSource::Bytes(bytes) => padded("the value", bytes, size).map(Self::Fixed),
            MetadataSource::Frame { offset, mask, shift_right } => {
                let ones = [0xff; LEN_MAX];
                let mask = if mask.is_empty() { ones } else { padded("the mask", mask, size)? };
                Self::from_frame(*offset, size, mask, *shift_right)
            }
        }
    }

    fn from_frame(
        offset: u64,
        size: usize,
        mask: [u8; LEN_MAX],
        shift_right: i32,
    ) -> Result<Self, ParameterError> {
        let len = size as u64;
        if offset.saturating_add(len) > FRAME_LEN_MAX as u64 {
            return Err(ParameterError::BeyondFrame { offset, size: len });
        }
        if size > 8 {
            return Ok(Self::Long { offset: offset as usize, mask, shift_right });
        }
        let mask = mask[..size].iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
        Ok(Self::Word { window: Window::new(offset, len)?, mask, shift_right })
    }

    /// The value, as the first `size` bytes.
    #[inline]
    fn value(&self, size: usize, data: &[u8]) -> [u8; LEN_MAX] {
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::Word { window, mask, shift_right } => {
                let word = window.read(data).unwrap_or_else(|| padded_word(data, window)) & mask;
                let shifted = shift_word(word, *shift_right) & window.value_max();
                let mut value = [0; LEN_MAX];
                value[..8].copy_from_slice(&(shifted << (64 - 8 * size)).to_be_bytes());
                value
            }
            Self::Long { offset, mask, shift_right } => {
                let mut value = [0; LEN_MAX];
                let rest = data.get(*offset..).unwrap_or_default();
                let bytes = rest.iter().zip(mask).map(|(byte, mask)| byte & mask);
                value[..size].iter_mut().zip(bytes).for_each(|(place, byte)| *place = byte);
                shift_bytes(&mut value[..size], *shift_right);
                value
            }
        }
    }
}

/// What there is of a field that the frame's end cuts, and zeros.
#[cold]
fn padded_word(data: &[u8], window: &Window) -> u64 {
    let mut longer = [0; 8];
    let (offset, size) = window.extent();
    let rest = data.get(offset..).unwrap_or_default();
    longer[..size].iter_mut().zip(rest).for_each(|(place, byte)| *place = *byte);
    u64::from_be_bytes(longer) >> (64 - 8 * size)
}

fn fixed_number(number: u64, size: usize) -> Result<[u8; LEN_MAX], ParameterError> {
    let word = number.to_be_bytes();
    let spare = 8_usize.saturating_sub(size);
    if word[..spare].iter().any(|byte| *byte != 0) {
        return Err(ParameterError::TooLarge { value: number, size });
    }
    let mut value = [0; LEN_MAX];
    value[size.saturating_sub(8)..size].copy_from_slice(&word[spare..]);
    Ok(value)
}

fn padded(what: &'static str, bytes: &[u8], size: usize) -> Result<[u8; LEN_MAX], ParameterError> {
    if bytes.len() != size {
        return Err(ParameterError::WrongLen { what, len: bytes.len(), size });
    }
    let mut value = [0; LEN_MAX];
    value[..size].copy_from_slice(bytes);
    Ok(value)
}

/// `word` shifted; nothing is left of it beyond 63 bits.
#[inline]
const fn shift_word(word: u64, shift_right: i32) -> u64 {
    let by = shift_right.unsigned_abs();
    let shifted = if shift_right < 0 { word.checked_shl(by) } else { word.checked_shr(by) };
    match shifted {
        Some(word) => word,
        None => 0,
    }
}

/// Shifts a big-endian number in place, bit by bit as it stands: `bits` to the right, or to the left if negative.
fn shift_bytes(bytes: &mut [u8], shift_right: i32) {
    let len = bytes.len();
    let by = shift_right.unsigned_abs() as usize;
    let (whole, part) = (by / 8, by % 8);
    let old: [u8; LEN_MAX] = std::array::from_fn(|n| bytes.get(n).copied().unwrap_or(0));
    let at = |n: Option<usize>| n.filter(|n| *n < len).map_or(0, |n| u16::from(old[n]));
    for (n, byte) in bytes.iter_mut().enumerate() {
        *byte = if shift_right < 0 {
            let pair = at(Some(n + whole)) << 8 | at(Some(n + whole + 1));
            (pair << part >> 8) as u8
        } else {
            let pair = at(n.checked_sub(whole + 1)) << 8 | at(n.checked_sub(whole));
            (pair >> part) as u8
        };
    }
}
