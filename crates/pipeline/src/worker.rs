//! One thread's share of the machine: its pool, its ports, its modules, and the loop that runs them.
//!
//! ```text
//!   round:  commands -> rooms (downstream first) -> each module: waiting batches, then its turn
//!           -> flush ports -> nothing done for a while? sleep until a frame, a deadline or a command
//! ```
//!
//! A worker shares nothing and takes no lock. The control thread reaches it by sending a closure,
//! which runs between two rounds: counters are read and graphs are swapped there, and no worker ever
//! waits for longer than that closure takes.

use crate::context::{Context, Queue};
use crate::graph::{Graph, Node};
use crate::module::Module;
use crate::pace::Pace;
use crate::patience::Patience;
use crossbeam_channel::{Receiver, Sender, unbounded};
use std::any::Any;
use std::os::fd::BorrowedFd;
use tidegate_base::{DropCounters, Duration, Instant};
use tidegate_packet::{BATCH_LEN_MAX, Batch, Occupancy, Pool};
use tidegate_port::{Port, PortCounters};

/// Time and sleep, as the worker needs them: the kernel's in production, a script's in a test.
pub trait Environment {
    /// The time now.
    fn now(&mut self) -> Instant;

    /// Sleeps until one of `fds` is readable, `deadline` has come, or a command was sent.
    fn sleep(&mut self, fds: &[BorrowedFd<'_>], deadline: Option<Instant>);
}

/// What a worker does when there is nothing to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Idle {
    /// Look again at once: lowest latency, one core burnt.
    Poll,
    /// Look again for a moment, at most `spin`, then sleep until something happens. How long pays is learned:
    /// where the kernel's receive thread shares this core, looking only keeps it from its work.
    Adaptive {
        /// How long to look before sleeping, at most.
        spin: Duration,
        /// Under load, how long frames may gather before the next look, at most: fewer, larger batches for
        /// a little latency, as a NIC's interrupt moderation has it. Zero: never.
        rest: Duration,
    },
}

impl Idle {
    /// Looks for at most 20 us, rests for at most 50.
    pub const ADAPTIVE: Self =
        Self::Adaptive { spin: Duration::from_micros(20), rest: Duration::from_micros(50) };
}

/// How a worker runs.
#[derive(Clone, Copy, Debug)]
pub struct WorkerConfig {
    /// The most frames a port is asked for at a time, 1 to 32.
    pub batch_len: usize,
    /// What to do when idle.
    pub idle: Idle,
    /// A clock to time each module's calls by; none costs nothing.
    pub stopwatch: Option<fn() -> Instant>,
}

impl Default for WorkerConfig {
    fn default() -> Self {
        Self { stopwatch: None, batch_len: BATCH_LEN_MAX, idle: Idle::ADAPTIVE }
    }
}

/// What passed through one module.
#[derive(Clone, Debug)]
pub struct ModuleCounters {
    /// Frames that arrived at its input gates.
    pub in_packet_count: u64,
    /// Batches they arrived in.
    pub in_batch_count: u64,
    /// Frames that left through its output gates.
    pub out_packet_count: u64,
    /// Frames it dropped, by reason.
    pub drops: DropCounters,
    /// Time spent in it, if the worker has a stopwatch.
    pub busy: Duration,
}

impl ModuleCounters {
    const fn new() -> Self {
        Self {
            in_packet_count: 0,
            in_batch_count: 0,
            out_packet_count: 0,
            drops: DropCounters::new(),
            busy: Duration::ZERO,
        }
    }
}

struct Step {
    name: String,
    module: Box<dyn Module>,
    /// The queues of its input gates.
    inputs: std::ops::Range<usize>,
    /// For each output gate, the queue it leads to.
    links: Vec<Option<usize>>,
    counters: ModuleCounters,
}

/// Something to be done to a worker between two rounds.
pub type Command = Box<dyn FnOnce(&mut Worker) + Send>;

/// The control thread's end of a worker.
#[derive(Clone)]
pub struct Control {
    commands: Sender<Command>,
    wake: std::sync::Arc<dyn Fn() + Send + Sync>,
}

impl Control {
    /// Has `command` run between two rounds. False if the worker has ended.
    pub fn send(&self, command: impl FnOnce(&mut Worker) + Send + 'static) -> bool {
        let sent = self.commands.send(Box::new(command)).is_ok();
        (self.wake)();
        sent
    }

    /// Asks something of the worker and waits for the answer, at most `patience`.
    pub fn ask<R: Send + 'static>(
        &self,
        patience: std::time::Duration,
        question: impl FnOnce(&mut Worker) -> R + Send + 'static,
    ) -> Option<R> {
        let (tx, rx) = crossbeam_channel::bounded(1);
        self.send(move |worker| {
            // The asker may have lost patience; then nobody wants the answer.
            let _ = tx.send(question(worker));
        });
        rx.recv_timeout(patience).ok()
    }
}

