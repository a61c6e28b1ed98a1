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

/// What keeps a plant from being run as it is wished.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Violation {
    pub(crate) module: String,
    /// What is wrong, and what would mend it.
    pub(crate) text: String,
    /// It cannot run so at all.
    pub(crate) is_fatal: bool,
}

/// Places `plant`; `EBUSY` if a module would be on more workers than it may.
pub(crate) fn place(plant: &Plant, before: &Placement) -> Result<Placement, Fault> {
    let (placement, violations) = place_as_far_as_may_be(plant, before);
    match violations.into_iter().find(|violation| violation.is_fatal) {
        None => Ok(placement),
        Some(violation) => Err(Fault::new(Errno::EBUSY, violation.text)),
    }
}

/// Places `plant`, with a module or port that too many workers want on one of them, and says what is wrong.
pub(crate) fn place_as_far_as_may_be(plant: &Plant, before: &Placement) -> (Placement, Vec<Violation>) {
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
    let mut violations = Vec::new();
    for (name, module) in &plant.modules {
        let workers = modules.entry(name.clone()).or_default();
        if workers.is_empty() {
            violations.extend(unreached(name, plant));
            let stays = before.modules.get(name).and_then(|before| before.first());
            workers.extend(stays.filter(|wid| plant.workers.contains_key(wid)));
        }
        if let Some(violation) = overshared(name, module, workers) {
            violations.push(violation);
            keep_one(workers, before.modules.get(name).and_then(|before| before.first()));
        }
    }
    let ports = place_ports(plant, &mut modules, before, &mut violations);
    (Placement { modules, ports }, violations)
}

/// Leaves `preferred`, if it is among them, or else the first.
fn keep_one(workers: &mut BTreeSet<u8>, preferred: Option<&u8>) {
    let kept = preferred.filter(|wid| workers.contains(wid)).or(workers.first()).copied();
    workers.retain(|wid| Some(*wid) == kept);
}

/// A module that is joined to others and that no task leads frames to.
fn unreached(name: &str, plant: &Plant) -> Option<Violation> {
    let is_joined = plant.links.iter().any(|((from, _), (to, _))| from == name || to == name);
    let text = || format!("no task reaches {name}: connect something to it that has one, or add a worker");
    is_joined.then(|| Violation { module: name.to_owned(), text: text(), is_fatal: false })
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

fn overshared(name: &str, module: &ModuleWish, workers: &BTreeSet<u8>) -> Option<Violation> {
    if workers.len() <= 1 || (make::is_shareable(module.class) && module.task_count == 0) {
        return None;
    }
    let text = format!(
        "{name} ({}) may be run by one worker only, and tasks of workers {} reach it: move them to one",
        module.class.name,
        list(workers)
    );
    Some(Violation { module: name.to_owned(), text, is_fatal: true })
}

fn list(workers: &BTreeSet<u8>) -> String {
    workers.iter().map(u8::to_string).collect::<Vec<_>>().join(", ")
}

fn place_ports(
    plant: &Plant,
    modules: &mut BTreeMap<String, BTreeSet<u8>>,
    before: &Placement,
    violations: &mut Vec<Violation>,
) -> BTreeMap<String, u8> {
    let mut ports = BTreeMap::new();
    for (name, module) in &plant.modules {
        let Some(port) = &module.port else { continue };
        let Some(workers) = modules.get_mut(name) else { continue };
        for wid in std::mem::take(workers) {
            let other = *ports.entry(port.clone()).or_insert(wid);
            if other == wid {
                workers.insert(wid);
            } else {
                let text = format!(
                    "port {port} belongs to one worker, and workers {other} and {wid} want it: \
                                    move the tasks that reach it to one"
                );
                violations.push(Violation { module: name.clone(), text, is_fatal: true });
            }
        }
    }
    for (port, wid) in &before.ports {
        if plant.ports.contains_key(port) && plant.workers.contains_key(wid) {
            ports.entry(port.clone()).or_insert(*wid);
        }
    }
    ports
}
