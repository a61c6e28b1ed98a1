//! The tree itself and what happens to it at each run: choose, account, prune, graft.
//!
//! Changes from outside are in `change`, reading in `listing`.

use super::discipline::Discipline;
use super::heap::{Heap, WakeSeat};
use super::link::{Link, NONE, Stops};
use super::listing::Profile;
use super::policy::LeafId;
use super::usage::Usage;
use std::collections::HashMap;

/// A moment of the worker's clock, in the unit that was told to [`ClassTree::new`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Ticks(pub u64);

/// A class of one tree. It stays the same class's for good: after a removal it names nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ClassId {
    pub(super) index: u32,
    pub(super) generation: u32,
}

/// A class, as far as every run needs it.
pub(super) struct Node {
    pub(super) usage: Usage,
    pub(super) discipline: Discipline,
}

/// Set in the hop of a leaf, whose other bits then are its task.
pub(super) const IS_TASK: u32 = 1 << 31;

/// One worker's traffic classes.
pub struct ClassTree {
    /// For each class the child that runs next, or [`NONE`]; for a leaf its task with [`IS_TASK`]. Apart from
    /// the classes, so that the walk down touches little memory.
    pub(super) hops: Vec<u32>,
    pub(super) nodes: Vec<Node>,
    pub(super) links: Vec<Link>,
    pub(super) profiles: Vec<Profile>,
    /// Places of removed classes.
    pub(super) free: Vec<u32>,
    pub(super) root: u32,
    /// The root is the one that was made for classes without a parent.
    pub(super) is_root_implicit: bool,
    /// For each task, its class.
    pub(super) leaves: Vec<u32>,
    pub(super) leaf_count: usize,
    /// Leaves that found nothing to do and wait for the others to have had their run.
    pub(super) yielded: Vec<u32>,
    pub(super) wakes: Heap<WakeSeat>,
    /// The first of `wakes`, or the end of time.
    pub(super) next_wake: u64,
    pub(super) by_name: HashMap<String, u32>,
    pub(super) ticks_per_s: u64,
    pub(super) worker: u32,
}

impl ClassTree {
    /// The tree of worker `worker`, without classes, for a clock of `ticks_per_s` (at least 1).
    pub fn new(worker: u32, ticks_per_s: u64) -> Self {
        Self {
            hops: Vec::new(),
            nodes: Vec::new(),
            links: Vec::new(),
            profiles: Vec::new(),
            free: Vec::new(),
            root: NONE,
            is_root_implicit: false,
            leaves: Vec::new(),
            leaf_count: 0,
            yielded: Vec::new(),
            wakes: Heap::new(),
            next_wake: u64::MAX,
            by_name: HashMap::new(),
            ticks_per_s: ticks_per_s.max(1),
            worker,
        }
    }

    /// The task to run now; none if all are blocked or throttled. Until [`ClassTree::account`] is told of a
    /// run, the answer stays the same.
    #[inline]
    pub fn next(&mut self, now: Ticks) -> Option<LeafId> {
        if now.0 >= self.next_wake {
            self.graft_due(now);
        }
        let root = self.root;
        if root == NONE || (self.links[root as usize].stops.any() && !self.recall_for(root)) {
            return None;
        }
        let mut hop = root;
        while hop & IS_TASK == 0 {
            hop = self.hops[hop as usize];
        }
        Some(LeafId(hop & !IS_TASK))
    }

    /// Task `leaf` ran until `now` and used `used`. One that found nothing to do (`did_work` is false) is
    /// passed over until another one has worked or none is left, so that it cannot keep others from running
    /// whatever its precedence; its group's share is not touched by that. A task of no class counts for nothing.
    // Always inlined, and the walk with it: a usage that goes through memory costs more than its addition.
    #[inline(always)]
    pub fn account(&mut self, leaf: LeafId, used: Usage, now: Ticks, did_work: bool) {
        let Some(class) = self.class_at(leaf) else { return };
        self.charge(class, &used, now);
        if did_work {
            if !self.yielded.is_empty() {
                self.recall();
            }
        } else if self.leaf_count > 1 {
            self.give_way(class);
        }
    }

    /// Task `leaf` has nothing to do until it is unblocked.
    pub fn block(&mut self, leaf: LeafId) {
        if let Some(class) = self.class_at(leaf) {
            self.cancel_wake(class);
            self.stop(class, Stops::BLOCKED);
        }
    }

    /// Task `leaf` has nothing to do until it is unblocked, or until `when`: a timer of its own, or the end of
    /// a back-off.
    pub fn block_until(&mut self, leaf: LeafId, when: Ticks) {
        if let Some(class) = self.class_at(leaf) {
            self.set_wake(class, when);
            self.stop(class, Stops::BLOCKED);
        }
    }

    /// Task `leaf` has something to do.
    pub fn unblock(&mut self, leaf: LeafId) {
        if let Some(class) = self.class_at(leaf) {
            self.cancel_wake(class);
            self.forget_yield(class);
            self.start(class, Stops::BLOCKED);
        }
    }

    /// When the first throttled class, or the first leaf blocked for a time, comes back.
    #[inline]
    pub fn next_wake(&self) -> Option<Ticks> {
        (self.next_wake != u64::MAX).then_some(Ticks(self.next_wake))
    }

