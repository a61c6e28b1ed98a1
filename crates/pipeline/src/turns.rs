//! Whose turn it is: a worker's tasks, and the tree of classes that ranks them.
//!
//! Without rules, which is what a server of its own has, every task runs once a round in topological order and the tree
//! is only told now and then what was used. With rules, a round is one turn of the task that the tree chooses.
//!
//! Invariant: each task has one leaf, whose number stays the same as long as its module is there.

use crate::class::{ClassTree, LeafId, Policy, Position, Ticks, Usage};
use crate::module::Work;
use crate::step::Task;
use std::collections::HashMap;
use tidegate_base::Instant;

/// Ticks a second: the clock of [`Instant`] is in nanoseconds.
const TICKS_PER_S: u64 = 1_000_000_000;

/// One task, as long as its module is there.
#[derive(Clone, Copy, Debug)]
struct Seat {
    leaf: LeafId,
    task: Task,
    /// What it used since the tree was told.
    used: Usage,
}

/// A run that lasts until the next one begins.
#[derive(Clone, Copy, Debug)]
struct Run {
    leaf: LeafId,
    work: Work,
    began: Instant,
}

/// All of a worker's tasks.
pub(crate) struct Turns {
    tree: ClassTree,
    /// Upstream before downstream.
    seats: Vec<Seat>,
    /// By leaf, where its seat is.
    places: Vec<Option<usize>>,
    leaves: HashMap<(String, usize), LeafId>,
    is_ruled: bool,
    run: Option<Run>,
}

impl Turns {
    /// No tasks yet, of worker `worker`.
    pub(crate) fn new(worker: u32) -> Self {
        Self {
            tree: ClassTree::new(worker, TICKS_PER_S),
            seats: Vec::new(),
            places: Vec::new(),
            leaves: HashMap::new(),
            is_ruled: false,
            run: None,
        }
    }

    /// These are the tasks from now on, each with its module's name. Those that are new get a leaf that nobody ranks;
    /// those that are gone lose theirs.
    pub(crate) fn set(&mut self, tasks: &[(&str, Task)]) {
        self.settle(None);
        let mut gone = std::mem::take(&mut self.leaves);
        let old = std::mem::take(&mut self.seats);
        for &(module, task) in tasks {
            let key = (module.to_owned(), task.number);
            let leaf = gone.remove(&key).or_else(|| self.add_leaf(module, task));
            let Some(leaf) = leaf else { continue };
            let place = &mut self.places[leaf.0 as usize];
            let used = place.and_then(|at| old.get(at)).map_or(Usage::ZERO, |seat| seat.used);
            *place = Some(self.seats.len());
            self.seats.push(Seat { leaf, task, used });
            self.leaves.insert(key, leaf);
        }
        for leaf in gone.into_values() {
            self.places[leaf.0 as usize] = None;
            if let Some(class) = self.tree.find_leaf(leaf) {
                // A leaf has no children, so nothing keeps it.
                let _ = self.tree.remove(class);
            }
        }
        self.note_rules();
    }

    fn add_leaf(&mut self, module: &str, task: Task) -> Option<LeafId> {
        let free = self.places.iter().position(Option::is_none).unwrap_or(self.places.len());
        let leaf = LeafId(free as u32);
        let name = format!("!leaf_{module}:{}", task.number);
        self.tree.add(&name, None, Policy::Leaf(leaf), Position::LAST).ok()?;
        if free == self.places.len() {
            self.places.push(None);
        }
        Some(leaf)
    }

    /// The classes, without what was used since the tree was told.
    pub(crate) const fn tree(&self) -> &ClassTree {
        &self.tree
    }

    /// Whether tasks simply take turns.
    #[inline]
    pub(crate) const fn is_plain(&self) -> bool {
        !self.is_ruled
    }

    /// How many tasks there are.
    #[inline]
    pub(crate) const fn len(&self) -> usize {
        self.seats.len()
    }

    /// Without rules: the task whose turn is the `at`th, if there are so many.
    #[inline]
    pub(crate) fn task(&self, at: usize) -> Option<Task> {
        self.seats.get(at).map(|seat| seat.task)
    }

    /// Without rules: that task did `work`.
    #[inline]
    pub(crate) fn note(&mut self, at: usize, work: Work) {
        if let Some(seat) = self.seats.get_mut(at) {
            seat.used += &usage(work, 0);
        }
    }

    /// With rules: the task to run now, if one may.
    pub(crate) fn next(&mut self, now: Instant) -> Option<(LeafId, Task)> {
        self.settle(Some(now));
        let leaf = self.tree.next(Ticks(now.as_nanos()))?;
        let seat = (*self.places.get(leaf.0 as usize)?)?;
        Some((leaf, self.seats.get(seat)?.task))
    }

    /// With rules: the task that was chosen at `began` did `work`. It counts as having run until the next choice.
    pub(crate) const fn on_run(&mut self, leaf: LeafId, work: Work, began: Instant) {
        self.run = Some(Run { leaf, work, began });
    }

    /// Tells the tree of the last run, which ended at `now`; of unknown length if that is not known.
    pub(crate) fn settle(&mut self, now: Option<Instant>) {
        let Some(Run { leaf, work, began }) = self.run.take() else { return };
        let end = now.unwrap_or(began);
        let used = usage(work, end.since(began).as_nanos());
        self.tree.account(leaf, used, Ticks(end.as_nanos()), work.packet_count > 0);
    }

    /// When a class that is throttled may run again.
    pub(crate) fn next_wake(&self) -> Option<Instant> {
        self.is_ruled.then(|| self.tree.next_wake().map(|ticks| Instant::from_nanos(ticks.0)))?
    }

    /// The leaf of a module's task.
    pub(crate) fn leaf(&self, module: &str, number: usize) -> Option<LeafId> {
        self.leaves.get(&(module.to_owned(), number)).copied()
    }

    /// Changes the tree, which knows by then all that was used.
    pub(crate) fn edit<R>(&mut self, change: impl FnOnce(&mut ClassTree) -> R) -> R {
        self.settle(None);
        for seat in self.seats.iter_mut().filter(|seat| seat.used != Usage::ZERO) {
            let used = std::mem::take(&mut seat.used);
            self.tree.account(seat.leaf, used, Ticks(0), true);
        }
        let result = change(&mut self.tree);
        self.note_rules();
        result
    }

    fn note_rules(&mut self) {
        let root = self.tree.root();
        self.is_ruled = self.tree.iter().any(|class| match class.policy {
            Policy::Leaf(_) => class.position != Position::LAST,
            Policy::RoundRobin => Some(class.id) != root,
            _ => true,
        });
    }
}

fn usage(work: Work, cycles: u64) -> Usage {
    Usage { count: 1, cycles, packets: work.packet_count as u64, bits: work.byte_count as u64 * 8 }
}

#[cfg(test)]
#[path = "turns_tests.rs"]
mod tests;
