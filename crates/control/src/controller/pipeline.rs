//! What `tidegate.v1` asks: pipelines as a whole, layouts, counters and services.

use super::{ClassMove, ClassSpec, CommandCall, Connection, ModuleSpec, Outcome, PortSpec, WorkerSpec};
use crate::proto::v1::{PipelineSpec, ReplacePipelineResponse, ShowMetadataResponse, WatchResponse};

/// A whole pipeline. Every name is given and stands once; connections, places and tasks name only what is
/// in the plan, and no output gate leads to two places.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PipelinePlan {
    /// Workers.
    pub workers: Vec<WorkerSpec>,
    /// Ports.
    pub ports: Vec<PortSpec>,
    /// Modules.
    pub modules: Vec<ModuleSpec>,
    /// Connections.
    pub connections: Vec<Connection>,
    /// Classes, parents before children.
    pub classes: Vec<ClassSpec>,
    /// Tasks that are placed.
    pub tasks: Vec<ClassMove>,
    /// What modules are told, each in this order, before packets come to them.
    pub commands: Vec<CommandCall>,
}

/// Kinds of counters to tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Kinds {
    /// Of gates.
    pub gates: bool,
    /// Of modules.
    pub modules: bool,
    /// Of traffic classes.
    pub classes: bool,
    /// Of ports.
    pub ports: bool,
}

impl Kinds {
    /// All kinds.
    pub const ALL: Kinds = Kinds { gates: true, modules: true, classes: true, ports: true };
}

/// What is asked of the pipeline as a whole.
pub trait Pipelines {
    /// Puts `plan` in the place of what runs: all of it or, on a [`Fault`](crate::Fault), nothing. With
    /// `check_only` it says what would change, and nothing does.
    fn replace_pipeline(&mut self, plan: PipelinePlan, check_only: bool) -> Outcome<ReplacePipelineResponse>;

    /// What runs, in the form in which it can be put back: with all that modules were told, or without.
    fn pipeline(&mut self, with_commands: bool) -> Outcome<PipelineSpec>;

    /// Where attributes lie, of all modules; which are told is the caller's choice.
    fn metadata(&mut self) -> Outcome<ShowMetadataResponse>;

    /// Counters of these kinds at this moment.
    fn counters(&mut self, kinds: Kinds) -> Outcome<WatchResponse>;
}
