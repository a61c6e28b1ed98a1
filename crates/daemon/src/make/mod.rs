//! Modules from the protocol's words: a class's name and its argument become a module, a command's name and its argument
//! a change to one.
//!
//! Invariant: whatever the argument, there is a module or a [`Fault`]; a command that is refused changes nothing.

mod build;
mod command;
mod field;

use crate::plant::ModuleWish;
use tidegate_control::classes::{ModuleClass, ModuleCommand};
use tidegate_control::{Fault, Message};
use tidegate_modules::ParameterError;
use tidegate_pipeline::{Module, PortIndex};

pub(crate) use command::command;

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

/// What there is to say about a class.
struct Trait {
    name: &'static str,
    /// Workers may each have one of it, made alike: what it keeps of frames matters to nobody.
    is_shareable: bool,
    /// It is made anew for each worker that it comes to, because it knows the worker or a port there.
    is_seated: bool,
}

const fn own(name: &'static str) -> Trait {
    Trait { name, is_shareable: false, is_seated: false }
}

const fn shared(name: &'static str) -> Trait {
    Trait { name, is_shareable: true, is_seated: false }
}

const fn seated(name: &'static str, is_shareable: bool) -> Trait {
    Trait { name, is_shareable, is_seated: true }
}

/// The classes that this daemon has.
const CLASSES: &[Trait] = &[
    own("ArpResponder"),
    own("Buffer"),
    shared("Bypass"),
    own("Dump"),
    shared("EtherEncap"),
    shared("GenericDecap"),
    shared("GenericEncap"),
    shared("HashLB"),
    shared("IPChecksum"),
    shared("IPEncap"),
    shared("IPSwap"),
    shared("L4Checksum"),
    shared("MACSwap"),
    shared("MPLSPop"),
    shared("Merge"),
    shared("MetadataTest"),
    own("NoOP"),
    seated("PortInc", false),
    seated("PortOut", false),
    own("Queue"),
    shared("RandomSplit"),
    shared("RandomUpdate"),
    shared("Replicate"),
    shared("Rewrite"),
    shared("RoundRobin"),
    shared("SetMetadata"),
    shared("Sink"),
    own("Source"),
    shared("Split"),
    shared("Timestamp"),
    shared("Update"),
    shared("UpdateTTL"),
    shared("VLANPop"),
    shared("VLANPush"),
    shared("VLANSplit"),
    shared("VXLANDecap"),
    shared("VXLANEncap"),
    seated("WorkerSplit", true),
];

fn trait_of(class: &ModuleClass) -> Option<&'static Trait> {
    CLASSES.iter().find(|known| known.name == class.name)
}

/// Whether there are modules of that class here.
pub(crate) fn is_known(class: &ModuleClass) -> bool {
    trait_of(class).is_some()
}

/// Whether several workers may each have one.
pub(crate) fn is_shareable(class: &ModuleClass) -> bool {
    trait_of(class).is_some_and(|it| it.is_shareable)
}

/// Whether it is made for its worker.
pub(crate) fn is_seated(class: &ModuleClass) -> bool {
    trait_of(class).is_some_and(|it| it.is_seated)
}

/// The port that a module of this argument uses.
pub(crate) fn port_of(arg: &Message) -> Option<String> {
    match arg {
        Message::PortIncArg(arg) => Some(arg.port.clone()),
        Message::PortOutArg(arg) => Some(arg.port.clone()),
        _ => None,
    }
}

/// A module of that class.
pub(crate) fn make(class: &ModuleClass, arg: &Message, seat: Seat) -> Result<Box<dyn Module>, Fault> {
    if !is_known(class) {
        return Err(Fault::unsupported(format!("there are no modules of class {} here yet", class.name)));
    }
    build::build(class, arg.clone(), seat)
}

/// Another module like `wish`, with what it was told since.
pub(crate) fn make_like(wish: &ModuleWish, seat: Seat) -> Result<Box<dyn Module>, Fault> {
    let mut module = make(wish.class, &wish.arg, seat)?;
    for (said, arg) in &wish.said {
        command(wish, module.as_mut(), said, arg.clone())?;
    }
    Ok(module)
}

/// Notes a command that changed a module, and forgets those that it makes void.
pub(crate) fn note(wish: &mut ModuleWish, command: &'static ModuleCommand, arg: &Message) {
    if !is_shareable(wish.class) || command.name.starts_with("get_") {
        return;
    }
    if command.name == "clear" {
        wish.said.retain(|(said, _)| said.name != "add");
    }
    if command.name != "add" {
        wish.said.retain(|(said, _)| said.name != command.name);
    }
    wish.said.push((command, arg.clone()));
}

/// A module's refusal.
fn refused(error: ParameterError) -> Fault {
    Fault::invalid(error.to_string())
}
