//! A task that does nothing: what a turn of the scheduler costs by itself.
//!
//! | | |
//! |---|---|
//! | gates | none |
//! | parameters | none |
//! | counters | `turns` |

use tidegate_packet::Batch;
use tidegate_pipeline::{Context, GateCounts, Module, Work};

/// The module.
#[derive(Default)]
pub struct NoOp {
    turn_count: u64,
}

impl Module for NoOp {
    fn class(&self) -> &'static str {
        "no_op"
    }

    fn gates(&self) -> GateCounts {
        GateCounts { inputs: 0, outputs: 0 }
    }

    fn process(&mut self, _: &mut Context<'_>, _: usize, _: &mut Batch) {}

    fn task_count(&self) -> usize {
        1
    }

    fn run(&mut self, _: &mut Context<'_>, _: usize) -> Work {
        self.turn_count += 1;
        Work::NONE
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("turns", self.turn_count)]
    }
}
