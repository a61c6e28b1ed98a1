//! When flows begin and how long they live.

use crate::parameter::ParameterError;
use std::str::FromStr;
use tidegate_base::{Duration, Rng};

/// The shape of Pareto durations: few flows are very long, and their mean exists.
const ALPHA: f64 = 1.3;

/// How evenly flows begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Arrival {
    /// One after the same time as the other.
    #[default]
    Uniform,
    /// Independently (a Poisson process).
    Exponential,
}

/// How evenly long flows live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum FlowDuration {
    /// All as long.
    #[default]
    Uniform,
    /// Most short, few very long.
    Pareto,
}

impl Arrival {
    /// The time to the next flow, at `rate` a second.
    pub(super) fn draw(self, rng: &mut Rng, rate: f64) -> Duration {
        let gap_s = match self {
            Self::Uniform => 1.0 / rate,
            Self::Exponential => -(1.0 - rng.unit()).ln() / rate,
        };
        Duration::from_nanos((gap_s * 1e9).max(1.0) as u64)
    }
}

impl FlowDuration {
    /// How long a flow lives, where `mean` is usual.
    pub(super) fn draw(self, rng: &mut Rng, mean: f64) -> f64 {
        match self {
            Self::Uniform => mean,
            Self::Pareto => mean * (ALPHA - 1.0) / ALPHA / (1.0 - rng.unit()).powf(1.0 / ALPHA),
        }
    }
}

impl FromStr for Arrival {
    type Err = ParameterError;

    /// Reads `uniform` or `exponential`.
    fn from_str(text: &str) -> Result<Self, ParameterError> {
        match text {
            "uniform" => Ok(Self::Uniform),
            "exponential" => Ok(Self::Exponential),
            _ => Err(ParameterError::Unknown {
                what: "arrival",
                given: text.to_owned(),
                known: "uniform, exponential",
            }),
        }
    }
}

impl FromStr for FlowDuration {
    type Err = ParameterError;

    /// Reads `uniform` or `pareto`.
    fn from_str(text: &str) -> Result<Self, ParameterError> {
        match text {
            "uniform" => Ok(Self::Uniform),
            "pareto" => Ok(Self::Pareto),
            _ => Err(ParameterError::Unknown {
                what: "duration",
                given: text.to_owned(),
                known: "uniform, pareto",
            }),
        }
    }
}
