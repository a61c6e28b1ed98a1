//! Stacks of other processes behind memif: what the mux's desk asks for is done in the plant and on workers.
//!
//! ```text
//!   attach --> the stack's memif (a server), its way out of the demux, its check on the way back
//!   bind ----> its check, then the demuxes know the tuple; the desk tells the program last
//!   detach --> all of it goes; the NIC's queues are closed behind the last one who had frames
//! ```

use super::{Hub, Opening, Who, end_of, port_spec, seed};
use crate::Daemon;
use crate::plant::Plant;
use crate::worker::Shape;
use std::path::Path;
use std::sync::Arc;
use tidegate_bpf::{Rate, StackCounters, Tuple};
use tidegate_control::classes::{Driver, GateLimits, ModuleClass};
use tidegate_control::controller::Outcome;
use tidegate_control::proto::bess::{PortOutArg, QueueArg};
use tidegate_control::{Errno, Fault, Kind};
use tidegate_modules::EgressCheck;
use tidegate_mux::{Carrier, MuxError, Nic};
use tidegate_pipeline::PortIndex;
use tidegate_port::{MemifConfig, MemifRole, Port, open_memif};
use tidegate_service::{Config, Settings, share_of};
use tidegate_wire::egress::{EgressRules, Source};

/// The class of what checks a stack's frames; no controller can make one.
static EGRESS_CHECK: ModuleClass = ModuleClass {
    name: "EgressCheck",
    short_name: "egress_check",
    arg: Kind::EmptyArg,
    gates: GateLimits { inputs: 1, outputs: 1 },
    help: "lets a stack send its own datagrams and nothing else",
    commands: &[],
};

/// The driver of stacks' memifs.
static MEMIF: Driver = Driver {
    name: "StackMemif",
    short_name: "stack",
    arg: Kind::EmptyArg,
    help: "a stack of another process, over memif",
};

/// Bytes in front of an IP packet.
const LINK_LEN: usize = 14;

impl Hub {
    fn stack_port(&self, slot: u32) -> String {
        format!("{}/stack{slot}", self.nic.name)
    }

    fn is_on_one_worker(&self) -> bool {
        self.seats.iter().all(|wid| *wid == self.seats[0])
    }

    /// The worker of a stack's memif.
    fn home_worker(&self, slot: u32) -> u8 {
        self.seats[self.home(slot)]
    }
}

const fn source_of(tuple: Tuple) -> Source {
    let end = end_of(tuple);
    Source { transport: end.transport, address: end.address, port: end.port }
}

fn refused(slot: u32, fault: Fault) -> MuxError {
    MuxError::Step { attempted: format!("could not carry frames of stack {slot}"), source: Box::new(fault) }
}

fn in_fault(error: MuxError) -> Fault {
    crate::berth::fault(error.into())
}

impl Daemon {
    /// Opens all queues of a NIC on one worker, for stacks alone.
    fn open_for_stacks(&mut self, next: &mut Plant, nic: &Arc<Nic>) -> Outcome<Hub> {
        // As a service has it that says nothing about it.
        let usual = Settings { config: Config::default(), places: Vec::new(), impair: None };
        let (share, config) = (share_of(nic), usual.worker_config());
        let shape = Shape {
            pool_size: share.pool_size,
            chunk_size: share.chunk_size,
            batch_len: config.batch_len,
            idle: config.idle,
        };
        let wid = next.add_worker(next.idlest_core(), shape)?;
        let opening = Opening { xsk: usual.xsk(), gso: usual.config.gso };
        self.open_hub(next, nic, vec![wid; share.lanes.len()], opening)
    }

    /// Adds a stack's memif, its way in and its way out.
    fn add_stack(
        &mut self,
        next: &mut Plant,
        hub: &mut Hub,
        slot: u32,
        socket: &Path,
        rate: Option<Rate>,
    ) -> Outcome {
        let (nic, wid, port) = (Arc::clone(&hub.nic), hub.home_worker(slot), hub.stack_port(slot));
        let rules = EgressRules { mac: nic.mac(), mtu: nic.mtu() };
        let mut check = EgressCheck::new(rules, nic.addresses().map_err(in_fault)?, seed()?);
        check.set_rate(rate);
        let config = MemifConfig {
            frame_len_max: nic.mtu() + LINK_LEN,
            name: format!("{} stack {slot}", nic.name),
            ..MemifConfig::new(&socket.to_string_lossy(), MemifRole::Server)
        };
        let opened = open_memif(config).map_err(|error| Fault::new(Errno::EIO, error.to_string()))?;
        hub.admit(Who::Stack(slot), [])?;
        next.ports.insert(port.clone(), port_spec(&port, &MEMIF));
        let [out, judge, queue] = ["out", "check", "queue"].map(|part| hub.stack_part(slot, part));
        self.add_part(next, &out, "PortOut", PortOutArg { port: port.clone() }.into())?;
        self.add_own(next, &judge, &EGRESS_CHECK, Box::new(check), Some(port.clone()));
        next.links.insert((judge.clone(), 0), (hub.lane(hub.home(slot), "out"), 0));
        if !hub.is_on_one_worker() {
            self.add_part(next, &queue, "Queue", QueueArg::default().into())?;
            next.links.insert((queue.clone(), 0), (out.clone(), 0));
            next.hub_part(hub).modules.insert(queue, wid);
        }
        let part = next.hub_part(hub);
        part.modules.extend([(out, wid), (judge, wid)]);
        part.ports.insert(port.clone());
        self.harbour.extend(opened.into_iter().map(|memif| (port.clone(), Box::new(memif) as Box<dyn Port>)));
        self.weave(next, hub)
    }

