//! Messages and services as generated from `proto/`: the wire, with nothing checked.
//!
//! One module a package, so that a message's path here is its name on the wire. The code is not ours and
//! our lints do not look at it.

#[allow(missing_docs, unreachable_pub, clippy::all, rustdoc::all)]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/services.rs"));
}

pub use generated::bess::pb as bess;
pub use generated::tidegate::v1;

/// The descriptors of both services and of all their messages, as reflection serves them.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
