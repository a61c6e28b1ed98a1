//! Whatever is sent for a request, invariants hold: the fuzz target's driver over seeded requests with
//! something wrong, so that every test run exercises it. `FUZZ_SEED=N` runs one seed.

mod driver;
mod pieces;

use tidegate_base::Rng;

const SEED_COUNT: u64 = 50_000;

#[test]
fn any_request_leaves_the_invariants_intact() {
    let only: Option<u64> = std::env::var("FUZZ_SEED").ok().and_then(|seed| seed.parse().ok());
    for seed in only.map_or(0..SEED_COUNT, |seed| seed..seed + 1) {
        let result = std::panic::catch_unwind(|| driver::drive(&pieces::stream(&mut Rng::new(seed))));
        if let Err(panic) = result {
            eprintln!("failed with FUZZ_SEED={seed}");
            std::panic::resume_unwind(panic);
        }
    }
}

/// A file that libFuzzer wrote, named by `FUZZ_FILE`.
#[test]
fn a_recorded_failure_stays_repaired() {
    if let Some(path) = std::env::var_os("FUZZ_FILE") {
        driver::drive(&std::fs::read(path).expect("a readable file"));
    }
}
