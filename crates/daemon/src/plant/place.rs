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
                reach(name, wid, plant, &next, &mut modules);
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
        if let Some(violation) = overshared(plant, name, module, workers) {
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

/// Notes that a task's frames reach a worker's modules, as far as another task takes them over.
fn reach<'p>(
    start: &'p str,
    wid: u8,
    plant: &Plant,
    next: &BTreeMap<&'p str, Vec<&'p str>>,
    modules: &mut BTreeMap<String, BTreeSet<u8>>,
) {
    let mut waiting = vec![start];
    while let Some(name) = waiting.pop() {
        let is_new = modules.entry(name.to_owned()).or_default().insert(wid);
        let goes_on = name == start || !plant.modules.get(name).is_some_and(Plant::is_crossing);
        if (is_new || name == start) && goes_on {
            waiting.extend(next.get(name).into_iter().flatten());
        }
    }
}

fn overshared(plant: &Plant, name: &str, module: &ModuleWish, workers: &BTreeSet<u8>) -> Option<Violation> {
    if workers.len() <= 1
        || plant.queues_of(module).len() > 1
        || Plant::is_crossing(module)
        || (make::is_shareable(module.class) && module.task_count == 0)
    {
        return None;
    }
    let text = format!(
        "{name} ({}) may be run by one worker only, and tasks of workers {} reach it: move them to one, or put a \
         Queue before it",
        module.class.name,
        list(workers)
    );
    Some(Violation { module: name.to_owned(), text, is_fatal: true })
}

fn list(workers: &BTreeSet<u8>) -> String {
    workers.iter().map(u8::to_string).collect::<Vec<_>>().join(", ")
}

/// Gives each queue of a port the worker that receives from it, and workers that only send the queues that are left.
fn place_ports(
    plant: &Plant,
    modules: &mut BTreeMap<String, BTreeSet<u8>>,
    before: &Placement,
    violations: &mut Vec<Violation>,
) -> BTreeMap<String, u8> {
    let mut queues = BTreeMap::new();
    let mut refuse = |modules: &mut BTreeMap<String, BTreeSet<u8>>, name: &str, wid: u8, text: String| {
        modules.entry(name.to_owned()).or_default().remove(&wid);
        violations.push(Violation { module: name.to_owned(), text, is_fatal: true });
    };
    for (name, module) in plant.modules.iter().filter(|(_, module)| module.port.is_some()) {
        for (queue, wid) in claims(plant, name, module, modules) {
            if let Err(text) = claim(&mut queues, &queue, wid) {
                refuse(modules, name, wid, text);
            }
        }
    }
    for (name, module) in plant.modules.iter().filter(|(_, module)| module.task_count == 0) {
        let wanted = plant.queues_of(module);
        let workers = modules.get(name).cloned().unwrap_or_default();
        for wid in workers.into_iter().filter(|_| wanted.len() > 1) {
            if let Err(text) = spread(&mut queues, &wanted, wid, before) {
                refuse(modules, name, wid, text);
            }
        }
    }
    for (queue, wid) in &before.ports {
        if plant.has_queue(queue) && plant.workers.contains_key(wid) {
            queues.entry(queue.clone()).or_insert(*wid);
        }
    }
    queues
}

/// The queues that a module must have, and where: one a task, or the only one on each of its workers.
fn claims(
    plant: &Plant,
    name: &str,
    module: &ModuleWish,
    modules: &BTreeMap<String, BTreeSet<u8>>,
) -> Vec<(String, u8)> {
    let wanted = plant.queues_of(module);
    let workers = || modules.get(name).into_iter().flatten().copied();
    match (module.task_count, wanted.len()) {
        (0, 1) => workers().map(|wid| (wanted[0].clone(), wid)).collect(),
        (0, _) => Vec::new(),
        // What is joined to nobody's task stays where it was.
        (_, 1) => workers().map(|wid| (wanted[0].clone(), wid)).collect(),
        _ => {
            let tasks = wanted.into_iter().zip(0..module.task_count);
            tasks.filter_map(|(queue, task)| Some((queue, plant.worker_of_task(name, task)?))).collect()
        }
    }
}

fn claim(queues: &mut BTreeMap<String, u8>, queue: &str, wid: u8) -> Result<(), String> {
    let other = *queues.entry(queue.to_owned()).or_insert(wid);
    if other == wid {
        return Ok(());
    }
    Err(format!(
        "port {queue} belongs to one worker, and workers {other} and {wid} want it: move the tasks that reach it to one, \
         or put a Queue before it"
    ))
}

/// Finds a queue for a worker that sends: one that it has, had, or that nobody has.
fn spread(
    queues: &mut BTreeMap<String, u8>,
    wanted: &[String],
    wid: u8,
    before: &Placement,
) -> Result<(), String> {
    if wanted.iter().any(|queue| queues.get(queue) == Some(&wid)) {
        return Ok(());
    }
    let free = || wanted.iter().filter(|queue| !queues.contains_key(*queue));
    let had = free().find(|queue| before.ports.get(*queue) == Some(&wid));
    let Some(queue) = had.or_else(|| free().next()).cloned() else {
        return Err(format!(
            "worker {wid} wants to send to a port whose {} queues other workers have: open it with one queue more, or \
             put a Queue before it",
            wanted.len()
        ));
    };
    queues.insert(queue, wid);
    Ok(())
}
