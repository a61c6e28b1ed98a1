//! The threads that serve: one a seat, pinned, and woken through its control.
//!
//! Invariant: a worker that ends, for whatever reason, says so to the control thread; none is missed.

use super::graph;
use super::seat::Seat;
use crate::privileges;
use crate::signals::Event;
use anyhow::{Context, Result};
use crossbeam_channel::Sender;
use std::thread::JoinHandle;
use tidegate_base::Duration;
use tidegate_modules::StackModule;
use tidegate_pipeline::{Control, KernelEnvironment, Waker, Worker, control};
use tidegate_service::{Asked, Device, Lane, Offer, Services, Settings, host};
use tidegate_sys::{cpu, event};

/// How much later than a timer's time the kernel may wake a worker.
const TIMER_SLACK: Duration = Duration::from_micros(1);

/// The workers of a service.
pub(crate) struct Workers {
    running: Vec<Running>,
}

struct Running {
    control: Control,
    thread: JoinHandle<()>,
    ports: Vec<String>,
}

impl Workers {
    /// Whom to ask for counters.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        let asked = |(number, worker): (usize, &Running)| Asked {
            number,
            control: worker.control.clone(),
            ports: worker.ports.clone(),
        };
        self.running.iter().enumerate().map(asked).collect()
    }

    /// Each worker's control, with how many stacks it has.
    pub(crate) fn controls(&self) -> impl Iterator<Item = (&Control, usize)> {
        self.running.iter().map(|worker| (&worker.control, worker.ports.len()))
    }

    /// Has `act` done to each stack, between two rounds of its worker.
    pub(crate) fn each_stack(&self, act: impl FnMut(&mut StackModule<Services>) + Clone + Send + 'static) {
        for (control, stack_count) in self.controls() {
            let act = act.clone();
            control.send(move |worker| each_stack(worker, stack_count, act));
        }
    }

    /// Ends them, and their sockets with them.
    pub(crate) fn join(self) {
        for worker in &self.running {
            worker.control.send(Worker::stop);
        }
        for worker in self.running {
            // A panic was reported when it happened.
            let _ = worker.thread.join();
        }
    }
}

/// Does `act` to each stack of `worker`.
pub(crate) fn each_stack(
    worker: &mut Worker,
    stack_count: usize,
    mut act: impl FnMut(&mut StackModule<Services>),
) {
    for port in 0..stack_count {
        if let Some(stack) = worker.module_mut(&graph::stack_name(port)) {
            act(stack);
        }
    }
}

/// Starts a worker on each seat.
pub(crate) fn start_all(
    settings: &Settings,
    devices: &[Device],
    seats: Vec<Seat>,
    offer: &Offer,
    events: &Sender<Event>,
) -> Result<Workers> {
    let cpus = cpu::allowed();
    let mut workers = Workers { running: Vec::new() };
    for (number, seat) in seats.into_iter().enumerate() {
        // From the last processor down: the first ones take most interrupts.
        let cpu = cpus.get(cpus.len().wrapping_sub(1 + number)).copied();
        let started = start(settings, devices, seat, offer, Place { number, cpu, events: events.clone() });
        match started {
            Ok(running) => workers.running.push(running),
            Err(error) => {
                workers.join();
                return Err(error);
            }
        }
    }
    Ok(workers)
}

/// Where a worker runs, and whom it tells that it ended.
struct Place {
    number: usize,
    /// None: more workers than processors.
    cpu: Option<usize>,
    events: Sender<Event>,
}

fn start(
    settings: &Settings,
    devices: &[Device],
    seat: Seat,
    offer: &Offer,
    place: Place,
) -> Result<Running> {
    let waker = Waker::new().context("could not make a worker's wake-up")?;
    let wake = waker.clone();
    let (control, commands) = control(move || wake.wake());
    let hosts = seat.lanes.iter().map(|lane| host(settings, &devices[lane.device], offer, &waker));
    let graph = graph::build(hosts.collect::<Result<_, _>>()?, settings.impair)?;
    let ports = seat.lanes.iter().map(|lane| port_name(devices, *lane)).collect();
    let worker = Worker::new(settings.worker_config(), seat.pool, seat.ports, graph, commands);
    let thread = std::thread::Builder::new().name(format!("worker{}", place.number));
    let thread = thread.spawn(move || run(worker, waker, place)).context("could not start a worker")?;
    Ok(Running { control, thread, ports })
}

fn port_name(devices: &[Device], lane: Lane) -> String {
    format!("{}/{}", devices[lane.device].nic.name, lane.queue)
}

/// Tells the control thread when it goes, by whichever way.
struct Obituary {
    number: usize,
    events: Sender<Event>,
}

impl Drop for Obituary {
    fn drop(&mut self) {
        // Nobody listens any more when the service ends.
        let _ = self.events.send(Event::WorkerEnded(self.number));
    }
}

fn run(mut worker: Worker, waker: Waker, place: Place) {
    let _obituary = Obituary { number: place.number, events: place.events };
    if let Err(error) = privileges::drop_all_capabilities() {
        tracing::warn!("worker {} keeps the right to read files: {error:#}", place.number);
    }
    if let Some(error) = place.cpu.and_then(|cpu| cpu::pin_current_thread(cpu).err()) {
        tracing::warn!("worker {} is not pinned: {error}", place.number);
    }
    if let Err(error) = event::set_timer_slack(TIMER_SLACK) {
        tracing::debug!("timers of worker {} may be late: {error}", place.number);
    }
    worker.run(&mut KernelEnvironment::new(waker));
}
