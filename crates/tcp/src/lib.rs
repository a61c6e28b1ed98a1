//! TCP as a state machine (RFC 9293): segments, time and acknowledgements in; segments and timers out.
//!
//! One [`Connection`] is one transmission control block. It has no addresses, no ports, no buffers
//! and does no I/O, so that it runs the same over a NIC, in a simulation and under a fuzzer.
//!
//! - It never holds what it sends. The send side is a stream of offsets; whoever owns the bytes finds
//!   them again by offset when they are to be sent a second time.
//! - It hands received bytes on in order, at once. Bytes that came too early wait in a box that exists
//!   only while there are any; so does all that loss recovery needs.
//! - Time and randomness are arguments. [`Config`] belongs to the listener and is lent to each call.
//!
//! ```text
//!            on_segment(now, arrival) --> deliver(bytes), Outcome
//!            on_timer(now)            --> Outcome
//!  offer(n), close(), consumed(n)  -->  poll_transmit(now) --> Outgoing, until None
//!                                       deadline()         --> when to call on_timer
//! ```
//!
//! What others add stands outside: congestion controls ([`congestion`]) and TCP options ([`option`]) are values that
//! a [`Config`] names.
//!
//! What has no connection, or not yet or no longer one, has its own small types: [`reset`],
//! [`cookie`], [`TimeWait`]. Where the behaviour departs from an RFC, docs/specs/tcp.md says so and why.
#![forbid(unsafe_code)]

mod ack;
mod config;
pub mod congestion;
mod connection;
pub mod cookie;
mod flags;
mod handshake;
mod icmp;
mod info;
mod isn;
pub mod option;
mod rate;
mod reassembly;
mod receive;
mod recovery;
pub mod reset;
mod rtt;
mod scoreboard;
mod segment;
mod state;
mod time_wait;
mod timer;
mod timestamps;
mod transmit;

pub use config::{Config, KeepAlive};
pub use connection::Connection;
pub use cookie::{CookieJar, CookieOptions};
pub use info::Info;
pub use isn::IsnSource;
pub use segment::{Arrival, Closed, Outcome, Outgoing};
pub use state::State;
pub use time_wait::{TimeWait, TimeWaitVerdict};

/// The book's chapters, whose code is run as it stands there.
#[cfg(doctest)]
mod book {
    #[doc = include_str!("../../../docs/book/src/congestion-control.md")]
    mod congestion_control {}
    #[doc = include_str!("../../../docs/book/src/tcp-option.md")]
    mod tcp_option {}
}
