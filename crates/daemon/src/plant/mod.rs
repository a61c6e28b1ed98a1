//! What is wished for, as plain data: modules, links, ports, classes, workers. It runs nothing and touches no thread, so
//! that a change is a changed copy, checked whole before the first worker hears of it.

mod check;
mod place;
mod services;
mod trees;

pub(crate) use check::check;
pub(crate) use place::{Placement, Violation, place, place_as_far_as_may_be};
pub(crate) use services::PartWish;
pub(crate) use trees::{Leaf, Trees, fault as class_fault, sync};

use crate::make::{self, Retold};
use crate::worker::Shape;
use std::collections::BTreeMap;
use tidegate_control::Message;
use tidegate_control::classes::ModuleClass;
use tidegate_control::controller::{Above, ClassSpec, CommandCall, Place, Policy, PortSpec, Slot};
use tidegate_control::proto::bess::{QueueIncArg, QueueOutArg};
use tidegate_pipeline::GateCounts;
use tidegate_pipeline::metadata::Attribute;

/// The core of the worker that is made when a task needs one.
const CORE_DEFAULT: u32 = 0;

/// A module and one of its gates.
pub(crate) type Gate = (String, u16);

/// A worker.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct WorkerWish {
    pub(crate) core: u32,
    /// Nobody asked for it: it was made because a task needed one.
    pub(crate) is_default: bool,
    /// It is a service's own, and no pipeline's.
    pub(crate) is_of_service: bool,
    pub(crate) shape: Shape,
}

impl WorkerWish {
    /// A worker that was asked for.
    pub(crate) fn on(core: u32) -> Self {
        Self { core, is_default: false, is_of_service: false, shape: Shape::default() }
    }
}

/// A module.
#[derive(Clone, Debug)]
pub(crate) struct ModuleWish {
    pub(crate) class: &'static ModuleClass,
    pub(crate) arg: Message,
    /// Which of all modules that ever were: another one of the same name has another number.
    pub(crate) serial: u64,
    pub(crate) gates: GateCounts,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) task_count: u32,
    /// The port that it receives from or sends to.
    pub(crate) port: Option<String>,
    /// Commands that changed it, for another of its kind to be made like it.
    pub(crate) said: Retold,
    /// Commands that came with the pipeline that it was made for.
    pub(crate) planned: Vec<CommandCall>,
    /// It was told more since.
    pub(crate) is_told_later: bool,
}

/// All that is wished for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plant {
    pub(crate) workers: BTreeMap<u8, WorkerWish>,
    pub(crate) ports: BTreeMap<String, PortSpec>,
    pub(crate) modules: BTreeMap<String, ModuleWish>,
    /// From output gates to input gates.
    pub(crate) links: BTreeMap<Gate, Gate>,
    /// Parents before children, none above [`Above::AnyWorker`].
    pub(crate) classes: Vec<ClassSpec>,
    /// Tasks that somebody placed, by module and number.
    pub(crate) tasks: BTreeMap<(String, u32), Place>,
    /// Services, and what of all this is theirs.
    pub(crate) services: BTreeMap<String, PartWish>,
    /// NICs that services and stacks share, and what of all this is for that.
    pub(crate) hubs: BTreeMap<String, PartWish>,
}

impl Plant {
    /// The worker that has what no one placed.
    pub(crate) fn default_worker(&self) -> Option<u8> {
        self.workers.iter().find(|(_, wish)| !wish.is_of_service).map(|(wid, _)| *wid)
    }

    pub(crate) fn class(&self, name: &str) -> Option<&ClassSpec> {
        self.classes.iter().find(|class| class.name == name)
    }

    /// The worker in whose tree a place is. A class never hangs below itself for longer than there are classes.
    pub(crate) fn worker_of(&self, above: &Above) -> Option<u8> {
        let mut above = above;
        for _ in 0..=self.classes.len() {
            match above {
                Above::Worker(wid) => return Some(*wid),
                Above::AnyWorker => return self.default_worker(),
                Above::Class(name) => above = &self.class(name)?.place.above,
            }
        }
        None
    }

