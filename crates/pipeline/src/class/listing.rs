//! What a tree holds, for people and for the control protocol.

use super::error::ClassError;
use super::link::{NONE, Stops};
use super::policy::{LeafId, Policy, Position};
use super::tree::{ClassId, ClassTree};
use super::usage::Usage;

/// What only listings and changes need of a class.
pub(super) struct Profile {
    pub(super) name: String,
    pub(super) policy: Policy,
    pub(super) position: Position,
    pub(super) child_count: usize,
    pub(super) generation: u32,
    pub(super) is_live: bool,
}

impl Profile {
    pub(super) fn new(name: &str, policy: Policy, position: Position) -> Self {
        Self { name: name.into(), policy, position, child_count: 0, generation: 0, is_live: true }
    }
}

/// A class as it is listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Class<'a> {
    /// Its handle.
    pub id: ClassId,
    /// Its name.
    pub name: &'a str,
    /// What it hangs from; none for the root.
    pub parent: Option<ClassId>,
    /// How it chooses.
    pub policy: Policy,
    /// Where it stands among its siblings.
    pub position: Position,
    /// What it used since it was added, its children's runs while they were below it included.
    pub usage: Usage,
    /// It may not run now: its task or all its children's are blocked, or it is throttled.
    pub is_blocked: bool,
    /// It is throttled by its own limit.
    pub is_throttled: bool,
}

impl ClassTree {
    /// The class that all others hang from.
    pub fn root(&self) -> Option<ClassId> {
        (self.root != NONE).then(|| self.id(self.root))
    }

    /// The class of that name.
    pub fn find(&self, name: &str) -> Result<ClassId, ClassError> {
        let class = self.by_name.get(name).ok_or_else(|| ClassError::UnknownName(name.into()))?;
        Ok(self.id(*class))
    }

    /// The class of a task.
    pub fn find_leaf(&self, leaf: LeafId) -> Option<ClassId> {
        self.class_at(leaf).map(|class| self.id(class))
    }

    /// A class.
    pub fn class(&self, id: ClassId) -> Result<Class<'_>, ClassError> {
        Ok(self.show(self.index(id)?))
    }

    /// What a class used since it was added.
    pub fn usage(&self, id: ClassId) -> Result<Usage, ClassError> {
        Ok(self.nodes[self.index(id)? as usize].usage)
    }

    /// All classes, each after its parent, siblings in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = Class<'_>> {
        let mut order = Vec::with_capacity(self.by_name.len());
        let mut children = vec![Vec::new(); self.links.len()];
        for class in (0..self.links.len()).filter(|class| self.profiles[*class].is_live) {
            match self.links[class].parent {
                NONE => order.push(class as u32),
                parent => children[parent as usize].push(class as u32),
            }
        }
        let mut at = 0;
        while let Some(class) = order.get(at) {
            order.extend_from_slice(&children[*class as usize]);
            at += 1;
        }
        order.into_iter().map(|class| self.show(class))
    }

    fn show(&self, class: u32) -> Class<'_> {
        let (profile, link) = (&self.profiles[class as usize], &self.links[class as usize]);
        Class {
            id: self.id(class),
            name: &profile.name,
            parent: (link.parent != NONE).then(|| self.id(link.parent)),
            policy: profile.policy,
            position: profile.position,
            usage: self.nodes[class as usize].usage,
            is_blocked: link.stops.without(Stops::YIELDED).any(),
            is_throttled: link.stops.has(Stops::THROTTLED),
        }
    }

    pub(super) fn id(&self, class: u32) -> ClassId {
        ClassId { index: class, generation: self.profiles[class as usize].generation }
    }

    /// Where a class is, unless it was removed.
    pub(super) fn index(&self, id: ClassId) -> Result<u32, ClassError> {
        let profile = self.profiles.get(id.index as usize);
        let is_same = profile.is_some_and(|it| it.is_live && it.generation == id.generation);
        if is_same { Ok(id.index) } else { Err(ClassError::Removed) }
    }
}
