//! The client's side of the conversation: it brings the memory and says where the rings are.
//!
//! ```text
//!   server                         client
//!   hello ------------------------>
//!         <------------------------ init (version, id, secret)
//!   ack   ------------------------>
//!         <------------------------ add region + memfd, then add ring + eventfd for each; an ack for each
//!         <------------------------ connect
//!   connected -------------------->
//! ```

use std::sync::Arc;

use tidegate_sys::event::EventFd;
use tidegate_sys::shared_memory::SharedMemory;

use super::config::MemifConfig;
use super::link::{Buffers, Link, Receiver, Regions, Sender};
use super::message::{AddRing, Init, MODE_ETHERNET, Message, RING_TO_SERVER, VERSION};
use super::ring::{Ring, ring_len};
use super::session::{Session, SessionEnd};

/// What both sides can do.
struct Agreed {
    queue_count: u16,
    log2: u8,
}

/// Talks until all is connected: a link for each queue, and the peer's name.
pub(super) fn connect(
    session: &Session<'_>,
    config: &MemifConfig,
) -> Result<(Vec<Link>, String), SessionEnd> {
    let agreed = agree(session, config)?;
    let len = config.memory_len(agreed.queue_count, agreed.log2);
    let memory = Arc::new(SharedMemory::create("tidegate-memif", len)?);
    session.send_with(&Message::AddRegion { index: 0, size: len as u64 }, &*memory)?;
    session.expect_ack()?;
    let regions: Regions = [Arc::clone(&memory)].into();
    let layout = Layout { config, agreed: &agreed, memory: &memory };
    let all = 0..agreed.queue_count;
    let offer = |index, flags| layout.offer(session, index, flags);
    let to_server = all.clone().map(|index| offer(index, RING_TO_SERVER)).collect::<Result<Vec<_>, _>>()?;
    let to_client = all.map(|index| offer(index, 0)).collect::<Result<Vec<_>, _>>()?;
    session.send(&Message::Connect { name: config.shown_name() })?;
    let name = match session.receive()?.0 {
        Message::Connected { name } => name,
        other => return Err(SessionEnd::Unexpected { wanted: "connected", found: other.name() }),
    };
    // Only now: a server may set the indices of all rings to zero before it says so, and buffers that were in would be lost.
    let pairs = to_server.into_iter().zip(to_client);
    let link = |(tx, rx): (Offered, Offered)| Link {
        sender: Sender::new(tx.ring, Arc::clone(&regions), tx.event, Some(tx.buffers)),
        receiver: Receiver::new(rx.ring, Arc::clone(&regions), rx.event, Some(rx.buffers)),
    };
    Ok((pairs.map(link).collect(), name))
}

/// A ring that the server has taken.
struct Offered {
    ring: Ring,
    buffers: Buffers,
    event: Arc<EventFd>,
}

fn agree(session: &Session<'_>, config: &MemifConfig) -> Result<Agreed, SessionEnd> {
    let hello = match session.receive()?.0 {
        Message::Hello(hello) => hello,
        other => return Err(SessionEnd::Unexpected { wanted: "hello", found: other.name() }),
    };
    if hello.version_min > VERSION || hello.version_max < VERSION {
        return Err(SessionEnd::Version(hello.version_min, hello.version_max));
    }
    let most = hello.to_client_max.min(hello.to_server_max).saturating_add(1);
    let agreed =
        Agreed { queue_count: config.queue_count.min(most), log2: config.ring_log2.min(hello.ring_log2_max) };
    session.send(&Message::Init(Init {
        version: VERSION,
        id: config.id,
        mode: MODE_ETHERNET,
        secret: config.secret_bytes(),
        name: config.shown_name(),
    }))?;
    session.expect_ack()?;
    Ok(agreed)
}

/// Rings to the server, rings to the client, then the buffers of each in the same order.
struct Layout<'a> {
    config: &'a MemifConfig,
    agreed: &'a Agreed,
    memory: &'a Arc<SharedMemory>,
}

impl Layout<'_> {
    /// Makes a ring and has the server take it.
    fn offer(&self, session: &Session<'_>, index: u16, flags: u16) -> Result<Offered, SessionEnd> {
        let Agreed { queue_count, log2 } = *self.agreed;
        let before = usize::from(index) + usize::from(if flags == RING_TO_SERVER { 0 } else { queue_count });
        let at = before * ring_len(log2);
        let buffers_at = 2 * usize::from(queue_count) * ring_len(log2);
        let buffer_len = usize::from(self.config.buffer_len);
        let first = buffers_at + before * (buffer_len << log2);
        let direction = if flags == RING_TO_SERVER { "to the server" } else { "to the client" };
        let none = SessionEnd::Ring { index, direction, why: "it does not fit its memory" };
        let ring = Ring::new(self.memory, at, log2).ok_or(none)?;
        ring.initialise();
        let event = EventFd::new()?;
        // All of it is below 4 GiB: the configuration was checked.
        let message = AddRing { flags, index, region: 0, offset: at as u32, log2, private_len: 0 };
        session.send_with(&Message::AddRing(message), &event)?;
        session.expect_ack()?;
        let buffers = Buffers { first: first as u32, len: buffer_len as u32 };
        Ok(Offered { ring, buffers, event: Arc::new(event) })
    }
}
