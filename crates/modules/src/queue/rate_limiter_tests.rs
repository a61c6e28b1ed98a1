//! Paced flows: rates over time, and bounds a flow.

use super::*;
use crate::field::Position;
use crate::rig::Rig;

const LEN: usize = 60;

fn params() -> RateLimiterParams {
    RateLimiterParams::new(Field { position: Position::Offset(0), size: 4 })
}

fn frame(flow: u32) -> Vec<u8> {
    let mut frame = flow.to_be_bytes().to_vec();
    frame.resize(LEN, 0);
    frame
}

#[test]
fn a_flow_that_always_has_frames_is_within_a_ten_thousandth() {
    let rates = [(0, 1_000_000), (5000, 5_005_000), (8191, 11_000_000)];
    let mut limiter = RateLimiter::new(&params()).unwrap();
    rates.iter().for_each(|(flow, rate)| limiter.set_rate(*flow, *rate).unwrap());
    let mut rig = Rig::with_gates(limiter, 1, 1);
    let mut bits = [0_u64; 3];
    let step = Duration::from_micros(400);
    let mut now = Instant::from_millis(1);
    let span = Duration::from_secs(10);
    for _ in 0..span.as_nanos() / step.as_nanos() {
        for (flow, _) in rates {
            let waiting = rig.module::<RateLimiter>().queued(flow);
            (waiting..20).for_each(|_| rig.feed(0, &[&frame(flow)]));
        }
        for (_, data) in rig.round(now) {
            let flow = u32::from_be_bytes(data[..4].try_into().unwrap());
            let n = rates.iter().position(|(it, _)| *it == flow).unwrap();
            bits[n] += data.len() as u64 * 8;
        }
        now += step;
    }
    for ((_, rate), bits) in rates.iter().zip(bits) {
        let wanted = (rate * 10) as f64;
        let error = (bits as f64 - wanted).abs() / wanted;
        assert!(error < 1e-4, "{bits} of {wanted}: {error}");
    }
    rig.retire();
}

#[test]
fn what_has_no_rate_or_no_room_is_dropped() {
    let mut limiter = RateLimiter::new(&RateLimiterParams { queued_max_a_flow: 2, ..params() }).unwrap();
    limiter.set_rate(1, 1000).unwrap();
    let mut rig = Rig::with_gates(limiter, 1, 1);
    let seen = rig.pass_into(0, &[&frame(2), &frame(9000), &[1, 2], &frame(1), &frame(1), &frame(1)]);
    assert_eq!(seen, [(0, frame(1))]);
    assert_eq!(rig.drops(DropReason::Policy), 3);
    assert_eq!(rig.drops(DropReason::RateLimited), 1);
    assert!(rig.module::<RateLimiter>().next_deadline().is_some());
    rig.retire();
}

#[test]
fn rates_are_set_of_all_flows_or_of_none() {
    let mut limiter = RateLimiter::new(&RateLimiterParams { flow_count: 4, ..params() }).unwrap();
    limiter.set_rates(&[(0, 5), (3, 7)]).unwrap();
    let none = limiter.set_rates(&[(0, 9), (1, 0)]).unwrap_err().to_string();
    assert!(none.contains("flow 1"), "{none}");
    let absent = limiter.set_rates(&[(0, 9), (4, 1)]).unwrap_err().to_string();
    assert!(absent.contains('4'), "{absent}");
    assert_eq!(limiter.rates().collect::<Vec<_>>(), [(0, 5), (3, 7)]);
}

#[test]
fn wrong_parameters_say_what_is_wrong() {
    let mut limiter = RateLimiter::new(&params()).unwrap();
    assert!(limiter.set_rate(0, 0).unwrap_err().to_string().contains("at least 1"));
    assert!(limiter.set_rate(8192, 1).unwrap_err().to_string().contains("no flow 8192"));
    assert!(RateLimiter::new(&RateLimiterParams { slot: Duration::ZERO, ..params() }).is_err());
}

#[test]
fn garbage_is_survived() {
    let mut limiter = RateLimiter::new(&params()).unwrap();
    limiter.set_rate(1, 1_000_000).unwrap();
    Rig::with_gates(limiter, 1, 1).survives_garbage(1, &frame(1), 19);
}