    /// Where a task is: where somebody placed it, or in the class that its module has it for.
    pub(crate) fn place_of(&self, module: &str, task: u32) -> Option<Place> {
        if let Some(place) = self.tasks.get(&(module.to_owned(), task)) {
            return Some(place.clone());
        }
        let class = make::classes_of_tasks(&self.modules.get(module)?.arg).into_iter().nth(task as usize)?;
        let slot = match self.class(&class)?.policy {
            Policy::Priority => Some(Slot::Priority(0)),
            Policy::WeightedFair(_) => Some(Slot::Share(1)),
            Policy::RoundRobin | Policy::RateLimit { .. } => None,
        };
        Some(Place { above: Above::Class(class), slot })
    }

    /// The worker of a module's task.
    pub(crate) fn worker_of_task(&self, module: &str, task: u32) -> Option<u8> {
        match self.place_of(module, task) {
            Some(place) => self.worker_of(&place.above),
            None => self.seat_of(module).or_else(|| self.default_worker()),
        }
    }

    /// Makes sure that what is not placed finds a worker.
    pub(crate) fn need_worker(&mut self) {
        if self.default_worker().is_some() {
            return;
        }
        if let Some(wid) = (0..=u8::MAX).find(|wid| !self.workers.contains_key(wid)) {
            self.workers.insert(wid, WorkerWish { is_default: true, ..WorkerWish::on(CORE_DEFAULT) });
        }
    }

    /// Takes a module away with all that names it.
    pub(crate) fn remove_module(&mut self, name: &str) {
        self.modules.remove(name);
        self.links.retain(|(from, _), (to, _)| from != name && to != name);
        self.tasks.retain(|(module, _), _| module != name);
    }

    /// The queues of a port, each by a name of its own.
    pub(crate) fn queues(&self, port: &str) -> Vec<String> {
        match self.ports.get(port).map_or(0, |spec| spec.rx_queues.max(spec.tx_queues)) {
            0 => Vec::new(),
            1 => vec![port.to_owned()],
            count => (0..count).map(|queue| format!("{port}#{queue}")).collect(),
        }
    }

    /// Whether there is a queue of that name.
    pub(crate) fn has_queue(&self, queue: &str) -> bool {
        let port = queue.rsplit_once('#').map_or(queue, |(port, _)| port);
        [queue, port].into_iter().any(|port| self.queues(port).iter().any(|it| it == queue))
    }

    /// The queues that a module uses: one a task if it receives, else one on each of its workers.
    pub(crate) fn queues_of(&self, module: &ModuleWish) -> Vec<String> {
        let Some(port) = &module.port else { return Vec::new() };
        let queues = self.queues(port);
        match &module.arg {
            Message::QueueIncArg(QueueIncArg { qid, .. }) | Message::QueueOutArg(QueueOutArg { qid, .. }) => {
                queues.into_iter().nth(*qid as usize).into_iter().collect()
            }
            _ => queues,
        }
    }

    /// Whether a module uses that port, and which.
    pub(crate) fn user_of(&self, port: &str) -> Option<&str> {
        let uses = |(_, module): &(&String, &ModuleWish)| module.port.as_deref() == Some(port);
        self.modules.iter().find(uses).map(|(name, _)| name.as_str())
    }

    /// Brings classes into an order in which parents come before children.
    pub(crate) fn order_classes(&mut self) {
        let depth = |class: &ClassSpec| {
            let mut above = &class.place.above;
            let mut depth = 0;
            while let Above::Class(name) = above
                && let Some(parent) = self.class(name)
                && depth <= self.classes.len()
            {
                (above, depth) = (&parent.place.above, depth + 1);
            }
            depth
        };
        let mut order: Vec<(usize, usize)> = self.classes.iter().map(depth).zip(0..).collect();
        order.sort_unstable();
        self.classes = order.into_iter().map(|(_, at)| self.classes[at].clone()).collect();
    }
}

#[cfg(test)]
mod tests;
