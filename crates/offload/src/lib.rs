//! Rules by which the kernel answers requests for a server that knows nothing of it (O. Hohlfeld et al., *Application-Agnostic
//! Offloading of Packet Processing*), and the tables that the kernel reads them from.
//!
//! ```text
//!   Rule ----> Normal (regions, key, reply) ----> Table: put, remove, invalidate, groups ---+
//!    |                                                                                      v  words of a Memory
//!    +--> model::Model: the rules as they read       lookup::Image: what the kernel does <--+--> crates/bpf/src/xdp/offload
//!         (one by one, byte by byte)                 with the very same words
//! ```
//! docs/specs/offload.md has the language, its limits and the layout of a table. What is absent: packets, sockets and clocks.
//! Requests and replies are payloads; time, seeds and the memory itself come in from outside.
//!
//! Invariant: whoever reads a table while it is written finds for each request the old answer, the new one, or none; never
//! a mixture, and never the answer to another request.
#![forbid(unsafe_code)]

mod arena;
mod buckets;
mod capacity;
mod kernel;
mod layout;
pub mod lookup;
pub mod memory;
pub mod model;
mod normal;
mod record;
mod rule;
mod shapes;
mod table;

pub use capacity::{Capacity, CapacityError};
pub use layout::{PAGE_LEN, SHAPES_TRIED_MAX};
pub use memory::{HeapMemory, Memory};
pub use rule::{
    Action, COPY_COUNT_MAX, Case, Condition, GROUP_COUNT, GroupId, Processor, REGION_COUNT_MAX,
    REPLY_LEN_MAX, REQUEST_LEN_MAX, Rule, RuleError, RuleId, TARGET_COUNT_MAX, Target, Ticket,
};
pub use shapes::ShapeError;
pub use table::{GroupError, PutError, Staged, Status, Table};
