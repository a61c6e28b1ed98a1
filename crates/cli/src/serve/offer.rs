//! What a process serves, whatever it is: opened once, one [`Services`] for each worker.
//!
//! What touches the file system as root is in [`Source::prepare`]; what runs afterwards is in [`Offer`].

use super::services::Services;
use super::web;
use crate::config::Config;
use crate::kind::Endpoint;
use anyhow::Result;
use std::sync::Arc;
use tidegate_content::Library;
use tidegate_pipeline::Waker;

/// What is opened before rights are dropped.
pub(crate) struct Source {
    web: Option<web::Source>,
}

impl Source {
    pub(crate) fn prepare(config: &Config) -> Result<Self> {
        anyhow::ensure!(
            config.dns.is_none(),
            "the name server is not part of this build yet: leave [dns] out"
        );
        Ok(Self { web: config.web.as_ref().map(web::Source::prepare).transpose()? })
    }

    /// Starts the threads that read files and write logs.
    pub(crate) fn open(self, config: &Config) -> Result<Offer> {
        let web = self.web.zip(config.web.as_ref());
        Ok(Offer { web: web.map(|(source, config)| source.open(config)).transpose()? })
    }
}

/// What is being served.
pub(crate) struct Offer {
    web: Option<web::Opened>,
}

impl Offer {
    /// The services of one stack, whose worker `waker` wakes.
    pub(crate) fn services(&self, endpoints: &[Endpoint], waker: &Waker) -> Services {
        Services::new(endpoints.to_vec(), self.web.as_ref().map(|web| web.service(waker)))
    }

    /// Has rotated logs opened anew, and all files looked at again.
    pub(crate) fn refresh(&self) {
        self.web.iter().for_each(web::Opened::refresh);
    }

    /// Goes on under other settings; returns what is to be done to each worker's services.
    pub(crate) fn reconfigure(
        &mut self,
        config: &Config,
    ) -> Result<impl Fn(&mut Services) + Clone + Send + use<>> {
        let web = self.web.as_mut().zip(config.web.as_ref());
        let shared = web.map(|(web, config)| web.reconfigure(config)).transpose()?;
        Ok(move |services: &mut Services| {
            if let (Some(site), Some(shared)) = (services.web_mut(), &shared) {
                site.set_shared(Arc::clone(shared));
            }
        })
    }

    /// From now on every answer is the last of its connection.
    pub(crate) fn drain(&self) {
        self.web.iter().for_each(web::Opened::drain);
    }

    /// The files of the web server, for whoever shows what is held of them.
    pub(crate) fn library(&self) -> Option<&Arc<Library>> {
        self.web.as_ref().map(web::Opened::library)
    }
}
