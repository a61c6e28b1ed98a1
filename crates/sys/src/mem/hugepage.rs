//! The kernel's pool of 2 MiB pages, and the limit up to which it may grow.
//!
//! The limit raised is `nr_overcommit_hugepages`: pages beyond the reserved ones are taken from free memory
//! when a mapping asks for them and go back when it is gone, also after `kill -9`. Raising `nr_hugepages`
//! instead would keep the memory from everyone else for ever.

use std::fs;
use std::io;

/// Bytes in one huge page (x86-64 and arm64 with 4 KiB base pages).
pub const HUGE_PAGE_SIZE: usize = 2 << 20;

const POOL: &str = "/sys/kernel/mm/hugepages/hugepages-2048kB";

/// The limit of huge pages could not be read or raised.
#[derive(Debug, thiserror::Error)]
#[error("could not {attempted} {path}: {source}; as root: sysctl vm.nr_overcommit_hugepages={wanted}")]
pub struct HugePageError {
    /// `read` or `write`.
    pub attempted: &'static str,
    /// The file of the kernel.
    pub path: String,
    /// The limit that would have sufficed.
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
/// The limit stays raised; the pages themselves are returned with the mapping. Needs root (the file is
/// root's). Source: admin-guide/mm/hugetlbpage.rst.
pub fn allow_huge_pages(pages: usize) -> Result<(), HugePageError> {
    let missing = pages.saturating_sub(huge_pages_available()?);
    if missing == 0 {
        return Ok(());
    }
    let wanted = read("nr_overcommit_hugepages")? + missing;
    let path = format!("{POOL}/nr_overcommit_hugepages");
    fs::write(&path, wanted.to_string()).map_err(|source| HugePageError {
        attempted: "write",
        path,
        wanted,
        source,
    })
}

fn read(name: &str) -> Result<usize, HugePageError> {
    let path = format!("{POOL}/{name}");
    let parsed = fs::read_to_string(&path)
        .and_then(|text| text.trim().parse().map_err(|_| io::ErrorKind::InvalidData.into()));
    parsed.map_err(|source| HugePageError { attempted: "read", path, wanted: 0, source })
}
