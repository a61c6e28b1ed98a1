//! Hooks: what looks at packets as they pass a gate, and what runs before workers go on.

use super::Outcome;
use crate::classes::HookClass;
use crate::proto::bess::GateHookInfo;
use crate::{Kind, Message};

/// Which gates of a module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Those that packets come in by.
    Input,
    /// Those that packets leave by.
    Output,
}

/// A hook and the gates that it is for.
#[derive(Clone, PartialEq, Debug)]
pub struct HookSpec {
    /// Its class.
    pub class: &'static HookClass,
    /// Its name; to be generated, or any, if none is given.
    pub name: Option<String>,
    /// The module; `None` for all.
    pub module: Option<String>,
    /// Input gates or output gates.
    pub direction: Direction,
    /// The gate's number; `None` for all of that direction.
    pub gate: Option<u16>,
}

/// A command for a hook.
#[derive(Clone, PartialEq, Debug)]
pub struct HookCall {
    /// Which hook.
    pub hook: HookSpec,
    /// Which of its class's commands, and the kind of its argument.
    pub command: &'static (&'static str, Kind),
    /// The argument, of that kind.
    pub arg: Message,
}

/// A step that runs before workers go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResumeHook {
    /// Gives metadata attributes their places.
    SetupMetadata,
    /// Finds out which tasks reach which modules.
    SetupTaskgraph,
}

/// What is asked of hooks.
pub trait GateHooks {
    /// Whether this daemon has hooks of that class.
    fn has_hook(&self, class: &'static HookClass) -> bool;

    /// Hooks that are on gates.
    fn hooks(&mut self) -> Outcome<Vec<GateHookInfo>>;

    /// Puts a hook on gates, with the argument of its class, and says its name.
    fn enable_hook(&mut self, hook: HookSpec, arg: Message) -> Outcome<String>;

    /// Takes a hook off gates.
    fn disable_hook(&mut self, hook: HookSpec) -> Outcome;

    /// Runs a command of a hook; its answer, if it has one.
    fn run_hook_command(&mut self, call: HookCall) -> Outcome<Option<Message>>;

    /// Turns a step on or off.
    fn set_resume_hook(&mut self, hook: ResumeHook, enable: bool) -> Outcome;
}
