//! A graph made ready to run: modules as steps in topological order, each input gate with its queue.

use crate::gate::{GateTraffic, Link, Queue};
use crate::graph::{Graph, GraphError, Node, Part};
use crate::module::Module;
use std::collections::HashMap;
use std::ops::Range;
use tidegate_base::{DropCounters, Duration};

/// A module in its place.
pub(crate) struct Step {
    pub(crate) name: String,
    pub(crate) module: Box<dyn Module>,
    /// The queues of its input gates.
    pub(crate) queues: Range<usize>,
    /// Its output gates, up to the last that leads somewhere.
    pub(crate) links: Vec<Link>,
    pub(crate) drops: DropCounters,
    /// Time spent in it, if the worker has a stopwatch.
    pub(crate) busy: Duration,
}

/// One of a module's tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Task {
    pub(crate) step: usize,
    pub(crate) number: usize,
}

/// All of a worker's steps.
#[derive(Default)]
pub(crate) struct Program {
    pub(crate) steps: Vec<Step>,
    pub(crate) queues: Vec<Queue>,
    /// Every module's tasks, upstream before downstream.
    pub(crate) tasks: Vec<Task>,
    /// Some module asks for room before it emits.
    pub(crate) asks_room: bool,
}

impl Program {
    /// Lays `graph` out. Modules that it keeps come out of `old`, with their counters and hooks; what stays in `old`
    /// then is not needed any more.
    pub(crate) fn compile(graph: Graph, old: &mut Program) -> Result<Self, GraphError> {
        let has = |name: &str| old.steps.iter().any(|step| step.name == name);
        let missing = graph.nodes.iter().find(|node| matches!(node.part, Part::Kept) && !has(&node.name));
        if let Some(node) = missing {
            return Err(GraphError::NotThere(node.name.clone()));
        }
        let order = graph.topological_order();
        let mut place = vec![0; order.len()];
        for (step, &node) in order.iter().enumerate() {
            place[node] = step;
        }
        let used = used_inputs(&graph, &place);
        let mut former = Former::of(old);
        let mut program = Self::default();
        let mut nodes: Vec<Option<Node>> = graph.nodes.into_iter().map(Some).collect();
        let mut wanted = Vec::with_capacity(order.len());
        for &node in &order {
            if let Some(node) = nodes[node].take() {
                wanted.push(program.add_step(node, &used, &mut former));
            }
        }
        for (step, outputs) in wanted.into_iter().enumerate() {
            program.connect(step, &outputs, &place);
        }
        program.asks_room = program.steps.iter().any(|step| step.module.asks_room());
        *old = former.into_rest();
        Ok(program)
    }

    /// Adds a step with its queues; gives back where its output gates shall lead.
    fn add_step(
        &mut self,
        node: Node,
        used: &[Vec<usize>],
        former: &mut Former,
    ) -> Vec<Option<(usize, usize)>> {
        let at = self.steps.len();
        let first = self.queues.len();
        let mut step = match (node.part, former.take(&node.name)) {
            (Part::Kept, Some(kept)) => {
                self.queues.extend(used[at].iter().map(|gate| former.queue(&node.name, *gate, at)));
                kept
            }
            (Part::New(module), replaced) => {
                former.rest.extend(replaced);
                self.queues.extend(used[at].iter().map(|gate| Queue::new(at, *gate)));
                Step::new(node.name, module)
            }
            // `compile` has seen that what is kept is there.
            (Part::Kept, None) => return Vec::new(),
        };
        if let Some((places, relocation)) = &node.places {
            step.module.bind(places);
            if !relocation.is_empty() {
                step.module.relocate(relocation);
            }
        }
        step.queues = first..self.queues.len();
        let tasks = (0..step.module.task_count()).map(|number| Task { step: at, number });
        self.tasks.extend(tasks);
        self.steps.push(step);
        node.outputs
    }

    /// Leads the output gates of `step` where `outputs` says, in the graph's numbers.
    fn connect(&mut self, step: usize, outputs: &[Option<(usize, usize)>], place: &[usize]) {
        let mut links = std::mem::take(&mut self.steps[step].links);
        links.resize_with(outputs.len().max(links.len()), Link::open);
        for (gate, link) in links.iter_mut().enumerate() {
            let to = outputs.get(gate).copied().flatten();
            link.to = to.and_then(|(node, input)| self.queue_of(place[node], input));
        }
        self.steps[step].links = links;
    }

    fn queue_of(&self, step: usize, gate: usize) -> Option<usize> {
        let range = self.steps[step].queues.clone();
        let at = self.queues[range.clone()].iter().position(|queue| queue.gate == gate)?;
        Some(range.start + at)
    }
}

impl Step {
    fn new(name: String, module: Box<dyn Module>) -> Self {
        Self {
            name,
            module,
            queues: 0..0,
            links: Vec::new(),
            drops: DropCounters::new(),
            busy: Duration::ZERO,
        }
    }

    /// What left through all output gates.
    pub(crate) fn emitted(&self) -> GateTraffic {
        self.links.iter().fold(GateTraffic::default(), |sum, link| sum + link.traffic)
    }
}

/// For each step, which of its input gates something leads to, in order.
fn used_inputs(graph: &Graph, place: &[usize]) -> Vec<Vec<usize>> {
    let mut used = vec![Vec::new(); place.len()];
    for (node, gate) in graph.nodes.iter().flat_map(|node| node.outputs.iter().flatten()) {
        used[place[*node]].push(*gate);
    }
    for gates in &mut used {
        gates.sort_unstable();
        gates.dedup();
    }
    used
}

/// The steps that a program is made from, by name.
struct Former {
    steps: HashMap<String, Step>,
    queues: HashMap<(String, usize), Queue>,
    /// Steps that were replaced by a new one of their name.
    rest: Vec<Step>,
}

impl Former {
    fn of(old: &mut Program) -> Self {
        let old = std::mem::take(old);
        let names: Vec<String> = old.steps.iter().map(|step| step.name.clone()).collect();
        let queues = old.queues.into_iter();
        Self {
            queues: queues.map(|queue| ((names[queue.step].clone(), queue.gate), queue)).collect(),
            steps: old.steps.into_iter().map(|step| (step.name.clone(), step)).collect(),
            rest: Vec::new(),
        }
    }

    fn take(&mut self, name: &str) -> Option<Step> {
        self.steps.remove(name)
    }

    /// The queue that the input gate had, or a new one.
    fn queue(&mut self, name: &str, gate: usize, step: usize) -> Queue {
        let mut queue =
            self.queues.remove(&(name.to_owned(), gate)).unwrap_or_else(|| Queue::new(step, gate));
        queue.step = step;
        queue
    }

    fn into_rest(self) -> Program {
        let mut steps = self.rest;
        steps.extend(self.steps.into_values());
        Program { steps, ..Program::default() }
    }
}
