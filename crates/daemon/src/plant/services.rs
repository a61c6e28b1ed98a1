//! What of a plant belongs to services: calls about the pipeline leave it alone.

use super::Plant;
use std::collections::{BTreeMap, BTreeSet};
use tidegate_control::{Errno, Fault};

/// A service's part of the plant.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServiceWish {
    /// Its modules, and the worker of each.
    pub(crate) modules: BTreeMap<String, u8>,
    pub(crate) ports: BTreeSet<String>,
}

impl Plant {
    /// The service that has that module or port.
    pub(crate) fn owner(&self, name: &str) -> Option<&str> {
        let has = |wish: &ServiceWish| wish.modules.contains_key(name) || wish.ports.contains(name);
        self.services.iter().find(|(_, wish)| has(wish)).map(|(service, _)| service.as_str())
    }

    /// The worker of a service's module.
    pub(super) fn seat_of(&self, module: &str) -> Option<u8> {
        self.services.values().find_map(|wish| wish.modules.get(module)).copied()
    }

    /// A service that runs on a worker.
    pub(crate) fn service_on(&self, wid: u8) -> Option<&str> {
        let is_there = |wish: &ServiceWish| wish.modules.values().any(|seat| *seat == wid);
        self.services.iter().find(|(_, wish)| is_there(wish)).map(|(service, _)| service.as_str())
    }

    /// Refuses to touch what is a service's.
    pub(crate) fn check_free(&self, what: &str, name: &str) -> Result<(), Fault> {
        match self.owner(name) {
            None => Ok(()),
            Some(service) => {
                let text = format!("{what} {name} is part of service {service}: stop that first");
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
        let used: BTreeSet<u8> =
            self.services.values().flat_map(|wish| wish.modules.values().copied()).collect();
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
        wish.modules.keys().for_each(|module| self.remove_module(module));
        wish.ports.iter().for_each(|port| {
            self.ports.remove(port);
        });
        let used: BTreeSet<u8> =
            self.services.values().flat_map(|wish| wish.modules.values().copied()).collect();
        self.workers.retain(|wid, worker| !worker.is_of_service || used.contains(wid));
    }
}
