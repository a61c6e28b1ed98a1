//! A socket's number.

/// Bits of a number that say which slot; the others count how often the slot was taken.
const INDEX_BITS: u32 = 20;
const GENERATION_COUNT: u32 = 1 << (31 - INDEX_BITS);

/// The most sockets that there can be.
pub(crate) const SOCKET_COUNT_MAX: usize = 1 << INDEX_BITS;

/// Names one socket. Numbers of closed sockets come back only after the slot was used 2,047 times, so a call on a socket that
/// was closed is an error.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SocketId(u32);

impl SocketId {
    pub(crate) const fn new(index: u32, generation: u32) -> Self {
        // Generation zero is left out, so that no number is taken for a descriptor of the kernel's.
        Self(((generation % (GENERATION_COUNT - 1)) + 1) << INDEX_BITS | index)
    }

    pub(crate) const fn index(self) -> usize {
        (self.0 & ((1 << INDEX_BITS) - 1)) as usize
    }

    /// The number as C has it: never negative, and above those that the kernel gives to files.
    pub const fn number(self) -> i32 {
        self.0 as i32
    }

    /// The socket of that number, if one could have it.
    pub const fn of_number(number: i32) -> Option<Self> {
        if number < 1 << INDEX_BITS { None } else { Some(Self(number as u32)) }
    }
}
