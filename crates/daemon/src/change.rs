//! From one plant to the next: what each worker is told, and in which order.
//!
//! ```text
//!   next plant -> check -> place -> lay out -> make what is new          nothing has changed yet; a Fault ends it here
//!     1. workers that lose a module or port to another: replace, and give it back
//!     2. every worker whose part changes: ports, graph and classes, between two of its rounds
//!     3. what nobody has any more goes; workers that are not wished for end
//! ```
//!
//! Invariant: a module is on the shelf or on the workers where the placement says, and a port likewise.

use crate::berth::{Berth, give_back};
use crate::bundle::Bundle;
use crate::hooks::{Attributes, HookWish, Site, Tap, Track};
use crate::lines::Pending;
use crate::make::{self, Retold, Seat};
use crate::plant::{self, Placement, Plant, Trees, sync};
use crate::ports::Device;
use crate::services::ServiceDesk;
use crate::worker::{Running, Told};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use tidegate_control::{Errno, Fault};
use tidegate_pipeline::metadata::{self, Layout, ModuleView, Relocation, Scene};
use tidegate_pipeline::{ClosedPort, Graph, GraphError, Module, NamedModule, PortIndex, Snapshot, Worker};
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
        let plan = self.plan(&next, placement, &started)?;
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

    /// Makes what is new and says who is told what; touches no worker.
    fn plan(
        &mut self,
        next: &Plant,
        placement: Placement,
        started: &BTreeMap<u8, Running>,
    ) -> Result<Plan, Fault> {
        let layout = self.lay_out(next);
        let names: Vec<&String> = next.modules.keys().collect();
        let relocations =
            names.iter().map(|name| (*name).clone()).zip(layout.relocations(&self.layout)).collect();
        let port_indices = self.port_places(&placement, started);
        let hooks = self.hook_wishes(|module| attributes_of(module, next, &layout));
        let mut plan = Plan {
            told: told(next, &placement, &layout, &hooks),
            placement,
            layout,
            made: HashMap::new(),
            movers: BTreeMap::new(),
            relocations,
            port_indices,
            inlets: Vec::new(),
            left: Vec::new(),
        };
        let mut from_shelf = Vec::new();
        for (name, wish) in &next.modules {
            let mut is_spare_used = false;
            for &wid in &plan.placement.modules[name] {
                if self.stays(name, wid, next, &plan) {
                    continue;
                }
                if let Some(queue_wid) = next.crosses_to(name, wid) {
                    let (outlet, pending) = self.make_line(name, wish, queue_wid)?;
                    plan.made.insert((wid, name.clone()), outlet);
                    plan.inlets.push(pending);
                    continue;
                }
                let indices = indices(next, wish, wid, &plan.placement, &plan.port_indices);
                let seat =
                    Seat { wid, port: indices.iter().flatten().next().copied().unwrap_or(PortIndex(0)) };
                let spare = self.spare(name, next, &plan.placement);
                match spare {
                    Some(spare) if !is_spare_used && !make::is_seated(wish.class) => {
                        is_spare_used = true;
                        match spare {
                            Spare::Shelf => from_shelf.push((wid, name.clone(), wish.serial)),
                            Spare::Worker(from) => plan.movers.entry(from).or_default().push(name.clone()),
                        }
                        if let Spare::Worker(_) = spare {
                            // Put in its place when it has left the other worker.
                            continue;
                        }
                    }
                    _ => {
                        let told = self.told_to(name, next)?;
                        let module = match indices.len() {
                            2.. if wish.task_count > 0 => bundle(wish, &told, wid, &indices)?,
                            _ => make::make_like(wish, &told, seat)?,
                        };
                        plan.made.insert((wid, name.clone()), module);
                    }
                }
            }
        }
        for (wid, name, serial) in from_shelf {
            if let Some(module) = self.shelf.remove(&serial) {
                plan.made.insert((wid, name), module);
            }
        }
        Ok(plan)
    }

    /// What a module was told since it was made, for another one to be told the same.
    fn told_to(&mut self, name: &str, next: &Plant) -> Result<Retold, Fault> {
        let wish = &next.modules[name];
        let class = wish.class;
        if let Some(module) = self.shelf.get_mut(&wish.serial) {
            return Ok(make::retell(class, module.as_mut()).unwrap_or_else(|| wish.said.clone()));
        }
        let wid = self.placement.modules.get(name).and_then(BTreeSet::first);
        let Some(running) = wid.filter(|_| self.is_same(name, next)).and_then(|wid| self.workers.get(wid))
        else {
            return Ok(wish.said.clone());
        };
        let owner = name.to_owned();
        let told = running.ask(move |worker| make::retell(class, worker.any_module_mut(&owner)?))?;
        Ok(told.unwrap_or_else(|| wish.said.clone()))
    }

    /// Whether a worker has the very module already.
    fn stays(&self, name: &str, wid: u8, next: &Plant, plan: &Plan) -> bool {
        let is_same = self.is_same(name, next);
        let wish = &next.modules[name];
        let port_stays = indices(&self.plant, wish, wid, &self.placement, &self.port_indices)
            == indices(next, wish, wid, &plan.placement, &plan.port_indices);
        let end_stays = self.plant.crosses_to(name, wid) == next.crosses_to(name, wid);
        is_same && port_stays && end_stays && self.placement.has(name, wid)
    }

    fn is_same(&self, name: &str, next: &Plant) -> bool {
        let (old, new) = (self.plant.modules.get(name), next.modules.get(name));
        old.zip(new).is_some_and(|(old, new)| old.serial == new.serial)
    }

    /// Where an instance is that is not needed there any more.
    fn spare(&self, name: &str, next: &Plant, placement: &Placement) -> Option<Spare> {
        if self.shelf.contains_key(&next.modules[name].serial) {
            return Some(Spare::Shelf);
        }
        if !self.is_same(name, next) {
            return None;
        }
        let workers = self.placement.modules.get(name).into_iter().flatten();
        let has_it = |wid: &u8| self.plant.crosses_to(name, *wid).is_none();
        let is_leaving = |wid: &u8| !placement.has(name, *wid) || next.crosses_to(name, *wid).is_some();
        workers.copied().find(|wid| has_it(wid) && is_leaving(wid)).map(Spare::Worker)
    }

    fn lay_out(&self, next: &Plant) -> Layout {
        let numbers: HashMap<&str, usize> =
            next.modules.keys().enumerate().map(|(number, name)| (name.as_str(), number)).collect();
        let mut leads = vec![Vec::new(); next.modules.len()];
        for ((from, _), (to, _)) in &next.links {
            leads[numbers[from.as_str()]].push(numbers[to.as_str()]);
        }
        let view = |((name, wish), next): ((&'_ String, &'_ plant::ModuleWish), &'_ Vec<usize>)| {
            (name.clone(), wish.attributes.clone(), next.clone())
        };
        let views: Vec<_> = next.modules.iter().zip(&leads).map(view).collect();
        let views: Vec<ModuleView<'_>> =
            views.iter().map(|(name, attributes, next)| ModuleView { name, attributes, next }).collect();
        metadata::lay_out_after(&Scene { modules: &views }, &self.layout)
    }

    /// The index that each port will have in its worker.
    fn port_places(
        &self,
        placement: &Placement,
        started: &BTreeMap<u8, Running>,
    ) -> BTreeMap<String, PortIndex> {
        let mut counts: BTreeMap<u8, usize> = BTreeMap::new();
        let mut indices = BTreeMap::new();
        for (port, wid) in &placement.ports {
            if self.placement.ports.get(port) == Some(wid)
                && let Some(index) = self.port_indices.get(port)
            {
                indices.insert(port.clone(), *index);
                continue;
            }
            let running = self.workers.get(wid).or_else(|| started.get(wid));
            let count = counts.entry(*wid).or_insert(running.map_or(0, |it| it.port_names.len()));
            indices.insert(port.clone(), PortIndex(*count));
            *count += 1;
        }
        indices
    }

    /// Brings workers to the plan. It fails only if a worker does not answer.
    fn apply(&mut self, next: Plant, mut plan: Plan) -> Result<(), Fault> {
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
        let (mut taken, mut outcome) = (Vec::<Box<dyn Port>>::new(), Ok(()));
        for name in ports {
            let port = match (self.harbour.remove(&name), self.berths.get(&name)) {
                (Some(port), _) => Ok(port),
                (None, Some(berth)) => berth.open(running),
                (None, None) => continue,
            };
            // Others have their indices after this one's, so that something has to be in its place.
            taken.push(port.unwrap_or_else(|fault| {
                outcome = Err(fault);
                Box::new(ClosedPort)
            }));
            running.port_names.push(name);
        }
        let part = told.clone();
        let before = std::mem::take(&mut running.told.hooks);
        let left = running.ask(move |worker| run_part(worker, taken, graph, &part, &before))??;
        running.told = told;
        plan.left.push((wid, left));
        outcome
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

/// The indices of a module's queues on a worker, none for those that are elsewhere.
fn indices(
    plant: &Plant,
    wish: &plant::ModuleWish,
    wid: u8,
    placement: &Placement,
    indices: &BTreeMap<String, PortIndex>,
) -> Vec<Option<PortIndex>> {
    let index = |queue: String| {
        let is_here = placement.ports.get(&queue) == Some(&wid);
        indices.get(&queue).copied().filter(|_| is_here)
    };
    plant.queues_of(wish).into_iter().map(index).collect()
}

/// A receiver from several queues: one for each that is on this worker.
fn bundle(
    wish: &plant::ModuleWish,
    told: &Retold,
    wid: u8,
    indices: &[Option<PortIndex>],
) -> Result<Box<dyn Module>, Fault> {
    let one = |index: &Option<PortIndex>| {
        index.map(|port| make::make_like(wish, told, Seat { wid, port })).transpose()
    };
    Ok(Box::new(Bundle::new(indices.iter().map(one).collect::<Result<_, _>>()?)))
}

#[derive(Clone, Copy)]
enum Spare {
    Shelf,
    Worker(u8),
}

/// On the worker's thread: ports, graph and classes, all between the same two rounds.
fn run_part(
    worker: &mut Worker,
    ports: Vec<Box<dyn Port>>,
    graph: Graph,
    part: &Told,
    hooks_before: &[HookWish],
) -> Result<Left, Fault> {
    for port in ports {
        worker.add_port(port);
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

/// A module's attributes that have a place.
fn attributes_of(module: &str, plant: &Plant, layout: &Layout) -> Attributes {
    let Some(number) = plant.modules.keys().position(|name| name == module) else { return Vec::new() };
    let all = plant.modules[module].attributes.iter().zip(layout.places(number));
    let placed = all.filter_map(|(it, place)| Some((it.name.to_string(), place.offset()?.into(), it.size)));
    placed.collect()
}

/// What each worker of `plant` shall run.
fn told(plant: &Plant, placement: &Placement, layout: &Layout, hooks: &[HookWish]) -> BTreeMap<u8, Told> {
    let mut trees = Trees::of(plant).of_worker;
    let mut parts = BTreeMap::new();
    for wid in plant.workers.keys() {
        let (classes, leaves) = trees.remove(wid).unwrap_or_default();
        let here = hooks.iter().filter(|hook| placement.has(&hook.site.0, *wid));
        let mut part = Told { classes, leaves, hooks: here.cloned().collect(), ..Told::default() };
        let mut numbers = HashMap::new();
        for (number, (name, wish)) in plant.modules.iter().enumerate() {
            if placement.has(name, *wid) {
                numbers.insert(name.as_str(), part.modules.len());
                part.modules.push((name.clone(), wish.serial));
                part.places.push(layout.places(number).to_vec());
            }
        }
        for ((from, out), (to, input)) in &plant.links {
            if let (Some(from), Some(to)) = (numbers.get(from.as_str()), numbers.get(to.as_str())) {
                part.links.push((*from, usize::from(*out), *to, usize::from(*input)));
            }
        }
        parts.insert(*wid, part);
    }
    parts
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

/// What was checked and is not so all the same.
fn broken(error: GraphError) -> Fault {
    Fault::new(Errno::EIO, format!("the daemon is at odds with itself, please report it: {error}"))
}
