//! Changes to a tree between two runs: add, remove, move, other numbers. What a change does not concern
//! keeps its usage, its debts and its place in its parent's order.
//!
//! Classes without a parent: the first is the root. The second brings a root of the tree's own, named
//! `!default_rr_N` for worker N, under which all of them take turns (BESS does so for tasks that nobody
//! attached); it goes when only one is left. There, a priority can rank them.
//!
//! Invariant: every check comes before the first change, so that an error leaves the tree as it was.

use super::discipline::Discipline;
use super::error::ClassError;
use super::link::{Link, NONE, Stops};
use super::listing::Profile;
use super::policy::{LeafId, Policy, Position, SHARE_MAX};
use super::tree::{ClassId, ClassTree, IS_TASK, Node};
use super::usage::Usage;

impl ClassTree {
    /// Adds a class under `parent`, or without one.
    pub fn add(
        &mut self,
        name: &str,
        parent: Option<ClassId>,
        policy: Policy,
        position: Position,
    ) -> Result<ClassId, ClassError> {
        self.check_name(name)?;
        if let Policy::Leaf(leaf) = policy {
            self.check_leaf(leaf)?;
        }
        let parent = parent.map(|id| self.index(id)).transpose()?;
        self.check_place(parent, NONE, position)?;
        let class = self.make(name, policy, position);
        self.attach(parent, class);
        Ok(self.id(class))
    }

    /// Takes away a class without children.
    pub fn remove(&mut self, id: ClassId) -> Result<(), ClassError> {
        let class = self.index(id)?;
        let Profile { name, child_count, .. } = &self.profiles[class as usize];
        if *child_count > 0 {
            return Err(ClassError::HasChildren { class: name.clone(), count: *child_count });
        }
        self.cancel_wake(class);
        self.forget_yield(class);
        self.detach(class);
        self.forget(class);
        Ok(())
    }

    /// Moves a class, and all below it, under another parent, or to those without one. Under the parent that
    /// it has, only its position changes.
    pub fn reparent(
        &mut self,
        id: ClassId,
        parent: Option<ClassId>,
        position: Position,
    ) -> Result<(), ClassError> {
        let class = self.index(id)?;
        let parent = parent.map(|id| self.index(id)).transpose()?;
        if self.is_implicit(class) {
            return Err(ClassError::RootFixed(self.name_of(class)));
        }
        if let Some(parent) = parent.filter(|parent| self.is_below(*parent, class)) {
            return Err(ClassError::Loop { class: self.name_of(class), parent: self.name_of(parent) });
        }
        self.check_place(parent, class, position)?;
        if parent.unwrap_or(self.home()) == self.links[class as usize].parent {
            self.reposition(class, position);
            return Ok(());
        }
        self.detach(class);
        self.profiles[class as usize].position = position;
        self.attach(parent, class);
        Ok(())
    }

    /// Gives a class another position under its parent.
    pub fn set_position(&mut self, id: ClassId, position: Position) -> Result<(), ClassError> {
        let class = self.index(id)?;
        if self.is_implicit(class) {
            return Err(ClassError::RootFixed(self.name_of(class)));
        }
        self.check_place(self.parent_named(class), class, position)?;
        self.reposition(class, position);
        Ok(())
    }

    /// Gives a class's policy other numbers; the policy itself stays.
    pub fn set_policy(&mut self, id: ClassId, policy: Policy) -> Result<(), ClassError> {
        let class = self.index(id)?;
        let Self { nodes, links, hops, profiles, .. } = self;
        let (node, profile) = (&mut nodes[class as usize], &profiles[class as usize]);
        match (&mut node.discipline, policy) {
            (Discipline::WeightedFair(group), Policy::WeightedFair(resource)) => {
                group.set_resource(links, class, resource);
                hops[class as usize] = group.first();
            }
            (Discipline::RateLimit(group), Policy::RateLimit { resource, limit, max_burst }) => {
                match group.set(resource, limit, max_burst) {
                    Some(until) => self.throttle(class, until),
                    None => self.end_throttle(class),
                }
            }
            _ if profile.policy == policy => {}
            _ => {
                let Profile { name, policy, .. } = profile;
                return Err(ClassError::PolicyFixed { class: name.clone(), policy: policy.name() });
            }
        }
        self.profiles[class as usize].policy = policy;
        Ok(())
    }

