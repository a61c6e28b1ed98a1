//! Our TCP against the kernel's, over AF_XDP and a veth: both directions, both families, bulk and short,
//! over a good wire and a bad one, with every frame looked at by tshark.
//!
//! ```text
//!   client namespace                      server namespace
//!   kernel TCP -- veth ==== veth -- XDP -> port_in -> impair -> stack -> impair -> port_out
//! ```

mod both_ways;
mod pattern;
mod service;