/// A pair of ends: the control thread's, and the one for [`Worker::new`]. `wake` must end the
/// worker's [`Environment::sleep`].
pub fn control(wake: impl Fn() + Send + Sync + 'static) -> (Control, Receiver<Command>) {
    let (tx, rx) = unbounded();
    (Control { commands: tx, wake: std::sync::Arc::new(wake) }, rx)
}

/// One core's modules, ports and frames.
pub struct Worker {
    config: WorkerConfig,
    pool: Pool,
    ports: Vec<Box<dyn Port>>,
    steps: Vec<Step>,
    queues: Vec<Queue>,
    rooms: Vec<usize>,
    /// For each queue, how much payload a frame with a tail may have; fixed, since ports are.
    bulk_lens: Vec<usize>,
    commands: Receiver<Command>,
    stopping: bool,
    round_count: u64,
    sleep_count: u64,
}

/// A module's counters at one moment.
#[derive(Clone, Debug)]
pub struct ModuleSnapshot {
    /// Its name in the graph.
    pub name: String,
    /// What kind of module it is.
    pub class: &'static str,
    /// What passed through it.
    pub traffic: ModuleCounters,
    /// Counters of its own, by name.
    pub own: Vec<(&'static str, u64)>,
}

/// A worker's counters at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Each module, upstream before downstream.
    pub modules: Vec<ModuleSnapshot>,
    /// Each port's counters.
    pub ports: Vec<PortCounters>,
    /// Where the pool's chunks are.
    pub pool: Occupancy,
    /// Rounds run.
    pub round_count: u64,
    /// Times slept.
    pub sleep_count: u64,
}

impl Worker {
    /// A worker that runs `graph` over `ports`, with the frames of `pool`.
    pub fn new(
        config: WorkerConfig,
        pool: Pool,
        ports: Vec<Box<dyn Port>>,
        graph: Graph,
        commands: Receiver<Command>,
    ) -> Self {
        let (steps, queues) = compile(graph);
        let rooms = vec![0; queues.len()];
        let bulk_lens = rooms.clone();
        let mut worker = Self {
            config,
            pool,
            ports,
            steps,
            queues,
            rooms,
            bulk_lens,
            commands,
            stopping: false,
            round_count: 0,
            sleep_count: 0,
        };
        worker.measure_bulk();
        worker
    }

    /// Runs until [`Worker::stop`].
    pub fn run(&mut self, env: &mut impl Environment) {
        let Idle::Adaptive { spin, rest } = self.config.idle else { return self.run_polling(env) };
        let (mut patience, mut pace) = (Patience::new(spin), Pace::new(rest));
        while !self.stopping {
            let now = env.now();
            let work = self.round(now);
            if work > 0 {
                patience.on_work(now);
                pace.on_work(work);
            } else if patience.is_over(now) {
                match pace.rest_until(now) {
                    Some(until) => env.sleep(&[], Some(until)),
                    None => self.sleep(env),
                }
                let woken = env.now();
                patience.on_woken(woken);
                pace.on_woken(woken);
            }
        }
    }

    fn run_polling(&mut self, env: &mut impl Environment) {
        while !self.stopping {
            self.round(env.now());
        }
    }

    /// Ends [`Worker::run`] after this round.
    pub fn stop(&mut self) {
        self.stopping = true;
    }

    /// One pass over all modules. Returns how many frames were worked on, and commands done.
    pub fn round(&mut self, now: Instant) -> usize {
        self.round_count += 1;
        let mut work = self.run_commands();
        self.measure_rooms(now);
        for step in 0..self.steps.len() {
            let began = self.config.stopwatch.map(|clock| clock());
            work += self.drain_inputs(step, now);
            work += self.call(step, now, |module, ctx| module.run(ctx));
            if let (Some(began), Some(clock)) = (began, self.config.stopwatch) {
                let busy = &mut self.steps[step].counters.busy;
                *busy = *busy + clock().since(began);
            }
        }
        for port in &mut self.ports {
            port.flush(&mut self.pool);
        }
        work
    }

    /// The module of that name, if it is a `M`.
    pub fn module_mut<M: Module>(&mut self, name: &str) -> Option<&mut M> {
        let step = self.steps.iter_mut().find(|s| s.name == name)?;
        let module: &mut dyn Any = step.module.as_mut();
        module.downcast_mut()
    }

