//! What a module declares about an attribute, and where the attribute then is.

use std::borrow::Cow;

/// The most bytes that one attribute may have, as in BESS.
pub const ATTRIBUTE_LEN_MAX: u8 = 32;

/// What a module does with an attribute of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    /// Uses the value that came with the frame.
    Read,
    /// Gives the frame a new value, whatever it came with. Every frame that leaves has it.
    Write,
    /// Reads, then writes: the value that leaves has the place of the one that came.
    Update,
}

impl Access {
    pub(super) const fn reads(self) -> bool {
        matches!(self, Self::Read | Self::Update)
    }

    pub(super) const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::Update)
    }
}

/// A value that frames carry from module to module, as one module declares it.
///
/// Modules that say the same name mean the same attribute. A module that declares a name twice, to read and to
/// write, is one that updates it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attribute {
    /// What its modules call it.
    pub name: Cow<'static, str>,
    /// Bytes, 1 to [`ATTRIBUTE_LEN_MAX`].
    pub size: u8,
    /// What the module does with it.
    pub access: Access,
}

impl Attribute {
    /// An attribute of `size` bytes that the module reads.
    pub fn read(name: impl Into<Cow<'static, str>>, size: u8) -> Self {
        Self { name: name.into(), size, access: Access::Read }
    }

    /// An attribute of `size` bytes that the module writes.
    pub fn write(name: impl Into<Cow<'static, str>>, size: u8) -> Self {
        Self { name: name.into(), size, access: Access::Write }
    }

    /// An attribute of `size` bytes that the module reads, then writes.
    pub fn update(name: impl Into<Cow<'static, str>>, size: u8) -> Self {
        Self { name: name.into(), size, access: Access::Update }
    }
}

/// Where a module finds one of its attributes in a frame's scratch area.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Place {
    /// At this offset, in bytes.
    At(u8),
    /// Nowhere: no module upstream writes it, so it reads as zeros.
    Unwritten,
    /// Nowhere: no module downstream reads it, so it need not be written.
    Unread,
    /// Nowhere: the scratch area is full where it is alive, or its size is not allowed.
    NoRoom,
}

impl Place {
    /// The offset, if it has one.
    pub const fn offset(self) -> Option<u8> {
        match self {
            Self::At(offset) => Some(offset),
            Self::Unwritten | Self::Unread | Self::NoRoom => None,
        }
    }

    /// The number that stands for it in BESS's `GetModuleInfoResponse.Attribute.offset`.
    pub const fn bess_offset(self) -> i64 {
        match self {
            Self::At(offset) => offset as i64,
            Self::Unwritten => -1,
            Self::Unread => -2,
            Self::NoRoom => -3,
        }
    }
}
