//! How a class of modules is made and commanded: rows of tables, one table a family.
//!
//! A row is typed: the function that makes a module takes the class's own argument, one that runs a command takes the
//! module and the command's argument. What comes from outside is brought to these types here, in one place.

use super::Seat;
use std::any::Any;
use tidegate_control::{Errno, Fault, Message};
use tidegate_pipeline::Module;

/// A command's answer, if it has one.
pub(super) type Answer = Result<Option<Message>, Fault>;

/// What would bring a fresh module to where another one is: commands by name.
pub(crate) type Retold = Vec<(&'static str, Message)>;

/// Who may have a module of the class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sharing {
    /// One worker: it keeps frames, or what it keeps of them must not be in two places.
    Alone,
    /// Each worker one, made alike.
    Each,
}

/// A class, whatever its types are.
pub(super) trait Class: Sync {
    fn name(&self) -> &'static str;
    fn sharing(&self) -> Sharing;
    /// It is made anew for each worker that it comes to, because it knows the worker or a port there.
    fn is_seated(&self) -> bool;
    fn make(&self, arg: Message, seat: Seat) -> Result<Box<dyn Module>, Fault>;
    fn command(&self, name: &str) -> Option<&'static dyn Command>;
    /// Whether its modules tell what they were told; if not, the daemon remembers it.
    fn tells(&self) -> bool;
    /// What would bring a fresh module to where this one is, if the class tells.
    fn retell(&self, module: &mut dyn Any) -> Option<Retold>;
}

/// A command, whatever its types are.
pub(super) trait Command: Sync {
    fn name(&self) -> &'static str;
    fn run(&self, module: &mut dyn Any, arg: Message) -> Answer;
}

/// A row of a family's table.
pub(super) struct Recipe<M: 'static, A: 'static> {
    name: &'static str,
    sharing: Sharing,
    is_seated: bool,
    make: fn(A, Seat) -> Result<M, Fault>,
    commands: &'static [&'static dyn Command],
    retell: Option<fn(&M) -> Retold>,
}

/// A row: a class of that name, who may have its modules, how one is made, and its commands.
pub(super) const fn row<M, A>(
    name: &'static str,
    sharing: Sharing,
    make: fn(A, Seat) -> Result<M, Fault>,
    commands: &'static [&'static dyn Command],
) -> Recipe<M, A> {
    Recipe { name, sharing, is_seated: false, make, commands, retell: None }
}

impl<M, A> Recipe<M, A> {
    /// The same, made anew for each worker that it comes to.
    pub(super) const fn seated(self) -> Self {
        Self { is_seated: true, ..self }
    }

    /// The same, which tells what it was told.
    pub(super) const fn retold(self, retell: fn(&M) -> Retold) -> Self {
        Self { retell: Some(retell), ..self }
    }
}

impl<M: Module, A: TryFrom<Message, Error = Fault>> Class for Recipe<M, A> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn sharing(&self) -> Sharing {
        self.sharing
    }

    fn is_seated(&self) -> bool {
        self.is_seated
    }

    fn make(&self, arg: Message, seat: Seat) -> Result<Box<dyn Module>, Fault> {
        Ok(Box::new((self.make)(arg.try_into()?, seat)?))
    }

    fn command(&self, name: &str) -> Option<&'static dyn Command> {
        self.commands.iter().copied().find(|command| command.name() == name)
    }

    fn tells(&self) -> bool {
        self.retell.is_some()
    }

    fn retell(&self, module: &mut dyn Any) -> Option<Retold> {
        let module: &mut M = cast(module).ok()?;
        self.retell.map(|retell| retell(module))
    }
}

/// A command's name and what it does.
pub(super) struct On<M: 'static, A: 'static>(pub(super) &'static str, pub(super) fn(&mut M, A) -> Answer);

impl<M: Module, A: TryFrom<Message, Error = Fault>> Command for On<M, A> {
    fn name(&self) -> &'static str {
        self.0
    }

    fn run(&self, module: &mut dyn Any, arg: Message) -> Answer {
        (self.1)(cast(module)?, arg.try_into()?)
    }
}

fn cast<M: Module>(module: &mut dyn Any) -> Result<&mut M, Fault> {
    let kind = || Fault::new(Errno::EIO, "the module is not what its class says, please report it");
    module.downcast_mut().ok_or_else(kind)
}

/// The outcome of a command that has no answer.
pub(super) fn done<E: std::error::Error + 'static>(outcome: Result<(), E>) -> Answer {
    outcome.map(|()| None).map_err(refused)
}

/// A module's refusal, with the errno that fits.
pub(super) fn refused<E: std::error::Error + 'static>(error: E) -> Fault {
    Fault::new(super::errno::of(&error), error.to_string())
}
