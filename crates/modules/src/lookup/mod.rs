//! Modules that look a packet's fields up in a table.

mod acl;
mod exact_match;
mod ip_lookup;
mod key;
mod l2_forward;
mod wildcard_match;

pub use acl::{Acl, AclRule};
pub use exact_match::{ExactMatch, ExactMatchConfig, ExactMatchParams, ExactMatchRule};
pub use ip_lookup::{IpLookup, IpLookupParams};
pub use l2_forward::{L2Forward, L2ForwardParams};
pub use wildcard_match::{WildcardMatch, WildcardMatchConfig, WildcardMatchRule};

use crate::parameter::{ParameterError, in_range};
use thiserror::Error;
use tidegate_pipeline::GATE_COUNT_MAX;
use tidegate_table::{AclError, FieldError, Gate, LpmError, MacError, MatchError, NO_GATE, PrefixError};

/// The gate that leads nowhere: frames are dropped there, as in BESS.
pub const DROP_GATE: u64 = GATE_COUNT_MAX as u64;

/// Why a table cannot be made or changed so. One line, that says what to change.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum LookupError {
    /// A parameter that is out of place.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// Fields that make no key.
    #[error(transparent)]
    Fields(#[from] FieldError),
    /// A rule that the table does not take, or does not have.
    #[error(transparent)]
    Rule(#[from] MatchError),
    /// A route that the table does not take, or does not have.
    #[error(transparent)]
    Route(#[from] LpmError),
    /// A network that is none.
    #[error(transparent)]
    Prefix(#[from] PrefixError),
    /// An address that the table does not take, or does not have.
    #[error(transparent)]
    Address(#[from] MacError),
    /// Rules that make no access list.
    #[error(transparent)]
    Acl(#[from] AclError),
}

impl LookupError {
    /// What was to be deleted or looked up is not there.
    pub const fn is_absence(&self) -> bool {
        matches!(
            self,
            Self::Rule(MatchError::NoSuchRule)
                | Self::Route(LpmError::NoSuchRoute { .. })
                | Self::Address(MacError::NoSuchAddress { .. })
        )
    }

    /// The table is full.
    pub const fn is_lack_of_room(&self) -> bool {
        matches!(
            self,
            Self::Route(LpmError::RulesFull { .. } | LpmError::GroupsFull { .. })
                | Self::Address(MacError::Full { .. })
                | Self::Acl(AclError::TooMany { .. })
        )
    }
}

/// `gate` as the table knows it.
fn table_gate(gate: u64) -> Result<Gate, ParameterError> {
    in_range("an output gate", gate, 0..=DROP_GATE)?;
    Ok(if gate == DROP_GATE { NO_GATE } else { gate as Gate })
}

/// A table's gate as its owner knows it.
fn outer_gate(gate: Gate) -> u64 {
    if gate == NO_GATE { DROP_GATE } else { gate.into() }
}
