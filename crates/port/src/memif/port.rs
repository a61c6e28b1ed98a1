//! The ports of an interface: one a ring pair.
//!
//! Invariant: while there is no link, nothing is received, and what is sent is lost and counted, as on a link that is down.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use tidegate_packet::{BATCH_LEN_MAX, Batch, Pool};
use tidegate_sys::event::Epoll;

use super::config::{MemifConfig, MemifError};
use super::control::{Control, MemifStatus};
use super::link::Link;
use crate::{Port, PortCounters};

/// Opens an interface: a port a queue, in order, without a link until the peer is there. The last port that is dropped ends it.
pub fn open_memif(config: MemifConfig) -> Result<Vec<MemifPort>, MemifError> {
    config.check()?;
    let (queue_count, frame_len_max) = (config.queue_count, config.frame_len_max);
    let socket = config.socket.clone();
    let control = Arc::new(Control::start(config)?);
    let port = |queue| {
        let queue = usize::from(queue);
        Ok(MemifPort {
            waits: waits(&control, queue)?,
            control: Arc::clone(&control),
            queue,
            epoch: 0,
            link: None,
            frame_len_max,
            counters: PortCounters::default(),
        })
    };
    let ports: io::Result<_> = (0..queue_count).map(port).collect();
    ports.map_err(|source| MemifError::Resources { socket, source })
}

/// A set that is ready when the queue's link changes.
fn waits(control: &Control, queue: usize) -> io::Result<Epoll> {
    let waits = Epoll::new()?;
    if let Some(changed) = control.shared.changed(queue) {
        waits.add(changed.as_fd(), CHANGED_KEY)?;
    }
    Ok(waits)
}

const CHANGED_KEY: u64 = 0;
const LINK_KEY: u64 = 1;

/// One ring pair of a memif interface.
#[derive(Debug)]
pub struct MemifPort {
    control: Arc<Control>,
    queue: usize,
    /// What is slept on: one descriptor, whatever becomes of links, for those who ask for it once.
    waits: Epoll,
    /// Of the link below.
    epoch: u32,
    link: Option<Link>,
    frame_len_max: usize,
    counters: PortCounters,
}

impl MemifPort {
    /// What goes on with the interface.
    pub fn status(&self) -> MemifStatus {
        self.control.shared.status()
    }

    /// Whether this queue has a link, as far as it has noticed.
    pub fn is_connected(&self) -> bool {
        self.link.is_some()
    }

    /// Takes over what the control thread has changed.
    #[inline]
    fn renew(&mut self) {
        if self.control.shared.epoch(self.queue) != self.epoch {
            self.take_link();
        }
    }

    #[cold]
    fn take_link(&mut self) {
        let event = |link: &Link| Arc::clone(link.receiver.event());
        if let Some(old) = self.link.as_ref().map(event) {
            // Before it is closed: the peer may have it still. It was added, or is not there to wait for.
            let _ = self.waits.remove(old.as_fd());
        }
        (self.epoch, self.link) = self.control.shared.take(self.queue);
        if let Some(new) = self.link.as_ref().map(event) {
            // The kernel has no memory left: the link works for those who look.
            let _ = self.waits.add(new.as_fd(), LINK_KEY);
        }
        self.counters.syscall_count += 3;
    }
}

impl Port for MemifPort {
    fn rx(&mut self, pool: &mut Pool, batch: &mut Batch) -> usize {
        self.renew();
        let Some(link) = &mut self.link else { return 0 };
        link.receiver.receive(pool, batch, &mut self.counters)
    }

    fn tx_room(&mut self, _: &mut Pool) -> usize {
        self.renew();
        self.link.as_ref().map_or(BATCH_LEN_MAX, |link| usize::from(link.sender.room()))
    }

    fn tx(&mut self, pool: &mut Pool, batch: &mut Batch) {
        self.renew();
        match &mut self.link {
            Some(link) => link.sender.send(pool, batch, self.frame_len_max, &mut self.counters),
            None => {
                self.counters.tx_drop_count += batch.len() as u64;
                pool.free_batch(batch);
            }
        }
    }

    fn flush(&mut self, _: &mut Pool) {
        if let Some(link) = &mut self.link {
            self.counters.syscall_count += link.sender.publish();
        }
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.waits.as_fd())
    }

    fn frame_len_max(&self) -> usize {
        self.frame_len_max
    }

    fn counters(&self) -> PortCounters {
        self.counters
    }

    fn is_linked(&self) -> bool {
        self.is_connected()
    }
}
