//! Runtimes over ports: two joined by memory, and one beside the kernel's TCP.
#![allow(unreachable_pub)] // a test crate has no outside

mod kernel;
mod memory;
