//! What is compared for speed must be right: a few questions, by kdig, whose answers are known.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use tidegate_testbed::{Process, Testbed};

use super::zone::Zone;

/// A question and what must be in its answer.
#[derive(Clone, Debug)]
pub(crate) struct Check {
    pub(crate) name: String,
    pub(crate) kind: &'static str,
    pub(crate) status: &'static str,
    /// Text that some line of the answer's records holds.
    pub(crate) holds: String,
}

/// Waits until `process` answers for the zone with its SOA.
pub(crate) fn await_zone(
    bed: &Testbed,
    process: &mut Process,
    zone: &Zone,
    patience: Duration,
) -> anyhow::Result<()> {
    await_words(bed, process, zone, &["+short"], patience)
}

/// Waits until `process` sends anything back that could be an answer.
pub(crate) fn await_echo(
    bed: &Testbed,
    process: &mut Process,
    zone: &Zone,
    patience: Duration,
) -> anyhow::Result<()> {
    await_words(bed, process, zone, &["+noall", "+header"], patience)
}

fn await_words(
    bed: &Testbed,
    process: &mut Process,
    zone: &Zone,
    how: &[&str],
    patience: Duration,
) -> anyhow::Result<()> {
    let deadline = Instant::now() + patience;
    while Instant::now() < deadline && process.is_running() {
        if !ask(bed, zone.apex(), "SOA", how)?.trim().is_empty() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    bail!("it does not answer for {}; it said:\n{}", zone.apex(), process.said())
}

/// Asks every question of the zone that has a known answer.
pub(crate) fn verify(bed: &Testbed, zone: &Zone) -> anyhow::Result<()> {
    for check in zone.checks() {
        let answer = ask(
            bed,
            &check.name,
            check.kind,
            &["+noall", "+header", "+answer", "+authority", "+additional"],
        )?;
        let Check { name, kind, status, holds } = check;
        ensure!(
            answer.contains(&format!("status: {status};"))
                && records(&answer).any(|line| line.contains(holds)),
            "{name} {kind} was to be {status} with {holds}, and is:\n{answer}"
        );
    }
    Ok(())
}

fn records(answer: &str) -> impl Iterator<Item = &str> {
    answer.lines().filter(|line| !line.starts_with(";;"))
}

/// What kdig prints, which is nothing of use where nobody answers.
fn ask(bed: &Testbed, name: &str, kind: &str, how: &[&str]) -> anyhow::Result<String> {
    let mut command = Command::new("kdig");
    command.arg(format!("@{}", bed.server().ipv4())).args(["+timeout=1", "+retry=0", "+norec"]);
    command.args(["-q", name, "-t", kind]).args(how);
    let output = bed.client().output(command)?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(if output.status.success() { said } else { String::new() })
}
