//! Connections in TIME-WAIT: small entries, oldest first, at most so many. When there are more, the
//! oldest is forgotten early; RFC 6528 sequence numbers and timestamps still keep its old segments
//! from harming a successor.

use crate::flow::FlowKey;
use std::collections::{HashMap, VecDeque};
use tidegate_base::{FlowHasher, Instant};
use tidegate_tcp::TimeWait;

pub(crate) struct Entry {
    pub(crate) tcb: TimeWait,
    pub(crate) profile: u16,
}

/// What waits until a time.
pub(crate) trait Wait {
    /// When it may be forgotten; may be put off meanwhile.
    fn deadline(&self) -> Instant;
}

impl Wait for Entry {
    fn deadline(&self) -> Instant {
        self.tcb.deadline()
    }
}

/// An entry's place in the queue. Places outlive entries that a new connection took over from; their serial numbers then
/// differ, and they are passed over.
struct Place {
    due: Instant,
    key: FlowKey,
    serial: u64,
}

pub(crate) struct TimeWaitTable<E = Entry> {
    entries: HashMap<FlowKey, (u64, E), FlowHasher>,
    by_age: VecDeque<Place>,
    count_max: usize,
    next_serial: u64,
}

impl<E: Wait> TimeWaitTable<E> {
    pub(crate) fn new(hasher: FlowHasher, count_max: usize) -> Self {
        let entries = HashMap::with_hasher(hasher);
        Self { entries, by_age: VecDeque::new(), count_max, next_serial: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn insert(&mut self, key: FlowKey, entry: E) {
        while self.entries.len() >= self.count_max {
            self.forget_oldest();
        }
        if self.by_age.len() >= 2 * self.count_max {
            self.drop_left_places();
        }
        let serial = self.next_serial;
        self.next_serial += 1;
        self.by_age.push_back(Place { due: entry.deadline(), key, serial });
        self.entries.insert(key, (serial, entry));
    }

    #[inline]
    pub(crate) fn find(&mut self, key: &FlowKey) -> Option<&mut E> {
        if self.entries.is_empty() { None } else { self.entries.get_mut(key).map(|(_, entry)| entry) }
    }

    /// Forgets one; its place in the queue goes when its time comes.
    pub(crate) fn remove(&mut self, key: &FlowKey) {
        self.entries.remove(key);
    }

    /// When the oldest may be forgotten.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.by_age.front().map(|place| place.due)
    }

    /// Forgets all whose time has come.
    pub(crate) fn expire(&mut self, now: Instant) {
        while self.next_deadline().is_some_and(|at| at <= now) {
            self.forget_due(now);
        }
    }

    fn forget_due(&mut self, now: Instant) {
        let Some(place) = self.by_age.pop_front() else { return };
        let Some((serial, entry)) = self.entries.get(&place.key) else { return };
        if *serial != place.serial {
            return;
        }
        // A FIN that came again restarted the wait.
        match entry.deadline() {
            due if due > now => self.by_age.push_back(Place { due, ..place }),
            _ => self.remove(&place.key),
        }
    }

    fn forget_oldest(&mut self) {
        while let Some(place) = self.by_age.pop_front() {
            if self.entries.get(&place.key).is_some_and(|(serial, _)| *serial == place.serial) {
                return self.remove(&place.key);
            }
        }
    }

    /// Half the places at least are of entries that are gone: what this costs is spread over as many insertions.
    fn drop_left_places(&mut self) {
        let Self { entries, by_age, .. } = self;
        by_age.retain(|place| entries.get(&place.key).is_some_and(|(serial, _)| *serial == place.serial));
    }
}

#[cfg(test)]
#[path = "time_wait_tests.rs"]
mod tests;
