//! What is learned from looks that pay and looks that do not.
use super::{PROBE, Patience, SLEEPS_PER_PROBE};
use tidegate_base::{Duration, Instant};

const MAX: Duration = Duration::from_micros(20);

fn at(us: u64) -> Instant {
    Instant::from_nanos(us * 1000)
}

#[test]
fn looks_that_never_pay_are_given_up() {
    let mut patience = Patience::new(MAX);
    for round in 0..10 {
        let now = at(round * 1000);
        patience.on_work(now);
        assert!(patience.is_over(now + MAX));
        patience.on_woken(now + MAX);
    }
    patience.on_work(at(50_000));
    assert!(patience.is_over(at(50_000)), "sleeps at once");
}

#[test]
fn looks_that_pay_grow_longer_again() {
    let mut patience = Patience::new(MAX);
    for sleep in 0..u64::from(SLEEPS_PER_PROBE) {
        patience.on_woken(at(sleep));
    }
    let start = at(10_000);
    patience.on_work(start);
    assert!(!patience.is_over(start + PROBE.div(2)), "tries again");
    for round in 0..8 {
        let now = start + Duration::from_micros(round);
        patience.is_over(now);
        patience.on_work(now);
    }
    let now = at(20_000);
    patience.on_work(now);
    assert!(!patience.is_over(now + MAX.div(2)));
    assert!(patience.is_over(now + MAX));
}

#[test]
fn work_in_a_row_teaches_nothing() {
    let mut patience = Patience::new(MAX);
    (0..100).for_each(|us| patience.on_work(at(us)));
    assert!(!patience.is_over(at(99)));
    assert!(patience.is_over(at(99) + MAX));
}
