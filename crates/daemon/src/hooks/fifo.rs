//! A FIFO that a capture goes to (fifo(7)). Who writes never waits for who reads: what there is no room for is left out
//! and counted.
//!
//! Invariant: what a reader gets begins with the head, unless it comes before a write has told that the one before has gone;
//! every record is whole: none is longer than PIPE_BUF, so that
//! it is written whole or not at all (pipe(7)).

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use tidegate_base::{Duration, Instant};
use tidegate_control::{Errno, Fault};

/// open(2): do not wait for a reader.
const O_NONBLOCK: i32 = 0o4000;
/// How soon a FIFO without a reader is looked at again.
const RETRY: Duration = Duration::from_millis(100);
/// Bytes that are written whole (PIPE_BUF).
pub(super) const RECORD_LEN_MAX: usize = 4096;

/// When it is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Patience {
    /// With the first packet, not at once: a reader may come later.
    pub(crate) defer: bool,
    /// Again when the reader has gone and another one comes.
    pub(crate) reconnect: bool,
}

/// A FIFO and what a reader is greeted with.
#[derive(Debug)]
pub(crate) struct Fifo {
    path: String,
    head: Vec<u8>,
    file: Option<File>,
    /// Whether and when it is opened again.
    next_attempt: Option<Instant>,
    reconnect: bool,
    lost_count: u64,
}

impl Fifo {
    /// The FIFO at `path`, opened now unless it may be later.
    pub(crate) fn open(path: &str, head: Vec<u8>, patience: Patience) -> Result<Self, Fault> {
        let failed = |why: String| Fault::new(Errno::EIO, format!("cannot write to {path}: {why}"));
        let is_fifo = std::fs::metadata(path).map_err(|e| failed(e.to_string()))?.file_type().is_fifo();
        if !is_fifo {
            return Err(Fault::invalid(format!("{path} is no FIFO: make one (mkfifo), and read from it")));
        }
        let mut fifo = Self {
            path: path.to_owned(),
            head,
            file: None,
            next_attempt: patience.defer.then_some(Instant::ZERO),
            reconnect: patience.reconnect,
            lost_count: 0,
        };
        if !patience.defer {
            fifo.greet().map_err(|error| failed(format!("{error} (is anybody reading it?)")))?;
        }
        Ok(fifo)
    }

    /// Opens it for whoever reads.
    fn greet(&mut self) -> std::io::Result<()> {
        let mut file = OpenOptions::new().write(true).custom_flags(O_NONBLOCK).open(&self.path)?;
        file.write_all(&self.head)?;
        self.file = Some(file);
        self.next_attempt = None;
        Ok(())
    }

    /// Whether a record would be written: somebody reads, or may have come.
    pub(super) fn is_ready(&mut self, now: Instant) -> bool {
        if self.file.is_none()
            && let Some(at) = self.next_attempt.filter(|at| *at <= now)
        {
            self.next_attempt = Some(at.max(now) + RETRY);
            // Nobody reads yet.
            let _ = self.greet();
        }
        self.file.is_some()
    }

    /// Notes that a record could not even be tried.
    pub(super) fn lose(&mut self, count: usize) {
        self.lost_count += count as u64;
    }

    /// Writes a record of at most [`RECORD_LEN_MAX`] bytes, or loses it.
    pub(super) fn write(&mut self, now: Instant, record: &[u8]) {
        let Some(file) = &mut self.file else { return self.lose(1) };
        match file.write(record) {
            Ok(len) if len == record.len() => return,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            // Nobody reads any more; a record that is cut would spoil all that follow.
            Ok(_) | Err(_) => {
                self.file = None;
                self.next_attempt = self.reconnect.then(|| now + RETRY);
            }
        }
        self.lose(1);
    }

    /// Records that nobody got.
    #[cfg(test)]
    pub(super) const fn lost_count(&self) -> u64 {
        self.lost_count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::process::Command;

    struct Place(String);

    impl Place {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("tidegate-fifo-{name}-{}", std::process::id()));
            let path = path.display().to_string();
            assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
            Self(path)
        }

        fn reader(&self) -> File {
            OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(&self.0).unwrap()
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    fn read_all(reader: &mut File) -> Vec<u8> {
        let (mut all, mut piece) = (Vec::new(), [0; 65536]);
        while let Ok(len) = reader.read(&mut piece)
            && len > 0
        {
            all.extend_from_slice(&piece[..len]);
        }
        all
    }

    const NOW: Instant = Instant::ZERO;

    #[test]
    fn record_that_does_not_fit_is_left_out_whole() {
        let place = Place::new("full");
        let mut reader = place.reader();
        let mut fifo = Fifo::open(&place.0, b"head".to_vec(), Patience::default()).unwrap();
        let mut written = 0;
        while fifo.lost_count() == 0 {
            assert!(fifo.is_ready(NOW));
            fifo.write(NOW, &[written as u8; 1000]);
            written += 1;
        }
        let got = read_all(&mut reader);
        assert_eq!(got[..4], *b"head");
        let records: Vec<&[u8]> = got[4..].chunks(1000).collect();
        assert_eq!(records.len(), written - 1);
        assert!(records.iter().enumerate().all(|(n, record)| **record == [n as u8; 1000]));
        fifo.write(NOW, &[7; 1000]);
        assert_eq!(read_all(&mut reader), [7; 1000]);
    }

    #[test]
    fn reader_that_has_gone_is_replaced_where_that_is_wished() {
        for reconnect in [false, true] {
            let place = Place::new(&format!("gone-{reconnect}"));
            let reader = place.reader();
            let patience = Patience { defer: false, reconnect };
            let mut fifo = Fifo::open(&place.0, b"head".to_vec(), patience).unwrap();
            drop(reader);
            fifo.write(NOW, b"lost");
            assert!(!fifo.is_ready(NOW));
            let mut reader = place.reader();
            assert_eq!(fifo.is_ready(NOW + RETRY), reconnect);
            fifo.write(NOW, b"got");
            assert_eq!(read_all(&mut reader), if reconnect { &b"headgot"[..] } else { b"" });
        }
    }

    #[test]
    fn reader_may_come_later_where_that_is_wished() {
        let place = Place::new("later");
        assert!(Fifo::open(&place.0, Vec::new(), Patience::default()).is_err());
        let patience = Patience { defer: true, reconnect: false };
        let mut fifo = Fifo::open(&place.0, b"head".to_vec(), patience).unwrap();
        assert!(!fifo.is_ready(NOW));
        let mut reader = place.reader();
        assert!(!fifo.is_ready(NOW), "not looked at again at once");
        assert!(fifo.is_ready(NOW + RETRY));
        assert_eq!(read_all(&mut reader), b"head");
    }

    #[test]
    fn what_is_no_fifo_is_refused() {
        let refused = Fifo::open("/dev/null", Vec::new(), Patience::default()).unwrap_err();
        assert_eq!(refused.errno, Errno::EINVAL);
        assert!(Fifo::open("/no/such/path", Vec::new(), Patience::default()).is_err());
    }
}
