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

use crate::agenda::Agenda;
use crate::class::{ClassTree, LeafId};
use crate::context::{Context, Core};
use crate::control::Commands;
use crate::gate::{Hooks, show};
use crate::graph::{Graph, GraphError};
use crate::hook::{GateHook, GateSide};
use crate::module::{Module, PortIndex, Work};
use crate::pace::Pace;
use crate::patience::Patience;
use crate::snapshot::{Snapshot, snapshot_of};
use crate::step::{Program, Step, Task};
use crate::turns::Turns;
use std::any::Any;
use std::os::fd::BorrowedFd;
use tidegate_base::{DropReason, Duration, Instant};
use tidegate_packet::{BATCH_LEN_MAX, Batch, Pool};
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
    /// Its number among its fellows.
    pub number: u32,
    /// The most frames a port is asked for at a time, 1 to 32.
    pub batch_len: usize,
    /// What to do when idle.
    pub idle: Idle,
    /// A clock to time each module's calls by; none costs nothing.
    pub stopwatch: Option<fn() -> Instant>,
}

impl Default for WorkerConfig {
    fn default() -> Self {
        Self { number: 0, stopwatch: None, batch_len: BATCH_LEN_MAX, idle: Idle::ADAPTIVE }
    }
}

/// A module and the name that it had in its graph.
pub type NamedModule = (String, Box<dyn Module>);

/// One core's modules, ports and frames.
pub struct Worker {
    config: WorkerConfig,
    steps: Vec<Step>,
    turns: Turns,
    /// Some module asks for room before it emits.
    asks_room: bool,
    /// Without rules: the task whose turn is the first of the next round.
    first: usize,
    core: Core,
    /// What is being processed: the only batch that is not in a queue.
    batch: Batch,
    commands: Commands,
    stopping: bool,
    /// Only commands are done.
    is_paused: bool,
    round_count: u64,
    sleep_count: u64,
}

impl Worker {
    /// A worker that runs `graph` over `ports`, with the frames of `pool`. Modules that the graph keeps are not there.
    pub fn new(
        config: WorkerConfig,
        pool: Pool,
        ports: Vec<Box<dyn Port>>,
        graph: Graph,
        commands: Commands,
    ) -> Self {
        let core = Core {
            now: Instant::ZERO,
            leaf: None,
            pool,
            ports,
            queues: Vec::new(),
            agenda: Agenda::new(0),
            rooms: Vec::new(),
            bulk_lens: Vec::new(),
            batch_len: config.batch_len,
            spare: None,
        };
        let mut worker = Self {
            config,
            steps: Vec::new(),
            turns: Turns::new(config.number),
            asks_room: false,
            first: 0,
            core,
            batch: Batch::new(),
            commands,
            stopping: false,
            is_paused: false,
            round_count: 0,
            sleep_count: 0,
        };
        // A graph of new modules only cannot be refused.
        let _ = worker.replace(graph);
        worker
    }

