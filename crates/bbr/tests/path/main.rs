//! What BBR makes of a bottleneck, beside CUBIC: loss that is not congestion, buffers deep and shallow, and another
//! flow of its own kind.

mod world;

use tidegate_base::Duration;
use tidegate_bbr::BBR;
use tidegate_tcp::congestion::{Algorithm, CUBIC};
use world::{Outcome, Path, World};

const WARM_UP: Duration = Duration::from_secs(5);
const SPAN: Duration = Duration::from_secs(20);

/// 20 Mbit/s, 40 ms, a buffer of as much as the path holds.
fn path() -> Path {
    let mut path =
        Path { bits_per_s: 20_000_000, round_trip: Duration::from_millis(40), buffer_len: 0, loss: 0.0 };
    path.buffer_len = path.bdp();
    path
}

fn one_flow(path: Path, algorithm: Algorithm) -> Outcome {
    let outcome = World::new(path, algorithm, &[Duration::ZERO], 7).run(WARM_UP, SPAN);
    eprintln!(
        "{algorithm:?}: loss {:.3}, buffer {:.2} of what the path holds: {:.1} % used, {:.2} round trips queued, {:.2} % overflow",
        path.loss,
        path.buffer_len as f64 / path.bdp() as f64,
        100.0 * outcome.utilisation(),
        outcome.queue,
        outcome.overflow_percent,
    );
    outcome
}

#[test]
fn a_path_without_loss_is_filled() {
    let outcome = one_flow(path(), BBR);
    assert!(outcome.utilisation() > 0.85, "{}", outcome.utilisation());
}

#[test]
fn random_loss_costs_what_was_lost_and_little_more() {
    for loss in [0.01, 0.02, 0.05] {
        let path = Path { loss, ..path() };
        let (bbr, cubic) = (one_flow(path, BBR).utilisation(), one_flow(path, CUBIC).utilisation());
        assert!(bbr > 0.8 && bbr > 3.0 * cubic, "at {loss}: BBR {bbr:.2}, CUBIC {cubic:.2}");
    }
}

#[test]
fn a_deep_buffer_stays_nearly_empty() {
    let path = Path { buffer_len: 8 * path().bdp(), ..path() };
    let (bbr, cubic) = (one_flow(path, BBR), one_flow(path, CUBIC));
    assert!(bbr.queue < 0.5 && bbr.queue < cubic.queue / 4.0, "BBR {}, CUBIC {}", bbr.queue, cubic.queue);
    assert!(bbr.utilisation() > 0.85, "{}", bbr.utilisation());
}

#[test]
fn a_shallow_buffer_is_enough() {
    let path = Path { buffer_len: path().bdp() / 10, ..path() };
    let (bbr, cubic) = (one_flow(path, BBR), one_flow(path, CUBIC));
    assert!(bbr.utilisation() > 0.8, "BBR {}, CUBIC {}", bbr.utilisation(), cubic.utilisation());
    assert!(bbr.queue < 0.1, "{}", bbr.queue);
}

/// Jain's index of fairness: one if both have the same, a half if one has all.
fn fairness(first: f64, second: f64) -> f64 {
    (first + second).powi(2) / (2.0 * (first * first + second * second))
}

#[test]
fn two_flows_share_alike() {
    for start_ms in [0, 310, 3170, 9770] {
        let starts = [Duration::ZERO, Duration::from_millis(start_ms)];
        let world = World::new(path(), BBR, &starts, start_ms);
        let outcome = world.run(Duration::from_secs(30), Duration::from_secs(60));
        let [first, second] = outcome.shares[..] else { panic!("two flows") };
        eprintln!("shares {first:.2} and {second:.2}, {:.2} round trips queued", outcome.queue);
        assert!(first + second > 0.85 && fairness(first, second) > 0.9, "{first} and {second}");
    }
}
