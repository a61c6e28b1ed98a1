//! The arithmetic of RFC 6298.
use super::*;

fn rtt_after(samples_ms: &[u64]) -> Rtt {
    let mut rtt = Rtt::default();
    for ms in samples_ms {
        rtt.sample(Duration::from_millis(*ms));
    }
    rtt
}

#[test]
fn before_any_sample_the_timeout_is_the_initial_one() {
    assert_eq!(Rtt::default().rto(&Config::SERVER, 0), Duration::from_secs(1));
}

#[test]
fn first_sample_gives_three_times_itself() {
    // SRTT = R, RTTVAR = R/2: R + 4 * R/2 = 3R.
    assert_eq!(rtt_after(&[100]).rto(&Config::SERVER, 0), Duration::from_millis(300));
}

#[test]
fn a_steady_round_trip_brings_the_minimum() {
    assert_eq!(rtt_after(&[20; 64]).rto(&Config::SERVER, 0), Config::SERVER.rto_min);
}

#[test]
fn backing_off_doubles_up_to_the_maximum() {
    let rtt = rtt_after(&[100]);
    assert_eq!(rtt.rto(&Config::SERVER, 3), Duration::from_millis(2400));
    assert_eq!(rtt.rto(&Config::SERVER, 200), Config::SERVER.rto_max);
}

#[test]
fn the_estimate_follows_a_change() {
    let mut samples = vec![100; 16];
    samples.extend([500; 64]);
    let smoothed = rtt_after(&samples).smoothed().expect("measured");
    assert!(smoothed > Duration::from_millis(495) && smoothed < Duration::from_millis(505));
    assert_eq!(rtt_after(&samples).min(), Duration::from_millis(100));
}

#[test]
fn extreme_samples_do_not_overflow() {
    let mut rtt = Rtt::default();
    for sample in [Duration::MAX, Duration::ZERO, Duration::MAX, Duration::MAX] {
        rtt.sample(sample);
        assert!(rtt.rto(&Config::SERVER, 255) <= Config::SERVER.rto_max);
    }
}
