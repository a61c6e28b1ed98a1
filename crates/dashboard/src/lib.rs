//! The daemon's web page: the graph with the rates on its edges, ports, classes and drops, as they are at the moment.
//!
//! ```text
//!   browser --GET /--> page (HTML, CSS, JavaScript, embedded)
//!           --GET /state.json, once a second--> one call of the control thread --> counters, drawing
//! ```
//!
//! What the page shows are counters; the browser makes rates of two answers. Nothing here changes anything, and whoever may
//! open a local port may see it: it is off unless asked for, on the loopback only, and a request whose `Host` is another name
//! is refused, so that no web site can have a browser read it (DNS rebinding).
//!
//! Not here: what the daemon does ([`tidegate_control::Controller`]), where boxes go ([`tidegate_layout`]).
#![forbid(unsafe_code)]

mod answer;
mod listen;
mod scene;
mod state;

pub use listen::{Dashboard, DashboardError};
