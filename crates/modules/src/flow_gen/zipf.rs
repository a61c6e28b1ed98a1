//! Zipf's law: the rank `k` of `count` comes with a probability proportional to `1 / k^exponent`.

use crate::parameter::ParameterError;
use tidegate_base::Rng;

/// Ranks that there are.
const RANK_COUNT: u32 = 10_000;
const EXPONENT_MAX: f64 = 10.0;

/// The law with one exponent, as a table.
pub(super) struct Zipf {
    /// Of each rank, the probability of it or a lower one.
    cumulated: Box<[f64]>,
    mean: f64,
}

impl Zipf {
    /// The law with that exponent, above 0 and up to 10.
    pub(super) fn new(exponent: f64) -> Result<Self, ParameterError> {
        if !(exponent > 0.0 && exponent <= EXPONENT_MAX) {
            let value = exponent.to_string();
            return Err(ParameterError::NoRate {
                what: "the exponent of zipf",
                value,
                max: EXPONENT_MAX as u64,
            });
        }
        let weight = |rank: u32| f64::from(rank).powf(-exponent);
        let total: f64 = (1..=RANK_COUNT).map(weight).sum();
        let mean = (1..=RANK_COUNT).map(|rank| f64::from(rank) * weight(rank) / total).sum();
        let mut sum = 0.0;
        let cumulated = (1..=RANK_COUNT).map(|rank| {
            sum += weight(rank) / total;
            sum
        });
        Ok(Self { cumulated: cumulated.collect(), mean })
    }

    /// A rank as a share of the mean rank.
    pub(super) fn draw(&self, rng: &mut Rng) -> f64 {
        let drawn = rng.unit();
        let below = self.cumulated.partition_point(|share| *share < drawn);
        (below + 1).min(self.cumulated.len()) as f64 / self.mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_come_as_often_as_the_law_says() {
        let zipf = Zipf::new(1.2).unwrap();
        let mut rng = Rng::new(5);
        let draws = 400_000;
        let (mut counts, mut sum) = ([0u32; 4], 0.0);
        for _ in 0..draws {
            let share = zipf.draw(&mut rng);
            sum += share;
            if let Some(count) = counts.get_mut((share * zipf.mean).round() as usize) {
                *count += 1;
            }
        }
        assert!((sum / f64::from(draws) - 1.0).abs() < 0.05, "the mean is {}", sum / f64::from(draws));
        for rank in [2, 3] {
            let ratio = f64::from(counts[1]) / f64::from(counts[rank]);
            let expected = (rank as f64).powf(1.2);
            assert!((ratio / expected - 1.0).abs() < 0.05, "rank {rank}: {ratio} and not {expected}");
        }
        assert!(Zipf::new(0.0).is_err() && Zipf::new(f64::NAN).is_err() && Zipf::new(11.0).is_err());
    }
}
