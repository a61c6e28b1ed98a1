//! The Unix socket on which a process tells its counters and takes orders: one request, one answer, as JSON.
//!
//! ```text
//!   /run/tidegate/PID.sock     root's; removed at exit, or by the next service or reader if its process is gone
//!   --{"report":null}--> | <--Report--          --{"reload_zones":{"zone":"a."}}--> | <--[ZoneNews]--
//! ```

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tidegate_service::{Collector, Line, Report, Which, ZoneNews};

/// Where services' sockets are.
pub(crate) const DIRECTORY: &str = "/run/tidegate";
/// How long the other end may take, where it only has to speak.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long zones may take to be read.
const READ_PATIENCE: Duration = Duration::from_secs(600);
/// The longest request.
const REQUEST_LEN_MAX: u64 = 4 << 10;

/// What a process can be asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Request {
    /// Its counters.
    Report,
    /// To read zone files again.
    ReloadZones {
        /// This one only.
        zone: Option<String>,
    },
}

/// Who answers.
#[derive(Clone)]
pub(crate) struct Desk {
    pub(crate) collector: Arc<Collector>,
    /// The reader of zone files, if there is a name server.
    pub(crate) zones: Option<Line>,
}

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
    pub(crate) fn serve(self, desk: Desk) -> Result<SocketName> {
        let name = SocketName(self.path);
        let listener = self.listener;
        let answer = move || {
            for stream in listener.incoming().flatten() {
                desk.take(stream);
            }
        };
        std::thread::Builder::new().name("stats".into()).spawn(answer)?;
        Ok(name)
    }
}

impl Desk {
    /// Answers one request; one that takes its time on a thread of its own.
    fn take(&self, mut stream: UnixStream) {
        let gone = |error: std::io::Error| tracing::debug!("a reader of the counters went away: {error}");
        match request(&mut stream) {
            Ok(Request::Report) => tell(stream, &self.collector.report()).unwrap_or_else(gone),
            Ok(Request::ReloadZones { zone }) => {
                let desk = self.clone();
                let reload = move || tell(stream, &desk.reload(zone.as_deref())).unwrap_or_else(gone);
                let thread = std::thread::Builder::new().name("reload".into());
                thread.spawn(reload).map(drop).unwrap_or_else(gone);
            }
            Err(error) => gone(error),
        }
    }

    fn reload(&self, zone: Option<&str>) -> Vec<ZoneNews> {
        let Some(zones) = &self.zones else { return Vec::new() };
        let which = zone.map_or(Some(Which::All), |zone| zone.parse().ok().map(Which::Named));
        let news = which.and_then(|which| zones.read(which).recv_timeout(READ_PATIENCE).ok());
        news.unwrap_or_default()
    }
}

/// The name of a bound socket, removed when this is dropped.
pub(crate) struct SocketName(PathBuf);

impl Drop for SocketName {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn request(stream: &mut UnixStream) -> std::io::Result<Request> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut text = Vec::new();
    stream.take(REQUEST_LEN_MAX).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}

fn tell(mut stream: UnixStream, answer: &impl Serialize) -> std::io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(&serde_json::to_vec(answer)?)
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

/// One process's counters. `None` if it is gone; its socket's name is removed then.
pub(crate) fn report(pid: u32) -> Result<Option<Report>> {
    ask(pid, &Request::Report, PATIENCE)
}

/// Has one process read zone files again. `None` if it is gone.
pub(crate) fn reload_zones(pid: u32, zone: Option<&str>) -> Result<Option<Vec<ZoneNews>>> {
    ask(pid, &Request::ReloadZones { zone: zone.map(str::to_owned) }, READ_PATIENCE)
}

fn ask<T: DeserializeOwned>(pid: u32, request: &Request, patience: Duration) -> Result<Option<T>> {
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
    let mut converse = || {
        stream.set_read_timeout(Some(patience))?;
        stream.write_all(&serde_json::to_vec(request)?)?;
        stream.shutdown(Shutdown::Write)?;
        let mut text = Vec::new();
        stream.read_to_end(&mut text).map(|_| text)
    };
    let text = converse().with_context(|| format!("process {pid} does not answer"))?;
    Ok(Some(serde_json::from_slice(&text).with_context(|| format!("process {pid} is of another version"))?))
}
