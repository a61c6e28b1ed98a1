//! A port whose other side is the virtio-net driver of a guest or a process: the back end of vhost-user.
//!
//! ```text
//!   config.rs   what a device is made from
//!   device.rs   the conversation's state: what the front end has set so far     memory.rs  the guest's memory
//!   control.rs  what is said, and what the ports share with that                ring.rs    one split virtqueue
//!   port.rs     the ports, one a queue pair                                     chain.rs   the parts of one buffer
//!   receiver.rs frames from the guest                                           header.rs  what is left to do for a frame
//!   sender.rs   frames to the guest
//! ```
//! Messages are read and written by the crate `vhost`; the rings are ours (docs/adr/0010). docs/specs/vhost-user.md says what of
//! virtio and of vhost-user is served.
//!
//! Invariant: whatever the front end sends, writes into its memory or takes of it, at any time, makes at worst wrong frames,
//! dropped ones or no link.

mod chain;
mod config;
mod control;
mod device;
mod header;
mod memory;
mod port;
mod receiver;
mod ring;
mod sender;

pub use config::{VhostUserConfig, VhostUserError, VhostUserRole};
pub use control::VhostUserStatus;
pub use port::{VhostUserDrops, VhostUserPort, open_vhost_user};

#[cfg(test)]
mod driver;
#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod tests;
