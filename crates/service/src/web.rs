//! The web server: its files, its log, and a service for each worker.
//!
//! What touches the file system as root is in [`Source::prepare`]; what runs afterwards is in [`Opened`].

use crate::error::{Attempt, Result, wrong_input};
use crate::settings::frame_share;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;
use tidegate_base::HashKey;
use tidegate_config::PackMode;
use tidegate_content::{Library, LibraryConfig, Mode, Packer};
use tidegate_pipeline::Waker;
use tidegate_sys::random;
use tidegate_web::access_log::{self, LogSender, LogWriter};
use tidegate_web::config::HeaderRule;
use tidegate_web::page::{self, Page};
use tidegate_web::{Config, Shared, Site, Status, library_config};

/// What is opened before rights are dropped.
pub(crate) struct Source {
    shared: Arc<Shared>,
    log: Option<(LogSender, LogWriter)>,
    reopen: Arc<AtomicBool>,
}

impl Source {
    /// Reads the error pages and opens the access log.
    pub(crate) fn prepare(config: &Config) -> Result<Self> {
        let reopen = Arc::new(AtomicBool::new(false));
        let log = config.access_log.path.as_deref().map(|path| {
            let opened = access_log::open(path, Arc::clone(&reopen));
            opened.attempting(|| format!("--access-log {}: could not open it", path.display()))
        });
        let shared = shared(config)?;
        Ok(Self { shared, log: log.transpose()?, reopen })
    }

    /// Looks at the tree of files and starts the threads that read files and write the log.
    pub(crate) fn open(self, config: &Config) -> Result<Opened> {
        let memory = config.memory.0 - frame_share(config.mode == PackMode::PreCopy, config.memory.0);
        let wanted = LibraryConfig { memory, ..library_config(config) };
        let library = Library::open(&wanted, self.shared.present())?;
        if let Some(error) = library.watch_error() {
            tracing::warn!("changes of files are not noticed, but on SIGHUP: {error}");
        }
        let log = self.log.map(|(sender, writer)| start_log(writer).map(|()| sender)).transpose()?;
        let mode = match config.mode {
            PackMode::PreCopy => Mode::PreCopy,
            PackMode::Memcopy => Mode::MemCopy,
        };
        let (library, rules) = (Arc::new(library), config.headers.clone());
        Ok(Opened { shared: self.shared, library, rules, log, reopen: self.reopen, mode })
    }
}

fn shared(config: &Config) -> Result<Arc<Shared>> {
    Ok(Shared::new(config, custom_pages(config)?, HashKey::new(random::bytes()?), SystemTime::now))
}

fn custom_pages(config: &Config) -> Result<BTreeMap<Status, Page>> {
    page::read_custom(config).map_err(|fault| wrong_input(fault.to_string()))
}

fn start_log(writer: LogWriter) -> Result<()> {
    let write = move || writer.run(|error| tracing::warn!("the access log loses lines: {error}"));
    std::thread::Builder::new()
        .name("access-log".into())
        .spawn(write)
        .attempting(|| "could not start the access log".to_owned())?;
    Ok(())
}

/// A site that is being served.
pub(crate) struct Opened {
    shared: Arc<Shared>,
    library: Arc<Library>,
    rules: Vec<HeaderRule>,
    log: Option<LogSender>,
    reopen: Arc<AtomicBool>,
    mode: Mode,
}

impl Opened {
    /// The service of one stack, whose worker `waker` wakes.
    pub(crate) fn service(&self, waker: &Waker) -> Site {
        let waker = waker.clone();
        let reader = self.library.reader(Arc::new(move || waker.wake()));
        Site::new(Arc::clone(&self.shared), reader, Packer::new(self.mode), self.log.clone())
    }

    /// Has a rotated log opened anew, and the whole tree looked at again.
    pub(crate) fn refresh(&self) {
        self.reopen.store(true, Ordering::Release);
        self.library.rescan();
    }

    /// Goes on under other settings; returns what each service is to be given ([`Site::set_shared`]).
    pub(crate) fn reconfigure(&mut self, config: &Config) -> Result<Arc<Shared>> {
        self.shared = self.shared.successor(config, custom_pages(config)?);
        if self.rules != config.headers {
            self.rules.clone_from(&config.headers);
            self.library.renew();
        }
        Ok(Arc::clone(&self.shared))
    }

    /// From now on every answer is the last of its connection.
    pub(crate) fn drain(&self) {
        self.shared.drain();
    }

    /// The files, for whoever shows what is held of them.
    pub(crate) const fn library(&self) -> &Arc<Library> {
        &self.library
    }
}
