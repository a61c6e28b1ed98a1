//! Whatever arrives, invariants hold and the connection ends: the fuzz target's driver over seeded
//! random bytes, so that every test run exercises it. `FUZZ_SEED=N` runs one seed.

mod driver;

use tidegate_base::Rng;

const SEED_COUNT: u64 = 30_000;

fn bytes(seed: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    let len = 20 + rng.below(1500) as usize;
    (0..len).map(|_| rng.next_u32() as u8).collect()
}

#[test]
fn any_segments_leave_the_invariants_intact() {
    let only: Option<u64> = std::env::var("FUZZ_SEED").ok().and_then(|seed| seed.parse().ok());
    for seed in only.map_or(0..SEED_COUNT, |seed| seed..seed + 1) {
        let result = std::panic::catch_unwind(|| driver::drive(&bytes(seed)));
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
