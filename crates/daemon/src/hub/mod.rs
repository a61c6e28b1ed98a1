//! NICs whose queues are open on workers, and who has frames of them: services, and stacks of other processes behind memif.
//!
//! ```text
//!                                         +-gate 0-> web/eth0/0/stack --------+
//!   eth0/0/in -> eth0/0/demux --by tuple--+-gate 1-> dns/eth0/0/stack --------+-> eth0/0/out
//!                                         +-gate 2-> eth0/stack3/out   eth0/stack3/check
//!                                                            \= memif =/  stack 3's process
//! ```
//! The kernel binds a queue to one memory, so whoever has frames of a queue shares its port, its worker and that worker's pool.
//! A service that is alone has no demux before it. A stack has its memif on the worker of one queue; frames for it that come in
//! on other workers cross by a `Queue` (docs/adr/0008).
//!
//! `stacks.rs` is what the mux's desk asks for.
//!
//! Invariant: a hub is there as long as somebody has frames of its NIC, and what runs is what it says.

mod stacks;

use crate::Daemon;
use crate::berth::Berth;
use crate::plant::{ModuleWish, PartWish, Plant, WorkerWish};
use crate::worker::Shape;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tidegate_bpf::{Protocol, Tuple};
use tidegate_control::classes::{self, Driver, GateLimits, ModuleClass};
use tidegate_control::controller::{ModuleSpec, Outcome, PortSpec};
use tidegate_control::proto::bess::{EmptyArg, PortIncArg, PortOutArg};
use tidegate_control::{Errno, Fault, Kind, Message};
use tidegate_modules::Demux;
use tidegate_mux::{Gso, Nic};
use tidegate_pipeline::{GATE_COUNT_MAX, Module};
use tidegate_sys::xsk::XskConfig;
use tidegate_sys::{cpu, random};
use tidegate_wire::egress::Transport;
use tidegate_wire::ingress::Destination;

/// The class of a service's host; no controller can make one.
static STACK: ModuleClass = ModuleClass {
    name: "Stack",
    short_name: "stack",
    arg: Kind::EmptyArg,
    gates: GateLimits { inputs: 1, outputs: 1 },
    help: "a host with web and name servers",
    commands: &[],
};

/// The class of what parts frames; no controller can make one.
static DEMUX: ModuleClass = ModuleClass {
    name: "Demux",
    short_name: "demux",
    arg: Kind::EmptyArg,
    gates: GateLimits { inputs: 1, outputs: GATE_COUNT_MAX as u16 },
    help: "gives frames to services and stacks by address and port",
    commands: &[],
};

/// The driver of a NIC's queues.
static QUEUE: Driver = Driver {
    name: "DeviceQueue",
    short_name: "queue",
    arg: Kind::EmptyArg,
    help: "one queue of a NIC that services and stacks share",
};

/// The highest number of a worker: services' own are taken from there down, pipelines' from 0 up.
const WID_MAX: u8 = 63;

/// How a NIC's queues are opened.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Opening {
    pub(crate) xsk: XskConfig,
    pub(crate) gso: Gso,
}

/// A NIC whose queues are open.
#[derive(Clone)]
pub(crate) struct Hub {
    pub(crate) nic: Arc<Nic>,
    pub(crate) opening: Opening,
    /// The worker of each queue.
    pub(crate) seats: Vec<u8>,
    /// Who has frames of it, by the demux's gate.
    takers: BTreeMap<u16, Taker>,
}

/// Who has frames of a NIC, and which.
#[derive(Clone)]
struct Taker {
    who: Who,
    ends: BTreeSet<Destination>,
}

#[derive(Clone, PartialEq, Eq)]
enum Who {
    Service(String),
    Stack(u32),
}

impl Hub {
    fn lane(&self, queue: usize, part: &str) -> String {
        format!("{}/{queue}/{part}", self.nic.name)
    }

    fn stack_part(&self, slot: u32, part: &str) -> String {
        format!("{}/stack{slot}/{part}", self.nic.name)
    }

    /// The queue on whose worker a stack's memif is, and by which its frames leave.
    fn home(&self, slot: u32) -> usize {
        slot as usize % self.seats.len()
    }

    fn gate_of(&self, who: &Who) -> Option<u16> {
        self.takers.iter().find(|(_, taker)| taker.who == *who).map(|(gate, _)| *gate)
    }

    /// Gives somebody a gate, for frames that are to `ends`.
    fn admit(&mut self, who: Who, ends: impl IntoIterator<Item = Destination>) -> Outcome<u16> {
        let free = (0..GATE_COUNT_MAX as u16).find(|gate| !self.takers.contains_key(gate));
        let gate = free.ok_or_else(|| Fault::new(Errno::ENOSPC, "all gates of the demux are taken"))?;
        self.takers.insert(gate, Taker { who, ends: ends.into_iter().collect() });
        Ok(gate)
    }

