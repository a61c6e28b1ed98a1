//! How fast one bulk stream goes over a short path that loses: by the law of its congestion control, not by
//! its timers. The law, at these round trips for CUBIC as well (RFC 9438 section 4.3), is that of the
//! standard algorithm: a mean window of sqrt(3 / 2p) segments where one of 1/p is lost.

use crate::scenario::{CloseWhen, Scenario};
use crate::world::World;
use tidegate_base::{Duration, Rng};

const STREAM_LEN: u64 = 3_000_000;
const SEGMENT_LEN: u64 = 1428;
const SEED_COUNT: u64 = 5;
/// Of the wheel that a stack keeps its timers in.
const TICK: Duration = Duration::from_millis(1);
/// What must be reached of the law: a loss of the one acknowledgement of a flight costs a probe timeout.
const SHARE_MIN: f64 = 0.6;

/// The mean window of a stream, in segments.
fn mean_window(loss: f64, delay_us: u64, seed: u64) -> f64 {
    let mut scenario = Scenario::new(seed);
    scenario.rng = Rng::new(seed);
    scenario.network.loss = loss;
    scenario.network.delay_us = delay_us;
    scenario.each_host(|host| {
        (host.stream_len, host.chunk_len) = (0, SEGMENT_LEN);
        (host.burst, host.burst_every) = (u64::MAX, Duration::ZERO);
        host.config.receive_window = 4_000_000;
        host.close_when = CloseWhen::PeerClosed;
        host.timer_tick = TICK;
    });
    scenario.hosts[1].stream_len = STREAM_LEN;
    scenario.hosts[1].close_when = CloseWhen::Offered;
    let round_trip = Duration::from_micros(2 * delay_us);
    let round_trip_count = World::new(scenario).run().as_secs_f64() / round_trip.as_secs_f64();
    (STREAM_LEN / SEGMENT_LEN) as f64 / round_trip_count
}

#[test]
fn a_stream_keeps_the_window_that_its_losses_allow() {
    for (loss, delay_us) in [(0.01, 50), (0.01, 250), (0.01, 10_000)] {
        let windows: Vec<f64> = (0..SEED_COUNT).map(|seed| mean_window(loss, delay_us, seed)).collect();
        let mean = windows.iter().sum::<f64>() / windows.len() as f64;
        let law = (1.5 / loss).sqrt();
        assert!(mean > SHARE_MIN * law, "loss {loss}, {delay_us} us: {windows:.1?}, by the law {law:.1}");
    }
}
