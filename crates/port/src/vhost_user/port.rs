//! The ports of a device: one a queue pair.
//!
//! Invariant: while there is no link, nothing is received, and what is sent is lost and counted, as on a link that is down.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use tidegate_packet::{BATCH_LEN_MAX, Batch, Pool};
use tidegate_sys::event::EventFd;

use super::config::{VhostUserConfig, VhostUserError};
use super::control::{Control, VhostUserStatus};
use crate::{Port, PortCounters};

/// Opens a device: a port a queue pair, in order, without a link until the driver is there. The last port that is dropped ends it.
pub fn open_vhost_user(config: VhostUserConfig) -> Result<Vec<VhostUserPort>, VhostUserError> {
    config.check()?;
    let (queue_count, frame_len_max) = (config.queue_count, config.frame_len_max);
    let control = Arc::new(Control::start(&config)?);
    let port = |queue| VhostUserPort {
        control: Arc::clone(&control),
        queue: usize::from(queue),
        epoch: 0,
        kick: None,
        is_connected: false,
        frame_len_max,
        counters: PortCounters::default(),
        drops: VhostUserDrops::default(),
    };
    Ok((0..queue_count).map(port).collect())
}

/// Buffers of the guest that made no frame. Their sum is in [`PortCounters::rx_drop_count`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VhostUserDrops {
    /// The pool had no chunk.
    pub no_chunk_count: u64,
    /// Descriptors in a loop, outside of the guest's memory or of the wrong direction; a buffer without a frame.
    pub bad_buffer_count: u64,
    /// A frame to be cut into segments, or with a checksum outside of it, or partial where that was not agreed.
    pub bad_header_count: u64,
    /// It did not fit into a chunk.
    pub too_long_count: u64,
}

/// One queue pair of a virtio-net device.
#[derive(Debug)]
pub struct VhostUserPort {
    control: Arc<Control>,
    queue: usize,
    /// Of what is below.
    epoch: u32,
    /// What the guest signals when it has sent.
    kick: Option<Arc<EventFd>>,
    is_connected: bool,
    frame_len_max: usize,
    counters: PortCounters,
    drops: VhostUserDrops,
}

impl VhostUserPort {
    /// What goes on with the device.
    pub fn status(&self) -> VhostUserStatus {
        self.control.shared.status()
    }

    /// Whether the guest has started this queue pair, both ways, as far as it has noticed.
    pub fn is_connected(&self) -> bool {
        self.is_connected
    }

    /// Why buffers of the guest were dropped.
    pub fn drops(&self) -> VhostUserDrops {
        self.drops
    }

    /// Takes note of what the control thread has changed.
    #[inline]
    fn renew(&mut self) {
        let epoch = self.control.shared.epoch(self.queue);
        if epoch != self.epoch {
            self.look(epoch);
        }
    }

    fn look(&mut self, epoch: u32) {
        let shared = &self.control.shared;
        // Cleared first: what changes afterwards is signalled again.
        let _ = shared.changed(self.queue).map(EventFd::clear);
        self.counters.syscall_count += 1;
        let Some(ends) = shared.try_ends(self.queue) else { return };
        self.epoch = epoch;
        self.kick = ends.receiver.as_ref().map(|receiver| Arc::clone(receiver.kick()));
        self.is_connected = ends.receiver.is_some() && ends.sender.is_some();
    }
}

impl Port for VhostUserPort {
    fn rx(&mut self, pool: &mut Pool, batch: &mut Batch) -> usize {
        self.renew();
        let shared = &self.control.shared;
        let Some(mut ends) = shared.try_ends(self.queue) else { return 0 };
        let Some(receiver) = &mut ends.receiver else { return 0 };
        let count = receiver.receive(pool, batch, &mut self.counters, &mut self.drops);
        if receiver.is_gone() {
            ends.receiver = None;
            shared.report_gone();
        }
        count
    }

    fn tx_room(&mut self, _: &mut Pool) -> usize {
        self.renew();
        match self.control.shared.try_ends(self.queue) {
            Some(ends) => ends.sender.as_ref().map_or(BATCH_LEN_MAX, |sender| usize::from(sender.room())),
            None => 0,
        }
    }

    fn tx(&mut self, pool: &mut Pool, batch: &mut Batch) {
        self.renew();
        let shared = &self.control.shared;
        let Some(mut ends) = shared.try_ends(self.queue) else {
            self.counters.tx_ring_full_count += batch.len() as u64;
            return;
        };
        match &mut ends.sender {
            Some(sender) => {
                sender.send(pool, batch, self.frame_len_max, &mut self.counters);
                if sender.is_gone() {
                    ends.sender = None;
                    shared.report_gone();
                }
            }
            None => {
                self.counters.tx_drop_count += batch.len() as u64;
                pool.free_batch(batch);
            }
        }
    }

    fn flush(&mut self, _: &mut Pool) {
        // Whoever has taken the sender away meanwhile has shown the guest what was written.
        let Some(mut ends) = self.control.shared.try_ends(self.queue) else { return };
        if let Some(sender) = &mut ends.sender {
            self.counters.syscall_count += sender.publish();
        }
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.kick {
            Some(kick) => Some(kick.as_fd()),
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
        self.is_connected
    }
}
