//! Segments that a hostile peer could send, between the calls of an owner.
#![no_main]

#[path = "../../crates/tcp/tests/random_segments/driver.rs"]
mod driver;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| driver::drive(bytes));
