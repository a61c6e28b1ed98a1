//! `tidegate testbed`: two hosts and a cable, made of network namespaces, that stay until they are taken down.

use crate::args::{TestbedAction, TestbedEnd};
use crate::say;
use anyhow::Result;
use std::process::{Command, ExitCode, ExitStatus};
use tidegate_testbed::{Layout, Side, Testbed};

/// Does what was asked; the status of `exec` is that of the command.
pub(crate) fn testbed(action: &TestbedAction) -> Result<ExitCode> {
    match action {
        TestbedAction::Up { name } => up(name)?,
        TestbedAction::Down { name } => Testbed::down(name)?,
        TestbedAction::Exec { name, end, command } => return exec(name, *end, command),
    }
    Ok(ExitCode::SUCCESS)
}

fn up(name: &str) -> Result<()> {
    let bed = Testbed::up(name, &Layout::unpinned())?;
    for (side, end) in [(Side::Client, bed.client()), (Side::Server, bed.server())] {
        say(&format!(
            "{:<6}  {} {} {}: tidegate testbed exec --name {name} {} COMMAND",
            side.name(),
            end.device(),
            end.ipv4(),
            end.ipv6(),
            side.name()
        ))?;
    }
    Ok(())
}

fn exec(name: &str, end: TestbedEnd, command: &[String]) -> Result<ExitCode> {
    let bed = Testbed::named(name, &Layout::unpinned())?;
    let side = match end {
        TestbedEnd::Server => Side::Server,
        TestbedEnd::Client => Side::Client,
    };
    // clap sees to it that there is a command.
    let (program, args) =
        command.split_first().map_or(("true", &[][..]), |(first, rest)| (first.as_str(), rest));
    let mut child = Command::new(program);
    child.args(args);
    Ok(status_of(bed.end(side).status(child)?))
}

/// As a shell tells it: the status, or 128 and the signal.
fn status_of(status: ExitStatus) -> ExitCode {
    use std::os::unix::process::ExitStatusExt;
    let code = status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
