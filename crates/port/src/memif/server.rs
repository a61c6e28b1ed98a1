//! The server's side of the conversation: it takes the memory and the rings that the client brings, and believes none of it.
//!
//! The order of messages is drawn in `client.rs`.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use tidegate_sys::event::EventFd;
use tidegate_sys::shared_memory::SharedMemory;

use super::config::MemifConfig;
use super::link::{Link, Receiver, Regions, Sender};
use super::message::{AddRing, Hello, Init, MODE_ETHERNET, Message, RING_TO_SERVER, VERSION};
use super::ring::{RING_LOG2_MAX, Ring};
use super::session::{Session, SessionEnd};

/// The most regions that a client may bring.
const REGION_COUNT_MAX: usize = 64;
/// What descriptors can address.
const REGION_LEN_MAX: u64 = 1 << 32;

/// A ring and what signals its receiver.
type Offered = (Ring, Arc<EventFd>);

/// What the client has brought so far.
#[derive(Default)]
struct Brought {
    regions: Vec<Arc<SharedMemory>>,
    to_server: Vec<Offered>,
    to_client: Vec<Offered>,
}

/// Talks until all is connected: a link for each queue, and the peer's name.
pub(super) fn accept(session: &Session<'_>, config: &MemifConfig) -> Result<(Vec<Link>, String), SessionEnd> {
    greet(session, config)?;
    let mut brought = Brought::default();
    let name = loop {
        let (message, fd) = session.receive()?;
        match message {
            Message::AddRegion { index, size } => brought.add_region(index, size, fd)?,
            Message::AddRing(ring) => brought.add_ring(ring, fd, config.queue_count)?,
            Message::Connect { name } => break name,
            other => return Err(SessionEnd::Unexpected { wanted: "connect", found: other.name() }),
        }
        session.send(&Message::Ack)?;
    };
    let links = brought.links()?;
    session.send(&Message::Connected { name: config.shown_name() })?;
    Ok((links, name))
}

fn greet(session: &Session<'_>, config: &MemifConfig) -> Result<(), SessionEnd> {
    session.send(&Message::Hello(Hello {
        name: config.shown_name(),
        version_min: VERSION,
        version_max: VERSION,
        region_max: REGION_COUNT_MAX as u16 - 1,
        to_client_max: config.queue_count - 1,
        to_server_max: config.queue_count - 1,
        ring_log2_max: RING_LOG2_MAX,
    }))?;
    match session.receive()?.0 {
        Message::Init(init) => check(&init, config)?,
        other => return Err(SessionEnd::Unexpected { wanted: "init", found: other.name() }),
    }
    session.send(&Message::Ack)
}

fn check(init: &Init, config: &MemifConfig) -> Result<(), SessionEnd> {
    if init.version != VERSION {
        return Err(SessionEnd::Version(init.version, init.version));
    }
    if init.id != config.id {
        return Err(SessionEnd::Id { asked: init.id, ours: config.id });
    }
    if init.mode != MODE_ETHERNET {
        return Err(SessionEnd::Mode(init.mode));
    }
    // All bytes are looked at, so that the time tells nothing.
    let pairs = init.secret.iter().zip(config.secret_bytes());
    if pairs.fold(0, |differing, (one, other)| differing | (one ^ other)) != 0 {
        return Err(SessionEnd::Secret);
    }
    Ok(())
}

impl Brought {
    fn add_region(&mut self, index: u16, size: u64, fd: Option<OwnedFd>) -> Result<(), SessionEnd> {
        let refuse = |why: String| SessionEnd::Region { index, why };
        if usize::from(index) != self.regions.len() || self.regions.len() >= REGION_COUNT_MAX {
            return Err(refuse(format!("regions are numbered from 0 to {} in order", REGION_COUNT_MAX - 1)));
        }
        if size > REGION_LEN_MAX {
            return Err(refuse(format!("{size} bytes are more than 4 GiB")));
        }
        let fd = fd.ok_or_else(|| refuse("no descriptor came along".into()))?;
        let memory = SharedMemory::open(fd, size as usize).map_err(|error| refuse(error.to_string()))?;
        self.regions.push(Arc::new(memory));
        Ok(())
    }

    fn add_ring(&mut self, ring: AddRing, fd: Option<OwnedFd>, queue_count: u16) -> Result<(), SessionEnd> {
        let is_to_server = ring.flags & RING_TO_SERVER != 0;
        let (rings, direction) = match is_to_server {
            true => (&mut self.to_server, "to the server"),
            false => (&mut self.to_client, "to the client"),
        };
        let refuse = |why| SessionEnd::Ring { index: ring.index, direction, why };
        if usize::from(ring.index) != rings.len() || ring.index >= queue_count {
            return Err(refuse("rings are numbered in order, up to what \"hello\" said"));
        }
        let fd = fd.ok_or_else(|| refuse("no descriptor came along"))?;
        let event = EventFd::from_peer(fd).map_err(|_| refuse("its descriptor is no eventfd"))?;
        let region = self.regions.get(usize::from(ring.region));
        let region = region.ok_or_else(|| refuse("its region was not added"))?;
        if ring.log2 > RING_LOG2_MAX {
            return Err(refuse("it has more than 16384 slots"));
        }
        if !ring.offset.is_multiple_of(8) {
            return Err(refuse("it does not start at a multiple of 8"));
        }
        let found = Ring::new(region, ring.offset as usize, ring.log2);
        let found = found.ok_or_else(|| refuse("it does not end inside its region"))?;
        rings.push((found, Arc::new(event)));
        Ok(())
    }

    /// Pairs of rings, with their cookies checked.
    fn links(self) -> Result<Vec<Link>, SessionEnd> {
        let both = [(&self.to_server, "to the server"), (&self.to_client, "to the client")];
        for (rings, direction) in both {
            if rings.is_empty() {
                return Err(SessionEnd::Ring { index: 0, direction, why: "the client added none" });
            }
            if let Some(index) = rings.iter().position(|(ring, _)| !ring.has_cookie()) {
                let why = "it does not begin with the cookie 0x3E31F20";
                return Err(SessionEnd::Ring { index: index as u16, direction, why });
            }
        }
        let regions: Regions = self.regions.into();
        let pairs = self.to_server.into_iter().zip(self.to_client);
        let link = |((rx, rx_event), (tx, tx_event))| Link {
            receiver: Receiver::new(rx, Arc::clone(&regions), rx_event, None),
            sender: Sender::new(tx, Arc::clone(&regions), tx_event, None),
        };
        Ok(pairs.map(link).collect())
    }
}
