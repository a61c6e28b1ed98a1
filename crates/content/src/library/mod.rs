//! The files below a root, and the answers that are made of them.
//!
//! ```text
//!   Reader (a worker's)  find(path) --> Entry::File(Document) --> variant.loaded()? --> Prepared
//!        |                                   | no
//!        |  request(document, coding, ticket)|
//!        v                                   v
//!   [bounded queue] --> loader's thread --> Completion { ticket, outcome } --> waker, Reader::poll
//! ```
//!
//! Workers see a catalogue behind one atomic pointer: looking up takes no lock and never waits. Files are read
//! when they are first asked for, kept under a memory budget, and given up in the order of their last use;
//! the tree may hold any number of them. A change on disk swaps the catalogue; responses under way hold what
//! they send.
//!
//! A file that is being written is served as it was until its writer closes it. A file that is replaced by
//! rename(2) is replaced at once, as a good deployment does it; so is a root that is named through a link, when
//! the link is turned.
//!
//! What is absent: HTTP (see [`Present`]), and any view on which names may be served, dot files included.

mod budget;
mod catalogue;
mod counters;
mod document;
mod encoding;
mod error;
mod listing;
mod loader;
mod preparer;
mod present;
mod root;
mod tree;

pub use catalogue::Entry;
pub use counters::LibraryCounters;
pub use document::{Document, FileMeta, Loaded, Variant};
pub use encoding::Encoding;
pub use error::{LibraryError, LoadError};
pub use present::{Present, Subject};

use crate::block::Account;
use arc_swap::ArcSwap;
use budget::Budget;
use catalogue::Catalogue;
use counters::{Tally, count};
use crossbeam_channel::{Receiver, Sender};
use loader::{Job, Loader};
use preparer::Preparer;
use root::Root;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use tidegate_sys::event::{EventFd, WatchError};

/// Called on the loader's thread when a completion waits for a worker.
pub type Waker = Arc<dyn Fn() + Send + Sync>;

/// What a library is to be.
#[derive(Clone, Debug)]
pub struct LibraryConfig {
    /// The directory that is served.
    pub root: PathBuf,
    /// Bytes of content that may be in memory.
    pub memory: u64,
    /// Files of at least so many bytes are streamed. Bounded by an eighth of `memory`.
    pub stream_from: u64,
    /// Streamed files that may be open.
    pub open_count_max: usize,
    /// Requests that may wait for the loader.
    pub queue_len: usize,
    /// Whether changes on disk are followed without being told.
    pub is_watched: bool,
}

impl LibraryConfig {
    /// Serves `root` with 256 MiB of memory.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            memory: 256 << 20,
            stream_from: 64 << 20,
            open_count_max: 256,
            queue_len: 4096,
            is_watched: true,
        }
    }

    fn stream_from(&self) -> u64 {
        self.stream_from.min(self.memory / 8)
    }
}

/// What workers, the loader and whoever controls them share.
struct Shared {
    catalogue: Arc<ArcSwap<Catalogue>>,
    wake: EventFd,
    is_stopping: AtomicBool,
    is_rescan_due: AtomicBool,
    is_renewal_due: AtomicBool,
    tally: Tally,
    account: Account,
}

impl Shared {
    fn wake_loader(&self) {
        // It fails only if the descriptor is gone, and then so is the loader.
        let _ = self.wake.signal();
    }
}

/// A tree of files, and the thread that loads them. Dropping it ends the thread.
pub struct Library {
    shared: Arc<Shared>,
    jobs: Sender<Job>,
    watch_error: Option<WatchError>,
    thread: Option<JoinHandle<()>>,
}

impl Library {
    /// Looks at the whole tree (names and sizes, no content) and starts the loader.
    pub fn open(config: &LibraryConfig, present: Arc<dyn Present>) -> Result<Self, LibraryError> {
        // Watched before it is looked at, so that no change falls between.
        let (mut root, watch_error) = Root::open(&config.root, config.is_watched)
            .map_err(|source| LibraryError::Root { root: config.root.clone(), source })?;
        let catalogue = root.tree.apply(root.tree.everything(), &Catalogue::default());
        let budget = Budget::new(config.memory, config.open_count_max);
        let shared = Arc::new(Shared {
            catalogue: Arc::new(ArcSwap::from_pointee(catalogue)),
            wake: EventFd::new().map_err(LibraryError::Loader)?,
            is_stopping: AtomicBool::new(false),
            is_rescan_due: AtomicBool::new(false),
            is_renewal_due: AtomicBool::new(false),
            tally: Tally::default(),
            account: budget.account().clone(),
        });
        let preparer = Preparer::new(present, config.stream_from(), budget);
        let (jobs, queue) = crossbeam_channel::bounded(config.queue_len.max(1));
        let loader = Loader::new(Arc::clone(&shared), queue, preparer, root, config.is_watched);
        let thread = std::thread::Builder::new().name("tidegate-loader".into());
        let thread = thread.spawn(move || loader.run()).map_err(LibraryError::Loader)?;
        Ok(Self { shared, jobs, watch_error, thread: Some(thread) })
    }

