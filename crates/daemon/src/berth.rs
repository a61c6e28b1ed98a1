//! Ports that receive into a worker's own memory: opened for the worker that they come to, closed when they leave it.
//!
//! ```text
//!   control thread: open (socket, rings) --Box<dyn Port>--> worker            the worker fills it in its first round
//!   worker --Box<dyn Port>--> control thread: close --chunks--> worker: its pool has them again
//! ```
//! What takes time, the kernel's waiting for other processors when a socket is closed, is on the control thread.

use crate::worker::Running;
use std::sync::Arc;
use tidegate_control::{Errno, Fault};
use tidegate_mux::{Gso, Holding, MuxError, Nic};
use tidegate_port::Port;
use tidegate_service::ServiceError;
use tidegate_sys::xsk::XskConfig;

/// One queue of a device.
#[derive(Clone)]
pub(crate) struct Berth {
    pub(crate) nic: Arc<Nic>,
    /// What a port without a service has of it.
    pub(crate) _holding: Option<Arc<Holding>>,
    pub(crate) queue: u32,
    pub(crate) xsk: XskConfig,
    pub(crate) gso: Gso,
}

impl Berth {
    /// Opens the queue for a worker, which gets its claimed frames from then on.
    pub(crate) fn open(&self, running: &Running) -> Result<Box<dyn Port>, Fault> {
        let port = self.nic.open_queue(self.queue, &running.umem, &self.xsk, self.gso);
        Ok(Box::new(port.map_err(|error| fault(error.into()))?))
    }
}

/// Closes a port that has left a worker, and has the worker take back what the port still had of its frames.
pub(crate) fn give_back(port: Box<dyn Port>, running: &Running) -> Result<(), Fault> {
    let chunks = port.close();
    running.ask(move |worker| {
        for chunk in chunks {
            worker.pool_mut().complete(chunk);
        }
    })
}

/// A refusal of the machine or of the configuration, in the protocol's terms.
pub(crate) fn fault(error: ServiceError) -> Fault {
    let errno = match error {
        ServiceError::Input(_) | ServiceError::Attach(MuxError::Input(_)) => Errno::EINVAL,
        ServiceError::Attach(MuxError::Occupied(_)) => Errno::EBUSY,
        ServiceError::Step { .. } | ServiceError::Machine(_) | ServiceError::Attach(_) => Errno::EIO,
    };
    Fault::new(errno, error.to_string())
}
