//! Tidegate serving a directory at the server's end of a testbed.

use anyhow::Context;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tidegate_testbed::{Process, ScratchDir, Testbed};

const PATIENCE: Duration = Duration::from_secs(20);

/// Starts it for the files of `root`, with `more` arguments, and waits until it answers at `address`.
pub(crate) fn start(
    tidegate: Option<&Path>,
    bed: &Testbed,
    root: &ScratchDir,
    address: SocketAddr,
    more: &[&str],
) -> anyhow::Result<Process> {
    let mut command = Command::new(crate::web::tidegate_binary(tidegate)?);
    command.args(["web", "--dev", bed.server().device(), "--mode", "memcopy", "--root"]).arg(root.path());
    command.args(["--listen", &address.to_string()]).args(more);
    let mut server = bed.server().spawn(command)?;
    bed.await_service(&mut server, address, PATIENCE).context("wait for Tidegate to answer")?;
    // Attaching the program made new receive threads.
    bed.server().settle()?;
    Ok(server)
}
