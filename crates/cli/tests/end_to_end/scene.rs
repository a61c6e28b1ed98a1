//! Namespaces to serve and to ask in.

use std::process::{Command, Output, Stdio};
use tidegate_sys::netlink::Netlink;
use tidegate_sys::netns::Netns;
use tidegate_testbed::{Layout, Testbed};

/// A machine with nothing but `lo`: the embedded default makes its own NIC there.
pub(crate) fn lone_machine() -> Netns {
    Netns::create().expect("a network namespace (run as root)")
}

/// Two machines on one wire: `server0` 10.78.0.2, fd78::2 and `client0` 10.78.0.1, fd78::1.
pub(crate) fn wire() -> Testbed {
    Testbed::new(&Layout::unpinned()).expect("two network namespaces (run as root)")
}

/// Runs a command in `netns` to its end; its output must come with exit status 0.
pub(crate) fn run(netns: &Netns, program: &str, args: &[&str]) -> String {
    let output = output(netns, program, args);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {args:?}: {}\n{text}\n{errors}", output.status);
    text
}

/// The same, whatever the status.
pub(crate) fn output(netns: &Netns, program: &str, args: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null());
    // A child starts in the namespace of the thread that makes it.
    let output = netns.run(|| command.output()).expect("entered");
    output.unwrap_or_else(|error| panic!("{program}: {error} (make deps)"))
}

/// Whether there is a link of that name.
pub(crate) fn has_link(netns: &Netns, name: &str) -> bool {
    let links = Netlink::open_in(netns).and_then(|mut netlink| netlink.links()).expect("links");
    links.iter().any(|link| link.name == name)
}