    /// The service that all frames are for, if nobody else has any.
    fn alone(&self) -> Option<&str> {
        let mut takers = self.takers.values();
        match (takers.next(), takers.next()) {
            (Some(Taker { who: Who::Service(name), .. }), None) => Some(name),
            _ => None,
        }
    }

    /// Where frames of a queue go that are for `who`.
    fn entry(&self, queue: usize, who: &Who) -> String {
        match who {
            Who::Service(name) => host_name(name, &self.nic.name, queue),
            Who::Stack(slot) if self.seats[self.home(*slot)] == self.seats[queue] => {
                self.stack_part(*slot, "out")
            }
            Who::Stack(slot) => self.stack_part(*slot, "queue"),
        }
    }

    /// A demux that knows everybody.
    fn demux(&self) -> Outcome<Demux> {
        let mut demux = Demux::new(seed()?);
        for (gate, taker) in &self.takers {
            taker.ends.iter().for_each(|end| demux.set(*end, *gate));
        }
        Ok(demux)
    }
}

/// The name of the host that a service is on one queue of a NIC.
pub(crate) fn host_name(service: &str, nic: &str, queue: usize) -> String {
    format!("{service}/{nic}/{queue}/stack")
}

/// A tuple as it stands in frames that are for it.
pub(crate) const fn end_of(tuple: Tuple) -> Destination {
    let transport = match tuple.protocol {
        Protocol::Tcp => Transport::Tcp,
        Protocol::Udp => Transport::Udp,
    };
    Destination { transport, address: tuple.address.to_canonical(), port: tuple.port }
}

fn seed() -> Outcome<u64> {
    random::u64().map_err(|error| Fault::new(Errno::EIO, error.to_string()))
}

fn port_spec(name: &str, driver: &'static Driver) -> PortSpec {
    PortSpec {
        name: Some(name.to_owned()),
        driver,
        arg: EmptyArg {}.into(),
        rx_queues: 1,
        tx_queues: 1,
        rx_descriptors: None,
        tx_descriptors: None,
    }
}

impl Plant {
    /// A worker of services' and stacks' own, which is to be.
    pub(crate) fn add_worker(&mut self, core: usize, shape: Shape) -> Outcome<u8> {
        let free = (0..=WID_MAX).rev().find(|wid| !self.workers.contains_key(wid));
        let wid = free.ok_or_else(|| Fault::new(Errno::ENOSPC, "all 64 workers are in use"))?;
        let wish = WorkerWish { is_of_service: true, shape, ..WorkerWish::on(core as u32) };
        self.workers.insert(wid, wish);
        Ok(wid)
    }

    /// The core with the fewest workers, the last of them.
    fn idlest_core(&self) -> usize {
        let count = |core: &usize| self.workers.values().filter(|wish| wish.core as usize == *core).count();
        cpu::allowed().into_iter().rev().min_by_key(count).unwrap_or(0)
    }

    fn hub_part(&mut self, hub: &Hub) -> &mut PartWish {
        self.hubs.entry(hub.nic.name.clone()).or_default()
    }
}

impl Daemon {
    /// Opens the queues of a NIC, each on its worker, in a plant that is to be.
    pub(crate) fn open_hub(
        &mut self,
        next: &mut Plant,
        nic: &Arc<Nic>,
        seats: Vec<u8>,
        opening: Opening,
    ) -> Outcome<Hub> {
        let hub = Hub { nic: Arc::clone(nic), opening, seats, takers: BTreeMap::new() };
        let Opening { xsk, gso } = opening;
        for (queue, wid) in hub.seats.iter().enumerate() {
            let port = format!("{}/{queue}", nic.name);
            let berth = Berth { nic: Arc::clone(nic), _holding: None, queue: queue as u32, xsk, gso };
            self.berths.insert(port.clone(), berth);
            next.ports.insert(port.clone(), port_spec(&port, &QUEUE));
            let (receiver, sender) = (hub.lane(queue, "in"), hub.lane(queue, "out"));
            let receive = PortIncArg { port: port.clone(), ..PortIncArg::default() };
            self.add_part(next, &receiver, "PortInc", receive.into())?;
            self.add_part(next, &sender, "PortOut", PortOutArg { port: port.clone() }.into())?;
            let part = next.hub_part(&hub);
            part.ports.insert(port);
            part.modules.extend([(receiver, *wid), (sender, *wid)]);
        }
        Ok(hub)
    }

    /// Gives a service frames of a NIC: `hosts` are what it is on each queue.
    pub(crate) fn join_service(
        &mut self,
        next: &mut Plant,
        hub: &mut Hub,
        service: &str,
        tuples: impl IntoIterator<Item = Tuple>,
        hosts: Vec<Box<dyn Module>>,
    ) -> Outcome {
        hub.admit(Who::Service(service.to_owned()), tuples.into_iter().map(end_of))?;
        for (queue, host) in hosts.into_iter().enumerate() {
            let name = host_name(service, &hub.nic.name, queue);
            self.add_own(next, &name, &STACK, host, None);
            next.services
                .entry(service.to_owned())
                .or_default()
                .modules
                .insert(name.clone(), hub.seats[queue]);
            next.links.insert((name, 0), (hub.lane(queue, "out"), 0));
        }
        self.weave(next, hub)
    }

