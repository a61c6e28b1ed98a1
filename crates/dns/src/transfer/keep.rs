//! Copies of zones on disk, so that a start does not wait for primaries, nor fail without them.
//!
//! ```text
//!   | "tidegate-zone 1\n" | messages of an AXFR, each behind its length | SHA-256 of all before |
//! ```
//! A file is written beside the old one and takes its place when it is safely on disk. Its time of modification
//! is when a primary last said that this is the current version: from then on it expires.
//!
//! Invariant: what is read back is what was written, whole, or nothing.

use super::inbound::{Inbound, Received};
use super::outbound::{Outbound, Script};
use crate::name::Name;
use crate::tcp::{Messages, NextMessage, first_message};
use crate::zone::Zone;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;
use tidegate_base::Duration;

const MAGIC: &[u8] = b"tidegate-zone 1\n";
const DIGEST_LEN: usize = 32;
const PREFIX_LEN: usize = 2;
const MESSAGE_LEN_MAX: usize = u16::MAX as usize;

/// A copy that was kept.
pub(crate) struct Kept {
    pub(crate) zone: Zone,
    /// How long ago a primary confirmed it.
    pub(crate) age: Duration,
}

/// Writes `zone` to `path`, confirmed `age` ago.
pub(crate) fn write(path: &Path, zone: &Arc<Zone>, age: Duration) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let file = File::create(&beside)?;
    write_to(&file, zone)?;
    file.set_modified(ago(age))?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    // The name, too, must outlast a crash.
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).map_or(Ok(()), |dir| File::open(dir)?.sync_all())
}

fn write_to(file: &File, zone: &Arc<Zone>) -> io::Result<()> {
    let mut out = Digesting { out: BufWriter::new(file), digest: Sha256::new() };
    out.write_all(MAGIC)?;
    let mut messages = Outbound::unasked(Script::Whole(Arc::clone(zone)));
    let mut room = vec![0; MESSAGE_LEN_MAX];
    loop {
        let (len, is_last) = match messages.next_message(&mut room) {
            NextMessage::More(len) => (len, false),
            NextMessage::Last(len) => (len, true),
            NextMessage::Failed => return Err(io::Error::other("a record is longer than a message")),
        };
        out.write_all(&(len as u16).to_be_bytes())?;
        out.write_all(&room[..len])?;
        if is_last {
            break;
        }
    }
    let digest = out.digest.finalize();
    out.out.write_all(&digest)?;
    out.out.flush()
}

/// A primary has confirmed what is in `path`, `age` ago.
pub(crate) fn confirm(path: &Path, age: Duration) -> io::Result<()> {
    File::options().write(true).open(path)?.set_modified(ago(age))
}

fn ago(age: Duration) -> SystemTime {
    let now = SystemTime::now();
    now.checked_sub(age.into()).unwrap_or(now)
}

/// What is kept at `path` of the zone `apex`. None: nothing.
pub(crate) fn read(path: &Path, apex: &Name) -> io::Result<Option<Kept>> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let age = SystemTime::now().duration_since(fs::metadata(path)?.modified()?).unwrap_or_default();
    let zone = parse(&bytes, apex).ok_or_else(|| io::Error::other("not a whole copy of this zone"))?;
    Ok(Some(Kept { zone, age: age.into() }))
}

fn parse(bytes: &[u8], apex: &Name) -> Option<Zone> {
    let (content, digest) = bytes.split_at_checked(bytes.len().checked_sub(DIGEST_LEN)?)?;
    let mut messages = content.strip_prefix(MAGIC)?;
    if Sha256::digest(content).as_slice() != digest {
        return None;
    }
    let mut inbound = Inbound::new(0, apex, None);
    let mut is_complete = false;
    while !messages.is_empty() && !is_complete {
        let message = first_message(messages)?;
        is_complete = inbound.on_message(message).ok()?;
        messages = &messages[PREFIX_LEN + message.len()..];
    }
    match inbound.finish().ok()? {
        Received::Zone(zone) if messages.is_empty() => Some(*zone),
        Received::Zone(_) | Received::UpToDate => None,
    }
}

/// A file, and the digest of what was written to it.
struct Digesting<W> {
    out: W,
    digest: Sha256,
}

impl<W: Write> Write for Digesting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = self.out.write(bytes)?;
        self.digest.update(&bytes[..len]);
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
