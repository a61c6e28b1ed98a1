//! One conversation over the control socket, up to a connected link: messages with a deadline, and why it ended.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use tidegate_base::{Duration, Instant};
use tidegate_sys::clock;
use tidegate_sys::event::{EventFd, Interest, poll};
use tidegate_sys::seqpacket::{self, Channel};
use tidegate_sys::shared_memory::SharedMemoryError;

use super::message::{MESSAGE_LEN, Message};
use crate::wake::is_signalled;

/// How long the peer may think about an answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Why there is no link, or no longer.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionEnd {
    #[error("this side is closing")]
    Stopped,
    #[error("the peer is gone")]
    Closed,
    #[error("the peer ended the link: {0}")]
    Refused(String),
    #[error("the peer said nothing for 2 s: is it a memif?")]
    Silent,
    #[error("the peer sent something that is no message of memif")]
    NotAMessage,
    #[error("the peer sent \"{found}\" where \"{wanted}\" was due")]
    Unexpected { wanted: &'static str, found: &'static str },
    #[error("the peer speaks memif {0:#06x} to {1:#06x}, not 0x0200: use a version that has 2.0")]
    Version(u16, u16),
    #[error("the client asks for interface {asked} and this is {ours}: give both the same id")]
    Id { asked: u32, ours: u32 },
    #[error("the secrets differ: give both sides the same")]
    Secret,
    #[error("the client asks for mode {0}; only Ethernet (0) is served")]
    Mode(u8),
    #[error("region {index} cannot be had: {why}")]
    Region { index: u16, why: String },
    #[error("ring {index} {direction} cannot be had: {why}")]
    Ring { index: u16, direction: &'static str, why: &'static str },
    #[error("an interface has one client at a time, and this one is connected already")]
    Taken,
    #[error(transparent)]
    Memory(#[from] SharedMemoryError),
    #[error("the control socket failed: {0}")]
    Io(#[from] io::Error),
}

impl SessionEnd {
    /// Whether the peer should hear of it.
    fn is_ours(&self) -> bool {
        !matches!(self, SessionEnd::Closed | SessionEnd::Refused(_) | SessionEnd::Io(_))
    }
}

/// A control socket, and what interrupts waiting on it.
pub(super) struct Session<'a> {
    pub(super) channel: Channel,
    pub(super) stop: &'a EventFd,
}

impl Session<'_> {
    pub(super) fn send(&self, message: &Message) -> Result<(), SessionEnd> {
        let is_sent = self.channel.try_send(&message.emit())?;
        if is_sent { Ok(()) } else { Err(SessionEnd::Silent) }
    }

    pub(super) fn send_with(&self, message: &Message, fd: &impl AsFd) -> Result<(), SessionEnd> {
        let is_sent = self.channel.try_send_with(&message.emit(), fd.as_fd())?;
        if is_sent { Ok(()) } else { Err(SessionEnd::Silent) }
    }

    /// The next message and what came along, within the peer's time to answer.
    pub(super) fn receive(&self) -> Result<(Message, Option<OwnedFd>), SessionEnd> {
        let start = clock::now();
        loop {
            if let Some(received) = self.try_receive()? {
                return Ok(received);
            }
            let left = PATIENCE.saturating_sub(elapsed(start));
            if left == Duration::ZERO {
                return Err(SessionEnd::Silent);
            }
            let wanted = [(self.channel.as_fd(), Interest::READ), (self.stop.as_fd(), Interest::READ)];
            poll(&wanted, Some(left))?;
            if is_signalled(self.stop) {
                return Err(SessionEnd::Stopped);
            }
        }
    }

    /// The next message, if there is one. That the peer ends the link is an error like others.
    pub(super) fn try_receive(&self) -> Result<Option<(Message, Option<OwnedFd>)>, SessionEnd> {
        // A byte more, so that a message that is too long shows.
        let mut bytes = [0; MESSAGE_LEN + 1];
        let (len, fd) = match self.channel.try_receive(&mut bytes)? {
            None => return Ok(None),
            Some(seqpacket::Message::Closed) => return Err(SessionEnd::Closed),
            Some(seqpacket::Message::Data(len, fd)) => (len, fd),
        };
        let message = bytes.first_chunk().filter(|_| len == MESSAGE_LEN).and_then(Message::parse);
        match message {
            None => Err(SessionEnd::NotAMessage),
            Some(Message::Disconnect { reason, .. }) => Err(SessionEnd::Refused(reason)),
            Some(message) => Ok(Some((message, fd))),
        }
    }

    pub(super) fn expect_ack(&self) -> Result<(), SessionEnd> {
        match self.receive()?.0 {
            Message::Ack => Ok(()),
            other => Err(SessionEnd::Unexpected { wanted: "ack", found: other.name() }),
        }
    }

    /// Tells the peer why this side ends the link.
    pub(super) fn say_goodbye(&self, end: &SessionEnd) {
        if end.is_ours() {
            // If it cannot hear any more, the closed socket tells.
            let _ = self.send(&Message::Disconnect { code: 1, reason: end.to_string() });
        }
    }
}

fn elapsed(start: Instant) -> Duration {
    clock::now().since(start)
}
