//! What a worker sits on before it runs: its frames, and the sockets they go through.
//!
//! ```text
//!   device 0: queue 0  queue 1  queue 2         worker = queue modulo workers, so that each worker has
//!   device 1: queue 0  queue 1                  a like share of each device
//!              |        |        |
//!             seat 0   seat 1   seat 0          one pool and one UMEM a seat
//! ```

use super::settings::Settings;
use crate::attach::Device;
use crate::config::ZeroCopy;
use crate::exit::{explain, wrong_input};
use anyhow::Result;
use tidegate_packet::Pool;
use tidegate_port::Port;
use tidegate_sys::cpu;
use tidegate_sys::mem::{Mapping, PageKind};
use tidegate_sys::xsk::{DriverMode, Umem};

/// Frames up to this MTU fit a chunk of 2 KiB, with room for headroom and a VLAN tag.
const SMALL_MTU_MAX: usize = 1600;
/// The least memory of a pool: its rings filled, and as much again on the way.
const POOL_SIZE_MIN: usize = 16 << 20;
/// The most: beyond it, ready packets crowd each other out of the processor's caches anyway.
const POOL_SIZE_MAX: usize = 1 << 30;

/// One queue of one device, as one port of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lane {
    /// Which of the service's devices.
    pub(crate) device: usize,
    /// Which of its queues.
    pub(crate) queue: u32,
}

/// A worker's pool, and its ports in the order of their lanes.
pub(crate) struct Seat {
    pub(crate) pool: Pool,
    pub(crate) ports: Vec<Box<dyn Port>>,
    pub(crate) lanes: Vec<Lane>,
    modes: Vec<DriverMode>,
    pages: PageKind,
}

impl Seat {
    /// How its frames travel and where they lie, in words.
    pub(crate) fn facts(&self) -> Vec<String> {
        let pages = match self.pages {
            PageKind::Huge => "huge pages",
            PageKind::Ordinary => "ordinary pages",
        };
        self.modes.iter().map(ToString::to_string).chain([pages.to_owned()]).collect()
    }
}

/// Makes every worker's pool and opens a socket on every queue.
pub(crate) fn open_all(settings: &Settings, devices: &[Device]) -> Result<Vec<Seat>> {
    let worker_count = worker_count(settings, devices);
    let shares = share_out(devices.iter().map(|device| device.queue_count), worker_count);
    shares.into_iter().map(|lanes| open(settings, devices, lanes, worker_count)).collect()
}

/// As many as the widest device has queues, or as was asked for, as long as each gets a queue.
fn worker_count(settings: &Settings, devices: &[Device]) -> usize {
    let widest = devices.iter().map(|device| device.queue_count as usize).max().unwrap_or(1);
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

fn share_out(queue_counts: impl Iterator<Item = u32>, worker_count: usize) -> Vec<Vec<Lane>> {
    let mut shares = vec![Vec::new(); worker_count];
    for (device, queue_count) in queue_counts.enumerate() {
        for queue in 0..queue_count {
            shares[queue as usize % worker_count].push(Lane { device, queue });
        }
    }
    shares
}

fn open(settings: &Settings, devices: &[Device], lanes: Vec<Lane>, worker_count: usize) -> Result<Seat> {
    let mtu = lanes.iter().map(|lane| devices[lane.device].interface.mtu()).max().unwrap_or(0);
    let chunk_size = if mtu <= SMALL_MTU_MAX { 2048 } else { 4096 };
    let memory = Mapping::anonymous(pool_size(settings, worker_count))?;
    let pages = memory.pages();
    if pages == PageKind::Ordinary {
        tracing::warn!("no huge pages for the frames: ordinary ones, which cost more TLB misses");
    }
    let mut pool = Pool::new(Box::new(memory), chunk_size)?;
    let umem = Umem::of_pool(&pool);
    let (mut ports, mut modes) = (Vec::<Box<dyn Port>>::new(), Vec::new());
    for lane in &lanes {
        let device = &devices[lane.device];
        let port = device.open_queue(lane.queue, &mut pool, &umem, &settings.xsk(), settings.config.gso);
        let port = port.map_err(|error| in_flags(settings, device, error))?;
        modes.push(port.mode());
        ports.push(Box::new(port));
    }
    Ok(Seat { pool, ports, lanes, modes, pages })
}

/// The error in terms of what was typed.
fn in_flags(settings: &Settings, device: &Device, error: anyhow::Error) -> anyhow::Error {
    match settings.config.zero_copy {
        ZeroCopy::Require => wrong_input(format!(
            "zero-copy is required of {}: {}; --zero-copy auto serves without it",
            device.name,
            explain(&error)
        )),
        _ => error,
    }
}

/// A worker's share of the memory for frames.
fn pool_size(settings: &Settings, worker_count: usize) -> usize {
    (settings.frame_memory() as usize / worker_count).clamp(POOL_SIZE_MIN, POOL_SIZE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_queue_has_one_worker_and_every_worker_a_queue() {
        let shares = share_out([3, 2].into_iter(), 2);
        let lane = |device, queue| Lane { device, queue };
        assert_eq!(shares[0], [lane(0, 0), lane(0, 2), lane(1, 0)]);
        assert_eq!(shares[1], [lane(0, 1), lane(1, 1)]);
    }
}
