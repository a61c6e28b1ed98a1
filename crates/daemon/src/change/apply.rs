//! Brings workers to a plan: what leaves first, then each between two of its rounds, then what nobody has any more.

use super::{Daemon, Left, Plan, broken};
use crate::berth::give_back;
use crate::hooks::HookWish;
use crate::plant::{self, Placement, Plant, sync};
use crate::worker::Told;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tidegate_control::Fault;
use tidegate_pipeline::{ClosedPort, Graph, GraphError, PortIndex, Worker};
use tidegate_port::Port;

impl Daemon {
    /// Brings workers to the plan. It fails only if a worker does not answer.
    pub(super) fn apply(&mut self, next: Plant, mut plan: Plan) -> Result<(), Fault> {
        let mut outcome = self.take_back(&next, &mut plan);
        let new_ports: Vec<(String, u8)> = plan
            .placement
            .ports
            .iter()
            .filter(|(port, wid)| self.placement.ports.get(*port) != Some(*wid))
            .map(|(port, wid)| (port.clone(), *wid))
            .collect();
        // Workers whose queues get new lines come first, so that these are taken off before anything is put on.
        let mut wids: Vec<u8> = plan.told.keys().copied().collect();
        wids.sort_by_key(|wid| !plan.inlets.iter().any(|pending| pending.wid == *wid));
        for wid in wids {
            let ports: Vec<String> =
                new_ports.iter().filter(|(_, to)| *to == wid).map(|(port, _)| port.clone()).collect();
            outcome = outcome.and(self.tell(wid, ports, &next, &mut plan));
            let (own, others) = plan.inlets.into_iter().partition(|pending| pending.wid == wid);
            plan.inlets = others;
            outcome = outcome.and(self.attach_inlets(own));
        }
        let ending = self.workers.iter().filter(|(wid, _)| !next.workers.contains_key(*wid));
        for (wid, running) in ending {
            if let Ok(Ok(left)) = running.ask(|worker| worker.replace(Graph::new())) {
                plan.left.push((*wid, left));
            }
        }
        outcome = outcome.and(self.end_lines(plan.left));
        let Plan { placement, layout, port_indices, .. } = plan;
        (self.placement, self.layout, self.port_indices) = (placement, layout, port_indices);
        self.workers.retain(|wid, _| next.workers.contains_key(wid));
        self.harbour.retain(|queue, _| next.has_queue(queue));
        self.berths.retain(|queue, _| next.has_queue(queue));
        self.devices.retain(|port, _| next.ports.contains_key(port));
        let alive: BTreeSet<u64> = next.modules.values().map(|module| module.serial).collect();
        self.shelf.retain(|serial, _| alive.contains(serial));
        self.bells.retain(|serial, _| alive.contains(serial));
        self.plant = next;
        self.drop_lost_hooks();
        outcome
    }

    /// Takes modules and ports from workers that others are to have, or nobody.
    fn take_back(&mut self, next: &Plant, plan: &mut Plan) -> Result<(), Fault> {
        let mut outcome = Ok(());
        let movers = std::mem::take(&mut plan.movers);
        for (wid, names) in movers {
            match self.take_modules(wid, &names, plan, next) {
                Ok(left) => self.hand_on(left, next, plan),
                Err(fault) => outcome = Err(fault),
            }
        }
        let homeless: Vec<(u8, Vec<String>)> = self.leaving_for_nowhere(next, &plan.placement);
        for (wid, names) in homeless {
            match self.take_modules(wid, &names, plan, next) {
                Ok(left) => {
                    for (name, module) in left {
                        if let Some(wish) = next.modules.get(&name) {
                            self.shelf.insert(wish.serial, module);
                        }
                    }
                }
                Err(fault) => outcome = Err(fault),
            }
        }
        outcome.and(self.take_ports(&plan.placement))
    }

    /// Modules that are to be kept though their worker ends.
    fn leaving_for_nowhere(&self, next: &Plant, placement: &Placement) -> Vec<(u8, Vec<String>)> {
        let mut leaving: BTreeMap<u8, Vec<String>> = BTreeMap::new();
        for name in next.modules.keys().filter(|name| placement.modules[*name].is_empty()) {
            if let Some(wid) = self.placement.modules.get(name).and_then(BTreeSet::first)
                && self.is_same(name, next)
            {
                leaving.entry(*wid).or_default().push(name.clone());
            }
        }
        leaving.into_iter().collect()
    }

    fn take_modules(
        &mut self,
        wid: u8,
        names: &[String],
        plan: &mut Plan,
        next: &Plant,
    ) -> Result<Left, Fault> {
        let Some(running) = self.workers.get_mut(&wid) else { return Ok(Left::new()) };
        let told = &running.told;
        let stays = |name: &String| !names.contains(name);
        let mut modules = Vec::new();
        let mut numbers = HashMap::new();
        for (old, module) in told.modules.iter().enumerate().filter(|(_, (name, _))| stays(name)) {
            numbers.insert(old, modules.len());
            modules.push(module.clone());
        }
        let links = told.links.iter().filter_map(|(from, out, to, input)| {
            Some((*numbers.get(from)?, *out, *numbers.get(to)?, *input))
        });
        let links = links.collect();
        let mut graph = Graph::new();
        for (name, _) in &modules {
            let gates = self.plant.modules.get(name).or_else(|| next.modules.get(name)).map(|it| it.gates);
            if let Some(gates) = gates {
                graph.keep(name, gates).map_err(broken)?;
            }
        }
        join(&mut graph, &modules, &links).map_err(broken)?;
        let left = running.ask(|worker| worker.replace(graph))?.map_err(broken)?;
        let hooks = std::mem::take(&mut running.told.hooks);
        running.told = Told { modules, links, hooks, ..Told::default() };
        let (taken, others) = left.into_iter().partition(|(name, _)| names.contains(name));
        plan.left.push((wid, others));
        Ok(taken)
    }

