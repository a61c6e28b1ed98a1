//! Bytes that a client could send over a connection, split anyhow, to a whole site on two stacks.
#![no_main]

#[path = "../../crates/web/tests/site/any_bytes.rs"]
mod any_bytes;
#[path = "../../crates/web/tests/site/browser.rs"]
#[allow(dead_code)] // the site's other tests use the rest
mod browser;
#[path = "../../crates/web/tests/site/net.rs"]
#[allow(dead_code)]
mod net;
#[path = "../../crates/web/tests/site/tree.rs"]
#[allow(dead_code)]
mod tree;

use std::cell::RefCell;

thread_local! {
    static SITE: RefCell<net::Net> = RefCell::new(any_bytes::site());
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    SITE.with_borrow_mut(|site| any_bytes::drive(site, bytes));
});
