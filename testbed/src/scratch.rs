//! A directory for what a test writes, removed with everything in it when dropped.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, process};

use crate::TestbedError;

/// A directory of its own: no two of them, in whatever process, are the same.
#[derive(Debug)]
pub struct ScratchDir {
    path: PathBuf,
}

impl ScratchDir {
    /// A directory below the system's directory for temporary files.
    pub fn new() -> Result<ScratchDir, TestbedError> {
        ScratchDir::below(&env::temp_dir())
    }

    /// A directory in memory, where reading a file costs no disk.
    pub fn in_memory() -> Result<ScratchDir, TestbedError> {
        ScratchDir::below(Path::new("/dev/shm"))
    }

    fn below(parent: &Path) -> Result<ScratchDir, TestbedError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("tidegate-{}-{number}", process::id()));
        fs::create_dir(&path).map_err(|source| TestbedError::File {
            attempted: "create",
            path: path.display().to_string(),
            source,
        })?;
        Ok(ScratchDir { path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of `name` in it.
    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a file in it, and the directories that its name asks for.
    pub fn write(&self, name: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> Result<PathBuf, TestbedError> {
        let path = self.join(name);
        let parent = path.parent().unwrap_or(&self.path);
        fs::create_dir_all(parent).and_then(|()| fs::write(&path, bytes)).map_err(|source| {
            TestbedError::File { attempted: "write", path: path.display().to_string(), source }
        })?;
        Ok(path)
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        // What cannot be removed is left to the system's own cleaning.
        let _ = fs::remove_dir_all(&self.path);
    }
}
