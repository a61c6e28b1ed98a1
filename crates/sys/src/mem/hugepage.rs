//! The kernel's pool of 2 MiB pages, and the limit up to which it may grow.
//!
//! The limit raised is `nr_overcommit_hugepages`: pages beyond the reserved ones are taken from free memory
//! when a mapping asks for them and go back when it is gone, also after `kill -9`. Raising `nr_hugepages`
//! instead would keep the memory from everyone else for ever.
//!
//! What was raised is lowered again when it is no longer needed, by the descriptor that raised it: a process
//! that has given its rights up meanwhile may still write there. After `kill -9` the limit stays.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes in one huge page (x86-64 and arm64 with 4 KiB base pages).
pub const HUGE_PAGE_SIZE: usize = 2 << 20;

const POOL: &str = "/sys/kernel/mm/hugepages/hugepages-2048kB";

/// The limit of huge pages could not be read or raised.
#[derive(Debug, thiserror::Error)]
#[error("could not {attempted} {path}: {source}; as root, raise vm.nr_overcommit_hugepages by {wanted}")]
pub struct HugePageError {
    /// `read` or `raise`.
    pub attempted: &'static str,
    /// The file of the kernel.
    pub path: String,
    /// How many pages more would have sufficed.
    pub wanted: usize,
    /// What the kernel said.
    pub source: io::Error,
}

/// How many huge pages a mapping could still take: reserved and unused ones, plus what may be overcommitted.
///
/// Whether free memory is contiguous enough for the latter shows only when they are mapped.
pub fn huge_pages_available() -> Result<usize, HugePageError> {
    let unused = read("free_hugepages")?.saturating_sub(read("resv_hugepages")?);
    let overcommit = read("nr_overcommit_hugepages")?.saturating_sub(read("surplus_hugepages")?);
    Ok(unused + overcommit)
}

/// Lets mappings take `pages` more huge pages, raising the limit where it is too low; never lowers it.
///
/// The limit is as it was when what is returned is dropped; the pages themselves are returned with the mapping.
/// Needs root (the file is root's). Source: admin-guide/mm/hugetlbpage.rst.
pub fn allow_huge_pages(pages: usize) -> Result<Option<RaisedLimit>, HugePageError> {
    let missing = pages.saturating_sub(huge_pages_available()?);
    if missing == 0 {
        return Ok(None);
    }
    let path = format!("{POOL}/nr_overcommit_hugepages");
    let raised = RaisedLimit::raise(Path::new(&path), missing);
    raised.map(Some).map_err(|source| HugePageError { attempted: "raise", path, wanted: missing, source })
}

/// A limit that was raised, until this is dropped.
#[derive(Debug)]
pub struct RaisedLimit {
    file: File,
    page_count: usize,
}

impl RaisedLimit {
    fn raise(path: &Path, page_count: usize) -> io::Result<Self> {
        let file = File::options().read(true).write(true).open(path)?;
        change(&file, |limit| limit.saturating_add(page_count))?;
        Ok(Self { file, page_count })
    }
}

impl Drop for RaisedLimit {
    fn drop(&mut self) {
        // Whoever administers the machine may have set it anew meanwhile; a failure leaves it too high.
        let _ = change(&self.file, |limit| limit.saturating_sub(self.page_count));
    }
}

/// Replaces the number in `file`, so that processes which do so at once do not undo each other.
fn change(file: &File, to: impl FnOnce(usize) -> usize) -> io::Result<()> {
    file.lock()?;
    let changed =
        number_in(file).and_then(|number| file.write_all_at(format!("{}\n", to(number)).as_bytes(), 0));
    file.unlock().and(changed)
}

fn number_in(file: &File) -> io::Result<usize> {
    let mut text = [0; 32];
    let len = file.read_at(&mut text, 0)?;
    let line = str::from_utf8(&text[..len]).ok().and_then(|text| text.lines().next());
    line.and_then(|line| line.trim().parse().ok()).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn read(name: &str) -> Result<usize, HugePageError> {
    let path = format!("{POOL}/{name}");
    let parsed = fs::read_to_string(&path)
        .and_then(|text| text.trim().parse().map_err(|_| io::ErrorKind::InvalidData.into()));
    parsed.map_err(|source| HugePageError { attempted: "read", path, wanted: 0, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_as_it_was_when_nobody_needs_more() {
        let path = std::env::temp_dir().join(format!("tidegate-limit-{}", std::process::id()));
        let limit = || fs::read_to_string(&path).expect("its own file").lines().next().map(str::to_owned);
        fs::write(&path, "7\n").expect("a temporary file");
        let first = RaisedLimit::raise(&path, 5).expect("a number");
        let second = RaisedLimit::raise(&path, 100).expect("a number");
        assert_eq!(limit().as_deref(), Some("112"));
        drop(first);
        assert_eq!(limit().as_deref(), Some("107"));
        drop(second);
        assert_eq!(limit().as_deref(), Some("7"));
        fs::write(&path, "?").expect("a temporary file");
        assert!(RaisedLimit::raise(&path, 1).is_err());
        let _ = fs::remove_file(&path);
    }
}