    fn join_stack(&mut self, nic: &Arc<Nic>, slot: u32, socket: &Path, rate: Option<Rate>) -> Outcome {
        let mut next = self.plant.clone();
        let hub = self.hubs.get(&nic.name).cloned();
        let mut hub = hub.map_or_else(|| self.open_for_stacks(&mut next, nic), Ok)?;
        let added = self.add_stack(&mut next, &mut hub, slot, socket, rate);
        if let Err(fault) = added.and_then(|()| self.change_to(next)) {
            self.harbour.remove(&hub.stack_port(slot));
            self.berths.retain(|queue, _| self.plant.has_queue(queue));
            self.tidy_shelf();
            return Err(fault);
        }
        let port = self.port_indices.get(&hub.stack_port(slot)).copied();
        let told = self.ask_check(&hub, slot, move |check| port.map(|port| check.receive_from(port)));
        self.settle_hub(hub);
        if told.flatten().is_none() {
            // The line that says why is the one to tell.
            let _ = self.part_stack(slot);
            return Err(Fault::new(Errno::EIO, "its worker does not answer: see the daemon's log"));
        }
        Ok(())
    }

    fn part_stack(&mut self, slot: u32) -> Outcome {
        let Some(mut hub) = self.hub_of(slot).cloned() else { return Ok(()) };
        let mut next = self.plant.clone();
        hub.takers.retain(|_, taker| taker.who != Who::Stack(slot));
        for name in ["out", "check", "queue"].map(|part| hub.stack_part(slot, part)) {
            next.remove_module(&name);
            next.hub_part(&hub).modules.remove(&name);
        }
        let port = hub.stack_port(slot);
        next.ports.remove(&port);
        next.hub_part(&hub).ports.remove(&port);
        self.weave_or_close(&mut next, &hub)?;
        let outcome = self.change_to(next);
        self.settle_hub(hub);
        self.tidy_shelf();
        outcome
    }

    fn hub_of(&self, slot: u32) -> Option<&Hub> {
        self.hubs.values().find(|hub| hub.gate_of(&Who::Stack(slot)).is_some())
    }

    /// Asks a stack's check something, or changes it.
    fn ask_check<R: Send + 'static>(
        &self,
        hub: &Hub,
        slot: u32,
        question: impl FnOnce(&mut EgressCheck) -> R + Send + 'static,
    ) -> Option<R> {
        let name = hub.stack_part(slot, "check");
        let asked = self
            .workers
            .get(&hub.home_worker(slot))?
            .ask(move |worker| worker.module_mut(&name).map(question));
        asked.inspect_err(|fault| tracing::error!("stack {slot}: {fault}")).ok().flatten()
    }
}

impl Carrier for Daemon {
    fn attach(
        &mut self,
        nic: &Arc<Nic>,
        slot: u32,
        socket: &Path,
        rate: Option<Rate>,
    ) -> Result<(), MuxError> {
        self.join_stack(nic, slot, socket, rate).map_err(|fault| refused(slot, fault))
    }

    fn detach(&mut self, slot: u32) {
        if let Err(fault) = self.part_stack(slot) {
            tracing::error!("stack {slot} did not leave its worker: {fault}");
        }
    }

    fn bind(&mut self, slot: u32, tuple: Tuple) -> Result<(), MuxError> {
        let missing = || refused(slot, Fault::missing("it is not attached"));
        let hub = self.hub_of(slot).ok_or_else(missing)?;
        let gate = hub.gate_of(&Who::Stack(slot)).ok_or_else(missing)?;
        let name = hub.nic.name.clone();
        self.ask_check(hub, slot, move |check| check.give(source_of(tuple))).ok_or_else(missing)?;
        self.tell_demuxes(hub, move |demux| demux.set(end_of(tuple), gate));
        if let Some(taker) = self.hubs.get_mut(&name).and_then(|hub| hub.takers.get_mut(&gate)) {
            taker.ends.insert(end_of(tuple));
        }
        Ok(())
    }

    fn unbind(&mut self, slot: u32, tuple: Tuple) {
        let Some(hub) = self.hub_of(slot) else { return };
        let Some(gate) = hub.gate_of(&Who::Stack(slot)) else { return };
        let name = hub.nic.name.clone();
        self.ask_check(hub, slot, move |check| check.take(&source_of(tuple)));
        self.tell_demuxes(hub, move |demux| demux.remove(&end_of(tuple)));
        if let Some(taker) = self.hubs.get_mut(&name).and_then(|hub| hub.takers.get_mut(&gate)) {
            taker.ends.remove(&end_of(tuple));
        }
    }

    fn counters(&self, slot: u32) -> Option<StackCounters> {
        let hub = self.hub_of(slot)?;
        let (name, index) = (hub.stack_part(slot, "check"), *self.port_indices.get(&hub.stack_port(slot))?);
        let read = move |worker: &mut tidegate_pipeline::Worker| {
            let to = to_stack(worker, index)?;
            let tally = worker.module_mut::<EgressCheck>(&name)?.tally();
            Some(StackCounters::of_pipeline(to, tally.sent_bytes, tally.frames))
        };
        self.workers.get(&hub.home_worker(slot))?.ask(read).ok().flatten()
    }
}

/// Frames and bytes that a memif took.
fn to_stack(worker: &tidegate_pipeline::Worker, port: PortIndex) -> Option<(u64, u64)> {
    let counters = worker.port(port)?.counters();
    Some((counters.tx_packet_count, counters.tx_byte_count))
}
