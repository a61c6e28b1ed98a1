//! Traffic classes: wished in the plant, read from the workers' trees.

use super::wall_s;
use crate::Daemon;
use crate::plant::{Plant, Violation, place_as_far_as_may_be};
use std::collections::HashMap;
use tidegate_control::controller::{
    Above, ClassChange, ClassMove, ClassSpec, Outcome, Place, Policy, Resource, Subject, TrafficClasses,
    Violations,
};
use tidegate_control::proto::bess::check_scheduling_constraints_response::ViolatingModule;
use tidegate_control::proto::bess::list_tcs_response::TrafficClassStatus;
use tidegate_control::proto::bess::{GetTcStatsResponse, TrafficClass, traffic_class::Arg};
use tidegate_control::{Errno, Fault};
use tidegate_pipeline::class::{ClassTree, Policy as TreePolicy, Position, Usage};

/// What leaves are called in a tree.
const LEAF_PREFIX: &str = "!leaf_";

impl Plant {
    /// Names the worker where none was, and makes sure that there is what is named.
    fn settle(&self, place: Place) -> Outcome<Place> {
        let above = match place.above {
            Above::AnyWorker => Above::Worker(self.default_worker().unwrap_or(0)),
            above => above,
        };
        match &above {
            Above::Class(name) if self.class(name).is_none() => Err(missing(name)),
            Above::Worker(wid) if !self.workers.contains_key(wid) => {
                Err(Fault::missing(format!("there is no worker {wid}: add it first")))
            }
            _ => Ok(Place { above, slot: place.slot }),
        }
    }

    /// Adds a class.
    pub(super) fn add_class(&mut self, spec: ClassSpec) -> Outcome {
        if self.class(&spec.name).is_some() {
            let text = format!("there is a traffic class {} already: give this one another name", spec.name);
            return Err(Fault::new(Errno::EEXIST, text));
        }
        let place = self.settle(spec.place)?;
        self.classes.push(ClassSpec { place, ..spec });
        Ok(())
    }

    /// Moves a class or task.
    pub(super) fn move_to(&mut self, to: ClassMove) -> Outcome {
        let place = self.settle(to.place)?;
        match to.subject {
            Subject::Task { module, index } => {
                self.check_task(&module, index)?;
                self.tasks.insert((module, index), place);
            }
            Subject::Class(name) => {
                if let Some((module, index)) = self.leaf_named(&name) {
                    self.tasks.insert((module, index), place);
                    return Ok(());
                }
                self.check_below(&name, &place)?;
                let class = self.classes.iter_mut().find(|class| class.name == name);
                class.ok_or_else(|| missing(&name))?.place = place;
                self.order_classes();
            }
        }
        Ok(())
    }

    fn check_task(&self, module: &str, index: u32) -> Outcome {
        let wish = self.modules.get(module);
        let wish = wish.ok_or_else(|| Fault::missing(format!("there is no module {module}")))?;
        if index < wish.task_count {
            return Ok(());
        }
        let text = format!("{module} has {} tasks: there is no task {index}", wish.task_count);
        Err(Fault::missing(text))
    }

    /// A class cannot go below itself.
    fn check_below(&self, name: &str, place: &Place) -> Outcome {
        let mut above = &place.above;
        while let Above::Class(parent) = above {
            if parent == name {
                return Err(Fault::invalid(format!("{name} cannot go below itself: name a parent outside")));
            }
            let Some(parent) = self.class(parent) else { break };
            above = &parent.place.above;
        }
        Ok(())
    }

    /// The task whose leaf has that name.
    fn leaf_named(&self, name: &str) -> Option<(String, u32)> {
        let (module, task) = name.strip_prefix(LEAF_PREFIX)?.rsplit_once(':')?;
        let task = task.parse().ok()?;
        self.check_task(module, task).ok().map(|()| (module.to_owned(), task))
    }

    fn change_class(&mut self, change: ClassChange) -> Outcome {
        let task = match &change.subject {
            Subject::Task { module, index } => {
                self.check_task(module, *index)?;
                Some((module.clone(), *index))
            }
            Subject::Class(name) => self.leaf_named(name),
        };
        if let Some((module, index)) = task {
            let unplaced = || format!("task {index} of {module} was not placed: attach it to a class first");
            let place = self.place_of(&module, index).ok_or_else(|| Fault::invalid(unplaced()))?;
            let slot = change.slot.or(place.slot);
            self.tasks.insert((module, index), Place { slot, ..place });
            return Ok(());
        }
        let Subject::Class(name) = &change.subject else { return Ok(()) };
        let class = self.classes.iter_mut().find(|class| class.name == *name).ok_or_else(|| missing(name))?;
        class.place.slot = change.slot.or(class.place.slot);
        class.policy = changed(name, class.policy, &change)?;
        Ok(())
    }
}

/// A policy with other numbers.
fn changed(name: &str, policy: Policy, change: &ClassChange) -> Outcome<Policy> {
    let of =
        |list: &[(Resource, u64)], resource| list.iter().find(|(it, _)| *it == resource).map(|(_, n)| *n);
    match policy {
        Policy::WeightedFair(resource) => Ok(Policy::WeightedFair(change.resource.unwrap_or(resource))),
        Policy::RateLimit { resource, limit, max_burst } => {
            let resource = change.resource.unwrap_or(resource);
            let limit = of(&change.limits, resource).map_or(limit, |limit| (limit > 0).then_some(limit));
            let max_burst = of(&change.max_bursts, resource).unwrap_or(max_burst);
            Ok(Policy::RateLimit { resource, limit, max_burst })
        }
        Policy::Priority | Policy::RoundRobin
            if change.resource.is_some() || !change.limits.is_empty() || !change.max_bursts.is_empty() =>
        {
            Err(Fault::invalid(format!("{name} has no resource and no limit: its policy takes none")))
        }
        Policy::Priority | Policy::RoundRobin => Ok(policy),
    }
}

