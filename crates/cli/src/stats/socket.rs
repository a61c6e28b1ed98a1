//! The Unix socket on which a service tells its counters: who connects is sent one report.
//!
//! ```text
//!   /run/tidegate/PID.sock     root's; removed at exit, or by the next service or reader if its process is gone
//! ```

use super::{Collector, Report};
use anyhow::{Context, Result};
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Where services' sockets are.
pub(crate) const DIRECTORY: &str = "/run/tidegate";
/// How long the other end may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// The service's end, bound and not yet served.
pub(crate) struct Listener {
    listener: UnixListener,
    path: PathBuf,
}

impl Listener {
    /// Binds this process's socket. Its number may have been used by one that was killed.
    pub(crate) fn bind() -> Result<Self> {
        let path = path_of(std::process::id());
        let bound = fs::create_dir_all(DIRECTORY).and_then(|()| {
            remove_stale();
            let _ = fs::remove_file(&path);
            let listener = UnixListener::bind(&path)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
            Ok(listener)
        });
        let listener = bound.with_context(|| format!("could not listen on {}", path.display()))?;
        Ok(Self { listener, path })
    }

    /// Answers on a thread of its own; the returned value removes the socket's name.
    pub(crate) fn serve(self, collector: Arc<Collector>) -> Result<SocketName> {
        let name = SocketName(self.path);
        let listener = self.listener;
        let answer = move || {
            for stream in listener.incoming().flatten() {
                if let Err(error) = tell(stream, &collector.report()) {
                    tracing::debug!("a reader of the counters went away: {error}");
                }
            }
        };
        std::thread::Builder::new().name("stats".into()).spawn(answer)?;
        Ok(name)
    }
}

/// The name of a bound socket, removed when this is dropped.
pub(crate) struct SocketName(PathBuf);

impl Drop for SocketName {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn tell(mut stream: UnixStream, report: &Report) -> std::io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(&serde_json::to_vec(report)?)
}

/// Removes the names that killed processes left.
fn remove_stale() {
    for pid in processes() {
        let path = path_of(pid);
        if UnixStream::connect(&path).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused) {
            let _ = fs::remove_file(&path);
        }
    }
}

fn path_of(pid: u32) -> PathBuf {
    Path::new(DIRECTORY).join(format!("{pid}.sock"))
}

/// The processes that have a socket, ascending.
pub(crate) fn processes() -> Vec<u32> {
    let entries = fs::read_dir(DIRECTORY).into_iter().flatten().flatten();
    let pid = |entry: fs::DirEntry| entry.file_name().to_str()?.strip_suffix(".sock")?.parse().ok();
    let mut pids: Vec<u32> = entries.filter_map(pid).collect();
    pids.sort_unstable();
    pids
}

/// Asks one process. `None` if it is gone; its socket's name is removed then.
pub(crate) fn ask(pid: u32) -> Result<Option<Report>> {
    let path = path_of(pid);
    let mut stream = match UnixStream::connect(&path) {
        Ok(stream) => stream,
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            let _ = fs::remove_file(&path);
            return Ok(None);
        }
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("could not ask process {pid}")),
    };
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut text = Vec::new();
    stream.read_to_end(&mut text).with_context(|| format!("process {pid} does not answer"))?;
    Ok(Some(serde_json::from_slice(&text).with_context(|| format!("process {pid} is of another version"))?))
}
