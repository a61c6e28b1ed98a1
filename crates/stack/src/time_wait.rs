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

pub(crate) struct TimeWaitTable {
    entries: HashMap<FlowKey, Entry, FlowHasher>,
    by_age: VecDeque<(Instant, FlowKey)>,
    count_max: usize,
}

impl TimeWaitTable {
    pub(crate) fn new(hasher: FlowHasher, count_max: usize) -> Self {
        Self { entries: HashMap::with_hasher(hasher), by_age: VecDeque::new(), count_max }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn insert(&mut self, key: FlowKey, entry: Entry) {
        while self.by_age.len() >= self.count_max {
            self.forget_oldest();
        }
        self.by_age.push_back((entry.tcb.deadline(), key));
        self.entries.insert(key, entry);
    }

    #[inline]
    pub(crate) fn find(&mut self, key: &FlowKey) -> Option<&mut Entry> {
        if self.entries.is_empty() { None } else { self.entries.get_mut(key) }
    }

    /// Forgets one; its place in the queue goes when its time comes.
    pub(crate) fn remove(&mut self, key: &FlowKey) {
        self.entries.remove(key);
    }

    /// When the oldest may be forgotten.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.by_age.front().map(|(at, _)| *at)
    }

    /// Forgets all whose time has come.
    pub(crate) fn expire(&mut self, now: Instant) {
        while self.next_deadline().is_some_and(|at| at <= now) {
            self.forget_due(now);
        }
    }

    fn forget_due(&mut self, now: Instant) {
        let Some((_, key)) = self.by_age.pop_front() else { return };
        let Some(entry) = self.entries.get(&key) else { return };
        // A FIN that came again restarted the wait.
        match entry.tcb.deadline() {
            later if later > now => self.by_age.push_back((later, key)),
            _ => self.remove(&key),
        }
    }

    fn forget_oldest(&mut self) {
        if let Some((_, key)) = self.by_age.pop_front() {
            self.entries.remove(&key);
        }
    }
}
