//! Stacks behind veths of their own, on a NIC that is one end of another veth. They need root; each test makes namespaces of
//! its own.
//!
//! ```text
//!   a namespace           the host's                                     one for each stack
//!   wire ================ nic: demux ... tgvI-S: egress and ingress ==== stack
//! ```
#![forbid(unsafe_code)]

mod hostile;
mod lifetime;
mod traffic;
mod unprivileged;
mod world;
