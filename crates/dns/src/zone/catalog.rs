//! All zones that a server is asked for: the one that a name belongs to is the longest match.
//!
//! A catalog never changes; [`Catalog::with`] and [`Catalog::without`] make the next one, which shares every
//! zone that stays. Publishing it (an `ArcSwap`) is the business of whoever serves it: a worker holds one
//! catalog for a whole burst, so an answer never mixes two versions of a zone.

use std::sync::Arc;

use hashbrown::HashTable;

use super::Zone;
use crate::name::{Folded, Key, Name};

/// A zone that the server is responsible for.
#[derive(Clone, Debug)]
pub enum Hosting {
    /// It can be served.
    Ready(Arc<Zone>),
    /// It is ours, but there is no data that may be served: SERVFAIL.
    Unavailable(Lack),
}

/// Why a zone of ours cannot be served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lack {
    /// It is still to come from a primary.
    Awaited,
    /// What there was has expired, or cannot be read.
    Unusable,
}

impl Hosting {
    /// The zone, if it can be served.
    pub fn zone(&self) -> Option<&Arc<Zone>> {
        match self {
            Hosting::Ready(zone) => Some(zone),
            Hosting::Unavailable(_) => None,
        }
    }
}

/// All zones by name; a clone costs in proportion to their number, not their size.
#[derive(Clone, Default, Debug)]
pub struct Catalog {
    zones: HashTable<Entry>,
    /// Bit n: there is a zone with n labels, so that a lookup tries no length in vain.
    lengths: u128,
}

#[derive(Clone, Debug)]
struct Entry {
    apex: Arc<Folded>,
    hosting: Hosting,
}

impl Catalog {
    /// No zone at all.
    pub fn new() -> Self {
        Catalog::default()
    }

    /// The successor that serves `zone`, in place of any other of its name.
    pub fn with(&self, zone: Arc<Zone>) -> Self {
        let apex = Folded::of(zone.apex());
        self.with_hosting(apex, Hosting::Ready(zone))
    }

    /// The successor that serves all of `zones`: one copy of the catalog however many they are.
    pub fn with_all(&self, zones: impl IntoIterator<Item = Arc<Zone>>) -> Self {
        let mut next = self.clone();
        for zone in zones {
            next.put(Folded::of(zone.apex()), Hosting::Ready(zone));
        }
        next
    }

    /// The successor that is responsible for a zone without having it.
    pub fn with_unavailable(&self, apex: &Name, lack: Lack) -> Self {
        self.with_hosting(Folded::of(apex), Hosting::Unavailable(lack))
    }

    /// The successor that knows nothing of a zone.
    pub fn without(&self, apex: &Name) -> Self {
        let mut next = self.clone();
        next.remove(&Folded::of(apex));
        next.lengths = next.zones.iter().fold(0, |lengths, entry| lengths | length_bit(&entry.apex));
        next
    }

    fn with_hosting(&self, apex: Folded, hosting: Hosting) -> Self {
        let mut next = self.clone();
        next.put(apex, hosting);
        next
    }

    fn put(&mut self, apex: Folded, hosting: Hosting) {
        self.remove(&apex);
        self.lengths |= length_bit(&apex);
        let entry = Entry { apex: Arc::new(apex), hosting };
        self.zones.insert_unique(apex.hash(), entry, |entry| entry.apex.hash());
    }

    fn remove(&mut self, apex: &Folded) {
        if let Ok(entry) = self.zones.find_entry(apex.hash(), |entry| *entry.apex == *apex) {
            entry.remove();
        }
    }

    /// What is responsible for a name: the zone with the longest apex at or above it.
    #[inline]
    pub fn find(&self, name: &Folded) -> Option<&Hosting> {
        self.longest(name.suffixes())
    }

    /// What is responsible for the names above: for a DS question at the apex of a zone whose parent is here
    /// too (RFC 4035 section 3.1.4.1).
    pub fn find_above(&self, name: &Folded) -> Option<&Hosting> {
        self.longest(name.suffixes().take(name.name().label_count()))
    }

    /// What is responsible for exactly this zone.
    pub fn hosting(&self, apex: &Folded) -> Option<&Hosting> {
        self.exact(apex.key())
    }

    /// Every zone that can be served, in no order.
    pub fn zones(&self) -> impl Iterator<Item = &Arc<Zone>> {
        self.zones.iter().filter_map(|entry| entry.hosting.zone())
    }

    /// How many zones, served or not.
    pub fn len(&self) -> usize {
        self.zones.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.zones.is_empty()
    }

    /// The last of `suffixes`, which run from the root down, that is an apex.
    fn longest<'n>(&self, suffixes: impl Iterator<Item = Key<'n>>) -> Option<&Hosting> {
        let length_count = (u128::BITS - self.lengths.leading_zeros()) as usize;
        let lengths =
            suffixes.take(length_count).enumerate().filter(|(length, _)| self.lengths & 1 << length != 0);
        lengths.filter_map(|(_, key)| self.exact(key)).last()
    }

    fn exact(&self, apex: Key<'_>) -> Option<&Hosting> {
        let entry = self.zones.find(apex.hash(), |entry| entry.apex.key() == apex)?;
        Some(&entry.hosting)
    }
}

fn length_bit(apex: &Folded) -> u128 {
    1 << apex.name().label_count()
}
