//! Modules that translate IPv4 addresses.

mod dynamic;
mod external;
mod fixed;
mod rewrite;

pub use dynamic::{Nat, NatParams, NatTimeouts};
pub use external::{ExternalAddress, NatError, NatPortRange};
pub use fixed::{AddressPair, StaticNat, StaticNatError};

/// What came from inside leaves here.
const OUTSIDE: usize = 1;
/// What came from outside leaves here.
const INSIDE: usize = 0;
