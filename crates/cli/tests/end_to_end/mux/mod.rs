//! Many stacks on one NIC, all of them processes: the daemon and its commands, servers in C and in async Rust, servers of the
//! host. Each test has a machine of its own with a bpf file system of its own, so that any number run beside each other.
//!
//! ```text
//!   client0 10.78.0.1 ===== server0 10.78.0.2 --XDP--> :8080 :53  tidegate daemon
//!                                              +-----> :9000      examples/utcp/http.c over libtidegate, of a user without rights
//!                                              +-----> :9001      hyper over tidegate-net, of another
//!                                              +-----> :80 :22    nginx, and something like SSH: the host's
//! ```

mod asynchronous;
mod books;
mod capture;
mod clients;
mod host;
mod line;
mod restart;
mod rules;
mod servers;
