//! Datagrams that anybody could send, and the answers to them out of zones with every case.
#![no_main]

#[path = "../../crates/dns/tests/random_queries/driver.rs"]
mod driver;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| driver::drive(bytes));
