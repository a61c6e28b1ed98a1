//! The process, and how it is configured for each part that it plays.

use crate::peer::Kind;
use crate::scene::{APEX, KEY, PATIENCE, SECRET, kdig};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use tidegate_testbed::{Process, ScratchDir, Testbed};

/// A running `tidegate serve`; gone when dropped.
pub(crate) struct Ours {
    process: Process,
    bed: Arc<Testbed>,
    _scratch: ScratchDir,
}

impl Ours {
    /// On the server's end of the cable, with `[dns]` tables of one's own.
    pub(crate) fn start(bed: &Arc<Testbed>, tables: &str) -> Ours {
        let scratch = ScratchDir::new().unwrap();
        let config = format!(
            "{tables}[[dns.listen]]\ndev = \"server0\"\naddress = \"10.78.0.2:53\"\n\
             [[dns.key]]\nname = \"{KEY}\"\nalgorithm = \"hmac-sha256\"\nsecret = \"{SECRET}\"\n"
        );
        let config = scratch.write("tidegate.toml", config).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
        command.args(["serve", "--config"]).arg(config);
        let mut process = bed.server().spawn(command).unwrap();
        process.await_text("serving ", PATIENCE).unwrap();
        Ours { process, bed: Arc::clone(bed), _scratch: scratch }
    }

    /// The version that it serves; `None` if it serves none.
    pub(crate) fn serial(&self) -> Option<u32> {
        let said = kdig(&self.bed, &format!("@10.78.0.2 {APEX} SOA +short +retry=0 +timeout=1"));
        said.split_whitespace().nth(2)?.parse().ok()
    }

    pub(crate) fn said(&self) -> String {
        self.process.said()
    }
}

/// Copies the zone from `kind` into `file`.
pub(crate) fn as_secondary(kind: Kind, file: &Path) -> String {
    format!(
        "[dns]\nallow_transfer = [\"key {KEY}\"]\n[[dns.zone]]\nname = \"{APEX}\"\nfile = \"{}\"\n\
         primaries = [\"{} key {KEY}\"]\n",
        file.display(),
        kind.address()
    )
}

/// Serves `file`, and tells these of every change.
pub(crate) fn as_primary(told: &[Kind], file: &Path) -> String {
    let told: Vec<String> = told.iter().map(|kind| format!("\"{} key {KEY}\"", kind.address())).collect();
    format!(
        "[dns]\nallow_transfer = [\"key {KEY}\"]\nnotify = [{}]\n[[dns.zone]]\nname = \"{APEX}\"\nfile = \"{}\"\n",
        told.join(", "),
        file.display()
    )
}

/// For kdig.
pub(crate) fn signed() -> String {
    format!("-y hmac-sha256:{KEY}:{SECRET}")
}
