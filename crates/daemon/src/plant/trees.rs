//! A worker's tree of classes, brought to what is wished with as little change as may be: classes that stay keep their
//! usage and their debts.

use super::Plant;
use std::collections::{BTreeMap, HashMap};
use tidegate_control::controller::{Above, ClassSpec, Place, Policy, Resource, Slot};
use tidegate_control::{Errno, Fault};
use tidegate_pipeline::class::{self, Class, ClassError, ClassId, ClassTree, LeafId, Position};

/// What a leaf shall be below: a class, or none; and where there.
pub(crate) type Seat = (Option<String>, Position);

/// A task and its seat.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Leaf {
    pub(crate) module: String,
    pub(crate) task: u32,
    pub(crate) seat: Seat,
}

/// The classes and leaves of every worker.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Trees {
    pub(crate) of_worker: BTreeMap<u8, (Vec<ClassSpec>, Vec<Leaf>)>,
}

impl Trees {
    /// Those of a plant.
    pub(crate) fn of(plant: &Plant) -> Self {
        let mut trees = Self::default();
        for class in &plant.classes {
            if let Some(wid) = plant.worker_of(&class.place.above) {
                trees.of_worker.entry(wid).or_default().0.push(class.clone());
            }
        }
        for (name, module) in &plant.modules {
            for task in 0..module.task_count {
                let Some(wid) = plant.worker_of_task(name, task) else { continue };
                let place = plant.place_of(name, task);
                let (classes, leaves) = trees.of_worker.entry(wid).or_default();
                let seat = place.map_or((None, Position::LAST), |place| leaf_seat(&place, classes));
                leaves.push(Leaf { module: name.clone(), task, seat });
            }
        }
        trees
    }

    /// Whether trees can be made so.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        for (wid, (classes, leaves)) in &self.of_worker {
            let mut tree = ClassTree::new((*wid).into(), 1);
            let mut ids = Vec::new();
            for (number, leaf) in leaves.iter().enumerate() {
                let id = LeafId(number as u32);
                let name = format!("!leaf_{}:{}", leaf.module, leaf.task);
                tree.add(&name, None, class::Policy::Leaf(id), Position::LAST).map_err(fault)?;
                ids.push((id, leaf.seat.clone()));
            }
            sync(&mut tree, classes, &ids).map_err(fault)?;
        }
        Ok(())
    }
}

/// A tree's refusal in the protocol's terms.
pub(crate) fn fault(error: ClassError) -> Fault {
    Fault::new(Errno(error.errno() as i32), error.to_string())
}

/// A task that is put on a worker takes turns with the classes there.
fn leaf_seat(place: &Place, classes: &[ClassSpec]) -> Seat {
    let is_alone = !classes.iter().any(|class| !matches!(class.place.above, Above::Class(_)));
    match parent(place) {
        None if place.slot.is_none() && is_alone => (None, Position::LAST),
        parent => (parent, position_of(place.slot)),
    }
}

fn parent(place: &Place) -> Option<String> {
    match &place.above {
        Above::Class(name) => Some(name.clone()),
        Above::Worker(_) | Above::AnyWorker => None,
    }
}

/// The same in the tree's terms.
pub(crate) fn position_of(slot: Option<Slot>) -> Position {
    match slot {
        None => Position::None,
        Some(Slot::Priority(priority)) => Position::Priority(priority.into()),
        Some(Slot::Share(share)) => Position::Share(share.into()),
    }
}

fn policy_of(policy: Policy) -> class::Policy {
    match policy {
        Policy::Priority => class::Policy::Priority,
        Policy::WeightedFair(resource) => class::Policy::WeightedFair(resource_of(resource)),
        Policy::RoundRobin => class::Policy::RoundRobin,
        Policy::RateLimit { resource, limit, max_burst } => {
            class::Policy::RateLimit { resource: resource_of(resource), limit: limit.unwrap_or(0), max_burst }
        }
    }
}

const fn resource_of(resource: Resource) -> class::Resource {
    match resource {
        Resource::Count => class::Resource::Count,
        Resource::Cycle => class::Resource::Cycle,
        Resource::Packet => class::Resource::Packet,
        Resource::Bit => class::Resource::Bit,
    }
}

