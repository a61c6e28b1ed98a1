//! The controller's calls, by area: each a changed copy of the plant, or a look at what runs.

mod hooks;
mod modules;
mod pipelines;
mod ports;
mod services;
mod stacks;
mod traffic;
mod workers;

use crate::Daemon;
use tidegate_control::Controller;
use tidegate_control::controller::Outcome;

impl Controller for Daemon {
    fn version(&mut self) -> Outcome<String> {
        Ok(concat!("tidegate-", env!("CARGO_PKG_VERSION")).to_owned())
    }

    fn reset_all(&mut self) -> Outcome {
        self.change_to(self.plant.without_pipeline())
    }

    fn kill(&mut self) -> Outcome {
        self.end();
        Ok(())
    }
}

/// Seconds since 1970.
fn wall_s() -> f64 {
    tidegate_sys::clock::wall_ns() as f64 / 1e9
}
