//! Whole pipelines: a specification checked as one, so that what the daemon is handed fits together.

use std::collections::{HashMap, HashSet};

use super::modules::{command_call, connection, module_spec};
use super::ports::port_spec;
use super::traffic::{class_move, class_spec};
use super::workers::worker_spec;
use crate::classes::ModuleClass;
use crate::controller::{Above, ClassMove, CommandCall, Connection, Kinds, PipelinePlan, Place, Subject};
use crate::names::quoted;
use crate::proto::bess::{CommandRequest, ConnectModulesRequest};
use crate::proto::v1::{
    PipelineSpec, ReplacePipelineRequest, ReplacePipelineResponse, ShowMetadataRequest, ShowMetadataResponse,
    ShowPipelineRequest, ShowPipelineResponse, WatchRequest, watch_request::Kind as WatchKind,
};
use crate::{Controller, Errno, Fault};

/// Checks a pipeline and has `daemon` put it in the place of what it runs, as the method of that name does: for a
/// program that is its own controller.
pub fn replace_pipeline(
    daemon: &mut dyn Controller,
    request: ReplacePipelineRequest,
) -> Result<ReplacePipelineResponse, Fault> {
    let spec = request.pipeline.ok_or_else(|| Fault::invalid("no pipeline is given"))?;
    let plan = plan(daemon, spec)?;
    daemon.replace_pipeline(plan, request.check_only)
}

pub(crate) fn show_pipeline(
    daemon: &mut dyn Controller,
    request: ShowPipelineRequest,
) -> Result<ShowPipelineResponse, Fault> {
    Ok(ShowPipelineResponse { pipeline: Some(daemon.pipeline(!request.without_commands)?) })
}

pub(crate) fn show_metadata(
    daemon: &mut dyn Controller,
    request: ShowMetadataRequest,
) -> Result<ShowMetadataResponse, Fault> {
    for name in &request.modules {
        daemon.class_of(name)?;
    }
    let mut layout = daemon.metadata()?;
    if !request.modules.is_empty() {
        layout.modules.retain(|entry| request.modules.contains(&entry.module));
    }
    Ok(layout)
}

/// The kinds that are to be told, of which none means all.
pub(crate) fn kinds(request: &WatchRequest) -> Result<Kinds, Fault> {
    if request.kinds.is_empty() {
        return Ok(Kinds::ALL);
    }
    let mut kinds = Kinds::default();
    for number in &request.kinds {
        match WatchKind::try_from(*number) {
            Ok(WatchKind::Gates) => kinds.gates = true,
            Ok(WatchKind::Modules) => kinds.modules = true,
            Ok(WatchKind::Classes) => kinds.classes = true,
            Ok(WatchKind::Ports) => kinds.ports = true,
            Ok(WatchKind::Unspecified) | Err(_) => {
                return Err(Fault::invalid(format!("{number} is no kind of counters: 1 to 4 are")));
            }
        }
    }
    Ok(kinds)
}

fn plan(daemon: &dyn Controller, spec: PipelineSpec) -> Result<PipelinePlan, Fault> {
    let workers = spec.workers.iter().map(worker_spec).collect::<Result<Vec<_>, _>>()?;
    let ports = collect(spec.ports, |request| port_spec(daemon, request))?;
    let modules = collect(spec.modules, |request| module_spec(daemon, request))?;
    let classes = collect(spec.classes, class_spec)?;
    let tasks = collect(spec.tasks, class_move)?;

    once("worker", workers.iter().map(|worker| worker.wid.to_string()))?;
    once("port", ports.iter().map(|port| port.name.clone().unwrap_or_default()))?;
    once("module", modules.iter().map(|module| module.name.clone().unwrap_or_default()))?;
    let by_name = modules.iter().filter_map(|module| Some((module.name.clone()?, module.class))).collect();
    let connections = connections(spec.connections, &by_name)?;
    let commands = collect(spec.commands, |request| command(request, &by_name))?;

    let plan = PipelinePlan { workers, ports, modules, connections, classes, tasks, commands };
    check_places(&plan, &by_name)?;
    Ok(plan)
}

