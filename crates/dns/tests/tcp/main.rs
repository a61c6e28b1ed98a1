//! DNS over TCP without a network: a server, a client, and time that the tests make.
#![forbid(unsafe_code)]

mod net;
mod server;
mod streams;
mod timing;
