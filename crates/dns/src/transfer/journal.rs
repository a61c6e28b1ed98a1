//! How a zone came to be what it is: the last few steps from version to version, for incremental transfers
//! (RFC 1995).
//!
//! ```text
//!   zone 7 --delta--> zone 8 --delta--> zone 9        a secondary that has 7 gets both, one that has 8 the last,
//!                                                     one that has 5 the whole zone
//! ```
//! Kept in memory only: after a start the first transfer of each zone is a whole one.
//!
//! Invariant: each delta starts from the version that the one before it leads to, and together they are not
//! longer than the zone they lead to.

use crate::name::Name;
use crate::zone::{Record, Records, Zone};
use domain::base::iana::Rtype;
use hashbrown::HashSet;
use siphasher::sip128::{Hasher128, SipHasher13};
use std::collections::VecDeque;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;

/// Steps that are kept of a zone.
const DELTA_COUNT_MAX: usize = 64;

/// One step: what has to be removed from a version, and what added, to make the next one of it.
pub(crate) struct Delta {
    /// How many records there are in it, without the SOAs.
    change_count: usize,
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// The old SOA, then the records that are gone.
    pub(crate) removed: Packed,
    /// The new SOA, then the records that are new.
    pub(crate) added: Packed,
}

impl Delta {
    /// The step from `old` to `new`. Takes time in proportion to both, and 16 bytes a record of `old`.
    pub(crate) fn between(old: &Zone, new: &Zone) -> Self {
        let (mut removed, mut added) = (Packed::default(), Packed::default());
        removed.push_soa(old);
        added.push_soa(new);
        let digest = Digest::new();
        let mut gone: HashSet<u128> = data_of(old).map(|record| digest.of(&record)).collect();
        let mut change_count = 0;
        for record in data_of(new).filter(|record| !gone.remove(&digest.of(record))) {
            added.push(&record);
            change_count += 1;
        }
        for record in data_of(old).filter(|record| gone.contains(&digest.of(record))) {
            removed.push(&record);
            change_count += 1;
        }
        Self { change_count, from: old.serial(), to: new.serial(), removed, added }
    }

    /// Whether nothing has changed but, perhaps, the SOA.
    pub(crate) const fn is_empty(&self) -> bool {
        self.change_count == 0
    }

    const fn len(&self) -> usize {
        self.removed.len() + self.added.len()
    }
}

/// Everything but the SOA, which changes with each version.
fn data_of(zone: &Zone) -> impl Iterator<Item = Record<'_>> {
    zone.records().filter(|record| record.rtype != Rtype::SOA)
}

/// A number for each record that no other has: its key is secret, so that nobody who writes a zone can make
/// two records have the same.
struct Digest([u64; 2]);

impl Digest {
    fn new() -> Self {
        Self([0, 1].map(|n| RandomState::new().hash_one(n)))
    }

    fn of(&self, record: &Record<'_>) -> u128 {
        let mut hasher = SipHasher13::new_with_keys(self.0[0], self.0[1]);
        hasher.write(record.owner.as_wire());
        hasher.write_u16(record.rtype.to_int());
        hasher.write_u32(record.ttl);
        hasher.write(record.rdata);
        hasher.finish128().as_u128()
    }
}

/// Records one behind the other: owner, type, TTL, length of data, data.
#[derive(Default)]
pub(crate) struct Packed(Vec<u8>);

/// One of them.
pub(crate) struct PackedRecord<'a> {
    pub(crate) owner: &'a Name,
    pub(crate) rtype: Rtype,
    pub(crate) ttl: u32,
    pub(crate) rdata: &'a [u8],
}

impl Packed {
    fn push_soa(&mut self, zone: &Zone) {
        if let Some(soa) = Records::soa(zone) {
            self.push(&soa);
        }
    }

    fn push(&mut self, record: &Record<'_>) {
        self.0.extend_from_slice(record.owner.as_wire());
        self.0.extend_from_slice(&record.rtype.to_int().to_be_bytes());
        self.0.extend_from_slice(&record.ttl.to_be_bytes());
        // Data came out of 16 bits of length.
        self.0.extend_from_slice(&(record.rdata.len() as u16).to_be_bytes());
        self.0.extend_from_slice(record.rdata);
    }

    /// The record at `at`, and where the next one is.
    pub(crate) fn record_at(&self, at: usize) -> Option<(PackedRecord<'_>, usize)> {
        let (owner, rest) = Name::split_from(self.0.get(at..)?).ok()?;
        let (fixed, rest) = rest.split_first_chunk::<8>()?;
        let [t0, t1, l0, l1, l2, l3, d0, d1] = *fixed;
        let (rdata, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes([d0, d1])))?;
        let rtype = Rtype::from_int(u16::from_be_bytes([t0, t1]));
        let ttl = u32::from_be_bytes([l0, l1, l2, l3]);
        Some((PackedRecord { owner, rtype, ttl, rdata }, self.0.len() - rest.len()))
    }

    const fn len(&self) -> usize {
        self.0.len()
    }
}

/// The last steps of one zone. It never changes: a further step makes its successor.
#[derive(Clone, Default)]
pub(crate) struct Journal(VecDeque<Arc<Delta>>);

impl Journal {
    /// The steps from version `from` to version `to`, if all of them are here.
    pub(crate) fn steps(&self, from: u32, to: u32) -> Option<Vec<Arc<Delta>>> {
        let first = self.0.iter().position(|delta| delta.from == from)?;
        let last = self.0.iter().position(|delta| delta.to == to)?;
        (first <= last).then(|| self.0.range(first..=last).cloned().collect())
    }

    /// The journal one step on. A step that does not follow the last one begins a journal of its own. Steps
    /// that are longer in all than `len_max` are not worth keeping: the zone itself is shorter.
    pub(crate) fn with(&self, delta: Delta, len_max: usize) -> Self {
        let follows = self.0.back().is_none_or(|last| last.to == delta.from);
        let mut next = if follows { self.clone() } else { Self::default() };
        next.0.push_back(Arc::new(delta));
        while next.0.len() > DELTA_COUNT_MAX || next.len() > len_max {
            next.0.pop_front();
        }
        next
    }

    fn len(&self) -> usize {
        self.0.iter().map(|delta| delta.len()).sum()
    }
}
