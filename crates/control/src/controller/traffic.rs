//! Traffic classes: the trees by which workers share their time.

use super::Outcome;
use crate::proto::bess::check_scheduling_constraints_response::{ViolatingClass, ViolatingModule};
use crate::proto::bess::{GetTcStatsResponse, list_tcs_response::TrafficClassStatus};

/// What is shared or limited.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Resource {
    /// Times scheduled.
    Count,
    /// Processor cycles.
    Cycle,
    /// Packets.
    Packet,
    /// Bits of packets.
    Bit,
}

/// How a class chooses among its children.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// The first that has something to do, by priority.
    Priority,
    /// In proportion to their shares of a resource.
    WeightedFair(Resource),
    /// In turn.
    RoundRobin,
    /// One child, no faster than a token bucket lets it.
    RateLimit {
        /// What is limited.
        resource: Resource,
        /// Units a second; `None` for no limit.
        limit: Option<u64>,
        /// Units that may be saved up.
        max_burst: u64,
    },
}

/// What a class or task hangs below.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Above {
    /// A class.
    Class(String),
    /// Nothing: the root of a worker's tree. Where there is one already, it and the new one become
    /// children of a round robin class.
    Worker(u8),
    /// The same of a worker that the daemon chooses.
    AnyWorker,
}

/// A place among siblings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
    /// Below a priority class: 0 comes first, no two are the same.
    Priority(u32),
    /// Below a weighted fair class: at least 1.
    Share(u32),
}

/// A place in the trees.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// What is above it.
    pub above: Above,
    /// Its place among siblings, where the class above asks for one.
    pub slot: Option<Slot>,
}

/// A class to add.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClassSpec {
    /// Its name.
    pub name: String,
    /// How it chooses among its children.
    pub policy: Policy,
    /// Where it goes.
    pub place: Place,
}

/// A class, or the leaf that a module's task is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Subject {
    /// The class of that name.
    Class(String),
    /// A task.
    Task {
        /// The module.
        module: String,
        /// Which of its tasks.
        index: u32,
    },
}

/// New parameters of a class. What is not given stays as it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClassChange {
    /// Whose.
    pub subject: Subject,
    /// What is shared or limited.
    pub resource: Option<Resource>,
    /// Units a second; 0 for no limit.
    pub limits: Vec<(Resource, u64)>,
    /// Units that may be saved up.
    pub max_bursts: Vec<(Resource, u64)>,
    /// The place among siblings.
    pub slot: Option<Slot>,
}

/// A class or a task that goes elsewhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClassMove {
    /// Which.
    pub subject: Subject,
    /// Where to.
    pub place: Place,
}

/// What keeps a pipeline from being run as it is placed.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Violations {
    /// Whether it cannot run at all.
    pub fatal: bool,
    /// Classes on cores that their modules do not allow.
    pub classes: Vec<ViolatingClass>,
    /// Modules that more workers run than they allow, or none.
    pub modules: Vec<ViolatingModule>,
    /// What is wrong, each in one line.
    pub texts: Vec<String>,
}

/// What is asked of traffic classes.
pub trait TrafficClasses {
    /// Removes all classes; tasks become orphans, which the daemon places.
    fn reset_classes(&mut self) -> Outcome;

    /// Classes of one worker or of all, parents before children.
    fn classes(&mut self, wid: Option<u8>) -> Outcome<Vec<TrafficClassStatus>>;

    /// Whether modules are placed as they allow.
    fn check_constraints(&mut self) -> Outcome<Violations>;

    /// Adds a class; `EEXIST` if there is one of that name.
    fn add_class(&mut self, spec: ClassSpec) -> Outcome;

    /// Changes a class.
    fn change_class(&mut self, change: ClassChange) -> Outcome;

    /// Moves a class or task.
    fn move_class(&mut self, to: ClassMove) -> Outcome;

    /// What a class has used; `error` of the answer is not looked at.
    fn class_usage(&mut self, name: &str) -> Outcome<GetTcStatsResponse>;
}