    fn check_name(&self, name: &str) -> Result<(), ClassError> {
        if name.is_empty() {
            return Err(ClassError::NameMissing);
        }
        match self.by_name.contains_key(name) || name == self.implicit_name() {
            true => Err(ClassError::NameTaken(name.into())),
            false => Ok(()),
        }
    }

    fn check_leaf(&self, leaf: LeafId) -> Result<(), ClassError> {
        if leaf > LeafId::MAX {
            return Err(ClassError::LeafOutOfRange(leaf.0));
        }
        self.class_at(leaf).map_or(Ok(()), |class| Err(ClassError::LeafTaken(self.name_of(class))))
    }

    /// Whether `child` ([`NONE`]: a new one) may stand there under `parent`, or without one.
    fn check_place(&self, parent: Option<u32>, child: u32, position: Position) -> Result<(), ClassError> {
        let Some(parent) = parent.filter(|parent| !self.is_implicit(*parent)) else {
            return match position {
                Position::Share(_) => Err(ClassError::ShareWithoutParent),
                Position::Priority(_) | Position::None => Ok(()),
            };
        };
        let name = || self.name_of(parent);
        match (self.profiles[parent as usize].policy, position) {
            (Policy::Leaf(_), _) => Err(ClassError::ParentIsLeaf(name())),
            (Policy::Priority, Position::Priority(_)) => Ok(()),
            (Policy::Priority, _) => Err(ClassError::PriorityMissing(name())),
            (Policy::WeightedFair(_), Position::Share(share)) => check_share(share),
            (Policy::WeightedFair(_), _) => Err(ClassError::ShareMissing(name())),
            (Policy::RoundRobin, Position::None) => Ok(()),
            (Policy::RateLimit { .. }, Position::None) => self.check_room(parent, child),
            (Policy::RoundRobin | Policy::RateLimit { .. }, _) => Err(ClassError::PositionUnwanted(name())),
        }
    }

    fn check_room(&self, parent: u32, child: u32) -> Result<(), ClassError> {
        let other =
            (0..self.links.len() as u32).find(|it| self.links[*it as usize].parent == parent && *it != child);
        other.map_or(Ok(()), |other| {
            Err(ClassError::ParentFull { parent: self.name_of(parent), child: self.name_of(other) })
        })
    }

    /// Makes a class that hangs nowhere yet.
    fn make(&mut self, name: &str, policy: Policy, position: Position) -> u32 {
        let node = Node { usage: Usage::ZERO, discipline: Discipline::new(policy, self.ticks_per_s) };
        let (hop, stops) = match policy {
            Policy::Leaf(LeafId(task)) => (task | IS_TASK, Stops::NOTHING),
            _ => (NONE, Stops::EMPTY),
        };
        let link = Link::new(stops);
        let mut profile = Profile::new(name, policy, position);
        let class = match self.free.pop() {
            Some(class) => {
                profile.generation = self.profiles[class as usize].generation;
                (self.hops[class as usize], self.nodes[class as usize]) = (hop, node);
                (self.links[class as usize], self.profiles[class as usize]) = (link, profile);
                class
            }
            None => {
                self.hops.push(hop);
                self.nodes.push(node);
                self.links.push(link);
                self.profiles.push(profile);
                self.nodes.len() as u32 - 1
            }
        };
        self.by_name.insert(name.into(), class);
        if let Policy::Leaf(leaf) = policy {
            self.enter_leaf(leaf, class);
        }
        class
    }

    fn enter_leaf(&mut self, leaf: LeafId, class: u32) {
        if self.leaves.len() <= leaf.0 as usize {
            self.leaves.resize(leaf.0 as usize + 1, NONE);
        }
        self.leaves[leaf.0 as usize] = class;
        self.leaf_count += 1;
    }

