//! Which workers run which modules: those whose tasks reach them.

use super::{ModuleWish, Plant};
use crate::make;
use std::collections::{BTreeMap, BTreeSet};
use tidegate_control::{Errno, Fault};

/// Workers of modules and ports. What no task reaches stays where it was, if that worker is still there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Placement {
    pub(crate) modules: BTreeMap<String, BTreeSet<u8>>,
    pub(crate) ports: BTreeMap<String, u8>,
}

impl Placement {
    /// Whether a worker has the module.
    pub(crate) fn has(&self, module: &str, wid: u8) -> bool {
        self.modules.get(module).is_some_and(|workers| workers.contains(&wid))
    }
}

/// Places `plant`; `EBUSY` if a module would be on more workers than it may.
pub(crate) fn place(plant: &Plant, before: &Placement) -> Result<Placement, Fault> {
    let mut modules: BTreeMap<String, BTreeSet<u8>> = BTreeMap::new();
    let mut next: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for ((from, _), (to, _)) in &plant.links {
        next.entry(from).or_default().push(to);
    }
    for (name, module) in &plant.modules {
        for task in 0..module.task_count {
            if let Some(wid) = plant.worker_of_task(name, task).filter(|wid| plant.workers.contains_key(wid))
            {
                reach(name, wid, &next, &mut modules);
            }
        }
    }
    for (name, module) in &plant.modules {
        let workers = modules.entry(name.clone()).or_default();
        if workers.is_empty() {
            let stays = before.modules.get(name).and_then(|before| before.first());
            workers.extend(stays.filter(|wid| plant.workers.contains_key(wid)));
        }
        check_sharing(name, module, workers)?;
    }
    let ports = place_ports(plant, &modules, before)?;
    Ok(Placement { modules, ports })
}

fn reach<'p>(
    start: &'p str,
    wid: u8,
    next: &BTreeMap<&'p str, Vec<&'p str>>,
    modules: &mut BTreeMap<String, BTreeSet<u8>>,
) {
    let mut waiting = vec![start];
    while let Some(name) = waiting.pop() {
        if modules.entry(name.to_owned()).or_default().insert(wid) {
            waiting.extend(next.get(name).into_iter().flatten());
        }
    }
}

fn check_sharing(name: &str, module: &ModuleWish, workers: &BTreeSet<u8>) -> Result<(), Fault> {
    if workers.len() <= 1 || (make::is_shareable(module.class) && module.task_count == 0) {
        return Ok(());
    }
    let text = format!(
        "{name} ({}) may be run by one worker only, and tasks of workers {} reach it: move them to one",
        module.class.name,
        list(workers)
    );
    Err(Fault::new(Errno::EBUSY, text))
}

fn list(workers: &BTreeSet<u8>) -> String {
    workers.iter().map(u8::to_string).collect::<Vec<_>>().join(", ")
}

fn place_ports(
    plant: &Plant,
    modules: &BTreeMap<String, BTreeSet<u8>>,
    before: &Placement,
) -> Result<BTreeMap<String, u8>, Fault> {
    let mut ports = BTreeMap::new();
    for (name, module) in &plant.modules {
        let Some(port) = &module.port else { continue };
        for wid in modules.get(name).into_iter().flatten() {
            let other = *ports.entry(port.clone()).or_insert(*wid);
            if other != *wid {
                let text = format!(
                    "port {port} belongs to one worker, and workers {other} and {wid} want it: \
                                    move the tasks that reach it to one"
                );
                return Err(Fault::new(Errno::EBUSY, text));
            }
        }
    }
    for (port, wid) in &before.ports {
        if plant.ports.contains_key(port) && plant.workers.contains_key(wid) {
            ports.entry(port.clone()).or_insert(*wid);
        }
    }
    Ok(ports)
}
