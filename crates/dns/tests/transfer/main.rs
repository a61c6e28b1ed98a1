//! Transfers between this server and Knot, NSD and BIND, in both directions, over a cable between two
//! namespaces.
//!
//! ```text
//!  +---- client: 10.78.0.1 -----------------------+        +---- server: 10.78.0.2 ----+
//!  |  Knot :5301  NSD :5302  BIND :5303  kdig     |== veth |  our stack, port 53       |
//!  |  our threads that tell and ask (host's UDP,  |        |  (AF_XDP)                 |
//!  |  TCP)                                        |        |                           |
//!  +----------------------------------------------+        +---------------------------+
//! ```
//! Needs root, `knotd`, `nsd`, `named` and `kdig`.
#![forbid(unsafe_code)]

mod handed_in;
mod handed_out;
mod ours;
mod peer;
mod scene;
