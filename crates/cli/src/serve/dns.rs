//! The name server: its zones, its dealings with other servers, and a service for each worker.
//!
//! What touches the file system as root is in [`Source::prepare`]; what runs afterwards is in [`Opened`].

mod files;
mod keeper;

pub(crate) use files::{Which, ZoneNews};
pub(crate) use keeper::Line;

use crate::exit::wrong_input;
use anyhow::{Context, Result};
use files::{Harvest, ZoneFiles};
use keeper::Keeper;
use std::path::PathBuf;
use std::sync::Arc;
use tidegate_dns::config::CookieSecret;
use tidegate_dns::desk::DeskConfig;
use tidegate_dns::tcp::{Tcp, TcpShared};
use tidegate_dns::transfer::Exchange;
use tidegate_dns::udp::UdpConfig;
use tidegate_dns::{Config, Namestorm};
use tidegate_sys::random;

/// What is read before rights are dropped.
pub(crate) struct Source {
    files: ZoneFiles,
    harvest: Harvest,
}

impl Source {
    /// Reads all zone files. One that is wrong is said and left out, unless there is nothing else to serve.
    pub(crate) fn prepare(config: &Config) -> Result<Self> {
        let mut files = ZoneFiles::default();
        files.reconfigure(&config.zones);
        let harvest = files.read(&Which::All);
        let faults: Vec<&str> = harvest.news.iter().filter_map(|news| news.fault.as_deref()).collect();
        if harvest.zones.is_empty() && !faults.is_empty() {
            return Err(wrong_input(faults.join("; ")));
        }
        harvest.news.iter().for_each(keeper::tell);
        Ok(Self { files, harvest })
    }

    /// Where files are that may be read again.
    pub(crate) fn directories(&self) -> Vec<PathBuf> {
        self.files.directories()
    }

    /// Starts the threads that read zone files and speak to other servers, for so many workers.
    pub(crate) fn open(self, config: &Config, worker_count: usize) -> Result<Opened> {
        let Self { files, harvest } = self;
        let relations = files.relations(config).map_err(wrong_input)?;
        let seed = u64::from_ne_bytes(random::bytes()?);
        let exchange = Exchange::start(relations, config.client_patience(), seed)
            .context("could not start dealing with other name servers")?;
        let exchange = Arc::new(exchange);
        files.unread().iter().for_each(|apex| exchange.served().withdraw(apex));
        let rrset_count = harvest.zones.iter().map(|zone| zone.rrset_count()).sum();
        exchange.served().publish(harvest.zones);
        let keeper = Keeper::start(files, Arc::clone(&exchange), config.clone())?;
        let shared = TcpShared::new(config.bounds());
        let udp = config.udp(worker_count, rrset_count);
        let cookie_secret = random::bytes()?;
        let desk = Arc::new(config.desk(cookie_secret));
        Ok(Opened { exchange, keeper, shared, desk, udp, cookie_secret })
    }
}

/// A name server that is running.
pub(crate) struct Opened {
    exchange: Arc<Exchange>,
    keeper: Keeper,
    shared: Arc<TcpShared>,
    desk: Arc<DeskConfig>,
    udp: UdpConfig,
    /// Of this process: for cookies, unless the configuration shares some.
    cookie_secret: CookieSecret,
}

/// What a worker's server is to go on under.
#[derive(Clone)]
pub(crate) struct Terms {
    shared: Arc<TcpShared>,
    desk: Arc<DeskConfig>,
}

impl Terms {
    /// Has a worker's server go on under these.
    pub(crate) fn apply(&self, server: &mut Namestorm) {
        server.set_shared(Arc::clone(&self.shared));
        server.set_config(&self.desk);
    }
}

impl Opened {
    /// The service of one stack.
    pub(crate) fn service(&self) -> Namestorm {
        let desk = || self.exchange.desk(Arc::clone(&self.desk));
        Namestorm::with_udp(desk(), Tcp::new(Arc::clone(&self.shared), desk()), self.udp)
    }

    /// Goes on under other settings, zone files that have changed included; returns what each service is to be
    /// given.
    pub(crate) fn reconfigure(&mut self, config: &Config) -> Terms {
        self.keeper.reconfigure(config.clone());
        self.shared = self.shared.successor(config.bounds());
        self.desk = Arc::new(config.desk(self.cookie_secret));
        Terms { shared: Arc::clone(&self.shared), desk: Arc::clone(&self.desk) }
    }

    /// From now on every answer is the last of its connection.
    pub(crate) fn drain(&self) {
        self.shared.drain();
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
pub(crate) fn zone_faults(config: &Config) -> Vec<String> {
    let mut files = ZoneFiles::default();
    files.reconfigure(&config.zones);
    files.read(&Which::All).news.into_iter().filter_map(|news| news.fault).collect()
}
