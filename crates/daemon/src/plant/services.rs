//! What of a plant belongs to services and to what they and stacks share: calls about the pipeline leave it alone.

use super::Plant;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use tidegate_control::controller::Above;
use tidegate_control::{Errno, Fault};

/// A part of the plant that is not the pipeline's: a service's, or a NIC's with the stacks on it.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartWish {
    /// Its modules, and the worker of each.
    pub(crate) modules: BTreeMap<String, u8>,
    pub(crate) ports: BTreeSet<String>,
}

/// Whose a part is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owner<'p> {
    Service(&'p str),
    /// What services and stacks share on it.
    Nic(&'p str),
}

impl fmt::Display for Owner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service(name) => write!(f, "service {name}"),
            Self::Nic(name) => write!(f, "what services and stacks share on {name}"),
        }
    }
}

impl Plant {
    /// All parts, with their owners.
    pub(super) fn parts(&self) -> impl Iterator<Item = (Owner<'_>, &PartWish)> {
        let services = self.services.iter().map(|(name, wish)| (Owner::Service(name.as_str()), wish));
        services.chain(self.hubs.iter().map(|(name, wish)| (Owner::Nic(name.as_str()), wish)))
    }

    /// Whose that module or port is, if not the pipeline's.
    pub(crate) fn owner(&self, name: &str) -> Option<Owner<'_>> {
        let has = |wish: &PartWish| wish.modules.contains_key(name) || wish.ports.contains(name);
        self.parts().find(|(_, wish)| has(wish)).map(|(owner, _)| owner)
    }

    /// The worker of a module that is not the pipeline's.
    pub(super) fn seat_of(&self, module: &str) -> Option<u8> {
        self.parts().find_map(|(_, wish)| wish.modules.get(module)).copied()
    }

    /// Who runs on a worker beside the pipeline.
    pub(crate) fn owner_on(&self, wid: u8) -> Option<Owner<'_>> {
        let is_there = |wish: &PartWish| wish.modules.values().any(|seat| *seat == wid);
        self.parts().find(|(_, wish)| is_there(wish)).map(|(owner, _)| owner)
    }

    /// The workers that others than the pipeline run on.
    fn used_workers(&self) -> BTreeSet<u8> {
        self.parts().flat_map(|(_, wish)| wish.modules.values().copied()).collect()
    }

    /// Refuses to touch what is a service's.
    pub(crate) fn check_free(&self, what: &str, name: &str) -> Result<(), Fault> {
        match self.owner(name) {
            None => Ok(()),
            Some(owner) => {
                let text = format!("{what} {name} is part of {owner}: stop that first");
                Err(Fault::new(Errno::EBUSY, text))
            }
        }
    }

    /// What is left without the pipeline: services, and the workers that they run on.
    pub(crate) fn without_pipeline(&self) -> Self {
        let mut next = self.clone();
        next.clear_workers();
        next.clear_modules();
        next.clear_ports();
        next
    }

    /// Takes all workers away that no service runs on, all classes, and the places of tasks.
    pub(crate) fn clear_workers(&mut self) {
        let used = self.used_workers();
        self.workers.retain(|wid, _| used.contains(wid));
        self.classes.clear();
        self.tasks.clear();
    }

    /// Takes all modules of the pipeline away.
    pub(crate) fn clear_modules(&mut self) {
        let gone: Vec<String> =
            self.modules.keys().filter(|name| self.owner(name).is_none()).cloned().collect();
        gone.iter().for_each(|name| self.remove_module(name));
    }

    /// Takes all ports of the pipeline away.
    pub(crate) fn clear_ports(&mut self) {
        let gone: Vec<String> =
            self.ports.keys().filter(|name| self.owner(name).is_none()).cloned().collect();
        gone.iter().for_each(|name| {
            self.ports.remove(name);
        });
    }

    /// Takes a service away, with all that is its own.
    pub(crate) fn remove_service(&mut self, service: &str) {
        let wish = self.services.remove(service).unwrap_or_default();
        self.remove_part(&wish);
    }

    /// Takes away what services and stacks shared on a NIC.
    pub(crate) fn remove_hub(&mut self, nic: &str) {
        let wish = self.hubs.remove(nic).unwrap_or_default();
        self.remove_part(&wish);
    }

    fn remove_part(&mut self, wish: &PartWish) {
        wish.modules.keys().for_each(|module| self.remove_module(module));
        wish.ports.iter().for_each(|port| {
            self.ports.remove(port);
        });
        let used = self.used_workers();
        self.workers.retain(|wid, worker| !worker.is_of_service || used.contains(wid));
        self.remove_homeless_classes();
    }

    /// Takes classes away whose worker is gone, and the places of tasks there.
    fn remove_homeless_classes(&mut self) {
        let is_gone =
            |above: &Above| self.worker_of(above).is_some_and(|wid| !self.workers.contains_key(&wid));
        let classes = self.classes.iter().filter(|class| is_gone(&class.place.above));
        let classes: Vec<String> = classes.map(|class| class.name.clone()).collect();
        let tasks = self.tasks.iter().filter(|(_, place)| is_gone(&place.above));
        let tasks: Vec<(String, u32)> = tasks.map(|(task, _)| task.clone()).collect();
        self.classes.retain(|class| !classes.contains(&class.name));
        self.tasks.retain(|task, _| !tasks.contains(task));
    }
}
