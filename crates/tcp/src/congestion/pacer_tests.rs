//! How many segments a schedule lets out.

use super::*;

const START: Instant = Instant::from_millis(1000);

/// Segments of a thousand bytes that may leave within `span`, asked for every `step`.
fn sent_within(pacer: &mut Pacer, span: Duration, step: Duration) -> u64 {
    let (mut now, mut count) = (START, 0);
    while now.since(START) < span {
        while pacer.next_send() <= now {
            pacer.on_sent(now, 1000);
            count += 1;
        }
        now += step;
    }
    count
}

#[test]
fn without_a_rate_everything_leaves_at_once() {
    let mut pacer = Pacer::default();
    pacer.on_sent(START, 1 << 30);
    assert_eq!(pacer.next_send(), Instant::ZERO);
}

#[test]
fn the_rate_is_kept_with_fine_timers_and_with_the_wheel() {
    for step in [Duration::from_micros(10), Duration::from_millis(1)] {
        let mut pacer = Pacer::default();
        pacer.set_rate(5_000_000);
        let count = sent_within(&mut pacer, Duration::from_secs(1), step);
        assert!((5000..=5012).contains(&count), "{count} of 5000 asked every {step:?}");
    }
}

#[test]
fn an_idle_time_is_not_made_up_for() {
    let mut pacer = Pacer::default();
    pacer.set_rate(1_000_000);
    pacer.on_sent(START, 1000);
    let later = START + Duration::from_secs(10);
    let mut count = 0;
    while pacer.next_send() <= later {
        pacer.on_sent(later, 1000);
        count += 1;
    }
    assert!(count <= 3, "{count} at once");
}
