//! The offload in the kernel: the programs of `tidegate-bpf` with tables of this crate. These tests need root, as those of
//! tidegate-bpf; without it they say so and pass, unless the variable `CI` is set.

mod differential;
mod frames;
mod golden;
mod reference;
mod rig;
#[path = "../support/mod.rs"]
mod support;
mod traffic;
mod verifier;
