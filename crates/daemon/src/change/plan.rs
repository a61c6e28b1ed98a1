//! What a change is made of: who keeps, makes or moves which module, and what each worker is told.

use super::{Daemon, Plan};
use crate::bundle::Bundle;
use crate::hooks::{Attributes, HookWish};
use crate::make::{self, Retold, Seat};
use crate::plant::{self, Placement, Plant, Trees};
use crate::worker::Told;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tidegate_control::Fault;
use tidegate_pipeline::metadata::{self, Layout, ModuleView, Scene};
use tidegate_pipeline::{Module, PortIndex};

impl Daemon {
    /// Makes what is new and says who is told what; touches no worker.
    pub(super) fn plan(&mut self, next: &Plant, placement: Placement) -> Result<Plan, Fault> {
        let layout = self.lay_out(next);
        let names: Vec<&String> = next.modules.keys().collect();
        let relocations =
            names.iter().map(|name| (*name).clone()).zip(layout.relocations(&self.layout)).collect();
        let port_indices = self.port_places(&placement);
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
    pub(crate) fn told_to(&mut self, name: &str, next: &Plant) -> Result<Retold, Fault> {
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
    pub(super) fn stays(&self, name: &str, wid: u8, next: &Plant, plan: &Plan) -> bool {
        let is_same = self.is_same(name, next);
        let wish = &next.modules[name];
        let port_stays = indices(&self.plant, wish, wid, &self.placement, &self.port_indices)
            == indices(next, wish, wid, &plan.placement, &plan.port_indices);
        let end_stays = self.plant.crosses_to(name, wid) == next.crosses_to(name, wid);
        is_same && port_stays && end_stays && self.placement.has(name, wid)
    }

    pub(super) fn is_same(&self, name: &str, next: &Plant) -> bool {
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

    /// Where attributes lie, as little moved as may be.
    pub(crate) fn lay_out(&self, next: &Plant) -> Layout {
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

    /// The index that each port will have in its worker: the lowest that none has that stays.
    fn port_places(&self, placement: &Placement) -> BTreeMap<String, PortIndex> {
        let mut indices = BTreeMap::new();
        let mut taken: BTreeSet<(u8, usize)> = BTreeSet::new();
        for (port, wid) in &placement.ports {
            if self.placement.ports.get(port) == Some(wid)
                && let Some(index) = self.port_indices.get(port)
            {
                indices.insert(port.clone(), *index);
                taken.insert((*wid, index.0));
            }
        }
        for (port, wid) in &placement.ports {
            if !indices.contains_key(port) {
                let index = (0..).find(|index| taken.insert((*wid, *index))).unwrap_or_default();
                indices.insert(port.clone(), PortIndex(index));
            }
        }
        indices
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
