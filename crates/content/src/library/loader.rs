//! The thread that reads files and follows their changes, so that no worker ever waits for a disk.
//!
//! ```text
//!   workers --Job--> [bounded queue] --> load --> Completion --> [each worker's queue] + waker
//!   inotify --> changed directories, until it is quiet --> list again --> publish a catalogue
//!   the root's name, once a second if it is a link --> another directory --> publish its catalogue
//! ```
//!
//! Invariant: each job gets exactly one completion, as long as its worker exists.

use super::catalogue::Catalogue;
use super::counters::{Tally, count};
use super::document::{Document, Loaded};
use super::encoding::Encoding;
use super::error::LoadError;
use super::preparer::Preparer;
use super::root::Root;
use super::tree::Changes;
use super::{Completion, Shared, Waker};
use crossbeam_channel::{Receiver, Sender};
use std::collections::BTreeSet;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tidegate_base::{Duration, Instant};
use tidegate_sys::clock;
use tidegate_sys::event::{self, Change, ChangeKind, Interest, TreeWatch};

/// How long the tree must be quiet before changes are applied, so that a deployment of many files is one.
const QUIET: Duration = Duration::from_millis(20);
/// How long changes wait at most while it is not quiet.
const PATIENCE: Duration = Duration::from_millis(80);
/// How often a root that is named through a link is looked up again.
const ROOT_PERIOD: Duration = Duration::from_secs(1);
/// How long the thread rests if waiting fails, which it does only if the kernel is out of memory.
const REST: std::time::Duration = std::time::Duration::from_millis(20);

/// A worker's wish.
pub(crate) struct Job {
    pub(crate) document: Arc<Document>,
    pub(crate) encoding: Encoding,
    pub(crate) ticket: u64,
    pub(crate) done: Sender<Completion>,
    pub(crate) waker: Waker,
}

/// Changes that were seen and not applied yet.
#[derive(Default)]
struct Pending {
    changes: Changes,
    first: Instant,
    last: Instant,
}

impl Pending {
    fn due(&self) -> Option<Instant> {
        let due = (self.last + QUIET).min(self.first + PATIENCE);
        (!self.changes.is_empty()).then_some(due)
    }

    fn stamp(&mut self, now: Instant) {
        if self.changes.is_empty() {
            self.first = now;
        }
        self.last = now;
    }
}

pub(crate) struct Loader {
    shared: Arc<Shared>,
    jobs: Receiver<Job>,
    preparer: Preparer,
    root: Root,
    is_watched: bool,
    pending: Pending,
    root_due: Instant,
}

impl Loader {
    pub(crate) fn new(
        shared: Arc<Shared>,
        jobs: Receiver<Job>,
        preparer: Preparer,
        root: Root,
        is_watched: bool,
    ) -> Self {
        let root_due = clock::now() + ROOT_PERIOD;
        Self { shared, jobs, preparer, root, is_watched, pending: Pending::default(), root_due }
    }

    /// Works until the library is dropped.
    pub(crate) fn run(mut self) {
        while !self.shared.is_stopping.load(Ordering::Acquire) {
            self.wait();
            self.follow_root();
            self.renew_if_due();
            self.note_changes();
            self.serve_jobs();
            self.publish_if_due();
        }
    }

    fn wait(&self) {
        let root_due = self.follows_root().then_some(self.root_due);
        let due = self.pending.due().into_iter().chain(root_due).min();
        let timeout = due.map(|due| due - clock::now());
        let wake = (self.shared.wake.as_fd(), Interest::READ);
        let watched = self.root.watch.as_ref().map(|watch| (watch.as_fd(), Interest::READ));
        let waited = match watched {
            Some(watched) => event::poll(&[wake, watched], timeout),
            None => event::poll(&[wake], timeout),
        };
        // Cleared before the queue is looked at, so that what is queued later wakes again.
        if waited.and_then(|_| self.shared.wake.clear()).is_err() {
            std::thread::sleep(REST);
        }
    }

    fn serve_jobs(&mut self) {
        while let Ok(job) = self.jobs.try_recv() {
            let outcome = self.load(&job.document, job.encoding);
            // A worker that has gone needs no answer.
            let _ = job.done.send(Completion { ticket: job.ticket, outcome });
            (job.waker)();
        }
    }

