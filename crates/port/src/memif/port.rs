//! The ports of an interface: one a ring pair.
//!
//! Invariant: while there is no link, nothing is received, and what is sent is lost and counted, as on a link that is down.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use tidegate_packet::{BATCH_LEN_MAX, Batch, Pool};

use super::config::{MemifConfig, MemifError};
use super::control::{Control, MemifStatus};
use super::link::Link;
use crate::{Port, PortCounters};

/// Opens an interface: a port a queue, in order, without a link until the peer is there. The last port that is dropped ends it.
pub fn open_memif(config: MemifConfig) -> Result<Vec<MemifPort>, MemifError> {
    config.check()?;
    let (queue_count, frame_len_max) = (config.queue_count, config.frame_len_max);
    let control = Arc::new(Control::start(config)?);
    let port = |queue| MemifPort {
        control: Arc::clone(&control),
        queue: usize::from(queue),
        epoch: 0,
        link: None,
        frame_len_max,
        counters: PortCounters::default(),
    };
    Ok((0..queue_count).map(port).collect())
}

/// One ring pair of a memif interface.
#[derive(Debug)]
pub struct MemifPort {
    control: Arc<Control>,
    queue: usize,
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
        let epoch = self.control.shared.epoch(self.queue);
        if epoch != self.epoch {
            self.epoch = epoch;
            self.link = self.control.shared.take(self.queue);
            self.counters.syscall_count += 1;
        }
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
        match &self.link {
            Some(link) => Some(link.receiver.event().as_fd()),
            None => self.control.shared.changed(self.queue).map(|event| event.as_fd()),
        }
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
