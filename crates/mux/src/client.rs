//! A stack's end of the mux's socket: to be attached, to have tuples, and to have both again when the daemon was restarted.
//!
//! ```text
//!   attach(path, wanted) -> Attachment --bind(tuple)--> frames come to open_port()
//!                             | dropped, or its process killed: all of it is given back
//!                             | daemon gone: frames flow on; reattach() within 10 s of its return keeps everything
//! ```
//! With grade memif frames come and go through the daemon, and rest while there is none.
//!
//! A call waits for the daemon's answer, a few seconds at most. A stack does no ARP: it answers to the address that a
//! request came from, and the host owns the IP addresses.

use crate::message::{Answer, LEN_MAX, Place, Request};
use crate::registry::{Grade, Token, Wanted};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use tidegate_base::Duration;
use tidegate_bpf::Tuple;
use tidegate_port::{AfXdpError, AfXdpPort, MemifConfig, MemifError, MemifPort, MemifRole, Port, open_memif};
use tidegate_stack::{Interface, Ownership};
use tidegate_sys::clock;
use tidegate_sys::event::{Interest, poll};
use tidegate_sys::local_socket::{LocalSocketError, connect};
use tidegate_sys::seqpacket::{Channel, Message};
use tidegate_sys::xsk::{Umem, XskConfig};
use tidegate_wire::MacAddr;

