//! `libtidegate`: TCP in user space for programs in C, in two layers.
//!
//! ```text
//!   frames   tg_stack_new, tg_tcp_input -> status, tg_tcp_output, tg_tcp_close, tg_frame_out     the caller's loop and time
//!   sockets  tg_open, tg_socket, tg_bind, ... tg_read, tg_write, tg_poll, tg_wait, tg_fd         a port, BSD's calls
//! ```
//! A stack and a socket are numbers: one that was closed, or never was, is an error. Every pointer is looked at for NULL, and
//! a panic ends at this border as EIO, after which the stack answers nothing else. Any thread may call; calls on one stack
//! wait for each other. Calls fail as those of libc do: -1 and `errno`.
//!
//! `include/tidegate.h` is made from here (tests/header.rs); docs/man describes each group of calls.

mod abi;
mod address;
mod border;
pub mod frames;
mod info;
mod lease;
pub mod message;
pub mod option;
mod protocols;
pub mod sockets;
pub mod stacks;
pub mod wait;
