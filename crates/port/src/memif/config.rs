//! What an interface is made from, and what is wrong with it.

use tidegate_sys::local_socket::LocalSocketError;

use super::message::{NAME_LEN, SECRET_LEN, padded};
use super::ring::{RING_LOG2_MAX, ring_len};

/// Which side of the control socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemifRole {
    /// Listens ("master"); uses the client's memory, which it does not trust.
    Server,
    /// Connects ("slave"), and brings the memory.
    Client,
}

/// An interface: both sides must agree on the socket, the id and the secret.
#[derive(Clone, Debug)]
pub struct MemifConfig {
    /// A path, or an abstract name behind an `@`.
    pub socket: String,
    /// Which side this is.
    pub role: MemifRole,
    /// Which interface behind the socket.
    pub id: u32,
    /// Up to 24 bytes that the peer must know as well; empty: none.
    pub secret: String,
    /// Ring pairs, each a port: at most this many.
    pub queue_count: u16,
    /// The logarithm of a ring's slots, 1 to 14. The server takes what the client brings.
    pub ring_log2: u8,
    /// Bytes of a buffer, 64 to 65,535. The server takes what the client brings.
    pub buffer_len: u16,
    /// The longest frame that is sent, link header included; longer than a buffer, and it is sent in parts.
    pub frame_len_max: usize,
    /// What the peer shows its people, cut to 31 bytes.
    pub name: String,
}

/// An interface could not be made.
#[derive(Debug, thiserror::Error)]
pub enum MemifError {
    /// A number or a text that cannot be.
    #[error("memif {socket}: {wrong}")]
    Config {
        /// The interface's socket.
        socket: String,
        /// What is wrong, and what would be right.
        wrong: &'static str,
    },
    /// The server cannot listen.
    #[error(transparent)]
    Socket(#[from] LocalSocketError),
    /// The process has no descriptors or threads left.
    #[error("memif {socket}: {source}; raise the limit of open files and processes")]
    Resources {
        /// The interface's socket.
        socket: String,
        /// What the kernel said.
        source: std::io::Error,
    },
}

impl MemifConfig {
    /// One ring pair of 1,024 buffers of 2,048 bytes, id 0, no secret: what DPDK's driver takes unless told otherwise.
    pub fn new(socket: &str, role: MemifRole) -> MemifConfig {
        MemifConfig {
            socket: socket.into(),
            role,
            id: 0,
            secret: String::new(),
            queue_count: 1,
            ring_log2: 10,
            buffer_len: 2048,
            frame_len_max: 1518,
            name: "tidegate".into(),
        }
    }

    pub(super) fn check(&self) -> Result<(), MemifError> {
        let wrong = if self.secret.len() > SECRET_LEN {
            "a secret has at most 24 bytes"
        } else if !(1..=256).contains(&self.queue_count) {
            "there are 1 to 256 queues"
        } else if !(1..=RING_LOG2_MAX).contains(&self.ring_log2) {
            "a ring's size is a power of two from 2 to 16384"
        } else if self.buffer_len < 64 {
            "a buffer has 64 to 65535 bytes"
        } else if self.memory_len(self.queue_count, self.ring_log2) > u32::MAX as usize {
            "queues, ring size and buffers come to more than 4 GiB: ask for less of one of them"
        } else {
            return Ok(());
        };
        Err(MemifError::Config { socket: self.socket.clone(), wrong })
    }

    /// Bytes of a client's memory: rings first, then a buffer for each slot of each.
    pub(super) fn memory_len(&self, queue_count: u16, log2: u8) -> usize {
        let rings = 2 * usize::from(queue_count);
        rings * (ring_len(log2) + (usize::from(self.buffer_len) << log2))
    }

    pub(super) fn secret_bytes(&self) -> [u8; SECRET_LEN] {
        let mut bytes = [0; SECRET_LEN];
        bytes.iter_mut().zip(self.secret.bytes()).for_each(|(slot, byte)| *slot = byte);
        bytes
    }

    /// As the peer will see it.
    pub(super) fn shown_name(&self) -> String {
        let bytes: [u8; NAME_LEN] = padded(&self.name);
        String::from_utf8_lossy(bytes.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
    }
}
