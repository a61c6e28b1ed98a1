//! Growth and reduction of the window, algorithm by algorithm.
use super::*;

const MSS: u32 = 1000;

fn window(cwnd: u32, ssthresh: u32) -> Window {
    Window { cwnd: cwnd * MSS, ssthresh: ssthresh * MSS, mss: MSS }
}

/// Acknowledges one window of data, segment by segment.
fn round_trip(cc: &mut dyn Congestion, window: &mut Window, now: Instant) {
    for _ in 0..window.cwnd / MSS {
        cc.on_ack(window, &AckSample { now, acked: MSS, rtt: Duration::from_millis(100) });
    }
}

#[test]
fn slow_start_doubles_in_a_round_trip() {
    for algorithm in [NEW_RENO, CUBIC] {
        let mut window = window(10, 1000);
        round_trip(&mut *(algorithm.start)(), &mut window, Instant::ZERO);
        assert_eq!(window.cwnd, 20 * MSS);
    }
}

#[test]
fn new_reno_adds_a_segment_a_round_trip() {
    let mut window = window(20, 10);
    let mut cc = NewReno::default();
    for n in 1..=5 {
        round_trip(&mut cc, &mut window, Instant::ZERO);
        assert_eq!(window.cwnd, (20 + n) * MSS);
    }
}

#[test]
fn new_reno_halves_the_flight() {
    let mut window = window(20, 100);
    NewReno::default().on_congestion(&mut window, Instant::ZERO, 16 * MSS);
    assert_eq!(window.ssthresh, 8 * MSS);
    NewReno::default().on_congestion(&mut window, Instant::ZERO, MSS);
    assert_eq!(window.ssthresh, 2 * MSS);
}

#[test]
fn cubic_returns_to_its_maximum_after_k_seconds() {
    let mut window = window(400, 1000);
    let mut cc = Cubic::default();
    cc.on_congestion(&mut window, Instant::ZERO, 400 * MSS);
    assert_eq!(window.ssthresh, 280 * MSS);
    window.cwnd = window.ssthresh;
    // K = cbrt(120 / 0.4) = 6.7 s.
    let mut at_k = 0;
    for tenth in 0..100 {
        round_trip(&mut cc, &mut window, Instant::from_millis(tenth * 100));
        if tenth == 67 {
            at_k = window.cwnd / MSS;
        }
    }
    assert!((390..=402).contains(&at_k), "{at_k}");
    assert!(window.cwnd > 410 * MSS, "grows past the old maximum: {}", window.cwnd);
}

#[test]
fn cubic_is_no_slower_than_reno_in_small_windows() {
    let mut window = window(10, 100);
    let mut cc = Cubic::default();
    cc.on_congestion(&mut window, Instant::ZERO, 10 * MSS);
    window.cwnd = window.ssthresh;
    for n in 0..20 {
        round_trip(&mut cc, &mut window, Instant::from_millis(n * 10));
    }
    // Twenty round trips of ALPHA = 0.53 segments, and faster above the old maximum.
    assert!(window.cwnd >= 15 * MSS, "{}", window.cwnd);
}

#[test]
fn cubic_gives_way_when_it_lost_again_below_its_maximum() {
    let mut window = window(100, 1000);
    let mut cc = Cubic::default();
    cc.on_congestion(&mut window, Instant::ZERO, 100 * MSS);
    window.cwnd = 80 * MSS;
    cc.on_congestion(&mut window, Instant::ZERO, 80 * MSS);
    window.cwnd = window.ssthresh;
    assert_eq!(window.ssthresh, 56 * MSS);
    for n in 0..25 {
        round_trip(&mut cc, &mut window, Instant::from_millis(n * 100));
    }
    // Fast convergence put the plateau at 80 * 0.85 = 68, not at 100.
    assert!((60..=76).contains(&(window.cwnd / MSS)), "{}", window.cwnd / MSS);
}

#[test]
fn algorithms_are_found_by_name() {
    assert_eq!(by_name("cubic").map(|a| a.name), Some("cubic"));
    assert_eq!(by_name("newreno").map(|a| a.name), Some("newreno"));
    assert!(by_name("vegas").is_none());
}
