//! Which gate leads to which.
//!
//! Invariant: a graph has no cycle, so that one pass in topological order brings every frame as far
//! as it goes.

use crate::metadata::{self, Layout, ModuleView, Place, Relocation, Scene};
use crate::module::{GateCounts, Module};
use std::collections::HashMap;
use thiserror::Error;

/// A module of a graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ModuleId(pub(crate) usize);

/// Why a graph cannot be built so.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum GraphError {
    /// Two modules of one name.
    #[error("there is a module named `{0}` already: give this one another name")]
    NameTaken(String),
    /// A gate number that the module does not have.
    #[error("`{module}` has {count} {direction} gates: there is no gate {gate}")]
    NoSuchGate {
        /// The module's name.
        module: String,
        /// `input` or `output`.
        direction: &'static str,
        /// The number asked for.
        gate: usize,
        /// How many there are.
        count: usize,
    },
    /// An output gate that leads somewhere already.
    #[error("output gate {gate} of `{module}` leads somewhere already: disconnect it first")]
    GateTaken {
        /// The module's name.
        module: String,
        /// The gate's number.
        gate: usize,
    },
    /// A module that the worker does not have.
    #[error("the worker has no module named `{0}` to keep: add it anew")]
    NotThere(String),
    /// Frames could go round for ever.
    #[error("connecting `{from}` to `{to}` would close a loop: frames may not come back to where they were")]
    Loop {
        /// The upstream module's name.
        from: String,
        /// The downstream module's name.
        to: String,
    },
}

/// Where a node's module is.
pub(crate) enum Part {
    /// Here: it is new.
    New(Box<dyn Module>),
    /// In the worker that this graph is for, under the same name.
    Kept,
}

pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) part: Part,
    pub(crate) gates: GateCounts,
    /// Where its attributes are, and how that changes what it keeps; none if that stays.
    pub(crate) places: Option<(Vec<Place>, Relocation)>,
    /// For each output gate up to the last that leads somewhere, the module and input gate it leads to.
    pub(crate) outputs: Vec<Option<(usize, usize)>>,
}

/// Modules by name and the gates that join them.
#[derive(Default)]
pub struct Graph {
    pub(crate) nodes: Vec<Node>,
    by_name: HashMap<String, ModuleId>,
}

impl Graph {
    /// A graph of nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a module under a name of its own.
    pub fn add(&mut self, name: &str, module: Box<dyn Module>) -> Result<ModuleId, GraphError> {
        let gates = module.gates();
        self.add_node(name, Part::New(module), gates)
    }

    /// Adds the module of that name of the worker that this graph is for, with its state and its counters
    /// ([`Worker::replace`](crate::Worker::replace)).
    pub fn keep(&mut self, name: &str, gates: GateCounts) -> Result<ModuleId, GraphError> {
        self.add_node(name, Part::Kept, gates)
    }

    fn add_node(&mut self, name: &str, part: Part, gates: GateCounts) -> Result<ModuleId, GraphError> {
        if self.by_name.contains_key(name) {
            return Err(GraphError::NameTaken(name.into()));
        }
        let id = ModuleId(self.nodes.len());
        self.nodes.push(Node { name: name.into(), part, gates, places: None, outputs: Vec::new() });
        self.by_name.insert(name.into(), id);
        Ok(id)
    }

    /// The module of that name.
    pub fn find(&self, name: &str) -> Option<ModuleId> {
        self.by_name.get(name).copied()
    }

    /// Leads output gate `out` of `from` to input gate `input` of `to`.
    pub fn connect(
        &mut self,
        from: ModuleId,
        out: usize,
        to: ModuleId,
        input: usize,
    ) -> Result<(), GraphError> {
        self.check_gate(from, "output", out)?;
        self.check_gate(to, "input", input)?;
        let name = |id: ModuleId| self.nodes[id.0].name.clone();
        if self.nodes[from.0].outputs.get(out).is_some_and(Option::is_some) {
            return Err(GraphError::GateTaken { module: name(from), gate: out });
        }
        if self.reaches(to.0, from.0) {
            return Err(GraphError::Loop { from: name(from), to: name(to) });
        }
        let outputs = &mut self.nodes[from.0].outputs;
        if outputs.len() <= out {
            outputs.resize(out + 1, None);
        }
        outputs[out] = Some((to.0, input));
        Ok(())
    }

    /// Tells a module where its attributes are, and how to change the frames that it keeps from before.
    pub fn bind(&mut self, id: ModuleId, places: Vec<Place>, relocation: Relocation) {
        self.nodes[id.0].places = Some((places, relocation));
    }

    /// Finds places for the attributes of a graph of new modules only: who keeps modules knows what they declare, and
    /// binds them itself.
    pub fn lay_out(&mut self) -> Layout {
        let next: Vec<Vec<usize>> = self
            .nodes
            .iter()
            .map(|node| node.outputs.iter().flatten().map(|(to, _)| *to).collect())
            .collect();
        let view = |(node, next)| {
            let Node { name, part, .. }: &Node = node;
            let attributes = match part {
                Part::New(module) => module.attributes(),
                Part::Kept => &[],
            };
            ModuleView { name, attributes, next }
        };
        let views: Vec<ModuleView<'_>> =
            self.nodes.iter().zip(next.iter().map(Vec::as_slice)).map(view).collect();
        let layout = metadata::lay_out(&Scene { modules: &views });
        for (number, node) in self.nodes.iter_mut().enumerate() {
            node.places = Some((layout.places(number).to_vec(), Relocation::default()));
        }
        layout
    }

    /// Joins modules in a row, gate 0 to gate 0.
    pub fn chain(&mut self, row: &[ModuleId]) -> Result<(), GraphError> {
        row.windows(2).try_for_each(|pair| self.connect(pair[0], 0, pair[1], 0))
    }

    fn check_gate(&self, id: ModuleId, direction: &'static str, gate: usize) -> Result<(), GraphError> {
        let Node { name, gates, .. } = &self.nodes[id.0];
        let count = if direction == "input" { gates.inputs } else { gates.outputs };
        if gate < count {
            return Ok(());
        }
        Err(GraphError::NoSuchGate { module: name.clone(), direction, gate, count })
    }

    fn reaches(&self, from: usize, to: usize) -> bool {
        let mut seen = vec![false; self.nodes.len()];
        let mut waiting = vec![from];
        while let Some(node) = waiting.pop() {
            if node == to {
                return true;
            }
            if !std::mem::replace(&mut seen[node], true) {
                waiting.extend(self.nodes[node].outputs.iter().flatten().map(|(next, _)| *next));
            }
        }
        false
    }

    /// The modules, upstream before downstream (Kahn's algorithm); ties in the order they were added.
    pub(crate) fn topological_order(&self) -> Vec<usize> {
        let mut waiting = vec![0; self.nodes.len()];
        for (next, _) in self.nodes.iter().flat_map(|n| n.outputs.iter().flatten()) {
            waiting[*next] += 1;
        }
        let mut order: Vec<usize> = (0..self.nodes.len()).filter(|i| waiting[*i] == 0).collect();
        let mut at = 0;
        while let Some(&module) = order.get(at) {
            for (next, _) in self.nodes[module].outputs.iter().flatten() {
                waiting[*next] -= 1;
                if waiting[*next] == 0 {
                    order.push(*next);
                }
            }
            at += 1;
        }
        order
    }
}
