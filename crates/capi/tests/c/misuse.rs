//! Calls as they should not be, and most calls as they should, under valgrind.

use crate::installed::{Installed, run};
use std::process::Command;

#[test]
fn misuse_is_an_error_and_memory_stays_whole() {
    let installed = Installed::new();
    let program = installed.compile(include_str!("misuse.c"), &["-Wno-nonnull"]);
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--quiet", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite"]);
    run(valgrind.arg(program).env("LD_LIBRARY_PATH", installed.lib()));
}
