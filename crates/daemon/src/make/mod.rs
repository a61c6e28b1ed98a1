//! Modules from the protocol's words: a class's name and its argument become a module, a command's name and its argument
//! a change to one.
//!
//! ```text
//!   recipe.rs   a row of a table: how a class is made and commanded      field.rs   what many arguments hold
//!   basic.rs, ports.rs, header.rs, encap.rs, split.rs, mark.rs, queue.rs, matching.rs, lookup.rs, nat.rs, flow_gen.rs,
//!   filter.rs, bulk.rs, replay.rs, own.rs
//!               a table each                                         expression.rs   names in filters
//! ```
//! Invariant: whatever the argument, there is a module or a [`Fault`]; a command that is refused changes nothing.

mod basic;
mod bulk;
mod encap;
mod errno;
mod expression;
mod field;
mod filter;
mod flow_gen;
mod header;
mod lookup;
mod mark;
mod matching;
mod nat;
mod own;
mod ports;
mod queue;
mod recipe;
mod replay;
mod split;

pub(crate) use recipe::Retold;

use crate::plant::ModuleWish;
use recipe::{Answer, Class, Sharing};
use std::any::Any;
use tidegate_control::classes::{ModuleClass, ModuleCommand};
use tidegate_control::{Errno, Fault, Message};
use tidegate_pipeline::{Module, PortIndex};

/// Where a module will be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seat {
    /// The worker.
    pub(crate) wid: u8,
    /// The module's port there.
    pub(crate) port: PortIndex,
}

impl Seat {
    /// For a module that is only made to see whether it can be.
    pub(crate) const TRIAL: Self = Self { wid: 0, port: PortIndex(0) };
}

/// The classes that this daemon has, by family.
const FAMILIES: &[&[&dyn Class]] = &[
    basic::CLASSES,
    ports::CLASSES,
    header::CLASSES,
    encap::CLASSES,
    split::CLASSES,
    mark::CLASSES,
    queue::CLASSES,
    matching::CLASSES,
    lookup::CLASSES,
    nat::CLASSES,
    flow_gen::CLASSES,
    filter::CLASSES,
    bulk::CLASSES,
    replay::CLASSES,
    own::CLASSES,
];

fn recipe_of(class: &ModuleClass) -> Option<&'static dyn Class> {
    FAMILIES.iter().copied().flatten().copied().find(|recipe| recipe.name() == class.name)
}

/// Whether there are modules of that class here.
pub(crate) fn is_known(class: &ModuleClass) -> bool {
    recipe_of(class).is_some()
}

/// Whether several workers may each have one.
pub(crate) fn is_shareable(class: &ModuleClass) -> bool {
    recipe_of(class).is_some_and(|it| it.sharing() == Sharing::Each)
}

/// Whether it is made for its worker.
pub(crate) fn is_seated(class: &ModuleClass) -> bool {
    recipe_of(class).is_some_and(Class::is_seated)
}

/// The port that a module of this argument uses.
pub(crate) fn port_of(arg: &Message) -> Option<String> {
    match arg {
        Message::PortIncArg(arg) => Some(arg.port.clone()),
        Message::PortOutArg(arg) => Some(arg.port.clone()),
        Message::QueueIncArg(arg) => Some(arg.port.clone()),
        Message::QueueOutArg(arg) => Some(arg.port.clone()),
        _ => None,
    }
}

/// The traffic class that each task of a module of this argument is for, where that is the module's affair.
pub(crate) fn classes_of_tasks(arg: &Message) -> Vec<String> {
    let Message::ReclassArg(arg) = arg else { return Vec::new() };
    queue::reclass_params(arg).new_classes().into_iter().map(str::to_owned).collect()
}

/// All traffic classes that an argument names.
pub(crate) fn classes_named(arg: &Message) -> Vec<String> {
    let old = match arg {
        Message::ReclassArg(arg) => arg.classes.keys().cloned().collect(),
        _ => Vec::new(),
    };
    [old, classes_of_tasks(arg)].concat()
}

/// A module of that class.
pub(crate) fn make(class: &ModuleClass, arg: &Message, seat: Seat) -> Result<Box<dyn Module>, Fault> {
    let missing = || Fault::unsupported(format!("there are no modules of class {} here yet", class.name));
    recipe_of(class).ok_or_else(missing)?.make(arg.clone(), seat)
}

/// Another module like `wish`, that was told the same.
pub(crate) fn make_like(wish: &ModuleWish, told: &Retold, seat: Seat) -> Result<Box<dyn Module>, Fault> {
    let mut module = make(wish.class, &wish.arg, seat)?;
    for (name, arg) in told {
        run(wish.class, module.as_mut(), name, arg.clone())?;
    }
    Ok(module)
}

/// Runs a command on a module.
pub(crate) fn command(
    wish: &ModuleWish,
    module: &mut dyn Module,
    command: &'static ModuleCommand,
    arg: Message,
) -> Answer {
    let own = recipe_of(wish.class).and_then(|recipe| recipe.command(command.name));
    match (own, command.name) {
        (None, "get_initial_arg") => Ok(Some(wish.arg.clone())),
        _ => run(wish.class, module, command.name, arg),
    }
}

fn run(class: &ModuleClass, module: &mut dyn Any, name: &str, arg: Message) -> Answer {
    let command = recipe_of(class).and_then(|recipe| recipe.command(name));
    let missing = || Fault::unsupported(format!("{} has no command {name} here yet", class.name));
    command.ok_or_else(missing)?.run(module, arg)
}

/// What a module was told, as it tells it itself; `None` if the daemon remembers that.
pub(crate) fn retell(class: &ModuleClass, module: &mut dyn Module) -> Option<Retold> {
    recipe_of(class)?.retell(module)
}

/// Notes a command that changed a module, and forgets those that it makes void; the module may tell it itself. False for
/// one that only asks.
pub(crate) fn note(wish: &mut ModuleWish, command: &'static ModuleCommand, arg: &Message) -> bool {
    let Some(recipe) = recipe_of(wish.class).filter(|_| !is_question(command)) else { return false };
    if recipe.tells() {
        return true;
    }
    if command.name == "clear" {
        wish.said.retain(|(said, _)| *said != "add");
    }
    if command.name != "add" {
        wish.said.retain(|(said, _)| *said != command.name);
    }
    wish.said.push((command.name, arg.clone()));
    true
}

/// Whether a command changes nothing.
fn is_question(command: &ModuleCommand) -> bool {
    command.name.starts_with("get_") || command.name == "lookup"
}

/// Where draws by lot start.
fn seed() -> Result<u64, Fault> {
    tidegate_sys::random::u64().map_err(|error| Fault::new(Errno::EIO, error.to_string()))
}