/// How long the daemon may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why the daemon did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody listens there.
    #[error("{0} (start it with: tidegate daemon --mux)")]
    Absent(#[from] LocalSocketError),
    /// It said no, and why.
    #[error("{0}")]
    Refused(String),
    /// It went away, or does not answer.
    #[error("the daemon does not answer over the mux's socket: {0}")]
    Silent(#[from] io::Error),
    /// It said something that is no answer to what it was asked.
    #[error("the daemon's answer is none of this version: use a client and a daemon of one version")]
    Garbled,
    /// The socket of the attachment was used, or it has none: memif has a path instead.
    #[error("there is no AF_XDP socket to open: grade {0} has none left")]
    NoSocket(Grade),
    /// The attachment has no memif: it has an AF_XDP socket instead.
    #[error("there is no memif to open: grade {0} has none")]
    NoMemif(Grade),
    /// The socket could not be bound.
    #[error(transparent)]
    Port(#[from] AfXdpError),
    /// The memif could not be made.
    #[error(transparent)]
    Memif(#[from] MemifError),
    /// The daemon's end of the memif did not take it.
    #[error("the daemon does not answer over the stack's memif: {0}")]
    Unlinked(String),
}

/// How often it is looked whether a memif is connected.
const LOOK_PERIOD: std::time::Duration = std::time::Duration::from_millis(1);
/// Bytes in front of an IP packet.
const LINK_LEN: usize = 14;

/// Attaches a stack.
pub fn attach(path: &str, wanted: &Wanted) -> Result<Attachment, ClientError> {
    let channel: Channel = connect(path)?;
    let (place, socket) = greet(&channel, wanted, None)?;
    Ok(Attachment { channel, wanted: wanted.clone(), place, socket })
}

/// A stack that is attached, for as long as this lives.
#[derive(Debug)]
pub struct Attachment {
    channel: Channel,
    wanted: Wanted,
    place: Place,
    socket: Option<OwnedFd>,
}

impl Attachment {
    /// Where it is attached.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Takes a tuple: its frames come from now on.
    pub fn bind(&self, tuple: Tuple) -> Result<(), ClientError> {
        done(&self.channel, &Request::Bind(tuple))
    }

    /// Gives a tuple back.
    pub fn release(&self, tuple: Tuple) -> Result<(), ClientError> {
        done(&self.channel, &Request::Release(tuple))
    }

    /// What a stack must know of its link. It owns ports, no addresses.
    pub fn interface(&self) -> Interface {
        let (mac, mtu) = (MacAddr(self.place.mac), self.place.mtu as usize);
        Interface::new(mac, self.place.addresses.clone(), mtu, Ownership::Ports)
    }

    /// The port that its frames come and go by, whatever its grade: once. One over AF_XDP receives into `umem`, by `config`; one
    /// over memif has memory of its own.
    pub fn open_port(&mut self, umem: &Umem, config: &XskConfig) -> Result<Box<dyn Port>, ClientError> {
        match self.place.grade {
            Grade::Queue | Grade::Veth => Ok(Box::new(self.port(umem, config)?)),
            Grade::Memif => Ok(Box::new(self.memif_port()?)),
        }
    }

    /// The port of grade memif, connected. It connects again to a daemon that was restarted by itself.
    pub fn memif_port(&self) -> Result<MemifPort, ClientError> {
        let Place { grade, path, mtu, slot, .. } = &self.place;
        if *grade != Grade::Memif {
            return Err(ClientError::NoMemif(*grade));
        }
        let config = MemifConfig {
            frame_len_max: *mtu as usize + LINK_LEN,
            name: format!("tidegate stack {slot}"),
            ..MemifConfig::new(path, MemifRole::Client)
        };
        let port = open_memif(config)?.pop().ok_or(ClientError::Garbled)?;
        let start = clock::now();
        while port.status().peer.is_none() {
            if clock::now().since(start) > PATIENCE {
                return Err(ClientError::Unlinked(port.status().last_error.unwrap_or_default()));
            }
            std::thread::sleep(LOOK_PERIOD);
        }
        Ok(port)
    }

    /// The port of grades queue and veth, receiving into `umem`: once.
    pub fn port(&mut self, umem: &Umem, config: &XskConfig) -> Result<AfXdpPort, ClientError> {
        let socket = self.socket.take().ok_or(ClientError::NoSocket(self.place.grade))?;
        let Place { ifindex, queue, mtu, .. } = self.place;
        Ok(AfXdpPort::bind_opened(socket, ifindex, queue, mtu as usize, umem, config)?)
    }

    /// Whether the daemon has gone away: then nothing is given and nothing taken, and frames flow on.
    pub fn is_orphaned(&self) -> bool {
        matches!(self.channel.try_receive(&mut [0; LEN_MAX]), Ok(Some(Message::Closed)) | Err(_))
    }

    /// Claims slot and tuples back from a daemon that was started again.
    pub fn reattach(&mut self, path: &str) -> Result<(), ClientError> {
        let channel: Channel = connect(path)?;
        let (place, _) = greet(&channel, &self.wanted, Some(self.place.token))?;
        (self.channel, self.place) = (channel, place);
        Ok(())
    }
}

impl AsFd for Attachment {
    /// Readable when the daemon has gone away.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }
}

fn greet(
    channel: &Channel,
    wanted: &Wanted,
    token: Option<Token>,
) -> Result<(Place, Option<OwnedFd>), ClientError> {
    match ask(channel, &Request::Attach { wanted: wanted.clone(), token })? {
        (Answer::Attached(place), socket) => Ok((place, socket)),
        (Answer::Refused(text), _) => Err(ClientError::Refused(text)),
        (Answer::Done, _) => Err(ClientError::Garbled),
    }
}

fn done(channel: &Channel, request: &Request) -> Result<(), ClientError> {
    match ask(channel, request)?.0 {
        Answer::Done => Ok(()),
        Answer::Refused(text) => Err(ClientError::Refused(text)),
        Answer::Attached(_) => Err(ClientError::Garbled),
    }
}

fn ask(channel: &Channel, request: &Request) -> Result<(Answer, Option<OwnedFd>), ClientError> {
    if !channel.try_send(&request.emit())? {
        return Err(io::Error::from(io::ErrorKind::WouldBlock).into());
    }
    let mut buffer = [0; LEN_MAX];
    loop {
        match channel.try_receive(&mut buffer)? {
            Some(Message::Data(len, fd)) => {
                return Ok((Answer::parse(&buffer[..len]).ok_or(ClientError::Garbled)?, fd));
            }
            Some(Message::Closed) => return Err(io::Error::from(io::ErrorKind::ConnectionReset).into()),
            None if poll(&[(channel.as_fd(), Interest::READ)], Some(PATIENCE))? == 0 => {
                return Err(io::Error::from(io::ErrorKind::TimedOut).into());
            }
            None => {}
        }
    }
}
