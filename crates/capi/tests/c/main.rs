//! Programs in C on the library, installed as `make install` does it, with the kernel's clients at the other end.
#![allow(unreachable_pub)] // a test crate has no outside

mod beside;
mod examples;
mod install;
mod installed;
mod lease;
mod misuse;
mod muxed;
mod packetdrill;
mod pages;
mod reach;
mod symbols;
