//! What the workers of one site share: settings, prebuilt answers, the count of connections.

use crate::config::Config;
use crate::head::Heads;
use crate::page::{Page, Pages};
use crate::plan::Naming;
use crate::request::scan::HeadLimits;
use crate::status::Status;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;
use tidegate_base::{Duration, HashKey};
use tidegate_content::{LibraryConfig, Present};
use tidegate_stack::{AdmissionLimits, Gate};

/// How much a connection may take up, and how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) head: HeadLimits,
    pub(crate) body_len_max: u64,
    pub(crate) pipelined_max: usize,
    pub(crate) request_count_max: u32,
    pub(crate) admission: AdmissionLimits,
    pub(crate) header: Duration,
    pub(crate) idle: Duration,
    pub(crate) linger: Duration,
    pub(crate) load: Duration,
}

/// One site, whatever the number of its workers.
pub struct Shared {
    pub(crate) bounds: Bounds,
    pub(crate) naming: Naming,
    pub(crate) heads: Arc<Heads>,
    pub(crate) pages: Pages,
    pub(crate) gate: Arc<Gate>,
    pub(crate) clock: fn() -> SystemTime,
    is_draining: AtomicBool,
}

impl Shared {
    /// A site by its settings. `custom_pages` are what [`crate::page::read_custom`] read; `key` is
    /// random; `clock` is the time of day, for `Date`.
    pub fn new(
        config: &Config,
        custom_pages: BTreeMap<Status, Page>,
        key: HashKey,
        clock: fn() -> SystemTime,
    ) -> Arc<Self> {
        Arc::new(Self {
            bounds: Bounds::of(config),
            naming: naming(config),
            heads: Arc::new(Heads::new(config.headers.clone(), key, clock)),
            pages: Pages::new(custom_pages),
            gate: Arc::default(),
            clock,
            is_draining: AtomicBool::new(false),
        })
    }

    /// The same site under other settings: limits, timeouts, which names are served, error pages, header
    /// rules. Its connections count on. Heads that the library holds stay as they are until it is renewed.
    #[must_use]
    pub fn successor(&self, config: &Config, custom_pages: BTreeMap<Status, Page>) -> Arc<Self> {
        self.heads.set_rules(config.headers.clone());
        Arc::new(Self {
            bounds: Bounds::of(config),
            naming: naming(config),
            heads: Arc::clone(&self.heads),
            pages: Pages::new(custom_pages),
            gate: Arc::clone(&self.gate),
            clock: self.clock,
            is_draining: AtomicBool::new(self.is_draining()),
        })
    }

    /// What writes the heads, for the library to be opened with.
    pub fn present(&self) -> Arc<dyn Present> {
        Arc::clone(&self.heads) as Arc<dyn Present>
    }

    /// From now on each answer is the last of its connection. Connections that have nothing under way
    /// are closed when they are woken.
    pub fn drain(&self) {
        self.is_draining.store(true, Ordering::Relaxed);
    }

    /// Whether the site is being drained.
    #[inline]
    pub fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Relaxed)
    }
}

fn naming(config: &Config) -> Naming {
    let content = &config.content;
    Naming { index: content.index.clone(), dotfiles: content.dotfiles, precompressed: content.precompressed }
}

/// The library that a configuration asks for.
pub fn library_config(config: &Config) -> LibraryConfig {
    LibraryConfig {
        memory: config.memory.0,
        stream_from: config.content.stream_from.0,
        ..LibraryConfig::new(&config.root)
    }
}

impl Bounds {
    fn of(config: &Config) -> Self {
        let (limits, timeouts) = (&config.limits, &config.timeouts);
        Self {
            head: limits.head(),
            body_len_max: limits.request_body.0,
            pipelined_max: usize::from(limits.pipelined),
            request_count_max: limits.requests_per_connection,
            admission: AdmissionLimits {
                count_max: limits.connections,
                count_max_per_peer: limits.connections_per_address,
            },
            header: timeouts.header.0,
            idle: timeouts.idle.0,
            linger: timeouts.linger.0,
            load: timeouts.load.0,
        }
    }
}
