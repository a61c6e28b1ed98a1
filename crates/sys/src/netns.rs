//! Network namespaces: private ones that die with their holder, named ones that `ip netns` sees.
//!
//! A namespace is entered by a thread, not by a process. [`Netns::run`] does it on a thread of its own that
//! then ends, so no thread of the caller can ever be left in the wrong one.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use crate::netlink::Netlink;
use crate::syscall::{c_string, check};

/// Where named namespaces are mounted: ip-netns(8).
const NAMED: &str = "/run/netns";

/// A network namespace could not be made, found, entered or removed.
#[derive(Debug, thiserror::Error)]
#[error("could not {attempted} network namespace {name}: {source}; {}", self.hint())]
pub struct NetnsError {
    /// The step that failed.
    pub attempted: &'static str,
    /// Its name or path.
    pub name: String,
    /// What the kernel said.
    pub source: io::Error,
}

impl NetnsError {
    fn hint(&self) -> &'static str {
        match self.source.kind() {
            io::ErrorKind::PermissionDenied => "run as root or with CAP_SYS_ADMIN",
            io::ErrorKind::NotFound => "list those that exist with: ip netns",
            io::ErrorKind::AlreadyExists => "choose another name or delete it first",
            _ => "see network_namespaces(7)",
        }
    }
}

fn failed(attempted: &'static str, name: impl Into<String>) -> impl FnOnce(io::Error) -> NetnsError {
    let name = name.into();
    move |source| NetnsError { attempted, name, source }
}

/// A network namespace, kept alive by this descriptor.
#[derive(Debug)]
pub struct Netns {
    fd: OwnedFd,
    name: String,
}

impl Netns {
    /// A new namespace without a name, its `lo` up: it and all its devices are gone with the last holder,
    /// also after `kill -9`.
    ///
    /// Needs CAP_SYS_ADMIN. Source: unshare(2).
    pub fn create() -> Result<Netns, NetnsError> {
        let name = "(unnamed)";
        let made = on_own_thread(|| {
            // SAFETY: takes no pointers; changes this short-lived thread only.
            check(unsafe { libc::unshare(libc::CLONE_NEWNET) })?;
            File::open("/proc/thread-self/ns/net")
        });
        let netns = Netns { fd: made.map_err(failed("create", name))?.into(), name: name.into() };
        netns.raise_loopback()?;
        Ok(netns)
    }

    /// A new namespace under `/run/netns`, its `lo` up. It outlives this process until
    /// [`delete_named`](Self::delete_named).
    ///
    /// Needs CAP_SYS_ADMIN. Source: ip-netns(8), mount(2).
    pub fn create_named(name: &str) -> Result<Netns, NetnsError> {
        let path = named_path(name)?;
        fs::create_dir_all(NAMED).map_err(failed("create", name))?;
        File::create_new(&path).map_err(failed("create", name))?;
        let made = on_own_thread(|| {
            // SAFETY: takes no pointers; changes this short-lived thread only.
            check(unsafe { libc::unshare(libc::CLONE_NEWNET) })?;
            bind_mount("/proc/thread-self/ns/net", &path)?;
            File::open(&path)
        });
        let named = made.map_err(failed("create", name)).and_then(|file| {
            let netns = Netns { fd: file.into(), name: name.into() };
            netns.raise_loopback().map(|()| netns)
        });
        if named.is_err() {
            // The name is this call's own; that it cannot be taken away again changes nothing for the caller.
            let _ = Self::delete_named(name);
        }
        named
    }

    /// Takes the name away; the namespace goes when nobody is in it or holds it any more.
    ///
    /// Needs CAP_SYS_ADMIN. Source: umount2(2).
    pub fn delete_named(name: &str) -> Result<(), NetnsError> {
        let path = named_path(name)?;
        let target = c_string(&path.to_string_lossy()).map_err(failed("delete", name))?;
        // SAFETY: `target` is a C string that lives for the length of the call.
        let unmounted = check(unsafe { libc::umount2(target.as_ptr(), libc::MNT_DETACH) });
        match unmounted {
            // A name left over by a process that died between making the file and mounting on it.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {}
            other => drop(other.map_err(failed("delete", name))?),
        }
        fs::remove_file(&path).map_err(failed("delete", name))
    }

    /// The namespace that `ip netns` calls `name`.
    pub fn named(name: &str) -> Result<Netns, NetnsError> {
        let fd = File::open(named_path(name)?).map_err(failed("open", name))?.into();
        Ok(Netns { fd, name: name.into() })
    }

