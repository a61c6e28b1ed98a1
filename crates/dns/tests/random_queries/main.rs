//! Whatever is sent for a query, invariants hold: the fuzz target's driver over seeded queries with something
//! wrong, so that every test run exercises it. `FUZZ_SEED=N` runs one seed.
//!
//! And the garbage flood ([`garbage`]): the same in bulk, through everything that lies between a port and an answer.

mod direct;
mod driver;
mod garbage;
mod host;
mod mutate;
mod pieces;

use direct::Direct;
use tidegate_base::Rng;

const SEED_COUNT: u64 = 30_000;

#[test]
fn any_query_leaves_the_invariants_intact() {
    let only: Option<u64> = std::env::var("FUZZ_SEED").ok().and_then(|seed| seed.parse().ok());
    let names = pieces::owners();
    for seed in only.map_or(0..SEED_COUNT, |seed| seed..seed + 1) {
        let message = pieces::message(&mut Rng::new(seed), &names);
        let result = std::panic::catch_unwind(|| driver::drive(&message));
        if let Err(panic) = result {
            eprintln!("failed with FUZZ_SEED={seed}");
            std::panic::resume_unwind(panic);
        }
    }
}

/// What the fuzz target does with an input.
fn drive(server: &mut Direct, input: &[u8]) {
    let queries: Vec<&[u8]> = direct::datagrams(input).collect();
    queries.iter().for_each(|query| driver::drive(query));
    server.drive(&queries);
}

/// A file that libFuzzer wrote, named by `FUZZ_FILE`.
#[test]
fn a_recorded_failure_stays_repaired() {
    if let Some(path) = std::env::var_os("FUZZ_FILE") {
        drive(&mut Direct::new(), &std::fs::read(path).expect("a readable file"));
    }
}

/// What the fuzzer starts from, and what it found.
#[test]
fn the_corpus_is_accepted() {
    let seeds = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/dns_query");
    let paths: Vec<_> = std::fs::read_dir(seeds).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(paths.len() > 5);
    let mut server = Direct::new();
    paths.iter().for_each(|path| drive(&mut server, &std::fs::read(path).unwrap()));
}
