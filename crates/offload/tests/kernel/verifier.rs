//! What loading costs: the verifier's instructions, which CI prints, and a limit to them.

use std::time::Instant;

use crate::rig::load;

/// The kernel takes a million, a program.
const INSTRUCTIONS_MAX: u32 = 100_000;

#[test]
fn the_verifier_is_soon_through() {
    let start = Instant::now();
    let Some(program) = load() else { return };
    eprintln!("all programs loaded in {:.0} ms", start.elapsed().as_secs_f64() * 1e3);
    for (name, count) in program.verified_instructions().expect("the kernel tells") {
        eprintln!("{name:20} {count:>7} instructions verified");
        assert!(count > 0 && count < INSTRUCTIONS_MAX, "{name}: {count}");
    }
}
