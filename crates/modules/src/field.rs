//! Where a module finds a number: at an offset in the frame, or in an attribute.

use crate::parameter::{ParameterError, in_range};
use crate::window::Window;
use tidegate_packet::Frame;
use tidegate_pipeline::metadata::{Attribute, Place, Span};

/// Where a field is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Position {
    /// Bytes from the frame's start.
    Offset(u64),
    /// An attribute of this name.
    Attribute(String),
}

/// One to eight bytes of a frame or of what it carries beside, as a big-endian number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Where it is.
    pub position: Position,
    /// Bytes, 1 to 8.
    pub size: u64,
}

impl Field {
    /// The attribute that reading this needs.
    pub(crate) fn attribute(&self) -> Option<Attribute> {
        match &self.position {
            Position::Offset(_) => None,
            Position::Attribute(name) => Some(Attribute::read(name.clone(), self.size as u8)),
        }
    }
}

/// A field, checked and ready to be read.
pub(crate) enum Reader {
    Frame(Window),
    Attribute { size: u8, span: Span },
}

impl Reader {
    pub(crate) fn new(field: &Field) -> Result<Self, ParameterError> {
        match &field.position {
            Position::Offset(offset) => Window::new(*offset, field.size).map(Self::Frame),
            Position::Attribute(name) if name.is_empty() => Err(ParameterError::Nameless),
            Position::Attribute(_) => {
                let size = in_range("a field's size in bytes", field.size, 1..=8)? as u8;
                Ok(Self::Attribute { size, span: Span::new(Place::Unwritten, size) })
            }
        }
    }

    /// Gives the attribute its place, if it is one: the next of `places`.
    pub(crate) fn bind<'a>(&mut self, places: &mut impl Iterator<Item = &'a Place>) {
        if let Self::Attribute { size, span } = self
            && let Some(place) = places.next()
        {
            *span = Span::new(*place, *size);
        }
    }

    /// The field's value; `None` if the frame ends earlier. An attribute without a place is zero.
    #[inline]
    pub(crate) fn read(&self, frame: &Frame) -> Option<u64> {
        match self {
            Self::Frame(window) => window.read(frame.data()),
            Self::Attribute { span, .. } => {
                Some(span.bytes(frame).iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
            }
        }
    }
}
