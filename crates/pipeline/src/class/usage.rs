//! What running a class costs, and in which unit a policy counts it.

use std::ops::AddAssign;

/// What a policy counts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Resource {
    /// Times scheduled.
    Count,
    /// Processor time, in the clock's ticks.
    Cycle,
    /// Packets.
    Packet,
    /// Bits of packets.
    Bit,
}

impl Resource {
    /// Its name in the control protocol.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Cycle => "cycle",
            Self::Packet => "packet",
            Self::Bit => "bit",
        }
    }

    /// The resource of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Count, Self::Cycle, Self::Packet, Self::Bit].into_iter().find(|it| it.name() == name)
    }
}

/// What one run used, or all runs of a class together. Sums wrap at 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Usage {
    /// Times scheduled.
    pub count: u64,
    /// Processor time, in the clock's ticks.
    pub cycles: u64,
    /// Packets.
    pub packets: u64,
    /// Bits of packets.
    pub bits: u64,
}

impl Usage {
    /// Nothing used.
    pub const ZERO: Self = Self { count: 0, cycles: 0, packets: 0, bits: 0 };

    /// How much of one resource.
    #[inline]
    pub const fn of(&self, resource: Resource) -> u64 {
        match resource {
            Resource::Count => self.count,
            Resource::Cycle => self.cycles,
            Resource::Packet => self.packets,
            Resource::Bit => self.bits,
        }
    }
}

impl AddAssign<&Self> for Usage {
    #[inline]
    fn add_assign(&mut self, other: &Self) {
        self.count = self.count.wrapping_add(other.count);
        self.cycles = self.cycles.wrapping_add(other.cycles);
        self.packets = self.packets.wrapping_add(other.packets);
        self.bits = self.bits.wrapping_add(other.bits);
    }
}
