//! Modules and the gates that join them.

use super::Outcome;
use crate::Message;
use crate::classes::{ModuleClass, ModuleCommand};
use crate::proto::bess::{GetModuleInfoResponse, list_modules_response::Module};

/// A module to make.
#[derive(Clone, PartialEq, Debug)]
pub struct ModuleSpec {
    /// Its name; to be generated if none is given.
    pub name: Option<String>,
    /// Its class.
    pub class: &'static ModuleClass,
    /// The class's argument, of the class's kind.
    pub arg: Message,
}

/// An output gate that leads to an input gate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Connection {
    /// The upstream module.
    pub from: String,
    /// Its output gate, within the limits of its class.
    pub ogate: u16,
    /// The downstream module.
    pub to: String,
    /// Its input gate, within the limits of its class.
    pub igate: u16,
    /// Whether the gate gets the hooks that every gate has, which count packets.
    pub default_hooks: bool,
}

/// A command for a module.
#[derive(Clone, PartialEq, Debug)]
pub struct CommandCall {
    /// The module.
    pub module: String,
    /// Which of its class's commands.
    pub command: &'static ModuleCommand,
    /// The argument, of the command's kind.
    pub arg: Message,
}

/// What is asked of modules. `error` of an answer is not looked at.
pub trait Modules {
    /// Whether this daemon can make modules of that class.
    fn has_module_class(&self, class: &'static ModuleClass) -> bool;

    /// The class of a module; `ENOENT` if there is no such module.
    fn class_of(&self, module: &str) -> Outcome<&'static ModuleClass>;

    /// Removes all modules.
    fn reset_modules(&mut self) -> Outcome;

    /// All modules.
    fn modules(&mut self) -> Outcome<Vec<Module>>;

    /// Makes a module and says its name; `EEXIST` if there is one of that name.
    fn create_module(&mut self, spec: ModuleSpec) -> Outcome<String>;

    /// Removes a module and its connections.
    fn destroy_module(&mut self, name: &str) -> Outcome;

    /// Gates, counters and attributes of a module.
    fn module_info(&mut self, name: &str) -> Outcome<GetModuleInfoResponse>;

    /// Leads a gate to another; `EBUSY` if it leads somewhere already.
    fn connect(&mut self, connection: Connection) -> Outcome;

    /// Takes the connection of an output gate away.
    fn disconnect(&mut self, module: &str, ogate: u16) -> Outcome;

    /// Runs a command; its answer, if it has one.
    fn run_command(&mut self, call: CommandCall) -> Outcome<Option<Message>>;
}
