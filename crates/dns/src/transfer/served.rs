//! What is served now, and what happens when that changes.
//!
//! ```text
//!   publish(zones) -> journal: the step from the version before -> catalog swapped -> secondaries told
//! ```
//! Shared by all: workers read the catalog (one load a burst), and the journals when somebody asks for a
//! transfer; whoever reads files or copies zones publishes.
//!
//! Invariant: one publication at a time, so that no zone is lost to two successors of one catalog, and a step
//! in a journal leads from a version that was served to the next one that was.

use super::clock::Clock;
use super::journal::{Delta, Journal};
use super::notify::sender::Change;
use super::relations::Relations;
use crate::name::{Name, NameBuf};
use crate::zone::{Catalog, Lack, Zone};
use arc_swap::ArcSwap;
use crossbeam_channel::Sender;
use hashbrown::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tidegate_base::Instant;

/// The zones that are served, and how they came to be what they are.
pub struct Served {
    catalog: Arc<ArcSwap<Catalog>>,
    relations: ArcSwap<Relations>,
    journals: Mutex<HashMap<NameBuf, Arc<Journal>>>,
    /// When copies expire; of zones of our own there is nothing.
    expiries: Mutex<HashMap<NameBuf, Instant>>,
    publication: Mutex<()>,
    changes: Sender<Change>,
    clock: Clock,
}

impl Served {
    /// Nothing is served yet. `changes` is where secondaries are told from.
    pub(crate) fn new(relations: Relations, changes: Sender<Change>, clock: Clock) -> Arc<Self> {
        Arc::new(Self {
            catalog: Arc::default(),
            relations: ArcSwap::from_pointee(relations),
            journals: Mutex::default(),
            expiries: Mutex::default(),
            publication: Mutex::default(),
            changes,
            clock,
        })
    }

    /// The catalog, for workers to answer from.
    pub fn catalog(&self) -> Arc<ArcSwap<Catalog>> {
        Arc::clone(&self.catalog)
    }

    /// How zones relate to other servers.
    pub(crate) fn relations(&self) -> Arc<Relations> {
        self.relations.load_full()
    }

    /// Goes on under other relations.
    pub(crate) fn set_relations(&self, relations: Relations) {
        self.relations.store(Arc::new(relations));
    }

    /// Serves `zones` in place of those of their names, and tells their secondaries of new versions.
    pub fn publish(&self, zones: Vec<Arc<Zone>>) {
        let _turn = lock(&self.publication);
        let old = self.catalog.load_full();
        zones.iter().for_each(|zone| self.note(&old, zone));
        self.catalog.store(Arc::new(old.with_all(zones.iter().cloned())));
        for zone in &zones {
            let is_same = version(&old, zone.apex()).is_some_and(|old| old.serial() == zone.serial());
            if !is_same {
                self.tell(zone.apex());
            }
        }
    }

    /// Answers SERVFAIL for a zone that is ours to serve and cannot be.
    pub fn withdraw(&self, apex: &Name, lack: Lack) {
        let _turn = lock(&self.publication);
        let next = self.catalog.load().with_unavailable(apex, lack);
        self.catalog.store(Arc::new(next));
    }

    /// Knows nothing of these zones any more.
    pub fn forget(&self, apexes: &[NameBuf]) {
        let _turn = lock(&self.publication);
        let next = apexes.iter().fold(Catalog::clone(&self.catalog.load()), |next, apex| next.without(apex));
        self.catalog.store(Arc::new(next));
        let mut journals = lock(&self.journals);
        apexes.iter().for_each(|apex| drop(journals.remove(apex)));
    }

    /// Until when a copy may be served; no copy any more, if there is no such time.
    pub(crate) fn set_expiry(&self, apex: &Name, expires: Option<Instant>) {
        let mut expiries = lock(&self.expiries);
        match expires {
            Some(expires) => drop(expiries.insert(apex.to_owned(), expires)),
            None => drop(expiries.remove(apex)),
        }
    }

    /// Seconds that who copies `zone` from here may serve it (RFC 7314 section 3): as long as the SOA says if it is
    /// ours, as long as we may ourselves if it is a copy.
    pub(crate) fn expire_s(&self, zone: &Zone) -> u32 {
        let expires = lock(&self.expiries).get(zone.apex()).copied();
        expires.map_or(zone.soa().expire, |expires| {
            u32::try_from(expires.since(self.clock.now()).as_millis() / 1000).unwrap_or(u32::MAX)
        })
    }

    /// The version of a zone that is served.
    pub(crate) fn zone(&self, apex: &Name) -> Option<Arc<Zone>> {
        version(&self.catalog.load(), apex).cloned()
    }

    /// How version `from` of a zone becomes `zone`, if that is known and shorter than all of it.
    pub(crate) fn way(&self, from: u32, zone: &Zone) -> Option<Vec<Arc<Delta>>> {
        let journal = Arc::clone(lock(&self.journals).get(zone.apex())?);
        journal.way(from, zone.serial(), zone.transfer_size())
    }

    /// Writes down how `zone` came out of the version before. Nobody reads the journal while the difference is
    /// found, which takes time in proportion to the zone.
    fn note(&self, old: &Catalog, zone: &Arc<Zone>) {
        let Some(before) = version(old, zone.apex()).filter(|before| !Arc::ptr_eq(before, zone)) else {
            return;
        };
        let delta = Delta::between(before, zone);
        if before.serial() == zone.serial() {
            return self.note_same_serial(zone, &delta);
        }
        let journal = lock(&self.journals).get(zone.apex()).cloned().unwrap_or_default();
        let next = journal.with(delta, self.relations.load().journal_len_max());
        lock(&self.journals).insert(zone.apex().to_owned(), Arc::new(next));
    }

    /// Steps from or to a version that means two things would make copies of neither.
    fn note_same_serial(&self, zone: &Zone, delta: &Delta) {
        if !delta.is_empty() {
            let (apex, serial) = (zone.apex(), zone.serial());
            tracing::warn!("{apex} has changed, and its serial {serial} has not: no secondary will notice");
            lock(&self.journals).remove(apex);
        }
    }

    fn tell(&self, apex: &Name) {
        let relations = self.relations.load();
        let Some(relation) = relations.of(apex).filter(|relation| !relation.notify.is_empty()) else {
            return;
        };
        let change = Change { apex: apex.to_owned(), targets: relation.notify.clone() };
        // The thread that tells them is gone only when all ends.
        let _ = self.changes.send(change);
    }
}

fn version<'c>(catalog: &'c Catalog, apex: &Name) -> Option<&'c Arc<Zone>> {
    catalog.hosting(&crate::name::Folded::of(apex))?.zone()
}

/// What a panic left half done is a map entry at most: whole either way.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
