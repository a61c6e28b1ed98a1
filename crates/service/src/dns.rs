//! The name server: its zones, its dealings with other servers, and a service for each worker.
//!
//! What touches the file system as root is in [`Source::prepare`]; what runs afterwards is in [`Opened`].

mod files;
mod keeper;

pub use files::{Which, ZoneNews};
pub use keeper::Line;

use crate::error::{Attempt, Result, wrong_input};
use files::{Harvest, ZoneFiles};
use keeper::Keeper;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tidegate_dns::config::CookieSecret;
use tidegate_dns::desk::DeskConfig;
use tidegate_dns::query_log::{self, LogSender, LogWriter, QueryLog};
use tidegate_dns::rrl::RateLimiter;
use tidegate_dns::tcp::{Tcp, TcpShared};
use tidegate_dns::transfer::Exchange;
use tidegate_dns::udp::UdpConfig;
use tidegate_dns::zone::Lack;
use tidegate_dns::{Config, NameServer};
use tidegate_sys::random;

/// What is read before rights are dropped.
pub(crate) struct Source {
    files: ZoneFiles,
    harvest: Harvest,
    log: Option<(LogSender, LogWriter)>,
    reopen: Arc<AtomicBool>,
}

impl Source {
    /// Reads all zone files and opens the query log. A file that is wrong is said and left out, unless there is
    /// nothing else to serve.
    pub(crate) fn prepare(config: &Config) -> Result<Self> {
        let mut files = ZoneFiles::default();
        files.reconfigure(&config.zones);
        let harvest = files.read(&Which::All);
        let faults: Vec<&str> = harvest.news.iter().filter_map(|news| news.fault.as_deref()).collect();
        if harvest.zones.is_empty() && !faults.is_empty() {
            return Err(wrong_input(faults.join("; ")));
        }
        harvest.news.iter().for_each(keeper::tell);
        let reopen = Arc::new(AtomicBool::new(false));
        let log = config.query_log.path.as_deref().map(|path| {
            let opened = query_log::open(path, Arc::clone(&reopen));
            opened.attempting(|| format!("--query-log {}: could not open it", path.display()))
        });
        Ok(Self { files, harvest, log: log.transpose()?, reopen })
    }

    /// Where files are that may be read again.
    pub(crate) fn directories(&self) -> Vec<PathBuf> {
        self.files.directories()
    }

    /// Starts the threads that read zone files and speak to other servers, for so many workers.
    pub(crate) fn open(self, config: &Config, worker_count: usize) -> Result<Opened> {
        let Self { files, harvest, log, reopen } = self;
        let relations = files.relations(config).map_err(wrong_input)?;
        let seed = u64::from_ne_bytes(random::bytes()?);
        let exchange = Exchange::start(relations, config.client_patience(), seed)
            .attempting(|| "could not start dealing with other name servers".to_owned())?;
        let exchange = Arc::new(exchange);
        files.unread().iter().for_each(|apex| exchange.served().withdraw(apex, Lack::Unusable));
        let rrset_count = harvest.zones.iter().map(|zone| zone.rrset_count()).sum();
        exchange.served().publish(harvest.zones);
        let keeper = Keeper::start(files, Arc::clone(&exchange), config.clone())?;
        let shared = TcpShared::new(config.bounds());
        let udp = config.udp(worker_count, rrset_count);
        let log = log.map(|(sender, writer)| start_log(writer).map(|()| sender)).transpose()?;
        let (secret, rate_seed) = (random::bytes()?, random::u64()?);
        let desk = config.desk(secret);
        let terms = Terms { shared, desk: Arc::new(desk), limiter: config.limiter(rate_seed) };
        let log = log.map(|sender| QueryLog::new(sender, config.query_log.sample));
        Ok(Opened { exchange, keeper, terms, secret, rate_seed, udp, log, reopen })
    }
}

fn start_log(writer: LogWriter) -> Result<()> {
    let write = move || writer.run(|error| tracing::warn!("the query log loses lines: {error}"));
    let thread = std::thread::Builder::new().name("query-log".into());
    thread.spawn(write).map(drop).attempting(|| "could not start the query log".to_owned())
}

/// A name server that is running.
pub(crate) struct Opened {
    exchange: Arc<Exchange>,
    keeper: Keeper,
    terms: Terms,
    /// What cookies are made with that no other server knows.
    secret: CookieSecret,
    /// What scatters the buckets of the rate limit.
    rate_seed: u64,
    udp: UdpConfig,
    log: Option<QueryLog>,
    reopen: Arc<AtomicBool>,
}

/// What a worker's server is to go on under.
#[derive(Clone)]
pub(crate) struct Terms {
    shared: Arc<TcpShared>,
    desk: Arc<DeskConfig>,
    limiter: Option<RateLimiter>,
}

impl Terms {
    /// Has a worker's server go on under these.
    pub(crate) fn apply(&self, server: &mut NameServer) {
        server.set_shared(Arc::clone(&self.shared));
        server.set_config(&self.desk);
        server.set_limiter(self.limiter.clone());
    }
}

impl Opened {
    /// The service of one stack.
    pub(crate) fn service(&self) -> NameServer {
        let desk = || self.exchange.desk(Arc::clone(&self.terms.desk));
        let tcp = Tcp::new(Arc::clone(&self.terms.shared), desk());
        let mut server = NameServer::with_udp(desk(), tcp, self.udp);
        server.set_limiter(self.terms.limiter.clone());
        server.set_log(self.log.clone());
        server
    }

    /// Has a rotated log opened anew.
    pub(crate) fn refresh(&self) {
        self.reopen.store(true, Ordering::Release);
    }

    /// Goes on under other settings, zone files that have changed included; returns what each service is to be
    /// given.
    pub(crate) fn reconfigure(&mut self, config: &Config) -> Terms {
        let desk = config.desk(self.secret);
        self.keeper.reconfigure(config.clone());
        let shared = self.terms.shared.successor(config.bounds());
        let limiter = config.limiter(self.rate_seed);
        self.terms = Terms { shared, desk: Arc::new(desk), limiter };
        self.terms.clone()
    }

    /// From now on every answer is the last of its connection.
    pub(crate) fn drain(&self) {
        self.terms.shared.drain();
    }

    /// A way to the reader of zone files.
    pub(crate) fn line(&self) -> Line {
        self.keeper.line()
    }

    /// The zones that are served, for whoever shows them.
    pub(crate) const fn exchange(&self) -> &Arc<Exchange> {
        &self.exchange
    }
}

/// Everything that is wrong with the zones of a configuration, each in a line.
pub fn zone_faults(config: &Config) -> Vec<String> {
    let mut files = ZoneFiles::default();
    files.reconfigure(&config.zones);
    files.read(&Which::All).news.into_iter().filter_map(|news| news.fault).collect()
}
