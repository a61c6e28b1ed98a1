//! One function a method: it checks the request, calls the controller and fills the answer.
//!
//! A fault becomes field 1 of the answer elsewhere (`server`).

mod daemon;
mod hooks;
mod modules;
pub(crate) mod pipeline;
mod ports;
pub(crate) mod services;
pub(crate) mod stacks;
mod traffic;
mod workers;

pub(crate) use daemon::*;
pub(crate) use hooks::*;
pub(crate) use modules::*;
pub(crate) use ports::*;
pub(crate) use traffic::*;
pub(crate) use workers::*;

use crate::Fault;
use crate::proto::bess::EmptyResponse;

/// How a method ends.
type Reply<T = EmptyResponse> = Result<T, Fault>;

/// The answer to what has been done and has no result.
fn done(outcome: Result<(), Fault>) -> Reply {
    outcome.map(|()| EmptyResponse { error: None })
}
