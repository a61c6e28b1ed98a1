//! Where MAC addresses are: 48 bits to a gate, in buckets of four, two buckets for each address.
//!
//! ```text
//!   entry   [ address 48 | gate 16 ]                vacant: no address, and the gate that is none
//!   bucket  [ entry ][ entry ][ entry ][ entry ]    half a cache line
//! ```
//!
//! An address stands in one of the two buckets that its hash names; an insertion into two full ones moves others to
//! their second bucket (cuckoo hashing: Pagh, Rodler, 2001; with buckets of four, over nine tenths can be filled).
//! A lookup compares all eight entries and branches on none. Entries are static, or learnt and forgotten after a
//! time of silence. Sized at creation; an insertion moves at most 64 entries.

use crate::store::hash;
use crate::{BATCH_LEN_MAX, Gate, NO_GATE};
use thiserror::Error;
use tidegate_base::{Duration, FlowHasher, Instant};

const WAY_COUNT: usize = 4;
const MOVE_COUNT_MAX: usize = 64;
const ADDRESS_BITS: u32 = 48;
const ENTRY_COUNT_MAX: usize = 1 << 30;
/// When a static entry was seen: always.
const STATIC: u32 = u32::MAX;

/// An address (upper 48 bits) and its gate.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Entry(u64);

impl Entry {
    const VACANT: Self = Self::new(0, NO_GATE);

    const fn new(address: u64, gate: Gate) -> Self {
        Self(address << 16 | gate as u64)
    }

    #[inline]
    const fn address(self) -> u64 {
        self.0 >> 16
    }

    #[inline]
    const fn gate(self) -> Gate {
        self.0 as Gate
    }

    const fn is_vacant(self) -> bool {
        self.gate() == NO_GATE
    }
}

/// Why a table of addresses does not take a change.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum MacError {
    /// A size that no table has.
    #[error("a table of {count} addresses: give 1 to {ENTRY_COUNT_MAX}")]
    Size {
        /// How many were asked for.
        count: usize,
    },
    /// More bits than an address has.
    #[error("{address:#x} is no MAC address: it has more than 48 bits")]
    Address {
        /// What was given.
        address: u64,
    },
    /// A gate that means "none".
    #[error("gate {NO_GATE} is no gate: the highest is {}", NO_GATE - 1)]
    GateTooHigh,
    /// No place left in either bucket, nor by moving others.
    #[error("no room for {address:#014x} beside {count} others: create the table larger")]
    Full {
        /// The address.
        address: u64,
        /// How many there are.
        count: usize,
    },
    /// A deletion of what is not there.
    #[error("no address {address:#014x} to delete")]
    NoSuchAddress {
        /// The address.
        address: u64,
    },
}

/// Gates by MAC address. An address is a number, its first octet on the wire the most significant of 48 bits.
pub struct MacTable {
    buckets: Box<[[Entry; WAY_COUNT]]>,
    /// For each entry the second in which it was seen last, or [`STATIC`].
    seen: Box<[[u32; WAY_COUNT]]>,
    count: usize,
    hasher: FlowHasher,
    /// The bucket that ageing looks at next.
    hand: usize,
}

/// A bucket and a way in it.
type Place = (usize, usize);

impl MacTable {
    /// A table with room for `count` addresses. `seed` is drawn at random.
    pub fn new(count: usize, seed: u64) -> Result<Self, MacError> {
        if !(1..=ENTRY_COUNT_MAX).contains(&count) {
            return Err(MacError::Size { count });
        }
        // A tenth stays vacant, so that moving finds a place for the last one too.
        let bucket_count = (count + count / 9).div_ceil(WAY_COUNT).next_power_of_two().max(2);
        Ok(Self {
            buckets: vec![[Entry::VACANT; WAY_COUNT]; bucket_count].into_boxed_slice(),
            seen: vec![[0; WAY_COUNT]; bucket_count].into_boxed_slice(),
            count: 0,
            hasher: FlowHasher::new(seed),
            hand: 0,
        })
    }

    /// How many addresses it knows.
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether it knows none.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The gate of `address`, or [`NO_GATE`].
    #[inline]
    pub fn lookup(&self, address: u64) -> Gate {
        self.gate_in(self.homes(address), address)
    }

    /// The gate of each of `addresses`, or [`NO_GATE`]; as many as both slices hold.
    #[inline]
    pub fn lookup_batch(&self, addresses: &[u64], gates: &mut [Gate]) {
        for (addresses, gates) in addresses.chunks(BATCH_LEN_MAX).zip(gates.chunks_mut(BATCH_LEN_MAX)) {
            let mut homes = [(0, 0); BATCH_LEN_MAX];
            for (homes, address) in homes.iter_mut().zip(addresses) {
                *homes = self.homes(*address);
            }
            for ((gate, homes), address) in gates.iter_mut().zip(homes).zip(addresses) {
                *gate = self.gate_in(homes, *address);
            }
        }
    }

