//! What a process serves, whatever it is: opened once, one [`Services`] for each worker.
//!
//! What touches the file system as root is in [`Source::prepare`]; what runs afterwards is in [`Offer`].

use crate::config::Config;
use crate::error::Result;
use crate::kind::Endpoint;
use crate::services::Services;
use crate::{dns, web};
use std::path::PathBuf;
use std::sync::Arc;
use tidegate_content::Library;
use tidegate_dns::transfer::Exchange;
use tidegate_pipeline::Waker;
use tidegate_web::Shared;

/// What is opened before rights are dropped.
pub struct Source {
    web: Option<web::Source>,
    dns: Option<dns::Source>,
}

impl Source {
    /// Reads what is read as root: error pages, zone files, logs.
    pub fn prepare(config: &Config) -> Result<Self> {
        Ok(Self {
            web: config.web.as_ref().map(web::Source::prepare).transpose()?,
            dns: config.dns.as_ref().map(dns::Source::prepare).transpose()?,
        })
    }

    /// Directories that were read from and will be again, besides those that the configuration names.
    pub fn directories(&self) -> Vec<PathBuf> {
        self.dns.as_ref().map(dns::Source::directories).unwrap_or_default()
    }

    /// Starts the threads that read files and write logs, for so many workers.
    pub fn open(self, config: &Config, worker_count: usize) -> Result<Offer> {
        let web = self.web.zip(config.web.as_ref());
        let dns = self.dns.zip(config.dns.as_ref());
        Ok(Offer {
            web: web.map(|(source, config)| source.open(config)).transpose()?,
            dns: dns.map(|(source, config)| source.open(config, worker_count)).transpose()?,
        })
    }
}

/// What is being served.
pub struct Offer {
    web: Option<web::Opened>,
    dns: Option<dns::Opened>,
}

/// What a worker's services are to go on under.
#[derive(Clone)]
pub struct Terms {
    web: Option<Arc<Shared>>,
    dns: Option<dns::Terms>,
}

impl Terms {
    /// Has one worker's services go on under these.
    pub fn apply(&self, services: &mut Services) {
        if let (Some(site), Some(shared)) = (services.web_mut(), &self.web) {
            site.set_shared(Arc::clone(shared));
        }
        if let (Some(server), Some(terms)) = (services.dns_mut(), &self.dns) {
            terms.apply(server);
        }
    }
}

impl Offer {
    /// The services of one stack, whose worker `waker` wakes.
    pub fn services(&self, endpoints: &[Endpoint], waker: &Waker) -> Services {
        let web = self.web.as_ref().map(|web| web.service(waker));
        Services::new(endpoints.to_vec(), web, self.dns.as_ref().map(dns::Opened::service))
    }

    /// Has rotated logs opened anew, and all files looked at again.
    pub fn refresh(&self) {
        self.web.iter().for_each(web::Opened::refresh);
        self.dns.iter().for_each(dns::Opened::refresh);
    }

    /// Goes on under other settings; returns what each worker's services are to be given.
    pub fn reconfigure(&mut self, config: &Config) -> Result<Terms> {
        let web = self.web.as_mut().zip(config.web.as_ref());
        let web = web.map(|(web, config)| web.reconfigure(config)).transpose()?;
        let dns = self.dns.as_mut().zip(config.dns.as_ref());
        Ok(Terms { web, dns: dns.map(|(dns, config)| dns.reconfigure(config)) })
    }

    /// From now on every answer is the last of its connection.
    pub fn drain(&self) {
        self.web.iter().for_each(web::Opened::drain);
        self.dns.iter().for_each(dns::Opened::drain);
    }

    /// The files of the web server, for whoever shows what is held of them.
    pub fn library(&self) -> Option<&Arc<Library>> {
        self.web.as_ref().map(web::Opened::library)
    }

    /// The zones of the name server, for whoever shows them.
    pub fn exchange(&self) -> Option<&Arc<Exchange>> {
        self.dns.as_ref().map(dns::Opened::exchange)
    }

    /// A way to the reader of zone files.
    pub fn zones(&self) -> Option<dns::Line> {
        self.dns.as_ref().map(dns::Opened::line)
    }
}
