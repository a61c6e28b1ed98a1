//! Modules, their classes and their commands.

use prost_types::Any;

use super::{Reply, done};
use crate::classes::{self, ModuleClass, ModuleCommand};
use crate::controller::{CommandCall, Connection, ModuleSpec};
use crate::names::{self, quoted};
use crate::proto::bess::{
    CommandRequest, CommandResponse, ConnectModulesRequest, CreateModuleRequest, CreateModuleResponse,
    DestroyModuleRequest, DisconnectModulesRequest, EmptyRequest, GetMclassInfoRequest,
    GetMclassInfoResponse, GetModuleInfoRequest, GetModuleInfoResponse, ListMclassResponse,
    ListModulesResponse,
};
use crate::{Controller, Fault, Message};

pub(crate) fn list_mclass(daemon: &mut dyn Controller, _: EmptyRequest) -> Reply<ListMclassResponse> {
    let offered = classes::MODULES.iter().filter(|class| daemon.has_module_class(class));
    Ok(ListMclassResponse { error: None, names: offered.map(|class| class.name.to_owned()).collect() })
}

pub(crate) fn get_mclass_info(
    daemon: &mut dyn Controller,
    request: GetMclassInfoRequest,
) -> Reply<GetMclassInfoResponse> {
    let class = class(daemon, &request.name)?;
    Ok(GetMclassInfoResponse {
        error: None,
        name: class.name.to_owned(),
        help: class.help.to_owned(),
        cmds: class.commands.iter().map(|command| command.name.to_owned()).collect(),
        cmd_args: class.commands.iter().map(|command| command.arg.name().to_owned()).collect(),
    })
}

pub(crate) fn reset_modules(daemon: &mut dyn Controller, _: EmptyRequest) -> Reply {
    done(daemon.reset_modules())
}

pub(crate) fn list_modules(daemon: &mut dyn Controller, _: EmptyRequest) -> Reply<ListModulesResponse> {
    Ok(ListModulesResponse { error: None, modules: daemon.modules()? })
}

pub(crate) fn create_module(
    daemon: &mut dyn Controller,
    request: CreateModuleRequest,
) -> Reply<CreateModuleResponse> {
    let spec = module_spec(daemon, request)?;
    Ok(CreateModuleResponse { error: None, name: daemon.create_module(spec)? })
}

pub(crate) fn destroy_module(daemon: &mut dyn Controller, request: DestroyModuleRequest) -> Reply {
    done(daemon.destroy_module(&names::required("module", request.name)?))
}

pub(crate) fn get_module_info(
    daemon: &mut dyn Controller,
    request: GetModuleInfoRequest,
) -> Reply<GetModuleInfoResponse> {
    let info = daemon.module_info(&names::required("module", request.name)?)?;
    Ok(GetModuleInfoResponse { error: None, ..info })
}

pub(crate) fn connect_modules(daemon: &mut dyn Controller, request: ConnectModulesRequest) -> Reply {
    let connection = connection(request, |module| daemon.class_of(module))?;
    done(daemon.connect(connection))
}

pub(crate) fn disconnect_modules(daemon: &mut dyn Controller, request: DisconnectModulesRequest) -> Reply {
    let module = names::required("module", request.name)?;
    done(daemon.disconnect(&module, names::gate(request.ogate)?))
}

pub(crate) fn module_command(daemon: &mut dyn Controller, request: CommandRequest) -> Reply<CommandResponse> {
    let module = names::required("module", request.name)?;
    let class = daemon.class_of(&module)?;
    let call = command_call(module, class, &request.cmd, request.arg.as_ref())?;
    let data = daemon.run_command(call)?.as_ref().map(Message::to_any);
    Ok(CommandResponse { error: None, data })
}

pub(super) fn module_spec(
    daemon: &dyn Controller,
    request: CreateModuleRequest,
) -> Result<ModuleSpec, Fault> {
    let class = class(daemon, &request.mclass)?;
    let whose = || format!("module {} of class {}", quoted(&request.name), class.name);
    let arg = Message::decode(class.arg, request.arg.as_ref()).map_err(|fault| fault.of(whose()))?;
    Ok(ModuleSpec { name: names::optional("module", request.name)?, class, arg })
}

/// A connection between modules whose classes `class_of` tells.
pub(super) fn connection(
    request: ConnectModulesRequest,
    class_of: impl Fn(&str) -> Result<&'static ModuleClass, Fault>,
) -> Result<Connection, Fault> {
    let from = names::required("module", request.m1)?;
    let to = names::required("module", request.m2)?;
    let ogate = gate_of("output", &from, request.ogate, class_of(&from)?.gates.outputs)?;
    let igate = gate_of("input", &to, request.igate, class_of(&to)?.gates.inputs)?;
    Ok(Connection { from, ogate, to, igate, default_hooks: !request.skip_default_hooks })
}

fn gate_of(direction: &str, module: &str, gate: u64, count: u16) -> Result<u16, Fault> {
    u16::try_from(gate).ok().filter(|gate| *gate < count).ok_or_else(|| {
        let has = match count {
            0 => "none".to_owned(),
            1 => "gate 0 alone".to_owned(),
            count => format!("gates 0 to {}", count - 1),
        };
        Fault::invalid(format!("module {} has no {direction} gate {gate}: it has {has}", quoted(module)))
    })
}

fn class(daemon: &dyn Controller, name: &str) -> Result<&'static ModuleClass, Fault> {
    let offered = classes::module(name).filter(|class| daemon.has_module_class(class));
    offered.ok_or_else(|| {
        Fault::missing(format!("there is no module class {}: ListMclass names all", quoted(name)))
    })
}

/// A command as the module's class knows it.
pub(super) fn command_call(
    module: String,
    class: &'static ModuleClass,
    name: &str,
    arg: Option<&Any>,
) -> Result<CommandCall, Fault> {
    let command = class.command(name).ok_or_else(|| no_command(&module, class, name))?;
    let whose = || format!("command {name} of module {}", quoted(&module));
    let arg = Message::decode(command.arg, arg).map_err(|fault| fault.of(whose()))?;
    Ok(CommandCall { module, command, arg })
}

fn no_command(module: &str, class: &ModuleClass, name: &str) -> Fault {
    let known: Vec<&str> = class.commands.iter().map(|command: &ModuleCommand| command.name).collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    let module = quoted(module);
    Fault::unsupported(format!("module {module} has no command {}: {} has {known}", quoted(name), class.name))
}
