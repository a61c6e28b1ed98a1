//! The lookup structures that modules stand on: which gate an address, a header or a flow belongs to.
//!
//! ```text
//!  Lpm       longest prefix           24 bits at once, then eight at a time
//!  Exact     fields of equal value    open addressing, keys of 8, 16, 32 or 64 bytes
//!  Wildcard  fields under masks       a table a mask, highest priority wins
//!  Acl       five-tuple rules         a row of bits for each field's value, ANDed; first rule wins
//!  Flows     state of a five-tuple    open addressing over stable ids, swept a little at a time
//!  Pacer     when a flow may send     calendar of slots, rates kept to the last remainder
//!  MacTable  where a MAC address is   buckets of four, two choices, ageing
//! ```
//!
//! No packet is seen here: keys, times and random seeds come in as values. Lookups take a batch, so that the
//! reads of its keys are under way in memory together: one pass computes where to look, the next looks, and no
//! pass branches on what a single key finds. They allocate nothing; what adds and deletes may.
#![forbid(unsafe_code)]

mod acl;
mod bitmap;
mod exact;
mod fields;
mod flows;
mod l2;
mod lpm;
mod pace;
mod prefix;
mod store;
mod wildcard;

pub use acl::{Acl, AclError, Header, NO_RULE, PortRange, Rule};
pub use exact::Exact;
pub use fields::{Field, FieldError, Fields, Keys, MatchError};
pub use flows::{FlowId, Flows, FlowsError, InsertError, key_v4, key_v6};
pub use l2::{MacError, MacTable};
pub use lpm::{Lpm, LpmError};
pub use pace::{PaceError, Pacer, PacerLimits, Refused};
pub use prefix::{Address, Prefix, PrefixError};
pub use wildcard::Wildcard;

/// An output gate of a module.
pub type Gate = u16;

/// No gate: what a table without a default answers for a key that it does not have.
pub const NO_GATE: Gate = Gate::MAX;

/// How many keys are under way together.
pub const BATCH_LEN_MAX: usize = 32;
