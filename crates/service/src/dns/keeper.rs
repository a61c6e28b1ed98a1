//! The thread that reads zone files again: told to, or because they have changed.
//!
//! ```text
//!   SIGHUP, `tidegate dns reload` --Wish--> [queue] --+
//!   inotify: a directory of zone files changed -------+--> read --> publish --> news to whoever asked
//! ```
//! No worker ever waits for it: what is published is whole.

use super::files::{Harvest, Which, ZoneFiles, ZoneNews, name_of};
use crate::error::{Attempt, Result};
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tidegate_dns::Config;
use tidegate_dns::name::NameBuf;
use tidegate_dns::transfer::Exchange;
use tidegate_sys::event::{self, DirectoryWatch, EventFd, Interest};

/// How long directories must be quiet before files are read, so that a deployment of many is one reload.
const QUIET: Duration = Duration::from_millis(50);
/// How often it is looked whether they are, before files are read anyway.
const QUIET_COUNT_MAX: usize = 20;
/// How long the thread rests if waiting fails, which it does only if the kernel is out of memory.
const REST: Duration = Duration::from_millis(20);

/// What the thread is told.
enum Wish {
    /// Read these again, and say what came of it to whoever waits for it.
    Read(Which, Sender<Vec<ZoneNews>>),
    /// Go on under these settings.
    Reconfigure(Box<Config>),
    Stop,
}

/// The way to the thread. Dropping it ends the thread.
pub(crate) struct Keeper {
    line: Line,
    thread: Option<JoinHandle<()>>,
}

/// A way to the thread that keeps it from nothing.
#[derive(Clone)]
pub struct Line {
    wishes: Sender<Wish>,
    wake: Arc<EventFd>,
}

impl Line {
    /// Has these zones read again; what comes of it is received when it has.
    pub fn read(&self, which: Which) -> Receiver<Vec<ZoneNews>> {
        let (answer, news) = bounded(1);
        self.tell(Wish::Read(which, answer));
        news
    }

    fn tell(&self, wish: Wish) {
        // It fails only if the thread is gone, and then so is whoever would miss it.
        let _ = self.wishes.send(wish);
        let _ = self.wake.signal();
    }
}

impl Keeper {
    /// Starts the thread. `files` have been read and published.
    pub(crate) fn start(files: ZoneFiles, exchange: Arc<Exchange>, config: Config) -> Result<Self> {
        let (wishes, wished) = unbounded();
        let wake =
            Arc::new(EventFd::new().attempting(|| "could not make a wake-up for zone files".to_owned())?);
        let watch = config
            .watch
            .then(DirectoryWatch::new)
            .transpose()
            .attempting(|| "could not watch zone files".to_owned())?;
        let mut reader =
            Reader { files, config, exchange, wished, wake: Arc::clone(&wake), watch, watched: Vec::new() };
        reader.watch_all();
        let thread = std::thread::Builder::new().name("zones".into()).spawn(move || reader.run());
        let thread = thread.attempting(|| "could not start the reader of zone files".to_owned())?;
        Ok(Self { line: Line { wishes, wake }, thread: Some(thread) })
    }

    /// A way to the thread, for others.
    pub(crate) fn line(&self) -> Line {
        self.line.clone()
    }

    /// Goes on under these settings; zone files that have changed are read again.
    pub(crate) fn reconfigure(&self, config: Config) {
        self.line.tell(Wish::Reconfigure(Box::new(config)));
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.line.tell(Wish::Stop);
        if let Some(thread) = self.thread.take() {
            // A panic was reported when it happened.
            let _ = thread.join();
        }
    }
}

struct Reader {
    files: ZoneFiles,
    config: Config,
    exchange: Arc<Exchange>,
    wished: Receiver<Wish>,
    wake: Arc<EventFd>,
    watch: Option<DirectoryWatch>,
    watched: Vec<PathBuf>,
}

impl Reader {
    fn run(mut self) {
        loop {
            self.wait();
            while let Ok(wish) = self.wished.try_recv() {
                match wish {
                    Wish::Read(which, answer) => {
                        // Whoever asked may have gone.
                        let _ = answer.send(self.read(&which));
                    }
                    Wish::Reconfigure(config) => self.reconfigure(*config),
                    Wish::Stop => return,
                }
            }
            if self.take_changes() {
                self.await_quiet();
                self.read(&Which::Changed);
            }
        }
    }

    fn wait(&self) {
        let wake = (self.wake.as_fd(), Interest::READ);
        let waited = match &self.watch {
            Some(watch) => event::poll(&[wake, (watch.as_fd(), Interest::READ)], None),
            None => event::poll(&[wake], None),
        };
        // Cleared before the queue is looked at, so that what is queued later wakes again.
        if waited.and_then(|_| self.wake.clear()).is_err() {
            std::thread::sleep(REST);
        }
    }

    fn take_changes(&self) -> bool {
        self.watch.as_ref().is_some_and(|watch| watch.take_changes().unwrap_or(true))
    }

    fn await_quiet(&self) {
        for _ in 0..QUIET_COUNT_MAX {
            std::thread::sleep(QUIET);
            if !self.take_changes() {
                return;
            }
        }
    }

    fn reconfigure(&mut self, config: Config) {
        let gone = self.files.reconfigure(&config.zones);
        let was_copied = copies(&self.config).filter(|apex| !copies(&config).any(|other| other == *apex));
        let gone: Vec<NameBuf> = gone.into_iter().chain(was_copied).collect();
        self.config = config;
        self.relate();
        self.exchange.served().forget(&gone);
        self.read(&Which::Changed);
    }

    /// Reads, publishes all that is right at once, and says what is not. A copy is asked for, not read.
    fn read(&mut self, which: &Which) -> Vec<ZoneNews> {
        let known = self.files.names();
        let Harvest { zones, news } = self.files.read(which);
        if self.files.names() != known {
            self.relate();
        }
        self.exchange.served().publish(zones);
        self.watch_all();
        news.iter().for_each(tell);
        match which {
            Which::Named(apex) if copies(&self.config).any(|copy| copy == *apex) => self.exchange.check(apex),
            Which::All => copies(&self.config).for_each(|apex| self.exchange.check(&apex)),
            _ => {}
        }
        news
    }

    /// Lets what is configured between zones and other servers hold from now on.
    fn relate(&self) {
        match self.files.relations(&self.config) {
            Ok(relations) => self.exchange.set_relations(relations),
            Err(fault) => tracing::error!("the old keys and rights of transfer stay: {fault}"),
        }
    }

    /// Watches the directories that files are in now; includes may have brought others.
    fn watch_all(&mut self) {
        let Some(watch) = &self.watch else { return };
        for directory in self.files.directories() {
            if !self.watched.contains(&directory) {
                if let Err(error) = watch.add(&directory) {
                    tracing::warn!("changes of zone files are not noticed, but on SIGHUP: {error}");
                }
                self.watched.push(directory);
            }
        }
    }
}

/// The zones that are copies of other servers'.
fn copies(config: &Config) -> impl Iterator<Item = NameBuf> + '_ {
    config.zones.iter().filter(|zone| zone.is_secondary()).filter_map(name_of)
}

/// Says what came of a zone.
pub(super) fn tell(news: &ZoneNews) {
    match news.fault {
        None => tracing::info!("{news}"),
        Some(_) => tracing::error!("{news}"),
    }
}
