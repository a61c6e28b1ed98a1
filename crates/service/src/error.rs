//! Why a service does not come up, in one line that says what to do about it.

use std::error::Error;
use std::io;
use thiserror::Error;
use tidegate_mux::MuxError;

/// What any operation of this crate returns.
pub(crate) type Result<T, E = ServiceError> = std::result::Result<T, E>;

/// Why something could not be done.
#[derive(Debug, Error)]
pub enum ServiceError {
    /// What was asked for cannot be: the line says what to ask for instead.
    #[error("{0}")]
    Input(String),
    /// A NIC could not be had.
    #[error(transparent)]
    Attach(#[from] MuxError),
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

impl ServiceError {
    /// Whether asking for something else would help.
    pub const fn is_input(&self) -> bool {
        matches!(self, Self::Input(_) | Self::Attach(MuxError::Input(_)))
    }
}

pub(crate) fn wrong_input(text: impl Into<String>) -> ServiceError {
    ServiceError::Input(text.into())
}

macro_rules! machine {
    ($($error:ty),* $(,)?) => {
        $(impl From<$error> for ServiceError {
            fn from(error: $error) -> Self {
                Self::Machine(Box::new(error))
            }
        })*
    };
}

machine!(
    io::Error,
    tidegate_content::LibraryError,
    tidegate_packet::PoolError,
    tidegate_sys::mem::MapError,
    tidegate_sys::netlink::NetlinkError,
    tidegate_sys::random::RandomError,
);

/// Says what was attempted when it failed.
pub(crate) trait Attempt<T> {
    fn attempting(self, what: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Error + Send + Sync + 'static> Attempt<T> for std::result::Result<T, E> {
    fn attempting(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| ServiceError::Step { attempted: what(), source: Box::new(error) })
    }
}