    /// Adds a run to each class from the leaf to the root, and prunes the limits that it overdrew.
    #[inline(always)]
    fn charge(&mut self, leaf: u32, used: &Usage, now: Ticks) {
        let mut at = leaf;
        loop {
            let node = &mut self.nodes[at as usize];
            node.usage += used;
            if let Discipline::RateLimit(limit) = &mut node.discipline
                && let Some(until) = limit.charge(used, now)
            {
                self.throttle(at, until);
            }
            let parent = self.links[at as usize].parent;
            if parent == NONE {
                return;
            }
            let group = &mut self.nodes[parent as usize].discipline;
            self.hops[parent as usize] = group.serve(&mut self.links, at, used);
            at = parent;
        }
    }

    #[inline(never)]
    pub(super) fn throttle(&mut self, class: u32, until: Ticks) {
        self.set_wake(class, until);
        self.stop(class, Stops::THROTTLED);
    }

    pub(super) fn end_throttle(&mut self, class: u32) {
        self.cancel_wake(class);
        self.start(class, Stops::THROTTLED);
    }

    /// Grafts back what was pruned until a moment that has come.
    #[cold]
    fn graft_due(&mut self, now: Ticks) {
        while let Some(entry) = self.wakes.first().filter(|entry| entry.key <= u128::from(now.0)) {
            self.wakes.remove(&mut self.links, entry.id);
            self.forget_yield(entry.id);
            self.start(entry.id, Stops::BLOCKED);
            self.start(entry.id, Stops::THROTTLED);
        }
        self.note_next_wake();
    }

    /// A reason less for `class` not to run; grafts it, and its parents with it, when that was the last.
    pub(super) fn start(&mut self, class: u32, mut reason: Stops) {
        let mut at = class;
        loop {
            let link = &mut self.links[at as usize];
            if !link.stops.has(reason) {
                return;
            }
            link.stops = link.stops.without(reason);
            let parent = link.parent;
            if link.stops.any() || parent == NONE {
                return;
            }
            self.join(parent, at);
            (at, reason) = (parent, Stops::EMPTY);
        }
    }

    /// A reason more for `class` not to run; prunes it, and the parents that have no other child to run.
    pub(super) fn stop(&mut self, class: u32, mut reason: Stops) {
        let mut at = class;
        loop {
            let link = &mut self.links[at as usize];
            let was_stopped = link.stops.any();
            link.stops = link.stops.with(reason);
            let parent = link.parent;
            if was_stopped || parent == NONE {
                return;
            }
            if self.leave(parent, at) != NONE {
                return;
            }
            (at, reason) = (parent, Stops::EMPTY);
        }
    }

    /// Enters `child` into `parent`'s ready set.
    pub(super) fn join(&mut self, parent: u32, child: u32) {
        let group = &mut self.nodes[parent as usize].discipline;
        group.join(&mut self.links, child);
        self.hops[parent as usize] = group.first();
    }

    /// Takes `child` out of `parent`'s ready set. Who is first now, or [`NONE`].
    pub(super) fn leave(&mut self, parent: u32, child: u32) -> u32 {
        let group = &mut self.nodes[parent as usize].discipline;
        group.leave(&mut self.links, child);
        let first = group.first();
        self.hops[parent as usize] = first;
        first
    }

    /// Lets a leaf that found nothing wait for the others.
    #[inline(never)]
    fn give_way(&mut self, class: u32) {
        if !self.links[class as usize].stops.has(Stops::YIELDED) {
            self.yielded.push(class);
            self.stop(class, Stops::YIELDED);
        }
    }

    pub(super) fn forget_yield(&mut self, class: u32) {
        if self.links[class as usize].stops.has(Stops::YIELDED) {
            self.yielded.retain(|it| *it != class);
            self.start(class, Stops::YIELDED);
        }
    }

    /// Those that gave way may run again.
    #[inline(never)]
    fn recall(&mut self) {
        for index in 0..self.yielded.len() {
            self.start(self.yielded[index], Stops::YIELDED);
        }
        self.yielded.clear();
    }

    /// Nobody else may run: those that gave way may. Whether that helps.
    #[cold]
    fn recall_for(&mut self, root: u32) -> bool {
        self.recall();
        !self.links[root as usize].stops.any()
    }

    fn set_wake(&mut self, class: u32, when: Ticks) {
        let key = u128::from(when.0);
        if self.links[class as usize].wake_seat == NONE {
            self.wakes.insert(&mut self.links, class, key);
        } else {
            self.wakes.update(&mut self.links, class, key);
        }
        self.note_next_wake();
    }

    pub(super) fn cancel_wake(&mut self, class: u32) {
        if self.links[class as usize].wake_seat != NONE {
            self.wakes.remove(&mut self.links, class);
            self.note_next_wake();
        }
    }

    fn note_next_wake(&mut self) {
        self.next_wake = self.wakes.first().map_or(u64::MAX, |entry| entry.key as u64);
    }

    #[inline]
    pub(super) fn class_at(&self, leaf: LeafId) -> Option<u32> {
        self.leaves.get(leaf.0 as usize).copied().filter(|class| *class != NONE)
    }
}