    /// The counters now.
    pub fn snapshot(&self) -> Snapshot {
        let module = |s: &Step| ModuleSnapshot {
            name: s.name.clone(),
            class: s.module.class(),
            traffic: s.counters.clone(),
            own: s.module.counters(),
        };
        Snapshot {
            modules: self.steps.iter().map(module).collect(),
            ports: self.ports.iter().map(|p| p.counters()).collect(),
            pool: self.pool.occupancy(),
            round_count: self.round_count,
            sleep_count: self.sleep_count,
        }
    }

    fn run_commands(&mut self) -> usize {
        let mut count = 0;
        while let Ok(command) = self.commands.try_recv() {
            command(self);
            count += 1;
        }
        count
    }

    fn sleep(&mut self, env: &mut impl Environment) {
        self.sleep_count += 1;
        let deadline = self.steps.iter().filter_map(|s| s.module.next_deadline()).min();
        let ports = self.ports.iter().filter_map(|p| p.wait_fd());
        let modules = self.steps.iter().filter_map(|s| s.module.wait_fd());
        let fds: Vec<BorrowedFd<'_>> = ports.chain(modules).collect();
        env.sleep(&fds, deadline);
    }

    /// Asks every module, downstream ones first, how many frames it would take.
    fn measure_rooms(&mut self, now: Instant) {
        for step in (0..self.steps.len()).rev() {
            let links = self.steps[step].links.iter().flatten();
            let downstream = links.map(|q| self.rooms[*q]).min().unwrap_or(usize::MAX);
            let room = self.call(step, now, |module, ctx| module.room(ctx, downstream));
            let inputs = self.steps[step].inputs.clone();
            self.rooms[inputs].fill(room);
        }
    }

    /// Asks every module which frames with a tail it takes.
    fn measure_bulk(&mut self) {
        for step in 0..self.steps.len() {
            let len_max = self.call(step, Instant::ZERO, |module, ctx| module.bulk_len_max(ctx));
            let inputs = self.steps[step].inputs.clone();
            self.bulk_lens[inputs].fill(len_max);
        }
    }

    fn drain_inputs(&mut self, step: usize, now: Instant) -> usize {
        let mut count = 0;
        for (gate, queue) in self.steps[step].inputs.clone().enumerate() {
            if self.queues[queue].frames.is_empty() {
                continue;
            }
            let mut frames = std::mem::take(&mut self.queues[queue].frames);
            count += frames.len();
            let mut rest = frames.drain(..);
            while let Some(batch) = take_batch(&mut rest) {
                let counters = &mut self.steps[step].counters;
                counters.in_packet_count += batch.len() as u64;
                counters.in_batch_count += 1;
                self.call(step, now, |module, ctx| module.process(ctx, gate, batch));
            }
            drop(rest);
            // The emptied vector keeps its capacity for the next round.
            self.queues[queue].frames = frames;
        }
        count
    }

    #[inline]
    fn call<R>(
        &mut self,
        step: usize,
        now: Instant,
        f: impl FnOnce(&mut dyn Module, &mut Context<'_>) -> R,
    ) -> R {
        let Step { module, links, counters, .. } = &mut self.steps[step];
        let mut ctx = Context {
            now,
            pool: &mut self.pool,
            ports: &mut self.ports,
            queues: &mut self.queues,
            links,
            rooms: &mut self.rooms,
            bulk_lens: &self.bulk_lens,
            counters,
            batch_len: self.config.batch_len,
        };
        f(module.as_mut(), &mut ctx)
    }
}

fn take_batch(frames: &mut impl Iterator<Item = tidegate_packet::Frame>) -> Option<Batch> {
    let mut batch = Batch::new();
    for frame in frames.by_ref().take(BATCH_LEN_MAX) {
        // A batch has room for as many frames as `take` lets through.
        let _ = batch.push(frame);
    }
    (!batch.is_empty()).then_some(batch)
}

/// Lays the modules out in topological order and gives each input gate its queue.
fn compile(graph: Graph) -> (Vec<Step>, Vec<Queue>) {
    let order = graph.topological_order();
    let mut first_queue = vec![0; graph.nodes.len()];
    let mut queue_count = 0;
    for &node in &order {
        first_queue[node] = queue_count;
        queue_count += graph.nodes[node].module.gates().inputs;
    }
    let mut nodes: Vec<Option<Node>> = graph.nodes.into_iter().map(Some).collect();
    let step = |node: usize| {
        let Node { name, module, outputs } = nodes[node].take()?;
        let inputs = first_queue[node]..first_queue[node] + module.gates().inputs;
        let links = outputs.iter().map(|o| o.map(|(to, gate)| first_queue[to] + gate)).collect();
        Some(Step { name, module, inputs, links, counters: ModuleCounters::new() })
    };
    let steps = order.iter().copied().filter_map(step).collect();
    (steps, std::iter::repeat_with(Queue::default).take(queue_count).collect())
}
