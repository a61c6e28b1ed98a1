//! A client in Python that knows nothing but the interface's facts calls every method over TCP.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fake::{Daemon, Fake};

/// What the calls of `every_method.py` came to.
const CALLS: &str = include_str!("calls.txt");

/// An interpreter that has grpcio: the first on the PATH, or the system's, for which apt installs it.
fn python() -> &'static str {
    let has_grpc = |python: &&str| {
        let imported = Command::new(python).args(["-c", "import grpc, google.protobuf"]).output();
        imported.is_ok_and(|output| output.status.success())
    };
    let found = ["python3", "/usr/bin/python3"].into_iter().find(has_grpc);
    found.expect("no Python with grpcio: run `scripts/deps test`")
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wire")
}

#[test]
fn a_client_made_from_the_facts_alone_calls_every_method() {
    let daemon = Daemon::start(Fake::default());
    let output = Command::new(python())
        .args(["-B", "every_method.py", &daemon.tcp])
        .current_dir(folder())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let recorded = daemon.shutdown();
    let expected: Vec<&str> = CALLS.lines().filter(|line| !line.starts_with('#')).collect();
    for (recorded, expected) in recorded.iter().zip(&expected) {
        assert_eq!(recorded, expected);
    }
    assert_eq!(recorded.len(), expected.len(), "{recorded:#?}");
}
