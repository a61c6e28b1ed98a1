//! When flows begin and how long they live.

use super::zipf::Zipf;
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
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum FlowDuration {
    /// All as long.
    #[default]
    Uniform,
    /// Most short, few very long.
    Pareto,
    /// As long as ranks are by Zipf's law: one of 10,000 sizes, the `k`th with a probability proportional to
    /// `1 / k^exponent`.
    Zipf {
        /// Above 0, up to 10.
        exponent: f64,
    },
}

/// The exponent of `zipf` alone.
const ZIPF_EXPONENT_DEFAULT: f64 = 1.0;

/// How long flows live, ready to be drawn.
pub(super) struct Lives {
    duration: FlowDuration,
    zipf: Option<Zipf>,
}

impl Lives {
    pub(super) fn new(duration: FlowDuration) -> Result<Self, ParameterError> {
        let zipf = match duration {
            FlowDuration::Zipf { exponent } => Some(Zipf::new(exponent)?),
            _ => None,
        };
        Ok(Self { duration, zipf })
    }

    /// How long a flow lives, where `mean` is usual.
    pub(super) fn draw(&self, rng: &mut Rng, mean: f64) -> f64 {
        match (self.duration, &self.zipf) {
            (FlowDuration::Pareto, _) => mean * (ALPHA - 1.0) / ALPHA / (1.0 - rng.unit()).powf(1.0 / ALPHA),
            (_, Some(zipf)) => mean * zipf.draw(rng),
            _ => mean,
        }
    }
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

    /// Reads `uniform`, `pareto`, `zipf`, or `zipf:EXPONENT`.
    fn from_str(text: &str) -> Result<Self, ParameterError> {
        let unknown = || ParameterError::Unknown {
            what: "duration",
            given: text.to_owned(),
            known: "uniform, pareto, zipf, zipf:1.2",
        };
        match text {
            "uniform" => Ok(Self::Uniform),
            "pareto" => Ok(Self::Pareto),
            "zipf" => Ok(Self::Zipf { exponent: ZIPF_EXPONENT_DEFAULT }),
            _ => {
                let exponent = text.strip_prefix("zipf:").ok_or_else(unknown)?;
                Ok(Self::Zipf { exponent: exponent.parse().map_err(|_| unknown())? })
            }
        }
    }
}
