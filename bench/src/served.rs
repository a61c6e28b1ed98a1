//! Tidegate serving a directory at the server's end of a testbed.

use anyhow::Context;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tidegate_testbed::{End, Process, ScratchDir, Testbed};

const PATIENCE: Duration = Duration::from_secs(20);

/// Starts it at the server's end for the files of `root`, with `more` arguments, and waits until it answers at
/// `address`.
pub(crate) fn start(
    tidegate: Option<&Path>,
    bed: &Testbed,
    root: &ScratchDir,
    address: SocketAddr,
    more: &[&str],
) -> anyhow::Result<Process> {
    start_at(tidegate, bed.server(), bed, root, address, more)
}

/// The same at any `end` that the client of `bed` can reach.
pub(crate) fn start_at(
    tidegate: Option<&Path>,
    end: &End,
    bed: &Testbed,
    root: &ScratchDir,
    address: SocketAddr,
    more: &[&str],
) -> anyhow::Result<Process> {
    let mut command = Command::new(crate::binary::tidegate_binary(tidegate)?);
    command.args(["web", "--dev", end.device(), "--mode", "memcopy", "--root"]).arg(root.path());
    command.args(["--listen", &address.to_string()]).args(more);
    let mut server = end.spawn(command)?;
    bed.await_service(&mut server, address, PATIENCE).context("wait for Tidegate to answer")?;
    // Attaching the program made new receive threads.
    end.settle()?;
    Ok(server)
}
