//! Changes, one at a time: add, delete, connect, disconnect, pause, resume, reset.

use super::gate::Gate;
use super::reach;
use crate::args::{
    AddArgs, AddThing, ConnectArgs, ConnectGates, DeleteArgs, DeleteThing, DisconnectArgs, PauseArgs,
    ResetArgs, Resettable,
};
use crate::exit::wrong_input;
use crate::say;
use anyhow::Result;
use tidegate_control::proto::bess::{
    AddTcRequest, AddWorkerRequest, ConnectModulesRequest, CreateModuleRequest, CreatePortRequest,
    DestroyModuleRequest, DestroyPortRequest, DestroyWorkerRequest, DisconnectModulesRequest, EmptyRequest,
    PauseWorkerRequest, ReclassArg, ResumeWorkerRequest, TrafficClass,
};
use tidegate_control::proto::v1::PipelineSpec;
use tidegate_control::{Client, Message};
use tidegate_script::{Script, join_words, quote};

/// Adds a thing and says what it is called.
pub(crate) fn add(args: &AddArgs) -> Result<()> {
    let mut parts = match &args.thing {
        AddThing::Module { class, words } | AddThing::Port { driver: class, words } => {
            let (name, words) = named(words);
            let name = name.map(|name| format!("{}::", quote(name))).unwrap_or_default();
            parts(&format!("{name}{}({})", quote(class), join_words(words)))?
        }
        AddThing::Class { policy, name, words } => {
            parts(&format!("{}::{}({})", quote(name), quote(policy), join_words(words)))?
        }
        AddThing::Worker { wid, words } => parts(&format!("worker {wid}({})", join_words(words)))?,
        AddThing::Connection(gates) => return join(&mut reach(&args.address.address)?, gates),
    };
    if let AddThing::Module { words, .. } | AddThing::Port { words, .. } = &args.thing
        && named(words).0.is_none()
    {
        // The daemon knows which names are free.
        parts.modules.iter_mut().for_each(|module| module.name.clear());
        parts.ports.iter_mut().for_each(|port| port.name.clear());
    }
    check_family(&args.thing, &parts)?;
    let mut client = reach(&args.address.address)?;
    let PipelineSpec { workers, ports, modules, classes, .. } = parts;
    modules.into_iter().try_for_each(|it| add_module(&mut client, it))?;
    ports.into_iter().try_for_each(|it| add_port(&mut client, it))?;
    classes.into_iter().try_for_each(|it| add_class(&mut client, it))?;
    workers.into_iter().try_for_each(|it| add_worker(&mut client, it))
}

/// The name, if the first word is one, and the arguments.
fn named(words: &[String]) -> (Option<&str>, &[String]) {
    match words.split_first() {
        Some((first, rest)) if !first.contains('=') => (Some(first), rest),
        _ => (None, words),
    }
}

fn parts(text: &str) -> Result<PipelineSpec> {
    Script::parse_part(text).map_err(|mistakes| wrong_input(mistakes.to_string()))
}

/// A module is not added as a port, nor the other way round.
fn check_family(thing: &AddThing, parts: &PipelineSpec) -> Result<()> {
    match thing {
        AddThing::Module { class, .. } if parts.modules.is_empty() => {
            Err(wrong_input(format!("{class} is no class of modules: see tidegate show mclasses")))
        }
        AddThing::Port { driver, .. } if parts.ports.is_empty() => {
            Err(wrong_input(format!("{driver} is no driver of ports: see tidegate show drivers")))
        }
        AddThing::Class { policy, .. } if parts.classes.is_empty() => Err(wrong_input(format!(
            "{policy} is no policy: write priority, weighted_fair, round_robin or rate_limit"
        ))),
        _ => Ok(()),
    }
}

fn add_module(client: &mut Client, module: CreateModuleRequest) -> Result<()> {
    say(&client.create_module(module)?.name)
}

fn add_port(client: &mut Client, port: CreatePortRequest) -> Result<()> {
    say(&client.create_port(port)?.name)
}

fn add_class(client: &mut Client, class: TrafficClass) -> Result<()> {
    let name = class.name.clone();
    client.add_tc(AddTcRequest { class: Some(class) })?;
    say(&name)
}

fn add_worker(client: &mut Client, worker: AddWorkerRequest) -> Result<()> {
    client.add_worker(worker)?;
    Ok(())
}

/// Deletes a thing.
pub(crate) fn delete(args: &DeleteArgs) -> Result<()> {
    let mut client = reach(&args.address.address)?;
    match &args.thing {
        DeleteThing::Module { name } => {
            client.destroy_module(DestroyModuleRequest { name: name.clone() })?;
        }
        DeleteThing::Port { name } => {
            client.destroy_port(DestroyPortRequest { name: name.clone() })?;
        }
        DeleteThing::Class { name } => delete_class(&mut client, name)?,
        DeleteThing::Worker { wid } => {
            client.destroy_worker(DestroyWorkerRequest { wid: *wid as i64 })?;
        }
        DeleteThing::Connection { from } => part(&mut client, from)?,
    }
    Ok(())
}

