//! The command as a user meets it: started in a network namespace of its own, asked by real clients.
//!
//! Each test makes its namespaces without names, so that they are gone with the test, however it ends. As
//! root: namespaces, XDP and AF_XDP need it.

mod client;
mod clients;
mod daemon;
mod daemon_page;
mod device;
mod dns;
mod dns_clients;
mod dns_floods;
mod dns_reload;
mod embedded;
mod life;
mod loss;
mod mistakes;
mod mux;
mod scene;
mod serve;
mod service;
mod site;
mod zone;
