//! Watching a tree of directories: which files came, went or have new content.
//!
//! inotify(7) watches single directories, so each directory of the tree has a watch, made when the directory
//! appears. What was put into a directory before its watch existed is reported as if it came afterwards; a
//! file may therefore be reported twice, and never not at all. When the kernel's queue overflows, the
//! watcher says [`ChangeKind::Overflow`]: look at the whole tree again.

use std::collections::HashMap;
use std::ffi::{CString, OsStr};
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::syscall::{check, check_fd, check_len};

/// A tree could not be watched.
#[derive(Debug, thiserror::Error)]
#[error("could not watch {path} for changes: {source}; {}", self.hint(), path = path.display())]
pub struct WatchError {
    /// The directory.
    pub path: PathBuf,
    /// What the kernel said.
    pub source: io::Error,
}

impl WatchError {
    fn hint(&self) -> &'static str {
        match self.source.raw_os_error() {
            Some(libc::ENOSPC) => "raise fs.inotify.max_user_watches",
            Some(libc::EMFILE) => "raise fs.inotify.max_user_instances",
            _ => "it must be a directory that this user may read",
        }
    }
}

/// What happened to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// A file is new. Its content follows with [`Written`](Self::Written), unless it is a link, which is
    /// complete at once.
    Created,
    /// Its content is new and complete: a writer closed it, or it was moved here.
    Written,
    /// It is gone: deleted or moved away.
    Removed,
    /// Its permissions or times changed.
    Attributes,
    /// A directory is new; what lies in it is reported as well.
    Directory,
    /// Changes were lost: the path is the root, and anything below it may have changed.
    Overflow,
}

/// One change in a watched tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Change {
    /// What changed, below the root as it was given.
    pub path: PathBuf,
    /// How.
    pub kind: ChangeKind,
}

const MASK: u32 = libc::IN_CREATE
    | libc::IN_CLOSE_WRITE
    | libc::IN_MOVED_FROM
    | libc::IN_MOVED_TO
    | libc::IN_DELETE
    | libc::IN_ATTRIB
    | libc::IN_ONLYDIR
    | libc::IN_EXCL_UNLINK
    | libc::IN_DONT_FOLLOW;

/// A watch on every directory of a tree; symbolic links are not followed, but the root may be one.
#[derive(Debug)]
pub struct TreeWatch {
    inotify: OwnedFd,
    root: PathBuf,
    /// The directory of each watch descriptor.
    directories: HashMap<i32, PathBuf>,
}

/// `struct inotify_event`: wd i32, mask u32, cookie u32, len u32, name[len].
const EVENT_LEN: usize = 16;

impl TreeWatch {
    /// Watches `root` and all directories below.
    ///
    /// Needs no capability but the right to read them. Source: inotify(7).
    pub fn new(root: impl AsRef<Path>) -> Result<TreeWatch, WatchError> {
        let root = root.as_ref();
        let error = |source| WatchError { path: root.to_owned(), source };
        let real = root.canonicalize().map_err(error)?;
        // SAFETY: takes no pointers.
        let inotify = check_fd(unsafe { libc::inotify_init1(libc::IN_CLOEXEC | libc::IN_NONBLOCK) });
        let inotify = inotify.map_err(error)?;
        let mut watch = TreeWatch { inotify, root: real.clone(), directories: HashMap::new() };
        watch.add_tree(&real, &mut Vec::new())?;
        Ok(watch)
    }

    /// The root, links resolved; the paths of changes start with it.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// How many directories are watched.
    pub fn directory_count(&self) -> usize {
        self.directories.len()
    }

    /// What changed since the last call; does not wait. New directories are watched from then on.
    pub fn try_changes(&mut self) -> Result<Vec<Change>, WatchError> {
        let mut changes = Vec::new();
        let mut buffer = [0; 64 << 10];
        loop {
            let read = self.read(&mut buffer);
            let len = read.map_err(|source| WatchError { path: self.root.clone(), source })?;
            if len == 0 {
                return Ok(changes);
            }
            for event in events(&buffer[..len]) {
                self.on_event(&event, &mut changes)?;
            }
        }
    }

    fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        // SAFETY: `buffer` is valid for writes of its length.
        let read = unsafe { libc::read(self.inotify.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
        match check_len(read) {
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                Ok(0)
            }
            other => other,
        }
    }