    fn load(&mut self, document: &Arc<Document>, encoding: Encoding) -> Result<Arc<Loaded>, LoadError> {
        // Several workers may have asked for it.
        if let Some(loaded) = document.variant(encoding).and_then(|variant| variant.loaded()) {
            return Ok(loaded);
        }
        let outcome = self.preparer.prepare(&self.root.directory, document, encoding);
        count(tally_of(&self.shared.tally, &outcome));
        let evicted_count = self.preparer.budget.evicted_count();
        self.shared.tally.evicted.store(evicted_count, Ordering::Relaxed);
        outcome
    }

    fn follows_root(&self) -> bool {
        self.is_watched && self.root.is_link()
    }

    /// Serves the directory that the root's name means now, if it is another.
    fn follow_root(&mut self) {
        let is_due = self.follows_root() && self.root_due <= clock::now();
        if !is_due && !self.shared.is_rescan_due.load(Ordering::Acquire) {
            return;
        }
        self.root_due = clock::now() + ROOT_PERIOD;
        if let Some(successor) = self.root.successor(self.is_watched) {
            self.root = successor;
            self.publish_anew();
        }
    }

    fn renew_if_due(&mut self) {
        if self.shared.is_renewal_due.swap(false, Ordering::AcqRel) {
            self.root.tree.clear();
            self.publish_anew();
        }
    }

    /// Shows workers a catalogue that shares nothing with the one before.
    fn publish_anew(&mut self) {
        self.pending = Pending::default();
        let everything = self.root.tree.everything();
        let emptied = self.shared.catalogue.load().emptied();
        self.publish(everything, &emptied);
    }

    fn note_changes(&mut self) {
        if self.shared.is_rescan_due.swap(false, Ordering::AcqRel) {
            self.note(self.root.tree.everything());
        }
        match self.root.watch.as_mut().map(TreeWatch::try_changes) {
            Some(Ok(changes)) => changes.iter().for_each(|change| self.note_change(change)),
            Some(Err(_)) => {
                count(&self.shared.tally.watch_failed);
                self.note(self.root.tree.everything());
            }
            None => {}
        }
    }

    fn note_change(&mut self, change: &Change) {
        let changes = match change.kind {
            ChangeKind::Overflow => self.root.tree.everything(),
            _ => self.changes_at(&change.path, change.kind == ChangeKind::Directory).unwrap_or_default(),
        };
        self.note(changes);
    }

    /// What a change of the file or directory at `path` means for the tree.
    fn changes_at(&self, path: &Path, is_directory: bool) -> Option<Changes> {
        let inside = path.strip_prefix(self.root.tree.root()).ok()?;
        let bytes = |path: &Path| Box::from(path.as_os_str().as_bytes());
        let mut directories = BTreeSet::from_iter(inside.parent().map(bytes));
        let path = bytes(inside);
        if is_directory {
            directories.insert(path);
            return Some(Changes { directories, ..Changes::default() });
        }
        Some(Changes { directories, files: [path].into() })
    }

    fn note(&mut self, changes: Changes) {
        if !changes.is_empty() {
            self.pending.stamp(clock::now());
            self.pending.changes.directories.extend(changes.directories);
            self.pending.changes.files.extend(changes.files);
        }
    }

    fn publish_if_due(&mut self) {
        if self.pending.due().is_none_or(|due| due > clock::now()) {
            return;
        }
        let changes = std::mem::take(&mut self.pending.changes);
        let current = self.shared.catalogue.load_full();
        self.publish(changes, &current);
    }

    /// Shows workers the catalogue that follows `current` by `changes`.
    fn publish(&mut self, changes: Changes, current: &Catalogue) {
        let next = self.root.tree.apply(changes, current);
        self.shared.catalogue.store(Arc::new(next));
        self.preparer.budget.tidy();
        count(&self.shared.tally.reloaded);
    }
}

/// Where the outcome of a load is counted.
fn tally_of<'a>(
    tally: &'a Tally,
    outcome: &Result<Arc<Loaded>, LoadError>,
) -> &'a std::sync::atomic::AtomicU64 {
    match outcome {
        Ok(loaded) if loaded.full.is_streamed() => &tally.streamed,
        Ok(_) => &tally.loaded,
        Err(_) => &tally.failed,
    }
}
