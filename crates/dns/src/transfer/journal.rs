//! How a zone came to be what it is: the last few steps from version to version, for incremental transfers
//! (RFC 1995).
//!
//! ```text
//!   zone 7 --delta--> zone 8 --delta--> zone 9        a secondary that has 8 gets the last, one that has 7 both
//!                                                     in one, one that has 5 the whole zone
//! ```
//! Kept in memory only: after a start the first transfer of each zone is a whole one.
//!
//! Invariant: each delta starts from the version that the one before it leads to, and together they are not
//! longer than the journal may be.

mod condense;

use crate::name::Name;
use crate::zone::{Change, Record, Records, Zone, diff};
use condense::condense;
use domain::base::iana::Rtype;
use std::collections::VecDeque;
use std::sync::Arc;

/// Steps that are kept of a zone.
const DELTA_COUNT_MAX: usize = 64;
/// The longest steps that are condensed: a worker's other clients wait meanwhile.
const CONDENSE_LEN_MAX: usize = 256 << 10;

/// One step: what has to be removed from a version, and what added, to make the next one of it.
pub(crate) struct Delta {
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// The old SOA, then the records that are gone.
    pub(crate) removed: Packed,
    /// The new SOA, then the records that are new.
    pub(crate) added: Packed,
}

impl Delta {
    /// The step from `old` to `new`. Takes time in proportion to both.
    pub(crate) fn between(old: &Zone, new: &Zone) -> Self {
        let mut delta = Self::of_soas(old, new);
        for change in diff(old, new) {
            match change {
                Change::Removed(record) => delta.removed.push(&record),
                Change::Added(record) => delta.added.push(&record),
            }
        }
        delta
    }

    fn of_soas(old: &Zone, new: &Zone) -> Self {
        let packed = |zone| {
            let mut packed = Packed::default();
            if let Some(soa) = Records::soa(zone) {
                packed.push(&soa);
            }
            packed
        };
        Self { from: old.serial(), to: new.serial(), removed: packed(old), added: packed(new) }
    }

    /// Whether nothing has changed but, perhaps, the SOA.
    pub(crate) fn is_empty(&self) -> bool {
        let is_soa_alone = |packed: &Packed| packed.raw().nth(1).is_none();
        is_soa_alone(&self.removed) && is_soa_alone(&self.added)
    }

    const fn len(&self) -> usize {
        self.removed.len() + self.added.len()
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

    /// The records as they lie here, one by one.
    fn raw(&self) -> impl Iterator<Item = &[u8]> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let (_, next) = self.record_at(at)?;
            self.0.get(std::mem::replace(&mut at, next)..next)
        })
    }

    const fn len(&self) -> usize {
        self.0.len()
    }
}

/// The last steps of one zone. It never changes: a further step makes its successor.
#[derive(Clone, Default)]
pub(crate) struct Journal(VecDeque<Arc<Delta>>);

impl Journal {
    /// How version `from` becomes version `to`, if that is known and not longer than `zone_len`: then the whole
    /// zone is the better answer. Several steps are made one (RFC 1995 section 5), unless there is too much of
    /// them.
    pub(crate) fn way(&self, from: u32, to: u32, zone_len: usize) -> Option<Vec<Arc<Delta>>> {
        let steps = self.steps(from, to)?;
        let steps = match &*steps {
            [_, _, ..] if len(&steps) <= CONDENSE_LEN_MAX => vec![Arc::new(condense(&steps)?)],
            _ => steps,
        };
        (len(&steps) <= zone_len).then_some(steps)
    }

    fn steps(&self, from: u32, to: u32) -> Option<Vec<Arc<Delta>>> {
        let first = self.0.iter().position(|delta| delta.from == from)?;
        let last = self.0.iter().position(|delta| delta.to == to)?;
        (first <= last).then(|| self.0.range(first..=last).cloned().collect())
    }

    /// The journal one step on. A step that does not follow the last one begins a journal of its own. The oldest
    /// go when all are longer than `len_max`.
    pub(crate) fn with(&self, delta: Delta, len_max: usize) -> Self {
        let follows = self.0.back().is_none_or(|last| last.to == delta.from);
        let mut next = if follows { self.clone() } else { Self::default() };
        next.0.push_back(Arc::new(delta));
        while next.0.len() > DELTA_COUNT_MAX || len(&next.0) > len_max {
            next.0.pop_front();
        }
        next
    }
}

fn len<'d>(deltas: impl IntoIterator<Item = &'d Arc<Delta>>) -> usize {
    deltas.into_iter().map(|delta| delta.len()).sum()
}
