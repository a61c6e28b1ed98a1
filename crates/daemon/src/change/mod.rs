//! From one plant to the next: what each worker is told, and in which order.
//!
//! ```text
//!   next plant -> check -> place -> lay out -> make what is new          nothing has changed yet; a Fault ends it here
//!     1. workers that lose a module or port to another: replace, and give it back
//!     2. every worker whose part changes: ports, graph and classes, between two of its rounds
//!     3. what nobody has any more goes; workers that are not wished for end
//! ```
//!
//! The first half is `plan.rs`, the second `apply.rs`.
//!
//! Invariant: a module is on the shelf or on the workers where the placement says, and a port likewise.

mod apply;
mod plan;

use crate::berth::Berth;
use crate::hooks::{Site, Tap, Track};
use crate::hub::Hub;
use crate::lines::Pending;
use crate::mux::Mux;
use crate::plant::{self, Placement, Plant};
use crate::ports::Device;
use crate::services::ServiceDesk;
use crate::worker::{Running, Told};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use tidegate_control::{Errno, Fault};
use tidegate_pipeline::metadata::{Layout, Relocation};
use tidegate_pipeline::{GraphError, Module, NamedModule, PortIndex, Snapshot};
use tidegate_port::{Bell, Port};

/// The modules that left a worker.
pub(crate) type Left = Vec<NamedModule>;

/// The daemon, to be called by one thread ([`tidegate_control::CallQueue::run`]).
#[derive(Default)]
pub struct Daemon {
    pub(crate) plant: Plant,
    pub(crate) placement: Placement,
    pub(crate) layout: Layout,
    pub(crate) workers: BTreeMap<u8, Running>,
    /// Modules that no worker has, by number.
    pub(crate) shelf: HashMap<u64, Box<dyn Module>>,
    /// Ports that no worker has.
    pub(crate) harbour: BTreeMap<String, Box<dyn Port>>,
    /// The kernel's devices behind ports that have one.
    pub(crate) devices: BTreeMap<String, Device>,
    /// Ports that are made for the worker that they come to, and where they lead.
    pub(crate) berths: BTreeMap<String, Berth>,
    /// The index of each port in its worker.
    pub(crate) port_indices: BTreeMap<String, PortIndex>,
    pub(crate) taps: Vec<Tap>,
    pub(crate) tracks: BTreeMap<Site, Track>,
    pub(crate) is_paused: bool,
    pub(crate) services: ServiceDesk,
    /// NICs that services and stacks share, by name.
    pub(crate) hubs: BTreeMap<String, Hub>,
    pub(crate) mux: Mux,
    /// What wakes the workers of queues that others send to, by the queue's number.
    pub(crate) bells: HashMap<u64, Arc<Bell>>,
    next_serial: u64,
    on_kill: Option<Box<dyn FnOnce() + Send>>,
}

/// What a change is made of, once nothing can be refused any more.
struct Plan {
    placement: Placement,
    layout: Layout,
    told: BTreeMap<u8, Told>,
    /// New instances, by worker and name.
    made: HashMap<(u8, String), Box<dyn Module>>,
    /// What moves from a worker to others.
    movers: BTreeMap<u8, Vec<String>>,
    relocations: HashMap<String, Relocation>,
    port_indices: BTreeMap<String, PortIndex>,
    /// Ends of new lines between workers.
    inlets: Vec<Pending>,
    /// What has left workers, which their threads are not kept with.
    left: Vec<(u8, Left)>,
}

impl Daemon {
    /// A daemon without workers, modules or ports. `on_kill` is called when a controller ends it; it must not wait.
    pub fn new(on_kill: impl FnOnce() + Send + 'static) -> Self {
        Self { on_kill: Some(Box::new(on_kill)), ..Self::default() }
    }

    /// A number for a module that no other ever had.
    pub(crate) fn serial(&mut self) -> u64 {
        self.next_serial += 1;
        self.next_serial
    }

    pub(crate) fn end(&mut self) {
        if let Some(on_kill) = self.on_kill.take() {
            on_kill();
        }
    }

    /// Has `next` be what runs, with a worker for tasks that nobody placed. On a fault, nothing has changed.
    pub(crate) fn change(&mut self, mut next: Plant) -> Result<(), Fault> {
        let has_tasks =
            next.modules.iter().any(|(name, module)| module.task_count > 0 && next.owner(name).is_none());
        if has_tasks {
            next.need_worker();
        }
        self.change_to(next)
    }

    /// The same, and no worker that is not wished for. While all is paused, what cannot run so may be wished for:
    /// `resume_all` looks again.
    pub(crate) fn change_to(&mut self, next: Plant) -> Result<(), Fault> {
        plant::check(&next)?;
        let placement = match self.is_paused {
            true => plant::place_as_far_as_may_be(&next, &self.placement).0,
            false => plant::place(&next, &self.placement)?,
        };
        let mut started = BTreeMap::new();
        for (wid, wish) in &next.workers {
            let is_moved = self.plant.workers.get(wid).is_some_and(|old| old.core != wish.core);
            if is_moved {
                let text = format!("worker {wid} stays on its core: destroy it and add it again");
                return Err(Fault::new(Errno::EBUSY, text));
            }
            if !self.workers.contains_key(wid) {
                let mut running = Running::start(*wid, wish.core, wish.shape)?;
                running.set_paused(self.is_paused && !wish.is_of_service)?;
                started.insert(*wid, running);
            }
        }
        let opened = self.open_berths(&placement, &started)?;
        let plan = self.plan(&next, placement)?;
        self.harbour.extend(opened);
        self.workers.append(&mut started);
        let outcome = self.apply(next, plan);
        self.tell_collector();
        outcome
    }

    /// Opens what is made for its worker and is on none yet.
    fn open_berths(
        &self,
        placement: &Placement,
        started: &BTreeMap<u8, Running>,
    ) -> Result<BTreeMap<String, Box<dyn Port>>, Fault> {
        let mut opened = BTreeMap::new();
        for (name, wid) in &placement.ports {
            let running = self.workers.get(wid).or_else(|| started.get(wid));
            if let (Some(berth), Some(running)) = (self.berths.get(name), running)
                && !self.placement.ports.contains_key(name)
            {
                opened.insert(name.clone(), berth.open(running)?);
            }
        }
        Ok(opened)
    }

    /// Whom to ask for counters from now on.
    pub(crate) fn tell_collector(&self) {
        let workers = self.workers.values().map(Running::asked).collect();
        self.services.collector.set(self.services.counted(), workers);
    }

    /// Each worker's counters.
    pub(crate) fn snapshots(&self) -> Result<BTreeMap<u8, Snapshot>, Fault> {
        let ask = |(wid, running): (&u8, &Running)| Ok((*wid, running.ask(|worker| worker.snapshot())?));
        self.workers.iter().map(ask).collect()
    }
}

/// What was checked and is not so all the same.
fn broken(error: GraphError) -> Fault {
    Fault::new(Errno::EIO, format!("the daemon is at odds with itself, please report it: {error}"))
}
