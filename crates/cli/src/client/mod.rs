//! Commands to a daemon that runs: look at it, change it, watch it, draw it, listen in.
//!
//! ```text
//!   words -> script: FIELD=VALUE -> request --control::Client--> daemon
//!   answer -> columns for people, or json as the protocol names it
//! ```
//! Not here: pipelines from files (`pipeline`).

mod capture;
mod change;
mod columns;
mod gate;
mod graph;
mod hosted;
mod json;
mod monitor;
mod mux;
mod rates;
mod show;
mod tell;
mod top;

pub(crate) use capture::capture;
pub(crate) use change::{add, connect, delete, disconnect, pause, reset, resume};
pub(crate) use graph::graph;
pub(crate) use hosted::service;
pub(crate) use monitor::monitor;
pub(crate) use mux::mux;
pub(crate) use show::show;
pub(crate) use tell::command;
pub(crate) use top::top;

use anyhow::{Result, anyhow};
use std::io::Write;
use tidegate_control::{Client, ClientError};

/// A connection to the daemon at `address`.
pub(crate) fn reach(address: &str) -> Result<Client> {
    Client::connect(address).map_err(|error| match error {
        ClientError::Unreachable { address, why } => anyhow!(
            "no daemon answers at {address}: start one with tidegate daemon, or say where it is with --address ({why})"
        ),
        other => other.into(),
    })
}

/// Prints a text that ends its own lines.
fn print(text: &str) -> Result<()> {
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}
