//! A transformer edge: packets change their traffic class and wait, in a queue of the edge's own, until the new one is
//! scheduled (BESS, sections 5.4 and 5.5.4).
//!
//! | | |
//! |---|---|
//! | gates | in: 0; out: 0, those of one new class in order of arrival |
//! | tasks | one for each new class, in the order of their names: emits at most a batch a turn |
//! | parameters | classes: old class to new; others: the new class of all that have none of these; size: frames that may wait for a new class (1 to 1,048,576; 1,024 unless told) |
//! | attributes | none of its own; those of the frames that wait are moved when the layout changes |
//! | counters | passed (kept their class), waiting, enqueued, dropped (full) |
//! | rate | 217 M packets/s of one core, 60 bytes: reclass (`make bench-pipeline`) |
//!
//! A packet's class is that of the task which brought it: the nearest class above the task that is named among the old
//! ones decides. With `others`, what is in that class or below it already has nothing to change.
//!
//! ```text
//!   class a's task --+              +--> [ line of new class c ] -- c's task --+
//!   class b's task --+--> gate 0 ---+--> [ line of new class d ] -- d's task --+--> gate 0
//!   another's task --+              +------------- keeps its class ------------+
//! ```
//! Invariant: between two rounds each task of the worker has its way, as the classes are then.

use super::ring::Ring;
use crate::parameter::{ParameterError, in_range};
use std::collections::{BTreeMap, BTreeSet};
use tidegate_base::DropReason;
use tidegate_packet::{BATCH_LEN_MAX, Batch, Pool};
use tidegate_pipeline::class::{Class, ClassTree, Policy};
use tidegate_pipeline::metadata::Relocation;
use tidegate_pipeline::{Context, GateCounts, Module, Work};

const SIZE_MAX: u64 = 1 << 20;

/// How it is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReclassParams {
    /// New classes by old ones.
    pub classes: BTreeMap<String, String>,
    /// The new class of what has none of the old ones.
    pub others: Option<String>,
    /// Frames that may wait for each new class.
    pub size: u64,
}

impl Default for ReclassParams {
    fn default() -> Self {
        Self { classes: BTreeMap::new(), others: None, size: super::QUEUE_SIZE_DEFAULT }
    }
}

impl ReclassParams {
    /// The new classes in the order of their names, each with a task.
    pub fn new_classes(&self) -> Vec<&str> {
        let named: BTreeSet<&str> = self.classes.values().chain(&self.others).map(String::as_str).collect();
        named.into_iter().collect()
    }
}

/// The module.
pub struct Reclass {
    params: ReclassParams,
    /// One a new class.
    lines: Vec<Ring>,
    /// By a task's leaf: the line of what it brings; none, it keeps its class.
    ways: Vec<Option<usize>>,
    out: Batch,
    passed_count: u64,
    enqueued_count: u64,
    dropped_count: u64,
}

impl Reclass {
    /// An edge on which nothing waits.
    pub fn new(params: ReclassParams) -> Result<Self, ParameterError> {
        let size = in_range("a line's size in frames", params.size, 1..=SIZE_MAX)? as usize;
        let line_count = params.new_classes().len();
        if line_count == 0 {
            return Err(ParameterError::Missing("new class, in classes or others"));
        }
        Ok(Self {
            params,
            lines: (0..line_count).map(|_| Ring::new(size)).collect(),
            ways: Vec::new(),
            out: Batch::new(),
            passed_count: 0,
            enqueued_count: 0,
            dropped_count: 0,
        })
    }

    /// The new class of what is brought by a task that hangs from `class`.
    fn new_class(&self, tree: &ClassTree, class: Option<Class<'_>>) -> Option<&str> {
        let above = |class: &Class<'_>| class.parent.and_then(|id| tree.class(id).ok());
        let mut chain = std::iter::successors(class, above);
        if let Some(new) = chain.clone().find_map(|class| self.params.classes.get(class.name)) {
            return Some(new);
        }
        let others = self.params.others.as_deref()?;
        chain.all(|class| class.name != others).then_some(others)
    }
}

impl Module for Reclass {
    fn class(&self) -> &'static str {
        "reclass"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::THROUGH
    }

    fn on_classes(&mut self, tree: &ClassTree) {
        let new_classes = self.params.new_classes();
        let mut ways = Vec::new();
        for class in tree.iter() {
            let Policy::Leaf(leaf) = class.policy else { continue };
            let parent = class.parent.and_then(|id| tree.class(id).ok());
            let way = self.new_class(tree, parent).and_then(|new| new_classes.binary_search(&new).ok());
            let at = leaf.0 as usize;
            ways.resize(ways.len().max(at + 1), None);
            ways[at] = way;
        }
        self.ways = ways;
    }

    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        let way = ctx.leaf().and_then(|leaf| *self.ways.get(leaf.0 as usize)?);
        let Some(line) = way.and_then(|at| self.lines.get_mut(at)) else {
            self.passed_count += batch.len() as u64;
            return ctx.emit_batch(0, batch);
        };
        let before = line.len();
        line.push_batch(batch, (self.params.size as usize).saturating_sub(before));
        self.enqueued_count += (line.len() - before) as u64;
        if !batch.is_empty() {
            self.dropped_count += batch.len() as u64;
            ctx.drop_batch(batch, DropReason::RingFull);
        }
    }

    fn task_count(&self) -> usize {
        self.lines.len()
    }

    fn run(&mut self, ctx: &mut Context<'_>, task: usize) -> Work {
        let Some(line) = self.lines.get_mut(task) else { return Work::NONE };
        line.pop_batch(&mut self.out, BATCH_LEN_MAX);
        let work = Work { packet_count: self.out.len(), byte_count: self.out.byte_count() };
        ctx.emit_batch(0, &mut self.out);
        work
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let waiting = self.lines.iter().map(|line| line.len() as u64).sum();
        vec![
            ("passed", self.passed_count),
            ("waiting", waiting),
            ("enqueued", self.enqueued_count),
            ("dropped", self.dropped_count),
        ]
    }

    fn relocate(&mut self, relocation: &Relocation) {
        self.lines.iter_mut().flat_map(Ring::iter_mut).for_each(|frame| relocation.apply(frame));
    }

    fn retire(&mut self, pool: &mut Pool) {
        self.lines.iter_mut().flat_map(Ring::drain).for_each(|mut batch| pool.free_batch(&mut batch));
    }
}

#[cfg(test)]
#[path = "reclass_tests.rs"]
mod tests;