    /// All addresses with their gates, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, Gate)> {
        let used = self.buckets.iter().flatten().filter(|entry| !entry.is_vacant());
        used.map(|entry| (entry.address(), entry.gate()))
    }

    /// Adds an address for good, or leads it to another gate and keeps it for good.
    pub fn add(&mut self, address: u64, gate: Gate) -> Result<(), MacError> {
        self.put(address, gate, STATIC)
    }

    /// Notes that `address` sends from `gate`. A static entry stays as it is.
    pub fn learn(&mut self, address: u64, gate: Gate, now: Instant) -> Result<(), MacError> {
        if let Some((bucket, way)) = self.find(address)
            && self.seen[bucket][way] == STATIC
        {
            return Ok(());
        }
        self.put(address, gate, seconds(now))
    }

    /// Looks at the next `budget` buckets, and forgets what was learnt there and silent for longer than `silence`.
    /// Returns how many that were.
    pub fn age(&mut self, now: Instant, silence: Duration, budget: usize) -> usize {
        let before = self.count;
        let oldest = seconds(now - silence);
        for _ in 0..budget.min(self.buckets.len()) {
            for way in 0..WAY_COUNT {
                if !self.buckets[self.hand][way].is_vacant() && self.seen[self.hand][way] < oldest {
                    self.vacate((self.hand, way));
                }
            }
            self.hand = (self.hand + 1) % self.buckets.len();
        }
        before - self.count
    }

    /// Deletes an address.
    pub fn delete(&mut self, address: u64) -> Result<(), MacError> {
        let place = self.find(address).ok_or(MacError::NoSuchAddress { address })?;
        self.vacate(place);
        Ok(())
    }

    /// Deletes every address.
    pub fn clear(&mut self) {
        self.buckets.fill([Entry::VACANT; WAY_COUNT]);
        self.count = 0;
    }

    fn put(&mut self, address: u64, gate: Gate, seen: u32) -> Result<(), MacError> {
        if address >> ADDRESS_BITS != 0 {
            return Err(MacError::Address { address });
        }
        if gate == NO_GATE {
            return Err(MacError::GateTooHigh);
        }
        let entry = Entry::new(address, gate);
        if let Some(place) = self.find(address) {
            self.set(place, (entry, seen));
            return Ok(());
        }
        if !self.insert((entry, seen)) {
            return Err(MacError::Full { address, count: self.count });
        }
        self.count += 1;
        Ok(())
    }

    /// Puts a new entry into a vacant place, moving others if it must; false, and nothing changed, if that fails.
    fn insert(&mut self, entry: (Entry, u32)) -> bool {
        let (first, second) = self.homes(entry.0.address());
        if let Some(place) = self.vacancy(first).or_else(|| self.vacancy(second)) {
            self.set(place, entry);
            return true;
        }
        let mut path = [(0, 0); MOVE_COUNT_MAX];
        let mut carried = entry;
        let mut bucket = first;
        for (turn, place) in path.iter_mut().enumerate() {
            *place = (bucket, turn % WAY_COUNT);
            carried = self.swap(*place, carried);
            let (first, second) = self.homes(carried.0.address());
            bucket = if bucket == first { second } else { first };
            if let Some(place) = self.vacancy(bucket) {
                self.set(place, carried);
                return true;
            }
        }
        for place in path.into_iter().rev() {
            carried = self.swap(place, carried);
        }
        false
    }

    fn vacancy(&self, bucket: usize) -> Option<Place> {
        let way = self.buckets[bucket].iter().position(|entry| entry.is_vacant())?;
        Some((bucket, way))
    }

    fn find(&self, address: u64) -> Option<Place> {
        let (first, second) = self.homes(address);
        [first, second].into_iter().find_map(|bucket| {
            let is_it = |entry: &Entry| entry.address() == address && !entry.is_vacant();
            Some((bucket, self.buckets[bucket].iter().position(is_it)?))
        })
    }

    fn set(&mut self, (bucket, way): Place, (entry, seen): (Entry, u32)) {
        self.buckets[bucket][way] = entry;
        self.seen[bucket][way] = seen;
    }

    fn swap(&mut self, (bucket, way): Place, entry: (Entry, u32)) -> (Entry, u32) {
        let before = (self.buckets[bucket][way], self.seen[bucket][way]);
        self.set((bucket, way), entry);
        before
    }

    fn vacate(&mut self, place: Place) {
        self.set(place, (Entry::VACANT, 0));
        self.count -= 1;
    }

    /// The two buckets of an address.
    #[inline]
    fn homes(&self, address: u64) -> (usize, usize) {
        let hash = hash(&self.hasher, &[address]);
        let mask = self.buckets.len() - 1;
        (hash as usize & mask, (hash >> 32) as usize & mask)
    }

    /// All eight comparisons make one number, whose first bit says where to read.
    #[inline]
    fn gate_in(&self, (first, second): (usize, usize), address: u64) -> Gate {
        if address == 0 {
            // A vacant entry has this address too.
            return self.find(address).map_or(NO_GATE, |(bucket, way)| self.buckets[bucket][way].gate());
        }
        let (first, second) = (&self.buckets[first], &self.buckets[second]);
        let bits = matches(first, address) | matches(second, address) << WAY_COUNT;
        if bits == 0 {
            return NO_GATE;
        }
        let place = bits.trailing_zeros() as usize;
        let bucket = if place < WAY_COUNT { first } else { second };
        bucket[place % WAY_COUNT].gate()
    }
}

/// A bit for each entry that has the address.
#[inline]
fn matches([a, b, c, d]: &[Entry; WAY_COUNT], address: u64) -> u32 {
    let bit = |entry: &Entry, way: u32| u32::from(entry.address() == address) << way;
    bit(a, 0) | bit(b, 1) | bit(c, 2) | bit(d, 3)
}

/// Whole seconds of a clock, below [`STATIC`].
fn seconds(at: Instant) -> u32 {
    u32::try_from(at.as_nanos() / 1_000_000_000).unwrap_or(STATIC - 1).min(STATIC - 1)
}

#[cfg(test)]
#[path = "l2_tests.rs"]
mod tests;
