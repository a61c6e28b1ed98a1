//! Programs in C on the library, installed as `make install` does it, with the kernel's clients at the other end.
#![allow(unreachable_pub)] // a test crate has no outside

mod examples;
mod installed;
mod lease;
mod misuse;
mod packetdrill;
mod pages;
mod symbols;
