//! A directory of files with fixed times, so that heads come out the same on every run.
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Sun, 06 Nov 1994 08:49:37 GMT.
pub const MODIFIED: u64 = 784_111_777;
/// Mon, 07 Nov 1994 08:49:37 GMT.
pub const NOW: u64 = MODIFIED + 86_400;

pub fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(NOW)
}

pub struct Tree(PathBuf);

impl Tree {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let root = std::env::temp_dir().join(format!("tidegate-site-{}-{number}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        Self(root)
    }

    /// What most tests serve.
    pub fn standard() -> Self {
        let tree = Self::new();
        tree.write("index.html", b"<h1>hello</h1>\n");
        tree.write("a.css", b"0123456789abcdefghijklmnopqrstuvwxyz");
        tree.write("page.html", b"plain plain plain");
        tree.write("page.html.gz", b"gzipped");
        tree.write("page.html.br", b"brotli");
        tree.write("docs/index.html", b"docs\n");
        tree.write("empty.txt", b"");
        tree.write(".secret", b"no");
        tree.write("closed/data.bin", b"\0\x01");
        tree.write("big.bin", &(0..100_000_u32).map(|n| (n % 251) as u8).collect::<Vec<_>>());
        tree
    }

    pub fn root(&self) -> &Path {
        &self.0
    }

    pub fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        let modified = UNIX_EPOCH + Duration::from_secs(MODIFIED);
        File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
