//! Which worker has which queues, and how large its pool is.
//!
//! ```text
//!   device 0: queue 0  queue 1  queue 2         worker = queue modulo workers, so that each worker has
//!   device 1: queue 0  queue 1                  a like share of each device
//!              |        |        |
//!             share 0  share 1  share 0         one pool and one UMEM a worker
//! ```

use crate::devices::Device;
use crate::settings::Settings;
use tidegate_mux::Nic;
use tidegate_sys::cpu;

/// Frames up to this MTU fit a chunk of 2 KiB, with room for headroom and a VLAN tag.
const SMALL_MTU_MAX: usize = 1600;
/// The least memory of a pool for each of its queues: a quarter of it is what a burst is received into.
const QUEUE_SIZE_MIN: usize = 32 << 20;
/// The most: beyond it, ready packets crowd each other out of the processor's caches anyway.
const POOL_SIZE_MAX: usize = 1 << 30;

/// One queue of one device, as one port of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane {
    /// Which of the service's devices.
    pub device: usize,
    /// Which of its queues.
    pub queue: u32,
}

/// What one worker is to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// Its ports, in order.
    pub lanes: Vec<Lane>,
    /// Bytes of its frames.
    pub pool_size: usize,
    /// Bytes of a frame's chunk.
    pub chunk_size: usize,
}

/// Shares the queues of `devices` out among as many workers as the settings want and the devices can feed.
pub fn share_out(settings: &Settings, devices: &[Device]) -> Vec<Share> {
    let queue_counts: Vec<u32> = devices.iter().map(|device| device.nic.queue_count).collect();
    let worker_count = worker_count(settings, &queue_counts);
    let mtu = |lane: &Lane| devices[lane.device].nic.mtu();
    let share = |lanes: Vec<Lane>| Share {
        chunk_size: chunk_size(lanes.iter().map(mtu).max().unwrap_or(0)),
        pool_size: (settings.frame_memory() as usize / worker_count)
            .max(QUEUE_SIZE_MIN * lanes.len())
            .min(POOL_SIZE_MAX),
        lanes,
    };
    lanes_of(&queue_counts, worker_count).into_iter().map(share).collect()
}

/// What one worker is to have that has all queues of one device, whose frames only pass.
pub fn share_of(nic: &Nic) -> Share {
    let lanes: Vec<Lane> = (0..nic.queue_count).map(|queue| Lane { device: 0, queue }).collect();
    let pool_size = (QUEUE_SIZE_MIN * lanes.len()).min(POOL_SIZE_MAX);
    Share { pool_size, chunk_size: chunk_size(nic.mtu()), lanes }
}

/// Bytes of a chunk that holds a frame of a link with that MTU.
pub const fn chunk_size(mtu: usize) -> usize {
    if mtu <= SMALL_MTU_MAX { 2048 } else { 4096 }
}

/// As many as the widest device has queues, or as was asked for, as long as each gets a queue.
fn worker_count(settings: &Settings, queue_counts: &[u32]) -> usize {
    let widest = queue_counts.iter().map(|count| *count as usize).max().unwrap_or(1);
    let Some(wanted) = settings.config.workers.map(|count| count as usize) else {
        return widest.min(cpu::allowed().len()).max(1);
    };
    if wanted > widest {
        tracing::warn!(
            "{widest} workers instead of {wanted}: no device has more receive queues (ethtool -l)"
        );
    }
    wanted.min(widest)
}

fn lanes_of(queue_counts: &[u32], worker_count: usize) -> Vec<Vec<Lane>> {
    let mut shares = vec![Vec::new(); worker_count];
    for (device, queue_count) in queue_counts.iter().enumerate() {
        for queue in 0..*queue_count {
            shares[queue as usize % worker_count].push(Lane { device, queue });
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_queue_has_one_worker_and_every_worker_a_queue() {
        let shares = lanes_of(&[3, 2], 2);
        let lane = |device, queue| Lane { device, queue };
        assert_eq!(shares[0], [lane(0, 0), lane(0, 2), lane(1, 0)]);
        assert_eq!(shares[1], [lane(0, 1), lane(1, 1)]);
    }
}
