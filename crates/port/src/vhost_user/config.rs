//! What a device is made from, and what is wrong with it.

use std::io;

use tidegate_sys::local_socket::LocalSocketError;

/// Which side of the control socket: either way this is the back end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VhostUserRole {
    /// Listens; the front end connects.
    Server,
    /// Connects to a front end that listens, again and again until it is there.
    Client,
}

/// A virtio-net device for the driver at the other end of a socket.
#[derive(Clone, Debug)]
pub struct VhostUserConfig {
    /// A path, or an abstract name behind an `@`.
    pub socket: String,
    /// Which side this is.
    pub role: VhostUserRole,
    /// Queue pairs, each a port: the driver uses at most this many.
    pub queue_count: u16,
    /// The longest frame that is sent, link header included.
    pub frame_len_max: usize,
}

/// The most queue pairs: a ring's number is a byte, and a pair has two.
const QUEUE_COUNT_MAX: u16 = 128;

/// A device could not be made.
#[derive(Debug, thiserror::Error)]
pub enum VhostUserError {
    /// A number that cannot be.
    #[error("vhost_user {socket}: there are 1 to {QUEUE_COUNT_MAX} queues")]
    QueueCount {
        /// The device's socket.
        socket: String,
    },
    /// The server cannot listen.
    #[error(transparent)]
    Socket(#[from] LocalSocketError),
    /// The process has no descriptors or threads left.
    #[error("vhost_user {socket}: {source}; raise the limit of open files and processes")]
    Resources {
        /// The device's socket.
        socket: String,
        /// What the kernel said.
        source: io::Error,
    },
}

impl VhostUserConfig {
    /// One queue pair, frames of Ethernet's usual size.
    pub fn new(socket: &str, role: VhostUserRole) -> VhostUserConfig {
        VhostUserConfig { socket: socket.into(), role, queue_count: 1, frame_len_max: 1518 }
    }

    pub(super) fn check(&self) -> Result<(), VhostUserError> {
        if (1..=QUEUE_COUNT_MAX).contains(&self.queue_count) {
            return Ok(());
        }
        Err(VhostUserError::QueueCount { socket: self.socket.clone() })
    }
}
