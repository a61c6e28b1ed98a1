//! A receiver from a port of several queues: a task a queue, as BESS has it. On each worker those queues work that are there;
//! the tasks of the others find nothing.

use tidegate_packet::Batch;
use tidegate_pipeline::{Context, GateCounts, Module, Work};

/// Receivers from one queue each, which share an output gate.
pub(crate) struct Bundle {
    parts: Vec<Option<Box<dyn Module>>>,
}

impl Bundle {
    /// Of these, by queue.
    pub(crate) fn new(parts: Vec<Option<Box<dyn Module>>>) -> Self {
        Self { parts }
    }

    /// Those of queues that are here.
    pub(crate) fn parts_mut(&mut self) -> impl Iterator<Item = &mut Box<dyn Module>> {
        self.parts.iter_mut().flatten()
    }
}

impl Module for Bundle {
    fn class(&self) -> &'static str {
        self.parts.iter().flatten().next().map_or("port_in", |part| part.class())
    }

    fn gates(&self) -> GateCounts {
        GateCounts::SOURCE
    }

    fn process(&mut self, _: &mut Context<'_>, _: usize, _: &mut Batch) {}

    fn task_count(&self) -> usize {
        self.parts.len()
    }

    fn run(&mut self, ctx: &mut Context<'_>, task: usize) -> Work {
        match self.parts.get_mut(task) {
            Some(Some(part)) => part.run(ctx, 0),
            _ => Work::NONE,
        }
    }
}