    /// Runs `graph` from now on, between two rounds. Modules that it keeps stay as they are, with what waits inside
    /// them; the others are given back, by name. Refused, with nothing changed, if it keeps a module that is not there.
    pub fn replace(&mut self, graph: Graph) -> Result<Vec<NamedModule>, GraphError> {
        let mut old = Program {
            steps: std::mem::take(&mut self.steps),
            queues: std::mem::take(&mut self.core.queues),
            ..Program::default()
        };
        let compiled = Program::compile(graph, &mut old);
        if let Err(error) = compiled {
            (self.steps, self.core.queues) = (old.steps, old.queues);
            return Err(error);
        }
        let program = compiled?;
        let queue_count = program.queues.len();
        self.core.agenda = Agenda::new(queue_count);
        self.core.rooms = vec![usize::MAX; queue_count];
        self.core.bulk_lens = vec![0; queue_count];
        (self.steps, self.core.queues) = (program.steps, program.queues);
        self.asks_room = program.asks_room;
        let named = program.tasks.iter().map(|task| (self.steps[task.step].name.as_str(), *task));
        self.turns.set(&named.collect::<Vec<_>>());
        self.tell_classes();
        self.note_links();
        self.measure_bulk();
        let left = old.steps.into_iter().map(|step| (step.name, step.module));
        let mut left: Vec<NamedModule> = left.collect();
        left.iter_mut().for_each(|(_, module)| module.retire(&mut self.core.pool));
        Ok(left)
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

    /// Whether it does commands only from now on: no task has its turn, nothing is received or sent.
    pub const fn set_paused(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
    }

    /// Gives every task its turn, each followed by all that its frames reach. Returns how many frames were worked on,
    /// and commands done.
    pub fn round(&mut self, now: Instant) -> usize {
        self.round_count += 1;
        let mut work = if self.commands.were_sent() { self.run_commands() } else { 0 };
        self.core.now = now;
        if self.is_paused {
            return work;
        }
        if self.asks_room {
            self.measure_rooms();
        }
        work += if self.turns.is_plain() { self.run_all() } else { self.run_chosen(now) };
        for port in &mut self.core.ports {
            port.flush(&mut self.core.pool);
        }
        work
    }

    /// Every task once. The room that they share is for whoever comes first: in the next round that is the one behind the first
    /// that got some, so that each of those that always want more has it as often as the others.
    #[inline]
    fn run_all(&mut self) -> usize {
        let mut packet_count = 0;
        let (count, mut has_first) = (self.turns.len(), !self.asks_room);
        let first = if self.first < count { self.first } else { 0 };
        for at in (first..count).chain(0..first) {
            let Some(task) = self.turns.task(at) else { break };
            let work = self.run_task_timed(task);
            self.turns.note(at, work);
            packet_count += work.packet_count;
            if !has_first && work.packet_count > 0 && self.steps[task.step].module.asks_room() {
                (self.first, has_first) = (at + 1, true);
            }
        }
        packet_count
    }

    /// The task whose turn it is by the rules of its classes.
    fn run_chosen(&mut self, now: Instant) -> usize {
        let Some((leaf, task)) = self.turns.next(now) else { return 0 };
        self.core.leaf = Some(leaf);
        let work = self.run_task_timed(task);
        self.turns.on_run(leaf, work, now);
        work.packet_count
    }

    #[inline]
    fn run_task_timed(&mut self, task: Task) -> Work {
        match self.config.stopwatch {
            None => self.run_task(task, &Untimed),
            Some(clock) => self.run_task(task, &clock),
        }
    }

    /// One turn of a task.
    #[inline]
    fn run_task(&mut self, task: Task, stopwatch: &impl Stopwatch) -> Work {
        let Task { step, number } = task;
        let work = self.call(step, stopwatch, |module, ctx, _| module.run(ctx, number));
        self.drain(stopwatch);
        work
    }

    /// Brings every frame that waits at an input gate as far as it goes.
    #[inline]
    fn drain(&mut self, stopwatch: &impl Stopwatch) {
        let mut guess = 0;
        while let Some(queue) = self.core.agenda.take(guess) {
            guess = if self.process(queue, stopwatch) { queue } else { queue + 1 };
        }
    }

    /// Has a step take a batch of what waits at one of its input gates. Whether more waits there.
    #[inline]
    fn process(&mut self, at: usize, stopwatch: &impl Stopwatch) -> bool {
        let queue = &mut self.core.queues[at];
        let has_more = queue.take(&mut self.batch);
        if has_more {
            self.core.agenda.add(at);
        }
        queue.traffic.count(self.batch.len());
        if !queue.hooks.is_empty() {
            show(&mut queue.hooks, self.core.now, self.batch.as_slice());
        }
        let (step, gate) = (queue.step, queue.gate);
        self.call(step, stopwatch, |module, ctx, batch| {
            module.process(ctx, gate, batch);
            if !batch.is_empty() {
                ctx.drop_batch(batch, DropReason::Policy);
            }
        });
        has_more
    }

    /// The module of that name, if it is a `M`.
    pub fn module_mut<M: Module>(&mut self, name: &str) -> Option<&mut M> {
        let module: &mut dyn Any = self.any_module_mut(name)?;
        module.downcast_mut()
    }

    /// The module of that name, whatever it is.
    pub fn any_module_mut(&mut self, name: &str) -> Option<&mut dyn Module> {
        let step = self.steps.iter_mut().find(|s| s.name == name)?;
        Some(step.module.as_mut())
    }

    /// Calls `f` with the module of that name, if it is a `M`, and the worker's frames.
    pub fn with_module_and_pool<M: Module, R>(
        &mut self,
        name: &str,
        f: impl FnOnce(&mut M, &mut Pool) -> R,
    ) -> Option<R> {
        let step = self.steps.iter_mut().find(|step| step.name == name)?;
        let module: &mut dyn Any = step.module.as_mut();
        Some(f(module.downcast_mut()?, &mut self.core.pool))
    }

    /// The worker's frames.
    pub const fn pool_mut(&mut self) -> &mut Pool {
        &mut self.core.pool
    }

    /// Takes a port in under an index that no other port has: one of a port that was given back, or the next.
    pub fn put_port(&mut self, index: PortIndex, port: Box<dyn Port>) {
        while self.core.ports.len() <= index.0 {
            self.core.ports.push(Box::new(ClosedPort));
        }
        self.core.ports[index.0] = port;
    }

    /// Gives a port back. Modules that still name it receive nothing there, and what they send is dropped.
    pub fn remove_port(&mut self, port: PortIndex) -> Option<Box<dyn Port>> {
        let place = self.core.ports.get_mut(port.0)?;
        let mut port = std::mem::replace(place, Box::new(ClosedPort));
        port.release(&mut self.core.pool);
        Some(port)
    }

    /// A port, if there is one of that number.
    pub fn port(&self, port: PortIndex) -> Option<&dyn Port> {
        self.core.ports.get(port.0).map(|port| &**port)
    }

    /// Adds a hook at a gate. False if no such gate is connected.
    pub fn add_hook(&mut self, module: &str, gate: GateSide, hook: Box<dyn GateHook>) -> bool {
        let Some(hooks) = self.hooks_mut(module, gate) else { return false };
        hooks.push(hook);
        self.note_links();
        true
    }

    /// Takes the hooks of that kind away from a gate.
    pub fn remove_hooks(&mut self, module: &str, gate: GateSide, class: &str) -> Vec<Box<dyn GateHook>> {
        let Some(hooks) = self.hooks_mut(module, gate) else { return Vec::new() };
        let removed = hooks.extract_if(.., |hook| hook.class() == class).collect();
        self.note_links();
        removed
    }

    fn note_links(&mut self) {
        let links = self.steps.iter_mut().flat_map(|step| &mut step.links);
        links.for_each(|link| link.note(self.asks_room));
    }

    fn hooks_mut(&mut self, module: &str, gate: GateSide) -> Option<&mut Hooks> {
        let step = self.steps.iter_mut().find(|step| step.name == module)?;
        match gate {
            GateSide::Output(gate) => Some(&mut step.links.get_mut(gate)?.hooks),
            GateSide::Input(gate) => {
                let queues = &mut self.core.queues[step.queues.clone()];
                Some(&mut queues.iter_mut().find(|queue| queue.gate == gate)?.hooks)
            }
        }
    }

    /// Changes the tree of traffic classes, and thereby whose turn it is.
    pub fn edit_classes<R>(&mut self, change: impl FnOnce(&mut ClassTree) -> R) -> R {
        let result = self.turns.edit(change);
        self.tell_classes();
        result
    }

    fn tell_classes(&mut self) {
        self.core.leaf = None;
        self.steps.iter_mut().for_each(|step| step.module.on_classes(self.turns.tree()));
    }

    /// The leaf of a module's task in the tree of classes.
    pub fn leaf(&self, module: &str, task: usize) -> Option<LeafId> {
        self.turns.leaf(module, task)
    }

    /// The counters now.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            modules: self
                .steps
                .iter()
                .map(|step| snapshot_of(step, &self.steps, &self.core.queues))
                .collect(),
            ports: self.core.ports.iter().map(|p| p.counters()).collect(),
            pool: self.core.pool.occupancy(),
            round_count: self.round_count,
            sleep_count: self.sleep_count,
        }
    }

    #[cold]
    fn run_commands(&mut self) -> usize {
        let mut count = 0;
        while let Some(command) = self.commands.next() {
            command(self);
            count += 1;
        }
        count
    }

    fn sleep(&mut self, env: &mut impl Environment) {
        self.sleep_count += 1;
        self.turns.settle(None);
        if self.is_paused {
            return env.sleep(&[], None);
        }
        let deadlines = self.steps.iter().filter_map(|s| s.module.next_deadline());
        let deadline = deadlines.chain(self.turns.next_wake()).min();
        let ports = self.core.ports.iter().filter_map(|p| p.wait_fd());
        let modules = self.steps.iter().filter_map(|s| s.module.wait_fd());
        let fds: Vec<BorrowedFd<'_>> = ports.chain(modules).collect();
        env.sleep(&fds, deadline);
    }

    /// Asks every module, downstream ones first, how many frames it would take.
    fn measure_rooms(&mut self) {
        for step in (0..self.steps.len()).rev() {
            let links = self.steps[step].links.iter().filter_map(|link| link.to);
            let downstream = links.map(|queue| self.core.rooms[queue]).min().unwrap_or(usize::MAX);
            let room = self.call(step, &Untimed, |module, ctx, _| module.room(ctx, downstream));
            let queues = self.steps[step].queues.clone();
            self.core.rooms[queues].fill(room);
        }
    }

    /// Asks every module which frames with a tail it takes.
    fn measure_bulk(&mut self) {
        for step in 0..self.steps.len() {
            let len_max = self.call(step, &Untimed, |module, ctx, _| module.bulk_len_max(ctx));
            let queues = self.steps[step].queues.clone();
            self.core.bulk_lens[queues].fill(len_max);
        }
    }

    #[inline]
    fn call<R>(
        &mut self,
        step: usize,
        stopwatch: &impl Stopwatch,
        f: impl FnOnce(&mut dyn Module, &mut Context<'_>, &mut Batch) -> R,
    ) -> R {
        let Step { module, links, drops, busy, .. } = &mut self.steps[step];
        let mut ctx = Context { core: &mut self.core, links, drops };
        stopwatch.time(busy, || f(module.as_mut(), &mut ctx, &mut self.batch))
    }
}

/// Takes the time of each module, or does not.
trait Stopwatch {
    fn time<R>(&self, total: &mut Duration, f: impl FnOnce() -> R) -> R;
}

struct Untimed;

impl Stopwatch for Untimed {
    #[inline]
    fn time<R>(&self, _: &mut Duration, f: impl FnOnce() -> R) -> R {
        f()
    }
}

impl Stopwatch for fn() -> Instant {
    #[inline]
    fn time<R>(&self, total: &mut Duration, f: impl FnOnce() -> R) -> R {
        let began = self();
        let result = f();
        *total = *total + self().since(began);
        result
    }
}

/// In the place of a port that was taken away: nothing comes, nothing goes.
pub struct ClosedPort;

impl Port for ClosedPort {
    fn rx(&mut self, _: &mut Pool, _: &mut Batch) -> usize {
        0
    }

    fn tx_room(&mut self, _: &mut Pool) -> usize {
        0
    }

    fn tx(&mut self, _: &mut Pool, _: &mut Batch) {}

    fn flush(&mut self, _: &mut Pool) {}

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn frame_len_max(&self) -> usize {
        0
    }

    fn counters(&self) -> PortCounters {
        PortCounters::default()
    }
}
