//! Sequences of segments and acknowledgements, and the samples that they come to.

use super::*;

const LEN: u32 = 1000;

fn at(ms: u64) -> Instant {
    Instant::from_millis(1000 + ms)
}

fn seq(n: u32) -> SeqNumber {
    SeqNumber(u32::MAX - 5 * LEN) + n * LEN
}

/// An estimator and what is in flight, in segments.
struct Flow {
    delivery: Delivery,
    inflight: u32,
}

impl Flow {
    fn new() -> Self {
        Self { delivery: Delivery::default(), inflight: 0 }
    }

    fn send(&mut self, ms: u64, n: u32) {
        self.inflight += 1;
        self.delivery.on_sent(at(ms), seq(n), seq(n + 1), self.inflight * LEN, false);
    }

    fn sample(&mut self, ms: u64) -> Option<RateSample> {
        let after = AfterAck {
            now: at(ms),
            inflight: self.inflight * LEN,
            min_rtt: Duration::from_millis(10),
            phase: LossPhase::Open,
        };
        self.delivery.take_sample(&after)
    }

    fn ack(&mut self, ms: u64, below: u32, count: u32) -> Option<RateSample> {
        self.inflight -= count;
        self.delivery.on_ack(at(ms), seq(below));
        self.sample(ms)
    }
}

#[test]
fn a_steady_flow_is_measured_at_its_rate() {
    let mut flow = Flow::new();
    for n in 0..10 {
        flow.send(2 * u64::from(n), n);
    }
    let mut last = None;
    for n in 0..200 {
        last = flow.ack(20 + 2 * u64::from(n), n + 1, 1);
        flow.send(20 + 2 * u64::from(n), n + 10);
    }
    let sample = last.unwrap();
    assert_eq!(sample.rate, Some(500_000));
    assert_eq!(sample.rtt, Some(Duration::from_millis(20)));
    assert_eq!((sample.acked, sample.lost, sample.delivered), (LEN, 0, 200 * u64::from(LEN)));
}

#[test]
fn acknowledgements_that_come_together_do_not_raise_the_rate() {
    let mut flow = Flow::new();
    for n in 0..20 {
        flow.send(2 * u64::from(n), n);
    }
    // Twenty segments sent over 38 ms, answered at once: by how they were sent, not by how it was told.
    let sample = flow.ack(60, 20, 20).unwrap();
    assert!(sample.rate.unwrap() <= 20_000 * 1000 / 38, "{sample:?}");
}

#[test]
fn an_interval_shorter_than_a_round_trip_tells_nothing() {
    let mut flow = Flow::new();
    flow.send(0, 0);
    flow.send(0, 1);
    assert_eq!(flow.ack(5, 1, 1).unwrap().rate, None);
}

#[test]
fn rounds_are_counted_by_what_was_sent_in_them() {
    let mut flow = Flow::new();
    (0..4).for_each(|n| flow.send(0, n));
    let starts: Vec<bool> = (1..=4)
        .map(|n| {
            let sample = flow.ack(20 + u64::from(n), n, 1).unwrap();
            flow.send(20 + u64::from(n), n + 3);
            sample.is_round_start
        })
        .collect();
    assert_eq!(starts, [true, false, false, false]);
    assert!(flow.ack(45, 5, 1).unwrap().is_round_start);
}

#[test]
fn blocks_count_once_however_often_they_are_told() {
    let mut flow = Flow::new();
    (0..6).for_each(|n| flow.send(n.into(), n));
    flow.delivery.on_arrived(at(20), seq(2), seq(4));
    assert_eq!(flow.sample(20).unwrap().acked, 2 * LEN);
    flow.delivery.on_arrived(at(21), seq(2), seq(5));
    assert_eq!(flow.sample(21).unwrap().acked, LEN);
    flow.delivery.on_arrived(at(22), seq(2), seq(5));
    assert!(flow.sample(22).is_none());
    flow.delivery.on_ack(at(23), seq(6));
    assert_eq!(flow.sample(23).unwrap().acked, 3 * LEN);
}

#[test]
fn a_part_of_a_large_piece_counts_as_that_part() {
    let mut delivery = Delivery::default();
    delivery.on_sent(at(0), seq(0), seq(10), 10 * LEN, false);
    delivery.on_arrived(at(20), seq(4), seq(6));
    delivery.on_ack(at(20), seq(1));
    let after = AfterAck {
        now: at(20),
        inflight: 7 * LEN,
        min_rtt: Duration::from_millis(1),
        phase: LossPhase::Open,
    };
    assert_eq!(delivery.take_sample(&after).unwrap().acked, 3 * LEN);
}

#[test]
fn a_segment_sent_twice_tells_no_round_trip() {
    let mut flow = Flow::new();
    flow.send(0, 0);
    flow.delivery.on_lost(LEN);
    flow.delivery.on_sent(at(30), seq(0), seq(1), LEN, true);
    let sample = flow.ack(50, 1, 1).unwrap();
    assert_eq!((sample.rtt, sample.lost), (None, LEN));
}

#[test]
fn losses_are_told_since_a_segment_left_and_since_the_sample_before() {
    let mut flow = Flow::new();
    (0..3).for_each(|n| flow.send(0, n));
    flow.delivery.on_lost(LEN);
    assert_eq!(flow.ack(20, 1, 1).unwrap().lost_since, LEN.into());
    flow.send(21, 3);
    let sample = flow.ack(40, 4, 3).unwrap();
    assert_eq!((sample.lost, sample.lost_since), (0, 0));
}

#[test]
fn what_the_service_held_back_is_marked_until_it_has_arrived() {
    let mut flow = Flow::new();
    (0..2).for_each(|n| flow.send(0, n));
    flow.delivery.limit(2 * LEN);
    flow.send(10, 2);
    assert!(!flow.ack(20, 2, 2).unwrap().is_app_limited);
    flow.send(25, 3);
    assert!(flow.ack(40, 3, 1).unwrap().is_app_limited);
    flow.send(45, 4);
    assert!(flow.ack(65, 4, 1).is_some());
    assert!(!flow.ack(70, 5, 1).unwrap().is_app_limited);
}
