//! `random_split`: sends each frame out of a gate drawn by lot, or drops it.
//!
//! | | |
//! |---|---|
//! | gates | in: 0; out: those it is given |
//! | parameters | share that is dropped, 0 to 1; gates; seed |
//! | commands | `set_drop_rate`, `set_gates` |
//! | dropped | the share asked for (`policy`) |
//! | rate | 5.6 ns a frame of 60 bytes on one core (`make bench-pipeline`) |

use crate::parameter::{ParameterError, gates, share};
use crate::steer::{Gates, NO_GATE, emit_in_order};
use tidegate_base::Rng;
use tidegate_packet::{BATCH_LEN_MAX, Batch};
use tidegate_pipeline::{Context, GateCounts, Module};

/// How frames are spread.
#[derive(Clone, Debug, PartialEq)]
pub struct RandomSplitParams {
    /// The share that is dropped, 0 to 1.
    pub drop_rate: f64,
    /// The gates drawn from, each as often as it stands here.
    pub gates: Vec<u64>,
    /// Where the lots start: the same seed draws the same.
    pub seed: u64,
}

/// The module.
pub struct RandomSplit {
    drop_rate: f64,
    gates: Box<[u16]>,
    rng: Rng,
}

impl RandomSplit {
    /// Spreads frames so.
    pub fn new(params: &RandomSplitParams) -> Result<Self, ParameterError> {
        let drop_rate = share("the share that is dropped", params.drop_rate)?;
        Ok(Self { drop_rate, gates: gates(&params.gates)?, rng: Rng::new(params.seed) })
    }

    /// Drops this share from now on.
    pub fn set_drop_rate(&mut self, drop_rate: f64) -> Result<(), ParameterError> {
        self.drop_rate = share("the share that is dropped", drop_rate)?;
        Ok(())
    }

    /// Draws from these gates from now on.
    pub fn set_gates(&mut self, numbers: &[u64]) -> Result<(), ParameterError> {
        self.gates = gates(numbers)?;
        Ok(())
    }

    #[inline]
    fn draw(&mut self) -> u16 {
        if self.drop_rate > 0.0 && self.rng.chance(self.drop_rate) {
            return NO_GATE;
        }
        self.gates[self.rng.below(self.gates.len() as u64) as usize]
    }
}

impl Module for RandomSplit {
    fn class(&self) -> &'static str {
        "random_split"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::SPLIT
    }

    #[inline]
    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        let mut gates: Gates = [0; BATCH_LEN_MAX];
        for gate in &mut gates[..batch.len()] {
            *gate = self.draw();
        }
        emit_in_order(ctx, batch, &gates);
    }
}
