//! Pacing against exact departures, computed with fractions.
use super::*;
use proptest::prelude::*;
use std::collections::VecDeque;
use tidegate_base::Rng;

const SLOT: Duration = Duration::from_nanos(1_024);

fn pacer(flow_count: usize, queued_max: usize, queued_max_a_flow: usize) -> Pacer<u32> {
    Pacer::new(PacerLimits { flow_count, queued_max, queued_max_a_flow, slot: SLOT }).unwrap()
}

fn rate(bits_per_s: u64) -> NonZeroU64 {
    NonZeroU64::new(bits_per_s).unwrap()
}

fn at(ns: u64) -> Instant {
    Instant::from_nanos(ns)
}

/// Items of a flow in order, each with the time before which it must not leave, as a fraction of its flow's rate.
struct Expected {
    rate: u64,
    /// Whole nanoseconds and the remainder over the rate.
    free_at: (u128, u128),
    queue: VecDeque<(u32, u32)>,
}

impl Expected {
    fn enqueue(&mut self, item: u32, len: u32, now: u64) {
        if self.queue.is_empty() && self.free_at.0 < u128::from(now) {
            self.free_at = (u128::from(now), 0);
        }
        self.queue.push_back((item, len));
    }

    fn depart(&mut self) -> Option<(u32, u128)> {
        let (item, len) = self.queue.pop_front()?;
        let left_at = self.free_at.0;
        let rate = u128::from(self.rate);
        let total = u128::from(len) * 8_000_000_000 + self.free_at.1;
        self.free_at = (left_at + total / rate, total % rate);
        Some((item, left_at))
    }
}

fn check_departures(seed: u64, step_ns_max: u64) {
    let mut rng = Rng::new(seed);
    let rates = [10_000, 1_000_000, 11_000_000, 1_000_000_007, 100_000_000_000];
    let mut pacer = pacer(rates.len(), 1_000, 200);
    let mut expected: Vec<_> =
        rates.iter().map(|rate| Expected { rate: *rate, free_at: (0, 0), queue: VecDeque::new() }).collect();
    (0..).zip(rates).for_each(|(flow, bits)| pacer.set_rate(flow, rate(bits)).unwrap());
    let mut now = 12_345;
    for item in 0..3_000 {
        let flow = rng.below(rates.len() as u64) as u32;
        let len = 60 + rng.below(1_500) as u32;
        if pacer.enqueue(flow, item, len, at(now)).is_ok() {
            expected[flow as usize].enqueue(item, len, now);
        }
        now += rng.below(step_ns_max);
        if rng.chance(0.5) {
            poll(&mut pacer, &mut expected, now);
        }
    }
    while let Some(deadline) = pacer.next_deadline() {
        now = now.max(deadline.as_nanos());
        poll(&mut pacer, &mut expected, now);
    }
    assert!(pacer.is_empty() && expected.iter().all(|flow| flow.queue.is_empty()));
}

/// Everything that is handed out is due, and everything due for a slot or more is handed out.
fn poll(pacer: &mut Pacer<u32>, expected: &mut [Expected], now: u64) {
    pacer.poll(at(now), usize::MAX, &mut |flow, item| {
        let (expected_item, due) = expected[flow as usize].depart().expect("an item that waits");
        assert_eq!(item, expected_item, "items of a flow keep their order");
        assert!(due <= u128::from(now), "early by {} ns", due - u128::from(now));
    });
    for flow in expected.iter().filter(|flow| !flow.queue.is_empty()) {
        assert!(flow.free_at.0 + u128::from(SLOT.as_nanos()) > u128::from(now), "late");
    }
}

#[test]
fn items_leave_when_their_flow_has_had_time() {
    (0..20).for_each(|seed| check_departures(seed, 20_000));
    // Polls so far apart that the calendar turns round between them.
    (20..25).for_each(|seed| check_departures(seed, 200_000_000));
}

#[test]
fn eight_thousand_flows_keep_their_rates() {
    const FLOW_COUNT: u32 = 8_192;
    let mut pacer = pacer(FLOW_COUNT as usize, 2 * FLOW_COUNT as usize, 2);
    let bits_per_s = |flow: u32| 1_000_000 + u64::from(flow) * 1_221;
    let mut bytes = vec![0u64; FLOW_COUNT as usize];
    for flow in 0..FLOW_COUNT {
        pacer.set_rate(flow, rate(bits_per_s(flow))).unwrap();
        (0..2).for_each(|_| pacer.enqueue(flow, 0, 1_500, at(0)).unwrap());
    }
    let span_ns = 250_000_000;
    let mut now = 0;
    while now < span_ns {
        now = (now + 50_000).min(span_ns);
        let mut left = Vec::new();
        // Each flow's next item is there before its last one has had its time, however late the poll is.
        while pacer.poll(at(now), 1_000, &mut |flow, _| left.push(flow)) != 0 {
            for flow in left.drain(..) {
                bytes[flow as usize] += 1_500;
                pacer.enqueue(flow, 0, 1_500, at(now)).unwrap();
            }
        }
    }
    for flow in 0..FLOW_COUNT {
        let exact = bits_per_s(flow) as f64 / 8.0 * span_ns as f64 / 1e9;
        // The first item leaves at the start, and one may be due within the slot that is not over.
        let error = bytes[flow as usize] as f64 - exact;
        assert!((-1_500.0..=1_501.0).contains(&error), "flow {flow}: {error} bytes off");
    }
}

