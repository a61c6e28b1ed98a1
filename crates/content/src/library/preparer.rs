//! From a file to an answer that is ready.
//!
//! A file is read whole if it is small against the budget, and opened to be streamed otherwise; also if what
//! is under way leaves no room for it, so that want of memory makes serving slower and never fails it.
//!
//! Invariant: what is loaded is one version of the file, head and body.

use super::budget::Budget;
use super::document::{Document, FileMeta, Loaded};
use super::encoding::Encoding;
use super::error::LoadError;
use super::present::{Present, Subject};
use crate::block::Block;
use crate::body::Body;
use crate::file::StreamedFile;
use crate::prepared::{CHUNK_LENS, Prepared};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Duration;
use tidegate_sys::file::Directory;

/// Bytes that a loaded variant takes beside its body and sums: two heads, and what holds them together.
const OVERHEAD: u64 = 1024;
/// How often a file that changes while it is read is read again, and after how long.
const ATTEMPT_COUNT: usize = 5;
const ATTEMPT_PAUSE: Duration = Duration::from_millis(2);

/// Loads variants, within a budget.
pub(crate) struct Preparer {
    present: Arc<dyn Present>,
    stream_from: u64,
    pub(crate) budget: Budget,
}

impl Preparer {
    pub(crate) fn new(present: Arc<dyn Present>, stream_from: u64, budget: Budget) -> Self {
        Self { present, stream_from, budget }
    }

    /// Loads a variant from below `directory` and records it; the document's plain one if it has none in that coding.
    pub(crate) fn prepare(
        &mut self,
        directory: &Directory,
        document: &Arc<Document>,
        encoding: Encoding,
    ) -> Result<Arc<Loaded>, LoadError> {
        let variant = document.variant(encoding).or(document.variants().first()).ok_or(LoadError::Gone)?;
        let file = open(directory, document.path(), variant.encoding)?;
        let (meta, body) = self.body(file)?;
        let subject = Subject {
            path: document.path(),
            meta: &meta,
            encoding: variant.encoding,
            is_negotiated: document.variants().len() > 1,
        };
        let is_streamed = !body.is_in_memory();
        let full = Prepared::to_keep(self.present.head(&subject), body);
        let not_modified = Prepared::new(self.present.not_modified(&subject), []);
        let loaded = Arc::new(Loaded { meta, full, not_modified });
        variant.set_loaded(Arc::clone(&loaded));
        self.budget.admit(document, variant.encoding, is_streamed);
        Ok(loaded)
    }

    fn body(&mut self, file: File) -> Result<(FileMeta, Body), LoadError> {
        let meta = FileMeta::of(&file.metadata()?);
        let booked = booked(meta.size);
        if meta.size >= self.stream_from || !self.budget.make_room(booked) {
            let streamed = StreamedFile::new(file)?;
            return Ok((meta, Body::of_file(streamed)));
        }
        let (meta, bytes) = read_settled(&file)?;
        Ok((meta, Body::of_block(Block::new(bytes, booked, self.budget.account().clone()))))
    }
}

fn open(directory: &Directory, path: &[u8], encoding: Encoding) -> Result<File, LoadError> {
    let path = [path, encoding.suffix()].concat();
    let file = directory.open(OsStr::from_bytes(&path))?;
    // A pipe or device that took the file's place would block, or never end.
    if file.metadata()?.is_file() { Ok(file) } else { Err(LoadError::Denied) }
}

/// What is booked for a body of `size` bytes in memory.
fn booked(size: u64) -> u64 {
    let chunk_count: u64 = CHUNK_LENS.iter().map(|cut| size.div_ceil(*cut as u64)).sum();
    size + chunk_count * size_of::<u32>() as u64 + OVERHEAD
}

/// One version of a file that may be written to meanwhile.
fn read_settled(file: &File) -> Result<(FileMeta, Vec<u8>), LoadError> {
    for attempt in 0..ATTEMPT_COUNT {
        if attempt > 0 {
            std::thread::sleep(ATTEMPT_PAUSE);
        }
        let before = FileMeta::of(&file.metadata()?);
        let bytes = match read_whole(file, before.size) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => continue,
            other => other?,
        };
        if FileMeta::of(&file.metadata()?) == before {
            return Ok((before, bytes));
        }
    }
    Err(LoadError::Unsettled)
}

fn read_whole(file: &File, size: u64) -> io::Result<Vec<u8>> {
    let size = usize::try_from(size).map_err(|_| io::ErrorKind::FileTooLarge)?;
    let mut bytes = vec![0; size];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}
