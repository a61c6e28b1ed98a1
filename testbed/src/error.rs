//! What can go wrong with a testbed, each with what was attempted and what to do next.

use std::io;
use std::time::Duration;

use tidegate_sys::cpu::{PinError, TimeError};
use tidegate_sys::ethtool::EthtoolError;
use tidegate_sys::mem::HugePageError;
use tidegate_sys::napi::NapiError;
use tidegate_sys::netlink::NetlinkError;
use tidegate_sys::netns::NetnsError;

/// A testbed could not be made, entered, or do what was asked of it.
#[derive(Debug, thiserror::Error)]
pub enum TestbedError {
    /// A namespace could not be made, entered or removed.
    #[error(transparent)]
    Netns(#[from] NetnsError),
    /// The kernel refused a change to a link or an address.
    #[error(transparent)]
    Netlink(#[from] NetlinkError),
    /// An offload could not be switched.
    #[error(transparent)]
    Offload(#[from] EthtoolError),
    /// Receive threads could not be made or pinned.
    #[error(transparent)]
    Napi(#[from] NapiError),
    /// A program could not be kept to its processor.
    #[error(transparent)]
    Pin(#[from] PinError),
    /// Processor time could not be read.
    #[error(transparent)]
    Time(#[from] TimeError),
    /// Huge pages could not be allowed.
    #[error(transparent)]
    HugePages(#[from] HugePageError),
    /// A program could not be started.
    #[error("could not start {program}: {source}; install it with: scripts/deps test")]
    Start {
        /// The program.
        program: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// A program ended, or did not get ready in time.
    #[error("{program} did not {awaited} within {} ms{}", patience.as_millis(), quoted(said))]
    Awaited {
        /// The program.
        program: String,
        /// What was waited for.
        awaited: String,
        /// For how long.
        patience: Duration,
        /// What it wrote until then.
        said: String,
    },
    /// A file of the testbed's own could not be written or read.
    #[error("could not {attempted} {path}: {source}")]
    File {
        /// What was attempted.
        attempted: &'static str,
        /// On which file.
        path: String,
        /// What the kernel said.
        source: io::Error,
    },
}

fn quoted(said: &str) -> String {
    let said = said.trim();
    if said.is_empty() { ", and said nothing".into() } else { format!("; it said:\n{said}") }
}
