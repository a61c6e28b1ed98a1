//! Services that the daemon runs: what is open for them beside their part of the plant.
//!
//! ```text
//!   Serving --stop--> Draining: no new connections, those that there are finish
//!                        | none is left, or their time is over (looked at every 20 ms)
//!                        v
//!                     gone: modules, ports, workers of its own, devices
//! ```

use crate::Daemon;
use crossbeam_channel::select;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidegate_control::{Call, CallQueue};
use tidegate_modules::StackModule;
use tidegate_pipeline::Worker;
use tidegate_service::{Collector, Counted, Device, Endpoint, Offer, Services, close_down, leave};

/// How often it is looked whether connections have finished.
const DRAIN_PERIOD: Duration = Duration::from_millis(20);

/// How long nothing may happen.
const IDLE_PERIOD: Duration = Duration::from_secs(3600);

/// What is open for one service.
pub(crate) struct Serving {
    pub(crate) offer: Offer,
    pub(crate) devices: Arc<Vec<Device>>,
    pub(crate) endpoints: Vec<Endpoint>,
    /// Its hosts: worker and module.
    pub(crate) hosts: Vec<(u8, String)>,
    /// How long connections may take at the end.
    pub(crate) drain: Duration,
    pub(crate) counted: Counted,
    /// It ends, then at the latest.
    pub(crate) ends_at: Option<Instant>,
}

/// All services.
#[derive(Default)]
pub(crate) struct ServiceDesk {
    pub(crate) serving: BTreeMap<String, Serving>,
    /// Connections that were cut, of those that ended and nobody has asked about since.
    pub(crate) ended: BTreeMap<String, u64>,
    pub(crate) collector: Arc<Collector>,
}

impl ServiceDesk {
    pub(crate) fn counted(&self) -> Vec<Counted> {
        self.serving.values().map(|serving| serving.counted.clone()).collect()
    }
}

impl Daemon {
    /// Where the counters of all workers and services can be read.
    pub fn collector(&self) -> Arc<Collector> {
        Arc::clone(&self.services.collector)
    }

    /// Does what controllers say until no server is left that could send calls; then services drain and end.
    pub fn run(&mut self, calls: &CallQueue) {
        while let Some(call) = self.next_call(calls) {
            call.run(self);
        }
        let names: Vec<String> = self.services.serving.keys().cloned().collect();
        names.iter().for_each(|name| self.begin_end(name, None));
        while !self.services.serving.is_empty() {
            self.look_at_ending();
            std::thread::sleep(DRAIN_PERIOD);
        }
        self.mux.leave();
    }

    /// The next call. Services that end are looked at meanwhile, and stacks of other processes served.
    fn next_call(&mut self, calls: &CallQueue) -> Option<Call> {
        loop {
            self.look_at_ending();
            let expiry = self.expire_stacks();
            let is_ending = self.services.serving.values().any(|serving| serving.ends_at.is_some());
            let until_expiry = expiry.map(|at| at.saturating_duration_since(Instant::now()));
            let patience = is_ending.then_some(DRAIN_PERIOD).into_iter().chain(until_expiry).min();
            let events = self.mux.events();
            select! {
                recv(calls.receiver()) -> call => return call.ok(),
                recv(events) -> event => self.on_stack_event(event.ok()),
                default(patience.unwrap_or(IDLE_PERIOD)) => {}
            }
        }
    }

    /// No new connections from now on.
    pub(crate) fn begin_end(&mut self, name: &str, drain: Option<Duration>) {
        let Some(serving) = self.services.serving.get_mut(name) else { return };
        if serving.ends_at.is_some() {
            return;
        }
        serving.ends_at = Some(Instant::now() + drain.unwrap_or(serving.drain));
        serving.offer.drain();
        for (wid, module) in serving.hosts.clone() {
            self.ask_host(wid, &module, close_down);
        }
    }

    /// Takes away what has drained, or whose time is over.
    pub(crate) fn look_at_ending(&mut self) {
        let now = Instant::now();
        let ending = self.services.serving.iter().filter_map(|(name, it)| Some((name.clone(), it.ends_at?)));
        for (name, ends_at) in ending.collect::<Vec<_>>() {
            let left_count = self.connection_count(&name);
            if left_count == 0 || now >= ends_at {
                self.remove_service(&name);
                self.services.ended.insert(name, left_count);
            }
        }
    }

    fn connection_count(&self, name: &str) -> u64 {
        let Some(serving) = self.services.serving.get(name) else { return 0 };
        let count = |host: &mut StackModule<Services>| host.stack().counters().connection_count;
        let counts = serving.hosts.iter().filter_map(|(wid, module)| self.ask_host(*wid, module, count));
        counts.sum()
    }

    fn ask_host<R: Send + 'static>(
        &self,
        wid: u8,
        module: &str,
        question: impl FnOnce(&mut StackModule<Services>) -> R + Send + 'static,
    ) -> Option<R> {
        let module = module.to_owned();
        let question = move |worker: &mut Worker| worker.module_mut(&module).map(question);
        self.workers.get(&wid)?.ask(question).ok().flatten()
    }

    /// Takes a service away with all that is its own, at once.
    pub(crate) fn remove_service(&mut self, name: &str) {
        let mut next = self.plant.clone();
        next.remove_service(name);
        let hubs = self.part_service(&mut next, name);
        let parted = hubs.and_then(|hubs| self.change_to(next).map(|()| hubs));
        match parted {
            Ok(hubs) => hubs.into_iter().for_each(|hub| self.settle_hub(hub)),
            Err(fault) => tracing::error!("service {name} did not leave its workers: {fault}"),
        }
        let devices = self.services.serving.remove(name).map(|serving| serving.devices);
        self.berths.retain(|queue, _| self.plant.has_queue(queue));
        self.tidy_shelf();
        self.tell_collector();
        if let Some(Err(error)) = devices.map(leave) {
            tracing::warn!("service {name}: {error}");
        }
    }
}
