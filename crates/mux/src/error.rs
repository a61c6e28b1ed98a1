//! Why a stack is not attached, in one line that says what to do about it.

use crate::registry::Refusal;
use std::error::Error;
use std::io;
use thiserror::Error;

/// What any operation of this crate returns.
pub(crate) type Result<T, E = MuxError> = std::result::Result<T, E>;

/// Why something could not be done.
#[derive(Debug, Error)]
pub enum MuxError {
    /// What was asked for cannot be: the line says what to ask for instead.
    #[error("{0}")]
    Input(String),
    /// Something stands in the way: the line says what to do about it.
    #[error("{0}")]
    Occupied(String),
    /// The machine refused a step.
    #[error("{attempted}: {source}")]
    Step {
        /// What was attempted.
        attempted: String,
        /// What it said.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The machine refused, in words that say it all.
    #[error(transparent)]
    Machine(Box<dyn Error + Send + Sync>),
}

pub(crate) fn wrong_input(text: impl Into<String>) -> MuxError {
    MuxError::Input(text.into())
}

macro_rules! machine {
    ($($error:ty),* $(,)?) => {
        $(impl From<$error> for MuxError {
            fn from(error: $error) -> Self {
                Self::Machine(Box::new(error))
            }
        })*
    };
}

machine!(
    io::Error,
    crate::pins::PinRootError,
    tidegate_bpf::AttachError,
    tidegate_bpf::LoadError,
    tidegate_bpf::MapError,
    tidegate_bpf::PinError,
    tidegate_bpf::RegisterError,
    tidegate_port::AfXdpError,
    tidegate_sys::ethtool::EthtoolError,
    tidegate_sys::netlink::NetlinkError,
    tidegate_sys::netns::NetnsError,
    tidegate_sys::random::RandomError,
    tidegate_sys::socket::ReserveError,
);

impl From<Refusal> for MuxError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Taken { .. } | Refusal::QueueTaken { .. } | Refusal::Full { .. } => {
                Self::Occupied(refusal.to_string())
            }
            _ => Self::Input(refusal.to_string()),
        }
    }
}

/// Says what was attempted when it failed.
pub(crate) trait Attempt<T> {
    fn attempting(self, what: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Error + Send + Sync + 'static> Attempt<T> for std::result::Result<T, E> {
    fn attempting(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| MuxError::Step { attempted: what(), source: Box::new(error) })
    }
}