#[test]
fn a_minute_of_an_odd_rate_does_not_drift() {
    let mut pacer = pacer(1, 4, 4);
    pacer.set_rate(0, rate(7_777_777)).unwrap();
    (0..4).for_each(|item| pacer.enqueue(0, item, 60, at(0)).unwrap());
    let mut count = 0u64;
    while let Some(deadline) = pacer.next_deadline().filter(|deadline| *deadline < at(60_000_000_000)) {
        let left = pacer.poll(deadline, 1, &mut |_, _| ());
        for _ in 0..left {
            pacer.enqueue(0, 0, 60, deadline).unwrap();
        }
        count += left as u64;
    }
    let exact = 7_777_777 * 60 / (60 * 8);
    assert!(count.abs_diff(exact) <= 1, "{count} items, {exact} expected");
}

#[test]
fn a_flow_that_was_idle_has_no_burst() {
    let mut pacer = pacer(1, 10, 10);
    pacer.set_rate(0, rate(8_000_000)).unwrap();
    let mut left = 0;
    for item in 0..3 {
        pacer.enqueue(0, item, 1_000, at(5_000_000_000)).unwrap();
    }
    left += pacer.poll(at(5_000_000_000), 10, &mut |_, _| ());
    assert_eq!(left, 1, "1,000 bytes at 1 MB/s take a millisecond");
    left += pacer.poll(at(5_000_999_999), 10, &mut |_, _| ());
    assert_eq!(left, 1);
    left += pacer.poll(at(5_001_001_024), 10, &mut |_, _| ());
    assert_eq!(left, 2);
}

#[test]
fn limits_are_kept_and_the_item_comes_back() {
    let mut pacer = pacer(2, 3, 2);
    let why = |result: Result<(), Refused<u32>>| result.unwrap_err();
    assert_eq!(
        why(pacer.enqueue(2, 9, 1, at(0))),
        Refused { item: 9, why: PaceError::NoSuchFlow { flow: 2, count: 2 } }
    );
    assert_eq!(why(pacer.enqueue(0, 9, 1, at(0))), Refused { item: 9, why: PaceError::NoRate { flow: 0 } });
    pacer.set_rate(0, rate(1)).unwrap();
    pacer.set_rate(1, rate(1)).unwrap();
    pacer.enqueue(0, 0, 1, at(0)).unwrap();
    pacer.enqueue(0, 1, 1, at(0)).unwrap();
    assert_eq!(
        why(pacer.enqueue(0, 9, 1, at(0))),
        Refused { item: 9, why: PaceError::FlowFull { flow: 0, max: 2 } }
    );
    pacer.enqueue(1, 2, 1, at(0)).unwrap();
    assert_eq!(why(pacer.enqueue(1, 9, 1, at(0))), Refused { item: 9, why: PaceError::Full { max: 3 } });
    assert_eq!((pacer.len(), pacer.queued(0)), (3, 2));
}

#[test]
fn a_cleared_flow_gives_its_items_back_and_goes_on() {
    let mut pacer = pacer(1, 4, 4);
    pacer.set_rate(0, rate(8_000_000_000)).unwrap();
    (0..3).for_each(|item| pacer.enqueue(0, item, 1_000, at(0)).unwrap());
    pacer.items_mut().for_each(|item| *item += 10);
    let mut gone = Vec::new();
    pacer.clear(0, &mut |item| gone.push(item));
    assert_eq!((gone, pacer.len()), (vec![10, 11, 12], 0));
    assert_eq!(pacer.poll(at(10_000), 9, &mut |_, _| unreachable!("cleared")), 0);
    pacer.enqueue(0, 7, 1_000, at(10_000)).unwrap();
    let mut left = Vec::new();
    pacer.poll(at(12_000), 9, &mut |_, item| left.push(item));
    assert_eq!((left, pacer.next_deadline()), (vec![7], None));
}

#[test]
fn slots_need_a_length() {
    let limits = PacerLimits { flow_count: 1, queued_max: 1, queued_max_a_flow: 1, slot: Duration::ZERO };
    assert_eq!(Pacer::<()>::new(limits).err(), Some(PaceError::Slot));
}

proptest! {
    #[test]
    fn the_first_occupied_slot_is_found(slots in prop::collection::btree_set(0usize..SLOT_COUNT, 0..40), start in 0usize..SLOT_COUNT) {
        let mut pacer = pacer(slots.len(), 1, 1);
        for (flow, slot) in (0..).zip(&slots) {
            pacer.flows[flow as usize].departure = Instant::ZERO + SLOT.saturating_mul(*slot as u64);
            pacer.schedule(flow, Instant::ZERO);
        }
        prop_assert_eq!(pacer.first_occupied(start), slots.range(start..).next().copied());
    }
}
