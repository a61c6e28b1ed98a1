//! Two hosts on one cable, without a kernel: what a stack does frame by frame.
#![allow(unreachable_pub)] // a test crate has no outside

mod cable;
mod duties;
mod service;
mod traffic;
