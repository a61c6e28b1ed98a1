//! Gate hooks and resume hooks.

use super::Reply;
use crate::classes::{self, HookClass};
use crate::controller::{Direction, HookCall, HookSpec, ResumeHook};
use crate::names::{self, quoted};
use crate::proto::bess::{
    CommandResponse, ConfigureGateHookRequest, ConfigureGateHookResponse, ConfigureResumeHookRequest,
    EmptyRequest, GateHookCommandRequest, GateHookInfo, GetGateHookClassInfoRequest,
    GetGateHookClassInfoResponse, ListGateHookClassResponse, ListGateHooksResponse, gate_hook_info::Gate,
};
use crate::{Controller, Fault, GATES_MAX, Kind, Message};

pub(crate) fn list_gate_hook_class(
    daemon: &mut dyn Controller,
    _: EmptyRequest,
) -> Reply<ListGateHookClassResponse> {
    let offered = classes::HOOKS.iter().filter(|class| daemon.has_hook(class));
    Ok(ListGateHookClassResponse { error: None, names: offered.map(|class| class.name.to_owned()).collect() })
}

pub(crate) fn get_gate_hook_class_info(
    daemon: &mut dyn Controller,
    request: GetGateHookClassInfoRequest,
) -> Reply<GetGateHookClassInfoResponse> {
    let class = class(daemon, &request.name)?;
    Ok(GetGateHookClassInfoResponse {
        error: None,
        name: class.name.to_owned(),
        help: class.help.to_owned(),
        cmds: class.commands.iter().map(|(name, _)| (*name).to_owned()).collect(),
        cmd_args: class.commands.iter().map(|(_, arg)| arg.name().to_owned()).collect(),
    })
}

pub(crate) fn configure_gate_hook(
    daemon: &mut dyn Controller,
    request: ConfigureGateHookRequest,
) -> Reply<ConfigureGateHookResponse> {
    let (hook, arg) = hook_spec(daemon, request.hook)?;
    if !request.enable {
        let name = hook.name.clone().unwrap_or_default();
        daemon.disable_hook(hook)?;
        return Ok(ConfigureGateHookResponse { error: None, name });
    }
    let arg = Message::decode(hook.class.arg, arg.as_ref())
        .map_err(|fault| fault.of(format!("hook {}", hook.class.name)))?;
    Ok(ConfigureGateHookResponse { error: None, name: daemon.enable_hook(hook, arg)? })
}

pub(crate) fn list_gate_hooks(daemon: &mut dyn Controller, _: EmptyRequest) -> Reply<ListGateHooksResponse> {
    Ok(ListGateHooksResponse { error: None, hooks: daemon.hooks()? })
}

pub(crate) fn gate_hook_command(
    daemon: &mut dyn Controller,
    request: GateHookCommandRequest,
) -> Reply<CommandResponse> {
    let (hook, arg) = hook_spec(daemon, request.hook)?;
    let command = hook.class.commands.iter().find(|(name, _)| *name == request.cmd).ok_or_else(|| {
        Fault::unsupported(format!("hook {} has no command {}", hook.class.name, quoted(&request.cmd)))
    })?;
    let arg = Message::decode(command.1, arg.as_ref())
        .map_err(|fault| fault.of(format!("command {} of hook {}", command.0, hook.class.name)))?;
    let data = daemon.run_hook_command(HookCall { hook, command, arg })?.as_ref().map(Message::to_any);
    Ok(CommandResponse { error: None, data })
}

pub(crate) fn configure_resume_hook(
    daemon: &mut dyn Controller,
    request: ConfigureResumeHookRequest,
) -> Reply<CommandResponse> {
    let hook = match request.hook_name.as_str() {
        "setup_metadata" => ResumeHook::SetupMetadata,
        "setup_taskgraph" => ResumeHook::SetupTaskgraph,
        other => {
            let other = quoted(other);
            let text = format!("there is no resume hook {other}: setup_metadata and setup_taskgraph are all");
            return Err(Fault::missing(text));
        }
    };
    Message::decode(Kind::EmptyArg, request.arg.as_ref())
        .map_err(|fault| fault.of(format!("resume hook {}", request.hook_name)))?;
    daemon.set_resume_hook(hook, request.enable)?;
    Ok(CommandResponse::default())
}

/// The hook that is meant, and its argument, which is not decoded yet.
fn hook_spec(
    daemon: &dyn Controller,
    info: Option<GateHookInfo>,
) -> Result<(HookSpec, Option<prost_types::Any>), Fault> {
    let info = info.ok_or_else(|| Fault::invalid("the request names no hook: set its field `hook`"))?;
    let class = class(daemon, &info.class_name)?;
    let (direction, gate) = match info.gate {
        Some(Gate::Igate(gate)) => (Direction::Input, gate),
        Some(Gate::Ogate(gate)) => (Direction::Output, gate),
        None => {
            let text = format!("hook {}: one of igate and ogate must be given, -1 for all", class.name);
            return Err(Fault::invalid(text));
        }
    };
    let gate = if gate == -1 { None } else { Some(names::below("gate", gate, GATES_MAX)?) };
    let name = names::optional("hook", info.hook_name)?;
    let module = names::optional("module", info.module_name)?;
    Ok((HookSpec { class, name, module, direction, gate }, info.arg))
}

fn class(daemon: &dyn Controller, name: &str) -> Result<&'static HookClass, Fault> {
    let offered = classes::hook(name).filter(|class| daemon.has_hook(class));
    offered.ok_or_else(|| {
        Fault::missing(format!("there is no gate hook {}: ListGateHookClass names all", quoted(name)))
    })
}
