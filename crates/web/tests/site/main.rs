//! The whole site over two stacks and a cable, with no network and no kernel: what a client sends,
//! byte for byte, and what it gets.
#![allow(unreachable_pub)]

mod answers;
mod any_bytes;
mod connections;
mod net;
#[path = "../random_requests/pieces.rs"]
mod pieces;
mod splits;
mod tree;
