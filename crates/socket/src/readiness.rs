//! What a socket is ready for.

use std::ops::BitOr;

/// A set of conditions, as poll(2) knows them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Readiness(u8);

impl Readiness {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// A read, or an accept, has something to give: bytes, a connection, the end, an error.
    pub const READABLE: Self = Self(1);
    /// A write would take bytes, or fail.
    pub const WRITABLE: Self = Self(2);
    /// The peer will send no more.
    pub const PEER_CLOSED: Self = Self(4);
    /// Neither side will send any more.
    pub const HANGUP: Self = Self(8);
    /// There is an error to be fetched.
    pub const ERROR: Self = Self(16);

    /// Whether all of `other` is in it.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any of `other` is in it.
    pub const fn has_any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether nothing is.
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    pub(crate) const fn when(self, holds: bool) -> Self {
        if holds { self } else { Self::NONE }
    }
}

impl BitOr for Readiness {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
