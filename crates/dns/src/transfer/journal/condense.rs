//! Several steps made one: what came and went again on the way is left out (RFC 1995 section 5).

use super::{Delta, Packed};
use hashbrown::HashMap;
use std::sync::Arc;

/// What became of one record.
#[derive(Clone, Copy)]
struct Fate {
    /// The version that the steps start from has it.
    was: bool,
    /// The version that they lead to has it.
    is: bool,
}

/// The one step that leads where `steps` lead, which follow each other. None if there are none.
pub(super) fn condense(steps: &[Arc<Delta>]) -> Option<Delta> {
    let (first, last) = (steps.first()?, steps.last()?);
    let mut fates = Fates::default();
    for step in steps {
        data_of(&step.removed).for_each(|record| fates.note(record, false));
        data_of(&step.added).for_each(|record| fates.note(record, true));
    }
    let mut removed = Packed(first.removed.raw().next()?.to_vec());
    let mut added = Packed(last.added.raw().next()?.to_vec());
    for (record, fate) in fates.in_order {
        match (fate.was, fate.is) {
            (true, false) => removed.0.extend_from_slice(record),
            (false, true) => added.0.extend_from_slice(record),
            _ => {}
        }
    }
    Some(Delta { from: first.from, to: last.to, removed, added })
}

/// Everything but the SOA, which is first.
fn data_of(records: &Packed) -> impl Iterator<Item = &[u8]> {
    records.raw().skip(1)
}

/// All records that changed, in the order in which they did: those of a name stay together so.
#[derive(Default)]
struct Fates<'d> {
    in_order: Vec<(&'d [u8], Fate)>,
    places: HashMap<&'d [u8], usize>,
}

impl<'d> Fates<'d> {
    /// A record comes (`is`) or goes. One that goes first was there before.
    fn note(&mut self, record: &'d [u8], is: bool) {
        let place = *self.places.entry(record).or_insert_with(|| {
            self.in_order.push((record, Fate { was: !is, is }));
            self.in_order.len() - 1
        });
        if let Some((_, fate)) = self.in_order.get_mut(place) {
            fate.is = is;
        }
    }
}
