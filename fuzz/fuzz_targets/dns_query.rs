//! Datagrams that anybody could send, one or several at a time, and the answers to them out of zones with every
//! case: by the engine alone, and by a whole server on a stack.
#![no_main]

#[path = "../../crates/dns/tests/random_queries/direct.rs"]
mod direct;
#[path = "../../crates/dns/tests/random_queries/driver.rs"]
mod driver;
#[path = "../../crates/dns/tests/random_queries/host.rs"]
#[allow(dead_code)] // the garbage flood uses the rest
mod host;

use std::cell::RefCell;

thread_local! {
    static SERVER: RefCell<direct::Direct> = RefCell::new(direct::Direct::new());
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let queries: Vec<&[u8]> = direct::datagrams(input).collect();
    queries.iter().for_each(|query| driver::drive(query));
    SERVER.with_borrow_mut(|server| server.drive(&queries));
});
