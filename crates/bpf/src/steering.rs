//! What is registered for a tuple: who gets its frames.

use crate::abi::{SteeringValue, Verdict};

/// Who gets the frames of a tuple.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Steering {
    /// The host's stack: an exception to a tuple without an address.
    Host,
    /// The AF_XDP socket of the queue that a frame comes in on.
    Socket,
    /// The AF_XDP socket of a stack, which is bound to one queue.
    SlotSocket {
        /// The stack's number on this NIC.
        slot: u32,
    },
    /// The device of a stack: the host's end of its veth.
    Device {
        /// The stack's number on this NIC.
        slot: u32,
    },
}

impl Steering {
    pub(crate) const fn to_value(self) -> SteeringValue {
        let (verdict, slot) = match self {
            Self::Host => (Verdict::Pass, 0),
            Self::Socket => (Verdict::Socket, 0),
            Self::SlotSocket { slot } => (Verdict::SlotSocket, slot),
            Self::Device { slot } => (Verdict::Device, slot),
        };
        SteeringValue { verdict: verdict as u32, slot }
    }

    /// `None` for a value that no loader of this version wrote.
    pub(crate) fn from_value(value: SteeringValue) -> Option<Self> {
        let SteeringValue { verdict, slot } = value;
        let known = [Self::Host, Self::Socket, Self::SlotSocket { slot }, Self::Device { slot }];
        known.into_iter().find(|steering| steering.to_value().verdict == verdict)
    }
}
