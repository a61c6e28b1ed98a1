//! How much a server bears: the highest rate of questions of which it leaves (nearly) none unanswered.
//!
//! A search by trials, without clients or clocks of its own. What is absent: overload. A server that answers more in
//! all while it loses some is not asked for that.

use serde::{Deserialize, Serialize};

/// Questions unanswered that still count as none: on a machine shared with others some get lost to its noise.
const LOSS_MAX: f64 = 0.005;
/// A client that sends less than this part of what it was asked for is itself at its end.
const SENT_MIN: f64 = 0.97;
/// Factor between trials until a server fails.
const STEP: f64 = 1.5;
/// Halvings of the last step.
const HALVING_COUNT: u32 = 2;
/// No search is longer.
const TRIAL_COUNT_MAX: u32 = 30;

/// What came of a trial.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trial {
    /// Questions that left the client a second.
    pub(crate) sent_per_s: f64,
    /// The part of them without an answer.
    pub(crate) loss: f64,
}

/// The end of a search.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Saturation {
    /// Questions a second.
    pub(crate) rate_per_s: u32,
    /// The client could ask no more, and so the server may bear more.
    pub(crate) is_client_bound: bool,
}

/// What a rate did to whom.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Borne,
    Lost,
    NotSent,
}

/// Searches upwards from `start_per_s`, or downwards if that is too much already.
pub(crate) fn search(
    start_per_s: u32,
    mut offer: impl FnMut(u32) -> anyhow::Result<Trial>,
) -> anyhow::Result<Saturation> {
    let mut trial_count = 0;
    let mut verdict_of = |rate_per_s: u32| -> anyhow::Result<Verdict> {
        trial_count += 1;
        if trial_count > TRIAL_COUNT_MAX {
            return Ok(Verdict::Lost);
        }
        let mut verdict = judge(rate_per_s, offer(rate_per_s)?);
        if verdict == Verdict::Lost {
            // Once more, for noise.
            verdict = judge(rate_per_s, offer(rate_per_s)?);
        }
        Ok(verdict)
    };
    let mut borne = start_per_s.max(1);
    while borne > 1 && verdict_of(borne)? == Verdict::Lost {
        borne = scaled(borne, 1.0 / STEP);
    }
    let mut ceiling = scaled(borne, STEP);
    let mut end = verdict_of(ceiling)?;
    while end == Verdict::Borne {
        (borne, ceiling) = (ceiling, scaled(ceiling, STEP));
        end = verdict_of(ceiling)?;
    }
    for _ in 0..HALVING_COUNT {
        let middle = borne + (ceiling - borne) / 2;
        match verdict_of(middle)? {
            Verdict::Borne => borne = middle,
            other => (ceiling, end) = (middle, other),
        }
    }
    Ok(Saturation { rate_per_s: borne, is_client_bound: end == Verdict::NotSent })
}

fn judge(rate_per_s: u32, trial: Trial) -> Verdict {
    if trial.loss > LOSS_MAX {
        Verdict::Lost
    } else if trial.sent_per_s < f64::from(rate_per_s) * SENT_MIN {
        Verdict::NotSent
    } else {
        Verdict::Borne
    }
}

fn scaled(rate_per_s: u32, factor: f64) -> u32 {
    (f64::from(rate_per_s) * factor) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that answers so many a second, and a client that asks at most so many.
    fn found(start: u32, server: f64, client: f64) -> Saturation {
        let offer = |rate: u32| {
            let sent_per_s = f64::from(rate).min(client);
            Ok(Trial { sent_per_s, loss: (1.0 - server / sent_per_s).max(0.0) })
        };
        search(start, offer).unwrap()
    }

    #[test]
    fn from_below_and_from_above() {
        for start in [20_000, 100_000, 400_000] {
            let Saturation { rate_per_s, is_client_bound } = found(start, 150_000.0, 1e9);
            assert!((138_000..=151_000).contains(&rate_per_s), "{rate_per_s} from {start}");
            assert!(!is_client_bound);
        }
    }

    #[test]
    fn a_server_that_outruns_its_client() {
        let Saturation { rate_per_s, is_client_bound } = found(100_000, 1e9, 500_000.0);
        assert!((460_000..=516_000).contains(&rate_per_s), "{rate_per_s}");
        assert!(is_client_bound);
    }

    #[test]
    fn a_server_that_never_answers_ends_the_search() {
        assert_eq!(found(100_000, 0.0, 1e9).rate_per_s, 1);
    }

    #[test]
    fn one_disturbed_trial_is_forgiven() {
        let mut trials = 0;
        let offer = |rate: u32| {
            trials += 1;
            let loss = if trials == 1 || rate > 200_000 { 0.5 } else { 0.0 };
            Ok(Trial { sent_per_s: f64::from(rate), loss })
        };
        assert!(search(100_000, offer).unwrap().rate_per_s > 180_000);
    }
}