    /// Gives a class's place back.
    fn forget(&mut self, class: u32) {
        if let Policy::Leaf(leaf) = self.profiles[class as usize].policy {
            self.leaves[leaf.0 as usize] = NONE;
            self.leaf_count -= 1;
        }
        let profile = &mut self.profiles[class as usize];
        self.by_name.remove(&profile.name);
        profile.generation = profile.generation.wrapping_add(1);
        profile.is_live = false;
        self.free.push(class);
    }

    /// Hangs a class that hangs nowhere under `parent`, or where those without one are.
    fn attach(&mut self, parent: Option<u32>, class: u32) {
        if let Some(parent) = parent {
            self.hang(parent, class);
        } else if self.root == NONE {
            self.root = class;
        } else {
            if !self.is_root_implicit {
                let name = self.implicit_name();
                let root = self.make(&name, Policy::RoundRobin, Position::None);
                // Equal priorities take turns: round robin, and a place for those that others outrank.
                self.nodes[root as usize].discipline = Discipline::new(Policy::Priority, self.ticks_per_s);
                self.is_root_implicit = true;
                let first = std::mem::replace(&mut self.root, root);
                self.hang(root, first);
            }
            self.hang(self.root, class);
        }
    }

    fn hang(&mut self, parent: u32, class: u32) {
        let position = self.profiles[class as usize].position;
        self.profiles[parent as usize].child_count += 1;
        let link = &mut self.links[class as usize];
        link.parent = parent;
        self.nodes[parent as usize].discipline.adopt(link, position);
        if !link.stops.any() {
            self.join(parent, class);
            self.start(parent, Stops::EMPTY);
        }
    }

    /// Takes a class, and all below it, out of its place.
    fn detach(&mut self, class: u32) {
        let parent = self.links[class as usize].parent;
        if parent == NONE {
            self.root = NONE;
            return;
        }
        if !self.links[class as usize].stops.any() && self.leave(parent, class) == NONE {
            self.stop(parent, Stops::EMPTY);
        }
        self.links[class as usize].parent = NONE;
        self.profiles[parent as usize].child_count -= 1;
        if self.is_implicit(parent) && self.profiles[parent as usize].child_count == 1 {
            self.drop_implicit_root();
        }
    }

    /// One class without a parent is left: it is the root.
    fn drop_implicit_root(&mut self) {
        let implicit = self.root;
        if let Some(child) = self.links.iter().position(|link| link.parent == implicit) {
            self.links[child].parent = NONE;
            self.root = child as u32;
        }
        self.is_root_implicit = false;
        self.forget(implicit);
    }

    fn reposition(&mut self, class: u32, position: Position) {
        self.profiles[class as usize].position = position;
        let parent = self.links[class as usize].parent;
        if parent == NONE {
            return;
        }
        let is_ready = !self.links[class as usize].stops.any();
        if is_ready {
            self.leave(parent, class);
        }
        self.nodes[parent as usize].discipline.position(&mut self.links[class as usize], position);
        if is_ready {
            self.join(parent, class);
        }
    }

    fn is_below(&self, mut class: u32, ancestor: u32) -> bool {
        while class != NONE && class != ancestor {
            class = self.links[class as usize].parent;
        }
        class == ancestor
    }

    /// What the parent of a class without one is.
    fn home(&self) -> u32 {
        if self.is_root_implicit { self.root } else { NONE }
    }

    fn is_implicit(&self, class: u32) -> bool {
        self.is_root_implicit && class == self.root
    }

    fn parent_named(&self, class: u32) -> Option<u32> {
        Some(self.links[class as usize].parent).filter(|parent| *parent != NONE)
    }

    fn implicit_name(&self) -> String {
        format!("!default_rr_{}", self.worker)
    }

    fn name_of(&self, class: u32) -> String {
        self.profiles[class as usize].name.clone()
    }
}

fn check_share(share: i64) -> Result<(), ClassError> {
    if (1..=SHARE_MAX).contains(&share) { Ok(()) } else { Err(ClassError::ShareOutOfRange(share)) }
}