/// The protocol has no call for one class: the pipeline without it is put in the place of what runs.
fn delete_class(client: &mut Client, name: &str) -> Result<()> {
    let mut pipeline = client.show_pipeline()?;
    let known = pipeline.classes.len();
    pipeline.classes.retain(|class| class.name != name);
    if pipeline.classes.len() == known {
        return Err(wrong_input(format!("there is no traffic class {name}: see tidegate show classes")));
    }
    if let Some(below) = pipeline.classes.iter().find(|class| class.parent == name) {
        return Err(wrong_input(format!("{} hangs below {name}: delete it first", below.name)));
    }
    pipeline.tasks.retain(|task| task.parent != name);
    client.replace_pipeline(pipeline, false)?;
    Ok(())
}

/// Leads an output gate to an input gate.
pub(crate) fn connect(args: &ConnectArgs) -> Result<()> {
    join(&mut reach(&args.address.address)?, &args.gates)
}

fn join(client: &mut Client, gates: &ConnectGates) -> Result<()> {
    let (m1, ogate) = Gate::output(&gates.from)?;
    let (m2, igate) = Gate::input(&gates.to)?;
    let whole = ConnectModulesRequest { m1, m2, ogate, igate, skip_default_hooks: false };
    if gates.classes.is_empty() {
        client.connect_modules(whole)?;
        return Ok(());
    }
    transform(client, whole, new_classes(&gates.classes)?)
}

/// What `--class` says: `OLD=NEW`, and at most once `NEW` for all others.
fn new_classes(words: &[String]) -> Result<ReclassArg> {
    let mut arg = ReclassArg::default();
    for word in words {
        let is_new = match word.split_once('=') {
            Some((old, new)) => arg.classes.insert(old.to_owned(), new.to_owned()).is_none(),
            None => std::mem::replace(&mut arg.others, word.clone()).is_empty(),
        };
        if !is_new {
            return Err(wrong_input(format!("--class {word}: such packets have a new class already")));
        }
    }
    Ok(arg)
}

/// A transformer edge (docs/specs/scheduler.md).
fn transform(client: &mut Client, edge: ConnectModulesRequest, arg: ReclassArg) -> Result<()> {
    let arg = Some(Message::from(arg).to_any());
    let name = client
        .create_module(CreateModuleRequest { mclass: "Reclass".to_owned(), arg, ..Default::default() })?
        .name;
    let behind = ConnectModulesRequest { m1: name.clone(), ogate: 0, ..edge.clone() };
    let before = ConnectModulesRequest { m2: name.clone(), igate: 0, ..edge };
    // The way on first, so that no packet comes to a queue that leads nowhere.
    let joined = [behind, before].into_iter().try_for_each(|it| client.connect_modules(it).map(drop));
    if let Err(refused) = joined {
        client.destroy_module(DestroyModuleRequest { name })?;
        return Err(refused.into());
    }
    say(&name)
}

/// Takes the connection of an output gate away.
pub(crate) fn disconnect(args: &DisconnectArgs) -> Result<()> {
    part(&mut reach(&args.address.address)?, &args.from)
}

fn part(client: &mut Client, from: &str) -> Result<()> {
    let (name, ogate) = Gate::output(from)?;
    client.disconnect_modules(DisconnectModulesRequest { name, ogate })?;
    Ok(())
}

/// Notes that one worker or all are to pause.
pub(crate) fn pause(args: &PauseArgs) -> Result<()> {
    let mut client = reach(&args.address.address)?;
    match args.worker {
        Some(wid) => client.pause_worker(PauseWorkerRequest { wid: wid as i64 })?,
        None => client.pause_all(EmptyRequest {})?,
    };
    Ok(())
}

/// Takes that back.
pub(crate) fn resume(args: &PauseArgs) -> Result<()> {
    let mut client = reach(&args.address.address)?;
    match args.worker {
        Some(wid) => client.resume_worker(ResumeWorkerRequest { wid: wid as i64 })?,
        None => client.resume_all(EmptyRequest {})?,
    };
    Ok(())
}

/// Takes all of a kind away.
pub(crate) fn reset(args: &ResetArgs) -> Result<()> {
    let mut client = reach(&args.address.address)?;
    match args.what {
        Resettable::All => client.reset_all(EmptyRequest {})?,
        Resettable::Modules => client.reset_modules(EmptyRequest {})?,
        Resettable::Ports => client.reset_ports(EmptyRequest {})?,
        Resettable::Classes => client.reset_tcs(EmptyRequest {})?,
        Resettable::Workers => client.reset_workers(EmptyRequest {})?,
    };
    Ok(())
}