/// Makes `tree` hold `classes`, parents before children, and has each leaf in its seat.
pub(crate) fn sync(
    tree: &mut ClassTree,
    classes: &[ClassSpec],
    leaves: &[(LeafId, Seat)],
) -> Result<(), ClassError> {
    let wished: HashMap<&str, &ClassSpec> =
        classes.iter().map(|class| (class.name.as_str(), class)).collect();
    let seats: HashMap<LeafId, &Seat> = leaves.iter().map(|(leaf, seat)| (*leaf, seat)).collect();
    let there: Vec<There> = there(tree);
    let stays = |name: &str| {
        let now = there.iter().find(|class| class.name == name);
        let (Some(now), Some(wish)) = (now, wished.get(name)) else { return false };
        now.policy.name() == policy_of(wish.policy).name()
    };
    for class in &there {
        let seat = match class.policy {
            class::Policy::Leaf(leaf) => seats.get(&leaf).map(|seat| (*seat).clone()),
            _ => wished.get(class.name.as_str()).map(|it| (parent(&it.place), position_of(it.place.slot))),
        };
        let is_right = seat.as_ref() == Some(&class.seat)
            && class.seat.0.as_deref().is_none_or(&stays)
            && (matches!(class.policy, class::Policy::Leaf(_)) || stays(&class.name));
        if !is_right && class.seat != (None, Position::LAST) {
            tree.reparent(class.id, None, Position::LAST)?;
        }
    }
    for class in there.iter().filter(|it| !matches!(it.policy, class::Policy::Leaf(_)) && !stays(&it.name)) {
        tree.remove(class.id)?;
    }
    for wish in classes {
        put(tree, wish)?;
    }
    leaves.iter().try_for_each(|(leaf, seat)| seat_leaf(tree, *leaf, seat))
}

/// A class that is in the tree, apart from the root of the tree's own.
struct There {
    id: ClassId,
    name: String,
    policy: class::Policy,
    seat: Seat,
}

fn there(tree: &ClassTree) -> Vec<There> {
    let own = tree.iter().find(|class| is_own_root(tree, class)).map(|class| class.id);
    let seat = |class: &Class<'_>| {
        let parent = class.parent.filter(|parent| Some(*parent) != own).and_then(|id| tree.class(id).ok());
        (parent.map(|parent| parent.name.to_owned()), class.position)
    };
    let all = tree.iter().filter(|class| Some(class.id) != own);
    all.map(|it| There { id: it.id, name: it.name.to_owned(), policy: it.policy, seat: seat(&it) }).collect()
}

fn is_own_root(tree: &ClassTree, class: &Class<'_>) -> bool {
    tree.root() == Some(class.id) && class.name.starts_with("!default_rr_")
}

/// Has a class be as wished; its parent is there.
fn put(tree: &mut ClassTree, wish: &ClassSpec) -> Result<(), ClassError> {
    let above = parent(&wish.place).map(|name| tree.find(&name)).transpose()?;
    let (policy, position) = (policy_of(wish.policy), position_of(wish.place.slot));
    let Ok(id) = tree.find(&wish.name) else {
        return tree.add(&wish.name, above, policy, position).map(drop);
    };
    if tree.class(id)?.policy != policy {
        tree.set_policy(id, policy)?;
    }
    let now = there(tree).into_iter().find(|class| class.id == id).map(|class| class.seat);
    if now != Some((parent(&wish.place), position)) {
        tree.reparent(id, above, position)?;
    }
    Ok(())
}

fn seat_leaf(tree: &mut ClassTree, leaf: LeafId, (above, position): &Seat) -> Result<(), ClassError> {
    let Some(id) = tree.find_leaf(leaf) else { return Ok(()) };
    let now = there(tree).into_iter().find(|class| class.id == id).map(|class| class.seat);
    if now.as_ref() == Some(&(above.clone(), *position)) {
        return Ok(());
    }
    let above = above.as_ref().map(|name| tree.find(name)).transpose()?;
    tree.reparent(id, above, *position)
}
