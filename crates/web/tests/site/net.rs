//! A site at the end of a cable. Time is the test's; only the loader is a thread.
use crate::tree::{Tree, now};
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use tidegate_base::HashKey;
use tidegate_content::{Library, Mode, Packer};
use tidegate_fixture::Cable;
use tidegate_web::access_log::LogSender;
use tidegate_web::{Config, Shared, Site, SiteCounters, library_config, page};

pub struct Net {
    pub cable: Cable<Site>,
    pub shared: Arc<Shared>,
    _library: Library,
    pub tree: Tree,
}

impl Deref for Net {
    type Target = Cable<Site>;

    fn deref(&self) -> &Cable<Site> {
        &self.cable
    }
}

impl DerefMut for Net {
    fn deref_mut(&mut self) -> &mut Cable<Site> {
        &mut self.cable
    }
}

impl Net {
    pub fn new(tree: Tree, settings: &str) -> Self {
        Self::with_log(tree, settings, None)
    }

    pub fn with_log(tree: Tree, settings: &str, log: Option<LogSender>) -> Self {
        let mut config: Config = tidegate_config::parse(settings).unwrap();
        config.root = tree.root().to_owned();
        assert_eq!(config.faults(), []);
        let custom = page::read_custom(&config).unwrap();
        let shared = Shared::new(&config, BTreeMap::clone(&custom), HashKey::new([7; 16]), now);
        let library = Library::open(&library_config(&config), shared.present()).unwrap();
        let reader = library.reader(Arc::new(|| {}));
        let site = Site::new(Arc::clone(&shared), reader, Packer::new(Mode::PreCopy), log);
        Self { cable: Cable::new(site, 80), shared, _library: library, tree }
    }

    /// Steps until `is_done`; the loader's thread has real time to work meanwhile.
    pub fn run_until(&mut self, what: &str, mut is_done: impl FnMut(&mut Self) -> bool) {
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
        let mut round = 0_u32;
        while !is_done(self) {
            self.step(u64::from(round.is_multiple_of(8)));
            round += 1;
            if round.is_multiple_of(64) {
                std::thread::sleep(std::time::Duration::from_micros(200));
            }
            assert!(std::time::Instant::now() < deadline, "never {what}");
        }
    }

    /// All that a connection gets for `bytes`, up to the server's end of it.
    pub fn exchange_to_end(&mut self, bytes: &[u8]) -> Vec<u8> {
        let id = self.open();
        self.send(id, bytes);
        self.run_until("ended by the server", |net| net.is_eof(id));
        self.finish(id);
        self.received(id).to_vec()
    }

    /// The answer to one request on a connection of its own.
    pub fn ask(&mut self, line: &str, fields: &str) -> Vec<u8> {
        let head = format!("{line} HTTP/1.1\r\nHost: a\r\n{fields}Connection: close\r\n\r\n");
        self.exchange_to_end(head.as_bytes())
    }

    pub fn counters(&self) -> SiteCounters {
        self.server.service().tally().read()
    }
}

/// A response's head and body.
pub fn split(response: &[u8]) -> (String, Vec<u8>) {
    let at = response.windows(4).position(|w| w == b"\r\n\r\n").expect("a whole head");
    (String::from_utf8(response[..at + 2].to_vec()).unwrap(), response[at + 4..].to_vec())
}

pub fn status_of(response: &[u8]) -> u16 {
    let text = std::str::from_utf8(&response[..12]).unwrap();
    text.strip_prefix("HTTP/1.1 ").unwrap().parse().unwrap()
}

/// The statuses of responses in a row, each with a Content-Length or without content.
pub fn statuses(mut stream: &[u8]) -> Vec<u16> {
    let mut statuses = Vec::new();
    while !stream.is_empty() {
        let (head, body) = split(stream);
        statuses.push(status_of(stream));
        let len = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        let len: usize = len.map_or(0, |len| len.parse().unwrap());
        stream = &stream[stream.len() - body.len() + len..];
    }
    statuses
}
