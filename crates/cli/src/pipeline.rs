//! Pipelines from `.tg` files: checked, run here, or put into a daemon that runs.
//!
//! A file is checked by the code that would run it: a daemon in this process, which is asked what would change and
//! changes nothing.

use crate::args::{CheckArgs, RunArgs};
use crate::client::reach;
use crate::exit::wrong_input;
use crate::{daemon, say, serve};
use anyhow::Result;
use std::path::Path;
use tidegate_control::proto::v1::{ReplacePipelineRequest, ReplacePipelineResponse};
use tidegate_control::{Client, ClientError, replace_pipeline};
use tidegate_daemon::Daemon;
use tidegate_script::Script;

/// What the name of a file of a pipeline ends in.
const EXTENSION: &str = "tg";

/// The pipeline in a file, with all that it includes.
pub(crate) fn read(file: &Path) -> Result<Script> {
    let path = file.to_string_lossy();
    let text = std::fs::read_to_string(file);
    let text = text.map_err(|error| wrong_input(format!("could not read {path}: {error}")))?;
    let script = Script::parse(&path, &text, &mut |path| std::fs::read_to_string(path));
    script.map_err(|mistakes| wrong_input(mistakes.to_string()))
}

/// Says that a file is right, or what is wrong with it.
pub(crate) fn check(args: &CheckArgs) -> Result<String> {
    let address = args.daemon.address();
    if args.file.extension().is_none_or(|extension| extension != EXTENSION) {
        return match address {
            None => serve::check(&args.file),
            Some(_) => Err(wrong_input(format!(
                "{}: a daemon is asked about a pipeline, whose file ends in .tg: leave --daemon and --address out",
                args.file.display()
            ))),
        };
    }
    let script = read(&args.file)?;
    let notes = noted(&check_here(&script)?);
    let known = format!(
        "{}: right: {} modules, {} connections, {} ports",
        args.file.display(),
        script.pipeline.modules.len(),
        script.pipeline.connections.len(),
        script.pipeline.ports.len()
    );
    match address {
        None => Ok(known + &notes),
        Some(address) => {
            let asked = put(&script, &mut reach(&address)?, true)?;
            Ok(format!("{known}\nin the daemon at {address}: {}", changes(&asked)))
        }
    }
}

/// Runs a pipeline here until a signal or a controller ends it, or puts it in the place of what a daemon runs.
pub(crate) fn run(args: &RunArgs) -> Result<()> {
    let script = read(&args.file)?;
    if let Some(address) = args.address() {
        let change = put(&script, &mut reach(&address)?, false)?;
        return say(&format!(
            "{} runs in the daemon at {address}: {}",
            args.file.display(),
            changes(&change)
        ));
    }
    let title = format!("tidegate run {}", args.file.display());
    daemon::keep(&args.here, &title, |daemon| {
        let pipeline = Some(script.pipeline.clone());
        let request = ReplacePipelineRequest { pipeline, check_only: false };
        let outcome = replace_pipeline(daemon, request);
        outcome.map(drop).map_err(|fault| wrong_input(script.refused(&fault.text).to_string()))
    })
}

/// Asks a daemon of our own, which runs nothing, whether it could run this.
fn check_here(script: &Script) -> Result<ReplacePipelineResponse> {
    let request = ReplacePipelineRequest { pipeline: Some(script.pipeline.clone()), check_only: true };
    let outcome = replace_pipeline(&mut Daemon::new(|| {}), request);
    outcome.map_err(|fault| wrong_input(script.refused(&fault.text).to_string()))
}

fn put(script: &Script, client: &mut Client, check_only: bool) -> Result<ReplacePipelineResponse> {
    client.replace_pipeline(script.pipeline.clone(), check_only).map_err(|error| match error {
        ClientError::Status(_) => wrong_input(script.refused(&error.to_string()).to_string()),
        other => other.into(),
    })
}

/// In one line what a change is made of.
fn changes(change: &ReplacePipelineResponse) -> String {
    let parts = [("new", &change.created), ("as it was", &change.kept), ("gone", &change.removed)];
    let parts = parts.iter().filter(|(_, names)| !names.is_empty());
    let parts: Vec<String> = parts.map(|(what, names)| format!("{what}: {}", names.join(" "))).collect();
    let said = if parts.is_empty() { "it is empty, as it was".to_owned() } else { parts.join("; ") };
    said + &noted(change)
}

/// What is odd and done all the same, a line each.
fn noted(change: &ReplacePipelineResponse) -> String {
    change.notes.iter().map(|note| format!("\nnote: {note}")).collect()
}
