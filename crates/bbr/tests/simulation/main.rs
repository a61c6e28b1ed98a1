//! BBR in the simulation of the `tcp` crate, whose files these are: whatever the path does, streams arrive whole and
//! connections end; here with pacing, samples and a window that losses do not move.

#[path = "../../../tcp/tests/simulation/host.rs"]
mod host;
#[path = "../../../tcp/tests/simulation/network.rs"]
mod network;
#[allow(dead_code)] // its other scenarios are those of the crate it belongs to
#[path = "../../../tcp/tests/simulation/scenario.rs"]
mod scenario;
#[path = "../../../tcp/tests/simulation/world.rs"]
mod world;

use scenario::Scenario;
use std::panic::AssertUnwindSafe;
use world::World;

/// Seeds a scenario.
const SEED_COUNT: u64 = 100;

fn run(name: &str, prepare: fn(&mut Scenario)) {
    for seed in 0..SEED_COUNT {
        let mut scenario = Scenario::new(seed);
        scenario.each_host(|host| host.config.congestion = tidegate_bbr::BBR);
        prepare(&mut scenario);
        let result = std::panic::catch_unwind(AssertUnwindSafe(|| World::new(scenario).run()));
        if let Err(panic) = result {
            eprintln!("scenario {name} failed with seed {seed}");
            std::panic::resume_unwind(panic);
        }
    }
}

macro_rules! scenarios {
    ($($name:ident: $prepare:expr;)+) => {
        $(#[test] fn $name() { run(stringify!($name), $prepare); })+
    };
}

scenarios! {
    perfect_network: |s| s.limit_repeats(1.0);
    // A timeout has all of a window sent again, which stays larger here than under CUBIC.
    one_in_ten_lost: |s| { s.network.loss = 0.1; s.limit_repeats(1.5); };
    one_in_three_lost: |s| { s.network.loss = 0.33; s.be_patient(); s.shrink_streams(20_000); };
    reordered: |s| { s.network.reorder = 0.2; s.limit_repeats(1.5); };
    everything_at_once: |s| {
        s.network.loss = 0.03;
        s.network.reorder = 0.05;
        s.network.duplicate = 0.05;
        s.network.corrupt = 0.02;
        s.network.jitter_us = 20_000;
        s.network.spike = 0.002;
    };
    small_queue_in_the_path: |s| s.network.queue_len = 8;
    tiny_windows: |s| { s.each_host(|h| h.config.receive_window = 600); s.shrink_streams(30_000); };
    stretched_acknowledgements: |s| { s.network.batch_us = 10_000; s.network.ack_loss = 0.5; };
    slow_reader_with_loss: |s| { s.slow_readers(); s.network.loss = 0.05; s.shrink_streams(60_000); };
    options_of_one_side_only: |s| { s.network.loss = 0.03; s.random_options(); };
    congestion_marks: |s| { s.network.mark = 0.05; s.network.loss = 0.01; };
    simultaneous_open: |s| { s.simultaneous_open = true; s.network.loss = 0.05; };
    cookies: |s| { s.network.loss = 0.05; s.answer_by_cookies(); };
    path_shrinks: |s| { s.network.loss = 0.01; s.network.path_mss = Some(900); };
    black_hole: |s| { s.network.path_mss = Some(1100); s.network.is_black_hole = true; s.shrink_streams(60_000); };
    peer_vanishes: |s| s.vanish();
    sequence_numbers_wrap: |s| { s.network.loss = 0.02; s.wrap_soon(); };
}
