//! What changed from one version of a zone to the next: the content of an incremental transfer (RFC 1995).
//!
//! Both versions lie in the same order, so this is one merge that holds nothing but two records at a time.

use std::cmp::Ordering;

use domain::base::iana::Rtype;

use super::rdata::{canonical_into, covered_type};
use super::{Record, Records, Zone};

/// One record that one version has and the other has not. A record whose TTL or spelling changed is both
/// removed and added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change<'z> {
    /// The old version has it.
    Removed(Record<'z>),
    /// The new version has it.
    Added(Record<'z>),
}

/// All changes but that of the SOA, which a transfer carries apart.
pub struct Diff<'z> {
    old: Side<'z>,
    new: Side<'z>,
    /// The new form of a record whose old form was just given.
    pending: Option<Record<'z>>,
}

/// What changed from `old` to `new`.
pub fn diff<'z>(old: &'z Zone, new: &'z Zone) -> Diff<'z> {
    Diff { old: Side::new(old), new: Side::new(new), pending: None }
}

/// A version under reading, its next record at hand.
struct Side<'z> {
    records: Records<'z>,
    /// Whether it is one of a hashed owner, which come last.
    next: Option<(bool, Record<'z>)>,
}

impl<'z> Side<'z> {
    fn new(zone: &'z Zone) -> Self {
        let mut side = Side { records: zone.records(), next: None };
        // The SOA comes first.
        side.records.next();
        side.advance();
        side
    }

    fn advance(&mut self) -> Option<Record<'z>> {
        let next = self.records.next().map(|record| (self.records.is_at_hashed(), record));
        std::mem::replace(&mut self.next, next).map(|(_, record)| record)
    }
}

fn order(old: &(bool, Record<'_>), new: &(bool, Record<'_>)) -> Ordering {
    let place =
        |(hashed, record): &(bool, Record<'_>)| (*hashed, record.owner, set_type(record), record.rtype);
    let ((left, right), (_, old), (_, new)) = ((place(old), place(new)), old, new);
    let by_place = left.0.cmp(&right.0).then_with(|| left.1.cmp(&right.1)).then(left.2.cmp(&right.2));
    let sigs_last = (left.3 == Rtype::RRSIG).cmp(&(right.3 == Rtype::RRSIG));
    by_place.then(sigs_last).then_with(|| data_order(old, new))
}

/// The type of the set that a record is kept with.
fn set_type(record: &Record<'_>) -> u16 {
    let covered = covered_type(record.rdata).filter(|_| record.rtype == Rtype::RRSIG);
    covered.unwrap_or(record.rtype).to_int()
}

fn data_order(old: &Record<'_>, new: &Record<'_>) -> Ordering {
    if old.rdata == new.rdata {
        return Ordering::Equal;
    }
    let canonical = |record: &Record<'_>| {
        let mut data = Vec::with_capacity(record.rdata.len());
        canonical_into(record.rtype, record.rdata, &mut data);
        data
    };
    canonical(old).cmp(&canonical(new))
}

impl<'z> Iterator for Diff<'z> {
    type Item = Change<'z>;

    fn next(&mut self) -> Option<Change<'z>> {
        if let Some(added) = self.pending.take() {
            return Some(Change::Added(added));
        }
        loop {
            let order = match (&self.old.next, &self.new.next) {
                (Some(old), Some(new)) => order(old, new),
                (Some(_), None) => Ordering::Less,
                (None, _) => Ordering::Greater,
            };
            match order {
                Ordering::Less => return self.old.advance().map(Change::Removed),
                Ordering::Greater => return self.new.advance().map(Change::Added),
                Ordering::Equal => {
                    let (old, new) = (self.old.advance()?, self.new.advance()?);
                    if old != new {
                        self.pending = Some(new);
                        return Some(Change::Removed(old));
                    }
                }
            }
        }
    }
}
