//! Queues whose frames come from several workers: the queue is on the worker of its task, and each other worker that
//! reaches it has an outlet in its place (docs/adr/0008).
//!
//! ```text
//!   worker 0: source -> q (Outlet) =====line=====> worker 1: q (Queue, Inlet) -> sink
//! ```

use crate::Daemon;
use crate::change::Left;
use crate::plant::{ModuleWish, Plant};
use std::any::Any;
use std::sync::Arc;
use tidegate_control::{Errno, Fault, Message};
use tidegate_modules::queue::{Inlet, Outlet, QUEUE_SIZE_DEFAULT, Queue, line};
use tidegate_pipeline::{Module, Worker};
use tidegate_port::Bell;

/// An inlet that is to be given to the queue of that name, on that worker.
pub(crate) struct Pending {
    pub(crate) queue: String,
    pub(crate) wid: u8,
    pub(crate) inlet: Inlet,
}

impl Plant {
    /// Whether frames of several workers may reach the module, and only its task's worker goes on from there.
    pub(crate) fn is_crossing(module: &ModuleWish) -> bool {
        module.class.name == "Queue"
    }

    /// The worker that a queue's other workers send to, if `wid` is such a one.
    pub(crate) fn crosses_to(&self, name: &str, wid: u8) -> Option<u8> {
        self.modules.get(name).filter(|module| Self::is_crossing(module))?;
        self.worker_of_task(name, 0).filter(|queue_wid| *queue_wid != wid)
    }
}

impl Daemon {
    /// A line from `wid` to the queue `name`.
    pub(crate) fn make_line(
        &mut self,
        name: &str,
        wish: &ModuleWish,
        queue_wid: u8,
    ) -> Result<(Box<dyn Module>, Pending), Fault> {
        let size = match &wish.arg {
            Message::QueueArg(arg) if arg.size > 0 => arg.size,
            _ => QUEUE_SIZE_DEFAULT,
        };
        let bell = match self.bells.get(&wish.serial) {
            Some(bell) => Arc::clone(bell),
            None => {
                let bell = Bell::new().map_err(|error| Fault::new(Errno::EIO, format!("{name}: {error}")))?;
                let bell = Arc::new(bell);
                self.bells.insert(wish.serial, Arc::clone(&bell));
                bell
            }
        };
        let (outlet, inlet) = line(self.serial(), size as usize, &bell);
        Ok((Box::new(outlet), Pending { queue: name.to_owned(), wid: queue_wid, inlet }))
    }

    /// Gives the queue on a worker its new inlets.
    pub(crate) fn attach_inlets(&self, pending: Vec<Pending>) -> Result<(), Fault> {
        for Pending { queue, wid, inlet } in pending {
            let Some(running) = self.workers.get(&wid) else { continue };
            running.ask(move |worker| {
                if let Some(queue) = worker.module_mut::<Queue>(&queue) {
                    queue.add_inlet(inlet);
                }
            })?;
        }
        Ok(())
    }

    /// Ends the lines whose outlets have left their workers: what is on them comes to the queue, if that is still there, and
    /// the outlets' frames go home.
    pub(crate) fn end_lines(&self, left: Vec<(u8, Left)>) -> Result<(), Fault> {
        let mut queues: Vec<Box<Queue>> = Vec::new();
        let mut outlets: Vec<(u8, String, Box<Outlet>)> = Vec::new();
        for (wid, modules) in left {
            for (name, module) in modules {
                let module: Box<dyn Any> = module;
                match module.downcast::<Outlet>() {
                    Ok(outlet) => outlets.push((wid, name, outlet)),
                    Err(other) => queues.extend(other.downcast::<Queue>()),
                }
            }
        }
        for (wid, name, mut outlet) in outlets {
            self.empty_line(&name, outlet.number(), &mut queues)?;
            if let Some(running) = self.workers.get(&wid) {
                running.ask(move |worker| outlet.retire(worker.pool_mut()))?;
            }
        }
        Ok(())
    }

    /// Has whoever has the line's inlet take in or give back what is on it.
    fn empty_line(&self, name: &str, number: u64, left: &mut [Box<Queue>]) -> Result<(), Fault> {
        for running in self.workers.values() {
            let name = name.to_owned();
            let is_done = running.ask(move |worker| remove_inlet(worker, &name, number))?;
            if is_done {
                return Ok(());
            }
        }
        left.iter_mut().any(|queue| queue.abandon_inlet(number));
        Ok(())
    }
}

fn remove_inlet(worker: &mut Worker, name: &str, number: u64) -> bool {
    worker
        .with_module_and_pool::<Queue, _>(name, |queue, pool| queue.remove_inlet(number, pool))
        .unwrap_or(false)
}
