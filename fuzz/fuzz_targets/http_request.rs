//! Bytes that a client could send for a request, and the plan of its answer.
#![no_main]

#[path = "../../crates/web/tests/random_requests/driver.rs"]
mod driver;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| driver::drive(bytes));
