//! The wheel against a map from deadlines to ids.
use super::Wheel;
use crate::{Duration, Instant};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const MS: u64 = 1_000_000;

/// What the wheel does, done plainly.
#[derive(Default)]
struct Model(BTreeMap<u32, u64>);

impl Model {
    /// Ids due once the whole millisecond of their deadline is over.
    fn expire(&mut self, now: u64) -> BTreeSet<u32> {
        let due: BTreeSet<u32> =
            self.0.iter().filter(|(_, at)| at.div_ceil(MS) <= now / MS).map(|(id, _)| *id).collect();
        self.0.retain(|id, _| !due.contains(id));
        due
    }
}

#[derive(Clone, Debug)]
enum Step {
    Arm(u32, u64),
    Disarm(u32),
    Advance(u64),
}

fn span() -> impl Strategy<Value = u64> {
    // Every level gets its share: up to 2^36 ms would pass the horizon, so stay below it.
    (0u32..48).prop_flat_map(|bits| (1u64 << bits)..(2u64 << bits))
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0u32..24, span()).prop_map(|(id, after)| Step::Arm(id, after)),
        1 => (0u32..24).prop_map(Step::Disarm),
        3 => span().prop_map(Step::Advance),
    ]
}

proptest! {
    #[test]
    fn fires_what_a_map_of_deadlines_fires(start in span(), steps in prop::collection::vec(step(), 1..120)) {
        let mut now = start;
        let mut wheel = Wheel::new(Instant::from_nanos(now));
        let mut model = Model::default();
        // An instant whose millisecond was already expired fires with the next one.
        let mut next_tick = now / MS;
        for step in steps {
            match step {
                Step::Arm(id, after) => {
                    wheel.arm(id, Instant::from_nanos(now + after));
                    model.0.insert(id, (now + after).max(next_tick * MS));
                }
                Step::Disarm(id) => {
                    wheel.disarm(id);
                    model.0.remove(&id);
                }
                Step::Advance(by) => {
                    now += by;
                    let mut fired = BTreeSet::new();
                    wheel.expire(Instant::from_nanos(now), &mut |id| assert!(fired.insert(id)));
                    prop_assert_eq!(fired, model.expire(now));
                    next_tick = now / MS + 1;
                }
            }
            prop_assert_eq!(wheel.len(), model.0.len());
            prop_assert!(model.0.keys().all(|id| wheel.is_armed(*id)));
            let least = model.0.values().map(|at| at.div_ceil(MS) * MS).min();
            match (wheel.next_deadline(), least) {
                (Some(bound), Some(least)) => prop_assert!(bound.as_nanos() <= least),
                (bound, least) => prop_assert!(bound.is_none() && least.is_none()),
            }
        }
    }

    #[test]
    fn following_next_deadline_reaches_the_timer(start in span(), after in span()) {
        let at = Instant::from_nanos(start + after);
        let mut wheel = Wheel::new(Instant::from_nanos(start));
        wheel.arm(7, at);
        let mut wakes = 0;
        let fired_at = loop {
            let next = wheel.next_deadline().expect("armed");
            let mut fired = false;
            wheel.expire(next, &mut |_| fired = true);
            wakes += 1;
            if fired { break next }
        };
        prop_assert!(fired_at >= at && fired_at.since(at) < Duration::from_millis(1));
        prop_assert!(wakes <= 6, "{} wake-ups for one timer", wakes);
    }
}

#[test]
fn beyond_the_horizon_fires_early_and_can_be_armed_again() {
    let at = Instant::ZERO + Duration::from_secs(40 * 86_400);
    let mut wheel = Wheel::new(Instant::ZERO);
    wheel.arm(0, at);
    let mut fired_at = Vec::new();
    while fired_at.last().is_none_or(|last| *last < at) {
        let next = wheel.next_deadline().expect("armed");
        let mut fired = false;
        wheel.expire(next, &mut |_| fired = true);
        if fired {
            fired_at.push(next);
            wheel.arm(0, at);
        }
    }
    assert_eq!(fired_at.len(), 4);
}

#[test]
fn far_future_is_not_armed() {
    let mut wheel = Wheel::new(Instant::ZERO);
    wheel.arm(3, Instant::from_millis(5));
    wheel.arm(3, Instant::FAR_FUTURE);
    assert!(wheel.is_empty() && wheel.next_deadline().is_none());
}

#[test]
fn a_timer_is_twelve_bytes() {
    assert_eq!(size_of::<super::Timer>(), 12);
}
