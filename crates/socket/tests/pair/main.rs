//! Two hosts joined by a wire that may lose frames; time is the test's.
#![allow(unreachable_pub)] // a test crate has no outside

mod calls;
mod datagrams;
mod transfer;
mod wire;
