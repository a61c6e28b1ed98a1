//! Whether a plant's links and classes can be as they are wished.

use super::{Plant, trees::Trees};
use crate::make;
use std::collections::{HashMap, HashSet};
use tidegate_control::{Errno, Fault};

/// The first thing that is wrong, in a line that says what to change.
pub(crate) fn check(plant: &Plant) -> Result<(), Fault> {
    for ((from, ogate), (to, igate)) in &plant.links {
        let (source, sink) = (known(plant, from)?, known(plant, to)?);
        in_range(from, "output", *ogate, source.gates.outputs)?;
        in_range(to, "input", *igate, sink.gates.inputs)?;
    }
    check_loops(plant)?;
    check_ports(plant)?;
    check_classes(plant)?;
    check_seats(plant)?;
    Trees::of(plant).check()
}

fn known<'p>(plant: &'p Plant, name: &str) -> Result<&'p super::ModuleWish, Fault> {
    plant.modules.get(name).ok_or_else(|| Fault::missing(format!("there is no module {name}")))
}

fn in_range(module: &str, direction: &str, gate: u16, count: usize) -> Result<(), Fault> {
    if usize::from(gate) < count {
        return Ok(());
    }
    Err(Fault::invalid(format!("{module} has {count} {direction} gates: there is no gate {gate}")))
}

fn check_ports(plant: &Plant) -> Result<(), Fault> {
    for (name, module) in &plant.modules {
        if let Some(port) = module.port.as_ref().filter(|port| !plant.ports.contains_key(*port)) {
            let text = format!("{name} uses port {port}, which there is not: create it first");
            return Err(Fault::new(Errno::ENODEV, text));
        }
        if let Some(port) = module.port.as_ref().filter(|_| plant.queues_of(module).is_empty()) {
            let count = plant.queues(port).len();
            return Err(Fault::invalid(format!("{name}: port {port} has {count} queues, numbered from 0")));
        }
    }
    Ok(())
}

/// What modules say of classes is of classes that there are.
fn check_classes(plant: &Plant) -> Result<(), Fault> {
    for (name, module) in &plant.modules {
        if let Some(class) = make::classes_named(&module.arg).iter().find(|it| plant.class(it).is_none()) {
            let text = format!(
                "{name} names traffic class {class}, which there is not: add it first, or destroy {name} before it goes"
            );
            return Err(Fault::missing(text));
        }
    }
    Ok(())
}

/// A service's tasks may be in any class of their worker, and of no other.
fn check_seats(plant: &Plant) -> Result<(), Fault> {
    for (owner, wish) in plant.parts() {
        for (module, wid) in &wish.modules {
            let task_count = plant.modules.get(module).map_or(0, |module| module.task_count);
            if (0..task_count).any(|task| plant.worker_of_task(module, task) != Some(*wid)) {
                let text = format!("tasks of {module} stay on worker {wid}, where {owner} was started");
                return Err(Fault::new(Errno::EBUSY, text));
            }
        }
    }
    Ok(())
}

/// Takes modules away that nothing leads to, until none is left, or those on loops and behind them.
fn check_loops(plant: &Plant) -> Result<(), Fault> {
    let mut leads: HashMap<&str, Vec<&str>> = HashMap::new();
    let mut arriving: HashMap<&str, usize> = plant.modules.keys().map(|name| (name.as_str(), 0)).collect();
    for ((from, _), (to, _)) in &plant.links {
        leads.entry(from).or_default().push(to);
        *arriving.entry(to).or_default() += 1;
    }
    let mut free: Vec<&str> =
        arriving.iter().filter(|(_, count)| **count == 0).map(|(name, _)| *name).collect();
    while let Some(name) = free.pop() {
        arriving.remove(name);
        for to in leads.get(name).into_iter().flatten() {
            if let Some(count) = arriving.get_mut(to) {
                *count -= 1;
                if *count == 0 {
                    free.push(to);
                }
            }
        }
    }
    let Some(&start) = arriving.keys().min() else { return Ok(()) };
    let member = on_loop(start, plant, &arriving);
    Err(Fault::invalid(format!("frames could come back to {member}: leave out one link of that loop")))
}

/// A module of a loop that leads to `start`: each module left has one left before it.
fn on_loop<'p>(start: &'p str, plant: &'p Plant, left: &HashMap<&'p str, usize>) -> &'p str {
    let mut seen = HashSet::new();
    let mut at = start;
    while seen.insert(at) {
        let before =
            plant.links.iter().find(|((from, _), (to, _))| to == at && left.contains_key(from.as_str()));
        let Some(((from, _), _)) = before else { return at };
        at = from;
    }
    at
}
