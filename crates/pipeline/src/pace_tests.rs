//! When it rests, and for how long.
use super::Pace;
use tidegate_base::{Duration, Instant};

const MAX: Duration = Duration::from_micros(50);

fn at(us: u64) -> Instant {
    Instant::from_nanos(us * 1000)
}

/// A pace that has seen `per_ms` frames in its last window, just woken at its end.
fn paced(per_ms: usize) -> Pace {
    let mut pace = Pace::new(MAX);
    pace.rest_until(at(10_000));
    pace.on_work(per_ms);
    pace.on_woken(at(11_000));
    pace
}

#[test]
fn few_frames_are_met_at_once() {
    assert_eq!(paced(30).rest_until(at(11_000)), None);
}

#[test]
fn many_frames_are_let_gather() {
    assert_eq!(paced(200).rest_until(at(11_000)), Some(at(11_050)), "at most the limit");
    assert_eq!(paced(1600).rest_until(at(11_000)), Some(at(11_010)), "sixteen frames' time");
}

#[test]
fn time_spent_working_counts_as_rest() {
    let mut pace = paced(200);
    assert_eq!(pace.rest_until(at(11_060)), None);
}

#[test]
fn a_rest_that_found_nothing_is_followed_by_a_sleep() {
    let mut pace = paced(200);
    assert!(pace.rest_until(at(11_000)).is_some());
    pace.on_woken(at(11_050));
    assert_eq!(pace.rest_until(at(11_050)), None);
    pace.on_woken(at(11_400));
    pace.on_work(1);
    assert!(pace.rest_until(at(11_400)).is_some());
}

#[test]
fn no_limit_no_rest() {
    let mut pace = Pace::new(Duration::ZERO);
    pace.rest_until(at(10_000));
    pace.on_work(10_000);
    pace.on_woken(at(11_000));
    assert_eq!(pace.rest_until(at(11_000)), None);
}
