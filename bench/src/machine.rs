//! The facts of the machine that a result belongs to.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

/// What a reader of a result must know to judge it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Machine {
    /// The processor, as it names itself.
    pub(crate) processor: String,
    /// How many of them.
    pub(crate) processor_count: usize,
    /// Whether there is a hypervisor beneath.
    pub(crate) virtual_machine: bool,
    /// Memory in GiB.
    pub(crate) memory_gib: u64,
    /// The kernel's release.
    pub(crate) kernel: String,
    /// What guards against speculation, from the kernel's command line.
    pub(crate) mitigations: String,
    /// Programs and their versions.
    pub(crate) versions: Vec<(String, String)>,
}

impl Machine {
    /// Asks the kernel, and each of `programs` (name, path, flag) for its version.
    pub(crate) fn describe(programs: &[(&str, &Path, &str)]) -> Machine {
        let cpuinfo = read("/proc/cpuinfo");
        let field = |name: &'static str| cpuinfo.lines().filter(move |line| line.starts_with(name));
        let processor = field("model name").next().and_then(|line| line.split(": ").nth(1));
        let mitigations = read("/proc/cmdline");
        let mitigations = mitigations.split_whitespace().find_map(|word| word.strip_prefix("mitigations="));
        Machine {
            processor: processor.unwrap_or("unknown").trim().to_owned(),
            processor_count: field("processor").count(),
            virtual_machine: field("flags").any(|line| line.contains(" hypervisor")),
            memory_gib: memory_kib() >> 20,
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            mitigations: mitigations.unwrap_or("auto").to_owned(),
            versions: programs
                .iter()
                .map(|(name, path, flag)| (name.to_string(), version(path, flag)))
                .collect(),
        }
    }

    /// Whether it is this machine, whatever programs are on it.
    pub(crate) fn is_same(&self, other: &Machine) -> bool {
        let facts =
            |machine: &Machine| (machine.processor.clone(), machine.processor_count, machine.kernel.clone());
        facts(self) == facts(other)
    }

    /// Names the programs of both, those of `other` in its versions.
    pub(crate) fn join(&mut self, other: Machine) {
        self.versions.retain(|(name, _)| !other.versions.iter().any(|(theirs, _)| theirs == name));
        self.versions.extend(other.versions);
    }

    /// One line for below a table.
    pub(crate) fn line(&self) -> String {
        let Machine { processor, processor_count, memory_gib, kernel, .. } = self;
        let kind = if self.virtual_machine { "virtual machine" } else { "machine" };
        let versions: Vec<String> =
            self.versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
        let versions = if versions.is_empty() { String::new() } else { format!("; {}", versions.join(", ")) };
        format!("{kind}, {processor_count} x {processor}, {memory_gib} GiB, Linux {kernel}{versions}")
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn memory_kib() -> u64 {
    let meminfo = read("/proc/meminfo");
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    total.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// The first word with a digit and a dot that the program says when asked for its version.
fn version(program: &Path, flag: &str) -> String {
    let Ok(output) = Command::new(program).arg(flag).output() else { return "absent".into() };
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let words = said.split(|c: char| c.is_whitespace() || c == '/');
    let mut versions =
        words.filter(|word| word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit()));
    versions.next().unwrap_or("unknown").to_owned()
}