    /// Takes a service from all NICs, in a plant that is to be, where it is gone already; the hubs as they are then.
    pub(crate) fn part_service(&mut self, next: &mut Plant, service: &str) -> Outcome<Vec<Hub>> {
        let who = Who::Service(service.to_owned());
        let concerned = self.hubs.values().filter(|hub| hub.gate_of(&who).is_some()).cloned();
        let mut hubs: Vec<Hub> = concerned.collect();
        for hub in &mut hubs {
            hub.takers.retain(|_, taker| taker.who != who);
            self.weave_or_close(next, hub)?;
        }
        Ok(hubs)
    }

    fn weave_or_close(&mut self, next: &mut Plant, hub: &Hub) -> Outcome {
        if hub.takers.is_empty() {
            next.remove_hub(&hub.nic.name);
            return Ok(());
        }
        self.weave(next, hub)
    }

    /// Has the links of each queue be what the hub says.
    fn weave(&mut self, next: &mut Plant, hub: &Hub) -> Outcome {
        for (queue, wid) in hub.seats.iter().enumerate() {
            let (receiver, demux) = (hub.lane(queue, "in"), hub.lane(queue, "demux"));
            if let Some(service) = hub.alone() {
                next.remove_module(&demux);
                next.hub_part(hub).modules.remove(&demux);
                let host = host_name(service, &hub.nic.name, queue);
                next.links.insert((receiver, 0), (host, 0));
                continue;
            }
            if !next.modules.contains_key(&demux) {
                self.add_own(next, &demux, &DEMUX, Box::new(hub.demux()?), None);
                next.hub_part(hub).modules.insert(demux.clone(), *wid);
            }
            next.links.retain(|(from, _), _| *from != demux);
            for (gate, taker) in &hub.takers {
                next.links.insert((demux.clone(), *gate), (hub.entry(queue, &taker.who), 0));
            }
            next.links.insert((receiver, 0), (demux, 0));
        }
        Ok(())
    }

    /// Notes a hub as it runs now, and tells its demuxes of everybody whom they do not know.
    pub(crate) fn settle_hub(&mut self, hub: Hub) {
        if hub.takers.is_empty() {
            self.hubs.remove(&hub.nic.name);
            return;
        }
        let (mut gone, mut new) = (Vec::new(), Vec::new());
        let before = self.hubs.get(&hub.nic.name).map(|before| &before.takers);
        for (gate, taker) in before.into_iter().flatten() {
            if !hub.takers.contains_key(gate) {
                gone.extend(taker.ends.iter().copied());
            }
        }
        for (gate, taker) in &hub.takers {
            if before.is_none_or(|before| !before.contains_key(gate)) {
                new.extend(taker.ends.iter().map(|end| (*end, *gate)));
            }
        }
        self.tell_demuxes(&hub, move |demux: &mut Demux| {
            gone.iter().for_each(|end| demux.remove(end));
            new.iter().for_each(|(end, gate)| demux.set(*end, *gate));
        });
        self.hubs.insert(hub.nic.name.clone(), hub);
    }

    /// Changes each demux of a hub, if it has any.
    fn tell_demuxes(&self, hub: &Hub, change: impl Fn(&mut Demux) + Clone + Send + 'static) {
        for (queue, wid) in hub.seats.iter().enumerate() {
            let (name, change) = (hub.lane(queue, "demux"), change.clone());
            let Some(running) = self.workers.get(wid) else { continue };
            let told = running.ask(move |worker| {
                if let Some(demux) = worker.module_mut::<Demux>(&name) {
                    change(demux);
                }
            });
            if let Err(fault) = told {
                tracing::error!("{}: {fault}", hub.nic.name);
            }
        }
    }

    fn add_part(&mut self, next: &mut Plant, name: &str, class: &str, arg: Message) -> Outcome {
        let class = classes::module(class);
        let class = class.ok_or_else(|| Fault::new(Errno::EIO, "a class is missing, please report it"))?;
        self.add_module(next, name, &ModuleSpec { name: None, class, arg })
    }

    /// Adds a module that no controller can make.
    fn add_own(
        &mut self,
        next: &mut Plant,
        name: &str,
        class: &'static ModuleClass,
        module: Box<dyn Module>,
        port: Option<String>,
    ) {
        let serial = self.serial();
        let wish = ModuleWish {
            class,
            arg: EmptyArg {}.into(),
            serial,
            gates: module.gates(),
            attributes: module.attributes().to_vec(),
            task_count: module.task_count() as u32,
            port,
            said: Vec::new(),
            planned: Vec::new(),
            is_told_later: false,
        };
        self.shelf.insert(serial, module);
        next.modules.insert(name.to_owned(), wish);
    }
}