    /// A worker's access to it. `waker` is called whenever [`Reader::poll`] has something.
    pub fn reader(&self, waker: Waker) -> Reader {
        let (done, completions) = crossbeam_channel::unbounded();
        Reader {
            catalogue: arc_swap::Cache::new(Arc::clone(&self.shared.catalogue)),
            shared: Arc::clone(&self.shared),
            jobs: self.jobs.clone(),
            done,
            completions,
            waker,
        }
    }

    /// Has the whole tree looked at again, soon.
    pub fn rescan(&self) {
        self.shared.is_rescan_due.store(true, Ordering::Release);
        self.shared.wake_loader();
    }

    /// Has everything loaded anew, soon, whether it changed or not: [`Present`] writes other heads now.
    pub fn renew(&self) {
        self.shared.is_renewal_due.store(true, Ordering::Release);
        self.shared.wake_loader();
    }

    /// What was done and is held.
    pub fn counters(&self) -> LibraryCounters {
        let entry_count = self.shared.catalogue.load().len() as u64;
        self.shared.tally.read(self.shared.account.balance(), entry_count)
    }

    /// Why changes are not followed although they should be; [`Library::rescan`] still finds them.
    pub const fn watch_error(&self) -> Option<&WatchError> {
        self.watch_error.as_ref()
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        self.shared.is_stopping.store(true, Ordering::Release);
        self.shared.wake_loader();
        if let Some(thread) = self.thread.take() {
            // A panic of the loader has been reported by its thread already.
            let _ = thread.join();
        }
    }
}

/// What came of a request.
#[derive(Clone, Debug)]
pub struct Completion {
    /// As it was given with the request.
    pub ticket: u64,
    /// What was loaded, or why it was not.
    pub outcome: Result<Arc<Loaded>, LoadError>,
}

/// What came of asking.
#[derive(Clone, Debug)]
pub enum Requested {
    /// It is there.
    Ready(Arc<Loaded>),
    /// It is being loaded; a completion will come.
    Queued,
    /// Too many wait already, or the loader is gone: no completion will come.
    Refused,
}

/// One worker's access to a library.
pub struct Reader {
    catalogue: arc_swap::Cache<Arc<ArcSwap<Catalogue>>, Arc<Catalogue>>,
    shared: Arc<Shared>,
    jobs: Sender<Job>,
    done: Sender<Completion>,
    completions: Receiver<Completion>,
    waker: Waker,
}

impl Reader {
    /// What is at `path`, percent-decoded, with no slash at either end; the root is empty.
    #[inline]
    pub fn find(&mut self, path: &[u8]) -> Option<&Entry> {
        self.catalogue.load().find(path)
    }

    /// Which state of the tree [`Reader::find`] looks at; a change on disk makes it another.
    #[inline]
    pub fn generation(&mut self) -> u64 {
        self.catalogue.load().generation()
    }

    /// What is loaded of a variant (the plain one if there is none in that coding); has it loaded if nothing
    /// is.
    #[inline]
    pub fn request(&self, document: &Arc<Document>, encoding: Encoding, ticket: u64) -> Requested {
        let variant = document.variant(encoding).or(document.variants().first());
        match variant.and_then(Variant::loaded) {
            Some(loaded) => Requested::Ready(loaded),
            None => self.queue(document, encoding, ticket),
        }
    }

    /// The next request that is done.
    #[inline]
    pub fn poll(&self) -> Option<Completion> {
        self.completions.try_recv().ok()
    }

    #[cold]
    fn queue(&self, document: &Arc<Document>, encoding: Encoding, ticket: u64) -> Requested {
        let job = Job {
            document: Arc::clone(document),
            encoding,
            ticket,
            done: self.done.clone(),
            waker: Arc::clone(&self.waker),
        };
        if self.jobs.try_send(job).is_err() {
            count(&self.shared.tally.refused);
            return Requested::Refused;
        }
        self.shared.wake_loader();
        Requested::Queued
    }
}

#[cfg(test)]
mod tests;
