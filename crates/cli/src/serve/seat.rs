//! What a worker sits on before it runs: its frames, and the sockets they go through.

use crate::exit::{explain, wrong_input};
use anyhow::Result;
use tidegate_packet::Pool;
use tidegate_port::Port;
use tidegate_service::config::ZeroCopy;
use tidegate_service::{Device, Lane, ServiceError, Settings, Share, share_out};
use tidegate_sys::mem::{Mapping, PageKind};
use tidegate_sys::xsk::{DriverMode, Umem};

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
    share_out(settings, devices).into_iter().map(|share| open(settings, devices, share)).collect()
}

fn open(settings: &Settings, devices: &[Device], share: Share) -> Result<Seat> {
    let memory = Mapping::anonymous(share.pool_size)?;
    let pages = memory.pages();
    if pages == PageKind::Ordinary {
        tracing::warn!("no huge pages for the frames: ordinary ones, which cost more TLB misses");
    }
    let mut pool = Pool::new(Box::new(memory), share.chunk_size)?;
    let umem = Umem::of_pool(&pool);
    let (mut ports, mut modes) = (Vec::<Box<dyn Port>>::new(), Vec::new());
    for lane in &share.lanes {
        let device = &devices[lane.device];
        let port = device.nic.open_queue(lane.queue, &umem, &settings.xsk(), settings.config.gso);
        let mut port = port.map_err(|error| in_flags(settings, device, ServiceError::from(error).into()))?;
        port.fill(&mut pool);
        modes.push(port.mode());
        ports.push(Box::new(port));
    }
    Ok(Seat { pool, ports, lanes: share.lanes, modes, pages })
}

/// The error in terms of what was typed.
fn in_flags(settings: &Settings, device: &Device, error: anyhow::Error) -> anyhow::Error {
    match settings.config.zero_copy {
        ZeroCopy::Require => wrong_input(format!(
            "zero-copy is required of {}: {}; --zero-copy auto serves without it",
            device.nic.name,
            explain(&error)
        )),
        _ => error,
    }
}