    /// The namespace mounted or linked at `path`, such as `/proc/PID/ns/net`.
    pub fn open(path: impl AsRef<Path>) -> Result<Netns, NetnsError> {
        let name = path.as_ref().display().to_string();
        let fd = File::open(path).map_err(failed("open", name.as_str()))?.into();
        Ok(Netns { fd, name })
    }

    /// The namespace that the calling thread is in.
    pub fn current() -> Result<Netns, NetnsError> {
        Self::open("/proc/thread-self/ns/net")
    }

    /// Its name or path, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs `work` inside, on a thread of its own; panics of `work` go on in the caller.
    ///
    /// Needs CAP_SYS_ADMIN. Source: setns(2).
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, NetnsError> {
        on_own_thread(|| {
            self.set_current_thread()?;
            Ok(work())
        })
    }

    /// Moves the calling thread inside, for good: for threads that live there, such as a worker.
    ///
    /// Needs CAP_SYS_ADMIN. Source: setns(2).
    pub fn set_current_thread(&self) -> Result<(), NetnsError> {
        // SAFETY: takes no pointers.
        let moved = check(unsafe { libc::setns(self.fd.as_raw_fd(), libc::CLONE_NEWNET) });
        moved.map(drop).map_err(failed("enter", self.name.as_str()))
    }

    fn raise_loopback(&self) -> Result<(), NetnsError> {
        let raised = Netlink::open_in(self).and_then(|mut netlink| {
            let lo = netlink.link("lo")?;
            netlink.set_up(lo.ifindex, true)
        });
        raised.map_err(|error| failed("raise lo in", self.name.as_str())(error.source))
    }
}

impl AsFd for Netns {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// A name is one path component: what `ip netns` accepts.
fn named_path(name: &str) -> Result<PathBuf, NetnsError> {
    if name.is_empty() || name.starts_with('.') || name.contains(['/', '\0']) {
        return Err(failed("name", name)(io::ErrorKind::InvalidInput.into()));
    }
    Ok(Path::new(NAMED).join(name))
}

fn bind_mount(from: &str, onto: &Path) -> io::Result<()> {
    let (from, onto) = (c_string(from)?, c_string(&onto.to_string_lossy())?);
    let none = std::ptr::null();
    // SAFETY: both are C strings that live for the length of the call; the other pointers may be null.
    check(unsafe { libc::mount(from.as_ptr(), onto.as_ptr(), none, libc::MS_BIND, none.cast()) })?;
    Ok(())
}

/// Runs `work` on a thread that ends with it, so that what it does to its thread is undone by its end.
pub(crate) fn on_own_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let joined = std::thread::scope(|scope| scope.spawn(work).join());
    joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn unique() -> String {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        format!("tidegate-test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
    }

    fn identity() -> PathBuf {
        fs::read_link("/proc/thread-self/ns/net").unwrap()
    }

    #[test]
    fn work_runs_inside_and_the_caller_stays_outside() {
        let before = identity();
        let netns = Netns::create().unwrap();
        assert_ne!(netns.run(identity).unwrap(), before);
        assert_eq!(identity(), before);
    }

    #[test]
    fn loopback_answers_in_a_fresh_namespace() {
        let netns = Netns::create().unwrap();
        let reached = netns.run(|| {
            let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
            std::net::TcpStream::connect(listener.local_addr()?)
        });
        reached.unwrap().unwrap();
    }

    #[test]
    fn a_named_one_is_seen_by_others_until_it_is_deleted() {
        let name = unique();
        let netns = Netns::create_named(&name).unwrap();
        let again = Netns::named(&name).unwrap();
        assert_eq!(netns.run(identity).unwrap(), again.run(identity).unwrap());
        let taken = Netns::create_named(&name).unwrap_err().to_string();
        Netns::delete_named(&name).unwrap();
        assert!(taken.contains("choose another name"), "{taken}");
        assert!(Netns::named(&name).unwrap_err().to_string().contains("ip netns"));
    }

    #[test]
    fn names_that_leave_the_directory_are_refused() {
        for name in ["", "..", "a/b", ".hidden"] {
            assert!(Netns::create_named(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_panic_inside_reaches_the_caller() {
        let netns = Netns::create().unwrap();
        let panicked = std::panic::catch_unwind(|| netns.run(|| panic!("inside")));
        assert!(panicked.is_err());
    }
}