fn collect<Q, T>(requests: Vec<Q>, check: impl FnMut(Q) -> Result<T, Fault>) -> Result<Vec<T>, Fault> {
    requests.into_iter().map(check).collect()
}

/// Every name is given, and none twice.
fn once(what: &str, names: impl Iterator<Item = String>) -> Result<(), Fault> {
    let mut seen = HashSet::new();
    for name in names {
        if name.is_empty() {
            return Err(Fault::invalid(format!("a {what} of the pipeline has no name: give it one")));
        }
        if let Some(twice) = seen.replace(name) {
            let text = format!("{what} {} stands in the pipeline twice", quoted(&twice));
            return Err(Fault::new(Errno::EEXIST, text));
        }
    }
    Ok(())
}

fn connections(
    requests: Vec<ConnectModulesRequest>,
    modules: &HashMap<String, &'static ModuleClass>,
) -> Result<Vec<Connection>, Fault> {
    let connections = collect(requests, |request| connection(request, |name| class_of(name, modules)))?;
    let mut taken = HashSet::new();
    for Connection { from, ogate, .. } in &connections {
        if !taken.insert((from, ogate)) {
            let text = format!("output gate {ogate} of module {} leads to two places", quoted(from));
            return Err(Fault::new(Errno::EBUSY, text));
        }
    }
    Ok(connections)
}

fn class_of(
    name: &str,
    modules: &HashMap<String, &'static ModuleClass>,
) -> Result<&'static ModuleClass, Fault> {
    let class = modules.get(name).copied();
    class.ok_or_else(|| Fault::missing(format!("module {} is not in the pipeline", quoted(name))))
}

fn command(
    request: CommandRequest,
    modules: &HashMap<String, &'static ModuleClass>,
) -> Result<CommandCall, Fault> {
    let class = class_of(&request.name, modules)?;
    command_call(request.name, class, &request.cmd, request.arg.as_ref())
}

/// Classes and tasks hang below what is in the plan; a class is named before what hangs below it.
fn check_places(plan: &PipelinePlan, modules: &HashMap<String, &'static ModuleClass>) -> Result<(), Fault> {
    let workers: HashSet<u8> = plan.workers.iter().map(|worker| worker.wid).collect();
    let mut known = HashSet::new();
    for class in &plan.classes {
        check_place(&class.place, &known, &workers)?;
        if !known.insert(class.name.as_str()) {
            let text = format!("traffic class {} stands in the pipeline twice", quoted(&class.name));
            return Err(Fault::new(Errno::EEXIST, text));
        }
    }
    plan.tasks.iter().try_for_each(|task| check_task(task, &known, &workers, modules))
}

fn check_task(
    task: &ClassMove,
    classes: &HashSet<&str>,
    workers: &HashSet<u8>,
    modules: &HashMap<String, &'static ModuleClass>,
) -> Result<(), Fault> {
    let Subject::Task { module, .. } = &task.subject else {
        return Err(Fault::invalid("a task of the pipeline names no module: set leaf_module_name"));
    };
    if !modules.contains_key(module) {
        return Err(Fault::missing(format!("module {} is not in the pipeline", quoted(module))));
    }
    check_place(&task.place, classes, workers)
}

fn check_place(place: &Place, classes: &HashSet<&str>, workers: &HashSet<u8>) -> Result<(), Fault> {
    match &place.above {
        Above::Class(parent) if !classes.contains(parent.as_str()) => {
            let parent = quoted(parent);
            Err(Fault::missing(format!("traffic class {parent} must stand before what hangs below it")))
        }
        Above::Worker(wid) if !workers.contains(wid) => {
            Err(Fault::missing(format!("worker {wid} is not in the pipeline")))
        }
        _ => Ok(()),
    }
}
