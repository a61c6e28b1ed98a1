//! Two hosts and a network that does everything a network may do, from a seed.
//!
//! Whatever the faults, each stream arrives whole and in order, and each connection ends. A failure
//! prints its scenario and seed; run just that one, with a trace of its segments, by
//!
//! ```text
//! SIMULATION_SEED=N cargo test -p tidegate-tcp --test simulation SCENARIO -- --nocapture
//! ```
//!
//! `SIMULATION_COUNT=N` runs that many seeds a scenario instead of the usual number.

mod host;
mod network;
mod pace;
mod scenario;
mod world;

use scenario::Scenario;
use std::panic::AssertUnwindSafe;
use world::World;

/// Seeds a scenario: enough to find what is common, quick enough to run every time.
const SEED_COUNT: u64 = 200;

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Runs a scenario over its seeds.
fn run(name: &str, prepare: fn(&mut Scenario)) {
    let only = variable("SIMULATION_SEED");
    let count = variable("SIMULATION_COUNT").unwrap_or(SEED_COUNT);
    let seeds = only.map_or(0..count, |seed| seed..seed + 1);
    for seed in seeds {
        let mut scenario = Scenario::new(seed);
        scenario.trace = only.is_some();
        prepare(&mut scenario);
        let result = std::panic::catch_unwind(AssertUnwindSafe(|| World::new(scenario).run()));
        if let Err(panic) = result {
            eprintln!("scenario {name} failed with SIMULATION_SEED={seed}");
            std::panic::resume_unwind(panic);
        }
    }
}

macro_rules! scenarios {
    ($($(#[doc = $doc:literal])* $name:ident: $prepare:expr;)+) => {
        $($(#[doc = $doc])* #[test] fn $name() { run(stringify!($name), $prepare); })+
    };
}

scenarios! {
    perfect_network: |s| s.limit_repeats(1.0);
    one_in_a_hundred_lost: |s| { s.network.loss = 0.01; s.limit_repeats(1.1); };
    one_in_ten_lost: |s| { s.network.loss = 0.1; s.limit_repeats(1.25); };
    one_in_three_lost: |s| { s.network.loss = 0.33; s.be_patient(); s.shrink_streams(20_000); };
    reordered: |s| { s.network.reorder = 0.2; s.limit_repeats(1.5); };
    duplicated: |s| s.network.duplicate = 0.2;
    corrupted: |s| s.network.corrupt = 0.05;
    delayed_and_jittered: |s| s.network.jitter_us = 50_000;
    delay_spikes: |s| s.network.spike = 0.01;
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
    tiny_windows_with_loss: |s| {
        s.each_host(|h| h.config.receive_window = 2000);
        s.network.loss = 0.05;
        s.shrink_streams(30_000);
    };
    tiny_segments: |s| { s.each_host(|h| h.config.mss = 64); s.network.loss = 0.02; s.shrink_streams(30_000); };
    stretched_acknowledgements: |s| { s.network.batch_us = 10_000; s.network.ack_loss = 0.5; };
    slow_reader: |s| { s.slow_readers(); s.shrink_streams(60_000); };
    slow_reader_with_loss: |s| { s.slow_readers(); s.network.loss = 0.05; s.shrink_streams(60_000); };
    without_options: |s| {
        s.network.loss = 0.03;
        s.network.reorder = 0.02;
        s.each_host(|h| {
            h.config.sack = false;
            h.config.timestamps = false;
            h.config.window_scaling = false;
        });
    };
    options_of_one_side_only: |s| { s.network.loss = 0.03; s.random_options(); };
    new_reno: |s| {
        s.network.loss = 0.02;
        s.each_host(|h| h.config.congestion = tidegate_tcp::congestion::NEW_RENO);
    };
    congestion_marks: |s| { s.network.mark = 0.05; s.network.loss = 0.01; };
    nagle: |s| { s.network.loss = 0.02; s.each_host(|h| { h.config.nagle = true; h.burst = 300; }); };
    simultaneous_open: |s| { s.simultaneous_open = true; s.network.loss = 0.05; };
    simultaneous_close: |s| { s.simultaneous_close(); s.network.loss = 0.05; };
    half_close: |s| { s.half_close(); s.network.loss = 0.05; };
    blind_resets: |s| { s.network.loss = 0.01; s.attack.blind_reset = true; };
    resets_in_the_window: |s| { s.network.loss = 0.01; s.attack.reset_in_window = true; };
    syns_and_data_injected: |s| { s.network.loss = 0.01; s.attack.inject = true; };
    icmp_lies: |s| { s.network.loss = 0.01; s.attack.icmp_lies = true; };
    syn_flood_with_cookies: |s| { s.network.loss = 0.05; s.answer_by_cookies(); s.attack.syn_flood = true; };
    path_shrinks: |s| { s.network.loss = 0.01; s.network.path_mss = Some(900); };
    black_hole: |s| { s.network.path_mss = Some(1100); s.network.is_black_hole = true; s.shrink_streams(60_000); };
    peer_vanishes: |s| s.vanish();
    sequence_numbers_wrap: |s| { s.network.loss = 0.02; s.wrap_soon(); };
}