fn missing(name: &str) -> Fault {
    Fault::missing(format!("there is no traffic class {name}: add it first, or list what there is"))
}

/// A tree's classes as the protocol lists them.
fn listed(tree: &ClassTree, wid: u8) -> Vec<TrafficClassStatus> {
    tree.iter()
        .map(|class| {
            let parent =
                class.parent.and_then(|id| tree.class(id).ok()).map_or("", |parent| parent.name).to_owned();
            let mut shown = TrafficClass {
                parent: parent.clone(),
                name: class.name.to_owned(),
                blocked: class.is_blocked,
                policy: class.policy.name().to_owned(),
                wid: wid.into(),
                arg: match class.position {
                    Position::Priority(priority) if class.position != Position::LAST => {
                        Some(Arg::Priority(priority))
                    }
                    Position::Share(share) => Some(Arg::Share(share)),
                    Position::Priority(_) | Position::None => None,
                },
                ..TrafficClass::default()
            };
            match class.policy {
                TreePolicy::WeightedFair(resource) => shown.resource = resource.name().to_owned(),
                TreePolicy::RateLimit { resource, limit, max_burst } => {
                    shown.resource = resource.name().to_owned();
                    shown.limit = HashMap::from([(shown.resource.clone(), limit as i64)]);
                    shown.max_burst = HashMap::from([(shown.resource.clone(), max_burst as i64)]);
                }
                TreePolicy::Leaf(_) => {
                    let named = class.name.strip_prefix(LEAF_PREFIX).and_then(|name| name.rsplit_once(':'));
                    if let Some((module, task)) = named {
                        shown.leaf_module_name = module.to_owned();
                        shown.leaf_module_taskid = task.parse().unwrap_or(0);
                    }
                }
                TreePolicy::Priority | TreePolicy::RoundRobin => {}
            }
            TrafficClassStatus { class: Some(shown), parent }
        })
        .collect()
}

impl Daemon {
    /// What each class of each worker used.
    pub(super) fn usages(&self) -> Outcome<Vec<(u8, String, Usage)>> {
        let mut usages = Vec::new();
        for (wid, running) in &self.workers {
            let read = |tree: &mut ClassTree| -> Vec<(String, Usage)> {
                tree.iter().map(|class| (class.name.to_owned(), class.usage)).collect()
            };
            let of_worker = running.ask(move |worker| worker.edit_classes(read))?;
            usages.extend(of_worker.into_iter().map(|(name, usage)| (*wid, name, usage)));
        }
        Ok(usages)
    }
}

impl TrafficClasses for Daemon {
    fn reset_classes(&mut self) -> Outcome {
        let mut next = self.plant.clone();
        next.classes.clear();
        next.tasks.clear();
        self.change(next)
    }

    fn classes(&mut self, wid: Option<u8>) -> Outcome<Vec<TrafficClassStatus>> {
        if let Some(wid) = wid.filter(|wid| !self.workers.contains_key(wid)) {
            return Err(Fault::missing(format!("there is no worker {wid}: add it first")));
        }
        let mut list = Vec::new();
        for (number, running) in
            self.workers.iter().filter(|(number, _)| wid.is_none_or(|wid| wid == **number))
        {
            let number = *number;
            list.extend(running.ask(move |worker| worker.edit_classes(|tree| listed(tree, number)))?);
        }
        Ok(list)
    }

    fn check_constraints(&mut self) -> Outcome<Violations> {
        let (_, found) = place_as_far_as_may_be(&self.plant, &self.placement);
        let module = |violation: &Violation| ViolatingModule { name: violation.module.clone() };
        let attributes = self.layout.faults().iter().map(ToString::to_string);
        Ok(Violations {
            fatal: found.iter().any(|violation| violation.is_fatal),
            classes: Vec::new(),
            modules: found.iter().map(module).collect(),
            texts: found.into_iter().map(|violation| violation.text).chain(attributes).collect(),
        })
    }

    fn add_class(&mut self, spec: ClassSpec) -> Outcome {
        let mut next = self.plant.clone();
        if matches!(spec.place.above, Above::AnyWorker) {
            next.need_worker();
        }
        next.add_class(spec)?;
        self.change(next)
    }

    fn change_class(&mut self, change: ClassChange) -> Outcome {
        let mut next = self.plant.clone();
        next.change_class(change)?;
        self.change(next)
    }

    fn move_class(&mut self, to: ClassMove) -> Outcome {
        let mut next = self.plant.clone();
        next.move_to(to)?;
        self.change(next)
    }

    fn class_usage(&mut self, name: &str) -> Outcome<GetTcStatsResponse> {
        let usage = self.usages()?.into_iter().find(|(_, class, _)| class == name);
        let (_, _, usage) = usage.ok_or_else(|| missing(name))?;
        Ok(GetTcStatsResponse {
            error: None,
            timestamp: wall_s(),
            count: usage.count,
            cycles: usage.cycles,
            packets: usage.packets,
            bits: usage.bits,
        })
    }
}