    /// Gives modules to the first worker that waits for them.
    fn hand_on(&mut self, left: Left, next: &Plant, plan: &mut Plan) {
        for (name, module) in left {
            let waiting = plan.placement.modules[&name].iter().copied().find(|wid| {
                !self.stays(&name, *wid, next, plan) && !plan.made.contains_key(&(*wid, name.clone()))
            });
            if let Some(wid) = waiting {
                plan.made.insert((wid, name), module);
            }
        }
    }

    fn take_ports(&mut self, placement: &Placement) -> Result<(), Fault> {
        let leaving: Vec<(String, u8)> = self
            .placement
            .ports
            .iter()
            .filter(|(port, wid)| placement.ports.get(*port) != Some(wid))
            .map(|(port, wid)| (port.clone(), *wid))
            .collect();
        for (port, wid) in leaving {
            let (Some(index), Some(running)) =
                (self.port_indices.get(&port).copied(), self.workers.get(&wid))
            else {
                continue;
            };
            let Some(taken) = running.ask(move |worker| worker.remove_port(index))? else { continue };
            if self.berths.contains_key(&port) {
                give_back(taken, running)?;
            } else {
                self.harbour.insert(port, taken);
            }
        }
        Ok(())
    }

    /// Has a worker run its part, if that is another than it runs.
    fn tell(&mut self, wid: u8, ports: Vec<String>, next: &Plant, plan: &mut Plan) -> Result<(), Fault> {
        let Some(told) = plan.told.get(&wid).cloned() else { return Ok(()) };
        let Some(running) = self.workers.get_mut(&wid) else { return Ok(()) };
        let is_new = plan.made.keys().any(|(to, _)| *to == wid);
        if running.told == told && ports.is_empty() && !is_new {
            return Ok(());
        }
        let mut graph = Graph::new();
        for ((name, _), places) in told.modules.iter().zip(&told.places) {
            let id = match plan.made.remove(&(wid, name.clone())) {
                Some(module) => graph.add(name, module),
                None => graph.keep(name, next.modules[name].gates),
            };
            let relocation = plan.relocations.get(name).cloned().unwrap_or_default();
            graph.bind(id.map_err(broken)?, places.clone(), relocation);
        }
        join(&mut graph, &told.modules, &told.links).map_err(broken)?;
        let (mut taken, mut outcome) = (Vec::<(PortIndex, Box<dyn Port>)>::new(), Ok(()));
        for name in ports {
            let Some(index) = plan.port_indices.get(&name).copied() else { continue };
            let port = match (self.harbour.remove(&name), self.berths.get(&name)) {
                (Some(port), _) => Ok(port),
                (None, Some(berth)) => berth.open(running),
                (None, None) => continue,
            };
            // Modules name it: something has to be in its place.
            let port = port.unwrap_or_else(|fault| {
                outcome = Err(fault);
                Box::new(ClosedPort)
            });
            taken.push((index, port));
            running.name_port(index, name);
        }
        let part = told.clone();
        let before = std::mem::take(&mut running.told.hooks);
        let left = running.ask(move |worker| run_part(worker, taken, graph, &part, &before))??;
        running.told = told;
        plan.left.push((wid, left));
        outcome
    }
}

/// On the worker's thread: ports, graph and classes, all between the same two rounds.
fn run_part(
    worker: &mut Worker,
    ports: Vec<(PortIndex, Box<dyn Port>)>,
    graph: Graph,
    part: &Told,
    hooks_before: &[HookWish],
) -> Result<Left, Fault> {
    for (index, port) in ports {
        worker.put_port(index, port);
    }
    let left = worker.replace(graph).map_err(broken)?;
    set_hooks(worker, &part.hooks, hooks_before);
    let leaves = part
        .leaves
        .iter()
        .filter_map(|leaf| Some((worker.leaf(&leaf.module, leaf.task as usize)?, leaf.seat.clone())));
    let leaves: Vec<_> = leaves.collect();
    worker.edit_classes(|tree| sync(tree, &part.classes, &leaves)).map_err(plant::class_fault)?;
    Ok(left)
}

/// Takes hooks off that are not wished for, and puts those on that are. One that counts goes on counting.
fn set_hooks(worker: &mut Worker, wishes: &[HookWish], before: &[HookWish]) {
    let mut counting = Vec::new();
    for old in before {
        let (module, side) = &old.site;
        let removed = worker.remove_hooks(module, *side, old.class());
        if old.kind.counts() {
            counting.push((old, removed));
        }
    }
    for wish in wishes {
        let (module, side) = &wish.site;
        let kept = counting.iter_mut().find(|(old, _)| *old == wish).and_then(|(_, kept)| kept.pop());
        // A gate that leads nowhere has no hooks: the daemon forgets this one too.
        worker.add_hook(module, *side, kept.unwrap_or_else(|| wish.make()));
    }
}

fn join(
    graph: &mut Graph,
    modules: &[(String, u64)],
    links: &Vec<(usize, usize, usize, usize)>,
) -> Result<(), GraphError> {
    let ids: Vec<_> = modules.iter().map(|(name, _)| graph.find(name)).collect();
    for (from, out, to, input) in links {
        if let (Some(from), Some(to)) = (ids[*from], ids[*to]) {
            graph.connect(from, *out, to, *input)?;
        }
    }
    Ok(())
}
