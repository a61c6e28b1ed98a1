//! The servers: how each is started in its best shape, one core each.

use std::fmt::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::ValueEnum;
use serde::Serialize;
use tidegate_testbed::{End, ScratchDir};

use super::client::ClientKind;
use crate::binary::ensure_built;

/// One server in one configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ServerKind {
    /// Tidegate, ready frames posted as they are.
    PreCopy,
    /// Tidegate, ready frames cloned.
    MemCopy,
    /// nginx, one worker, `sendfile off`: its fast setting on veth.
    Nginx,
    /// nginx, one worker, `sendfile on`.
    NginxSendfile,
    /// h2o, one thread.
    H2o,
}

impl ServerKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            ServerKind::PreCopy => "tidegate pre-copy",
            ServerKind::MemCopy => "tidegate memcopy",
            ServerKind::Nginx => "nginx",
            ServerKind::NginxSendfile => "nginx sendfile",
            ServerKind::H2o => "h2o",
        }
    }

    /// Whether it is ours; the others are what ours is compared with.
    pub(crate) fn is_tidegate(self) -> bool {
        matches!(self, ServerKind::PreCopy | ServerKind::MemCopy)
    }
}

/// Where the servers' programs are.
#[derive(Clone, Debug)]
pub(crate) struct Binaries {
    pub(crate) tidegate: PathBuf,
    pub(crate) tidegate_args: Vec<String>,
}

impl Binaries {
    /// Fails at once if a server that is asked for is not built.
    pub(crate) fn check(&self, servers: &[ServerKind]) -> anyhow::Result<()> {
        if servers.iter().any(|server| server.is_tidegate()) { ensure_built(&self.tidegate) } else { Ok(()) }
    }

    /// Each program, its path and the flag that makes it tell its version.
    pub(crate) fn versions(
        &self,
        servers: &[ServerKind],
        clients: &[ClientKind],
    ) -> Vec<(&str, &Path, &str)> {
        let mut programs: Vec<(&str, &Path, &str)> =
            clients.iter().filter_map(|client| client.version()).collect();
        for server in servers {
            programs.push(match server {
                ServerKind::PreCopy | ServerKind::MemCopy => ("tidegate", &self.tidegate, "--version"),
                ServerKind::Nginx | ServerKind::NginxSendfile => ("nginx", Path::new("nginx"), "-v"),
                ServerKind::H2o => ("h2o", Path::new("h2o"), "-v"),
            });
        }
        programs.dedup_by_key(|program| program.0);
        programs
    }

    /// The command that serves `root` at `address` on the device of `end`; its configuration goes to `scratch`.
    pub(crate) fn command(
        &self,
        server: ServerKind,
        root: &Path,
        end: &End,
        address: SocketAddr,
        scratch: &ScratchDir,
    ) -> anyhow::Result<Command> {
        match server {
            ServerKind::PreCopy => Ok(self.tidegate(root, end, address, "pre-copy")),
            ServerKind::MemCopy => Ok(self.tidegate(root, end, address, "memcopy")),
            ServerKind::Nginx => nginx(root, address, scratch, COPYING),
            ServerKind::NginxSendfile => nginx(root, address, scratch, SENDFILE),
            ServerKind::H2o => h2o(root, address, scratch),
        }
    }

    fn tidegate(&self, root: &Path, end: &End, address: SocketAddr, mode: &str) -> Command {
        let mut command = Command::new(&self.tidegate);
        command.args(["web", "--dev", end.device(), "--mode", mode, "--root"]).arg(root);
        command.args(["--listen", &address.to_string()]).args(&self.tidegate_args);
        command
    }
}

/// How nginx sends files: as bytes that it read, its fast way on veth, or as the kernel finds them.
pub(crate) const COPYING: &str = "sendfile off; output_buffers 2 128k;";
pub(crate) const SENDFILE: &str = "sendfile on; tcp_nopush on;";

/// One process, no logs, files kept open, connections kept for good.
pub(crate) fn nginx(
    root: &Path,
    address: SocketAddr,
    scratch: &ScratchDir,
    sending: &str,
) -> anyhow::Result<Command> {
    let directory = scratch.path().display();
    let mut temporary = String::new();
    for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
        writeln!(temporary, "    {kind}_temp_path {directory}/{kind};")?;
    }
    let configuration = format!(
        "daemon off;
master_process off;
worker_processes 1;
worker_rlimit_nofile 65536;
pid {directory}/nginx.pid;
error_log {directory}/error.log crit;
events {{
    use epoll;
    multi_accept on;
    worker_connections 16384;
}}
http {{
{temporary}    access_log off;
    {sending}
    tcp_nodelay on;
    keepalive_timeout 600s;
    keepalive_requests 1000000000;
    open_file_cache max=10000 inactive=600s;
    open_file_cache_valid 600s;
    default_type application/octet-stream;
    server {{
        listen {address} backlog=16384;
        root {root};
    }}
}}
",
        root = root.display(),
    );
    let path = scratch.write("nginx.conf", configuration)?;
    let mut command = Command::new("nginx");
    command.arg("-e").arg(scratch.join("error.log")).arg("-p").arg(scratch.path()).arg("-c").arg(path);
    Ok(command)
}

/// One thread, no logs.
fn h2o(root: &Path, address: SocketAddr, scratch: &ScratchDir) -> anyhow::Result<Command> {
    let configuration = format!(
        "num-threads: 1
num-name-resolution-threads: 1
max-connections: 16384
tcp-fastopen: 0
user: root
error-log: {directory}/error.log
http1-request-timeout: 600
listen:
  host: {ip}
  port: {port}
hosts:
  default:
    paths:
      /:
        file.dir: {root}
",
        directory = scratch.path().display(),
        ip = address.ip(),
        port = address.port(),
        root = root.display(),
    );
    let path = scratch.write("h2o.conf", configuration)?;
    let mut command = Command::new("h2o");
    command.arg("-m").arg("worker").arg("-c").arg(path);
    Ok(command)
}
