//! A log of lines: records from the workers to a file.
//!
//! ```text
//!   worker --try_log--> [bounded channel] --> writer's thread: format, buffer, write
//! ```
//!
//! A worker copies what it knows into a record and goes on; the line is made of it by the writer. A record that
//! finds no room is dropped and counted by the worker: a slow disk costs lines, never requests.
//!
//! Not what a line says: that is the [`Line`] of each service.
#![forbid(unsafe_code)]

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[cfg(test)]
mod tests;

/// Records that wait for the writer.
const QUEUE_LEN: usize = 4096;
/// How long a written line may stay in memory.
const FLUSH_AFTER: Duration = Duration::from_millis(200);

/// A record that becomes a line.
pub trait Line {
    /// Appends the line, its line feed included. Nothing in it that a client chose may be a control character.
    fn format(&self, line: &mut Vec<u8>);
}

/// A worker's end.
pub struct LogSender<R>(Sender<R>);

impl<R> LogSender<R> {
    /// Hands a record over. False if there is no room, or nobody writes any more.
    #[inline]
    pub fn try_log(&self, record: R) -> bool {
        self.0.try_send(record).is_ok()
    }
}

impl<R> Clone for LogSender<R> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// The writer's end.
pub struct LogWriter<R> {
    records: Receiver<R>,
    path: PathBuf,
    reopen: Arc<AtomicBool>,
    out: BufWriter<File>,
    line: Vec<u8>,
}

/// Opens the log at `path` for appending. Setting `reopen` (on SIGHUP) has the writer open the path
/// again: after a rotation that is a new file.
pub fn open<R: Line>(path: &Path, reopen: Arc<AtomicBool>) -> io::Result<(LogSender<R>, LogWriter<R>)> {
    let (sender, records) = crossbeam_channel::bounded(QUEUE_LEN);
    let out = append_to(path)?;
    let writer = LogWriter { records, path: path.to_owned(), reopen, out, line: Vec::new() };
    Ok((LogSender(sender), writer))
}

fn append_to(path: &Path) -> io::Result<BufWriter<File>> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .map(|file| BufWriter::with_capacity(64 << 10, file))
}

impl<R: Line> LogWriter<R> {
    /// Writes until no worker is left. An error of the file is handed to `on_error`, and the lines it
    /// took with it are lost; writing goes on.
    pub fn run(mut self, mut on_error: impl FnMut(&io::Error)) {
        loop {
            let received = self.records.recv_timeout(FLUSH_AFTER);
            let outcome = match &received {
                Ok(record) => self.write(record),
                Err(_) => self.out.flush(),
            };
            let outcome = outcome.and_then(|()| self.reopen_if_asked());
            if let Err(error) = outcome {
                on_error(&error);
            }
            if matches!(received, Err(RecvTimeoutError::Disconnected)) {
                return;
            }
        }
    }

    fn write(&mut self, record: &R) -> io::Result<()> {
        self.line.clear();
        record.format(&mut self.line);
        self.out.write_all(&self.line)?;
        if self.records.is_empty() { self.out.flush() } else { Ok(()) }
    }

    fn reopen_if_asked(&mut self) -> io::Result<()> {
        if self.reopen.swap(false, Ordering::AcqRel) {
            self.out.flush()?;
            self.out = append_to(&self.path)?;
        }
        Ok(())
    }
}