    fn on_event(&mut self, event: &Event<'_>, changes: &mut Vec<Change>) -> Result<(), WatchError> {
        if event.mask & libc::IN_Q_OVERFLOW != 0 {
            changes.push(Change { path: self.root.clone(), kind: ChangeKind::Overflow });
            let root = self.root.clone();
            return self.add_tree(&root, changes);
        }
        if event.mask & libc::IN_IGNORED != 0 {
            self.directories.remove(&event.watch);
            return Ok(());
        }
        let Some(directory) = self.directories.get(&event.watch) else { return Ok(()) };
        let path = directory.join(event.name);
        let is_directory = event.mask & libc::IN_ISDIR != 0;
        if is_directory && event.mask & libc::IN_MOVED_FROM != 0 {
            self.forget_tree(&path);
        }
        match kind_of(event.mask) {
            Some(ChangeKind::Directory) => self.add_tree(&path, changes),
            Some(kind) => {
                changes.push(Change { path, kind });
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Watches a directory and all below; what is already in them is reported. A directory that vanished
    /// meanwhile is no error: its parent reports that.
    fn add_tree(&mut self, directory: &Path, changes: &mut Vec<Change>) -> Result<(), WatchError> {
        let error = |source| WatchError { path: directory.to_owned(), source };
        match self.add(directory) {
            Err(source) if vanished(&source) && directory != self.root => return Ok(()),
            other => other.map_err(error)?,
        }
        changes.push(Change { path: directory.to_owned(), kind: ChangeKind::Directory });
        let entries = match fs::read_dir(directory) {
            Err(source) if vanished(&source) => return Ok(()),
            other => other.map_err(error)?,
        };
        for entry in entries.flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => self.add_tree(&entry.path(), changes)?,
                Ok(_) => changes.push(Change { path: entry.path(), kind: ChangeKind::Written }),
                Err(_) => {}
            }
        }
        Ok(())
    }

    fn add(&mut self, directory: &Path) -> io::Result<()> {
        let path = CString::new(directory.as_os_str().as_bytes())?;
        // SAFETY: `path` is a C string that lives for the length of the call.
        let added = unsafe { libc::inotify_add_watch(self.inotify.as_raw_fd(), path.as_ptr(), MASK) };
        self.directories.insert(check(added)?, directory.to_owned());
        Ok(())
    }

    /// Ends the watches on a directory that was moved away and on all below it.
    fn forget_tree(&mut self, moved: &Path) {
        let inotify = self.inotify.as_raw_fd();
        self.directories.retain(|&watch, path| {
            let gone = path.starts_with(moved);
            if gone {
                // SAFETY: takes no pointers; that it may be gone already does not matter.
                unsafe { libc::inotify_rm_watch(inotify, watch) };
            }
            !gone
        });
    }
}

impl AsFd for TreeWatch {
    /// Readable when there are changes.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }
}

fn vanished(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENOTDIR))
}

/// What an event means for the tree; none for those that a directory reports of itself.
fn kind_of(mask: u32) -> Option<ChangeKind> {
    let is_directory = mask & libc::IN_ISDIR != 0;
    let has = |bits: u32| mask & bits != 0;
    if is_directory && has(libc::IN_CREATE | libc::IN_MOVED_TO) {
        Some(ChangeKind::Directory)
    } else if has(libc::IN_CREATE) {
        Some(ChangeKind::Created)
    } else if has(libc::IN_CLOSE_WRITE | libc::IN_MOVED_TO) {
        Some(ChangeKind::Written)
    } else if has(libc::IN_DELETE | libc::IN_MOVED_FROM) {
        Some(ChangeKind::Removed)
    } else {
        has(libc::IN_ATTRIB).then_some(ChangeKind::Attributes)
    }
}

struct Event<'a> {
    watch: i32,
    mask: u32,
    name: &'a OsStr,
}

/// The events in what was read; ends at the first that is cut short.
fn events(mut rest: &[u8]) -> impl Iterator<Item = Event<'_>> {
    std::iter::from_fn(move || {
        let word =
            |index: usize| rest.get(index * 4..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes));
        let (watch, mask, len) = (word(0)? as i32, word(1)?, word(3)? as usize);
        let name = rest.get(EVENT_LEN..EVENT_LEN + len)?;
        rest = &rest[EVENT_LEN + len..];
        let end = name.iter().position(|&byte| byte == 0).unwrap_or(len);
        Some(Event { watch, mask, name: OsStr::from_bytes(&name[..end]) })
    })
}
