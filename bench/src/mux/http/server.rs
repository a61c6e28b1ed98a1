//! The servers: one in C, built on our sockets and on the host's, and nginx.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use clap::ValueEnum;
use serde::Serialize;
use tidegate_testbed::{End, ScratchDir};

use crate::web::{Body, COPYING, Content, SENDFILE, nginx};

/// The server, as users have it.
const SOURCE: &str = include_str!("../../../../examples/utcp/http.c");
/// What it is built on: the library, and the host under the same names.
const LIBRARY: &str = include_str!("../../../../crates/capi/include/tidegate.h");
const HOST: &str = include_str!("../../../../examples/utcp/host/tidegate.h");

/// One server in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ServerKind {
    /// Over our stack behind a veth of its own, by leave of the mux: what it sends is checked.
    Veth,
    /// Over our stack on a queue of the NIC, by leave of the mux.
    Queue,
    /// Over our stack with the NIC's queues, without a mux.
    Device,
    /// Over the host's sockets.
    Host,
    /// nginx, one process, `sendfile off`: its fast setting on veth.
    Nginx,
    /// nginx, one process, `sendfile on`.
    NginxSendfile,
}

impl ServerKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            ServerKind::Veth => "utcp, mux veth",
            ServerKind::Queue => "utcp, mux queue",
            ServerKind::Device => "utcp, own device",
            ServerKind::Host => "host sockets",
            ServerKind::Nginx => "nginx",
            ServerKind::NginxSendfile => "nginx sendfile",
        }
    }

    /// Whether it is over our stack.
    pub(super) fn is_utcp(self) -> bool {
        matches!(self, ServerKind::Veth | ServerKind::Queue | ServerKind::Device)
    }

    pub(super) fn is_nginx(self) -> bool {
        matches!(self, ServerKind::Nginx | ServerKind::NginxSendfile)
    }

    /// Whether a daemon gives it its place.
    pub(super) fn needs_mux(self) -> bool {
        matches!(self, ServerKind::Veth | ServerKind::Queue)
    }

    /// Below the root, where it has `body`.
    pub(super) fn paths(self, body: Body) -> Vec<String> {
        if self.is_nginx() { body.paths() } else { vec![String::new()] }
    }
}

/// The server in C, built twice; gone when dropped.
pub(super) struct Programs(ScratchDir);

impl Programs {
    /// Builds it with the compiler of the host, and with `library`.
    pub(super) fn build(library: &Path) -> anyhow::Result<Self> {
        let scratch = ScratchDir::new()?;
        scratch.write("http.c", SOURCE)?;
        scratch.write("utcp/tidegate.h", LIBRARY)?;
        scratch.write("host/tidegate.h", HOST)?;
        let library = fs::canonicalize(library).with_context(|| format!("find {}", library.display()))?;
        let place = scratch.join("lib");
        fs::create_dir_all(&place)?;
        // By the name that the linker looks for, and by that which the loader does.
        for name in ["libtidegate.so", "libtidegate.so.0"] {
            symlink(&library, place.join(name))?;
        }
        let place = place.display();
        let link = [format!("-L{place}"), "-ltidegate".to_owned(), format!("-Wl,-rpath,{place}")];
        compile(&scratch, "utcp", &link)?;
        compile(&scratch, "host", &["-D_GNU_SOURCE".to_owned()])?;
        Ok(Self(scratch))
    }

    /// The command that serves `body` at `address`, a place on the device of `end`. Its configuration goes to `scratch`,
    /// where the mux's socket is, too.
    pub(super) fn command(
        &self,
        server: ServerKind,
        content: &Content,
        body: Body,
        end: &End,
        address: SocketAddr,
        scratch: &ScratchDir,
    ) -> anyhow::Result<Command> {
        let device = end.device();
        let mux = |grade: &str| format!("mux:{device}/{grade}@{}", mux_socket(scratch).display());
        let (program, port) = match server {
            ServerKind::Veth => ("http-utcp", mux("veth")),
            ServerKind::Queue => ("http-utcp", mux("queue=0")),
            ServerKind::Device => ("http-utcp", format!("dev:{device}")),
            ServerKind::Host => ("http-host", "host".to_owned()),
            ServerKind::Nginx => return nginx(content.root(), address, scratch, COPYING),
            ServerKind::NginxSendfile => return nginx(content.root(), address, scratch, SENDFILE),
        };
        let path = body.paths().into_iter().next().context("a body has a path")?;
        let mut command = Command::new(self.0.join(program));
        command.args([port, address.to_string(), address.port().to_string()]).arg(content.file(&path));
        Ok(command)
    }
}

/// Where a daemon is asked.
pub(super) fn mux_socket(scratch: &ScratchDir) -> PathBuf {
    scratch.join("mux.sock")
}

/// `tidegate daemon --mux`, with a bpf file system of its own for its pins: nobody else's are in its way.
pub(super) fn daemon(tidegate: &Path, scratch: &ScratchDir) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c"]);
    command.arg(r#"mount -t bpf bpf /sys/fs/bpf && exec "$0" "$@""#).arg(tidegate);
    command.args(["daemon", "--listen", "127.0.0.1:0", "--mux"]).arg(mux_socket(scratch));
    command
}

/// Builds `http-VARIANT` on the header of that variant.
fn compile(scratch: &ScratchDir, variant: &str, more: &[String]) -> anyhow::Result<()> {
    let mut gcc = Command::new("gcc");
    gcc.args(["-O2", "-std=gnu11", "-I"]).arg(scratch.join(variant));
    gcc.arg("-o").arg(scratch.join(format!("http-{variant}"))).arg(scratch.join("http.c")).args(more);
    let output = gcc.output().context("start gcc")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "gcc does not build the server on {variant}: {said}");
    Ok(())
}
