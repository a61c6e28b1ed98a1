//! Pipelines as a user meets them: files that are run, and a daemon that is looked at and changed, by the command
//! itself and by the programs that read what it writes.
//!
//! Each test has a daemon of its own on a free port of the loopback; no rights are needed.

mod capture;
mod daemon;
mod draw;
mod files;
mod look;
mod mistakes;
mod top;
