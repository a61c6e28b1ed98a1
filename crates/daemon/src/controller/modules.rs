//! Modules, links and commands.

use super::wall_s;
use crate::Daemon;
use crate::bundle::Bundle;
use crate::hooks::{Count, TRACK, Track};
use crate::make::{self, Seat};
use crate::plant::{ModuleWish, Plant};
use std::collections::BTreeMap;
use tidegate_base::DropReason;
use tidegate_control::classes::{ModuleClass, module as class_named};
use tidegate_control::controller::{CommandCall, Connection, ModuleSpec, Modules, Outcome};
use tidegate_control::proto::bess::GetModuleInfoResponse;
use tidegate_control::proto::bess::get_module_info_response::{Attribute, GateHook, IGate, OGate, i_gate};
use tidegate_control::proto::bess::list_modules_response::Module;
use tidegate_control::{Errno, Fault, Message, generated_name};
use tidegate_pipeline::metadata::{Access, Place};
use tidegate_pipeline::{GateSide, GateTraffic, ModuleSnapshot};

/// What a module did, on all its workers.
pub(super) struct Total {
    gates: BTreeMap<GateSide, Count>,
    pub(super) drops: tidegate_base::DropCounters,
    pub(super) busy_ns: u64,
}

impl Default for Total {
    fn default() -> Self {
        Self { gates: BTreeMap::new(), drops: tidegate_base::DropCounters::new(), busy_ns: 0 }
    }
}

impl Total {
    fn add(&mut self, one: &ModuleSnapshot) {
        for gate in &one.inputs {
            self.add_gate(GateSide::Input(gate.gate), gate.traffic, gate.byte_count);
        }
        for gate in &one.outputs {
            self.add_gate(GateSide::Output(gate.gate), gate.traffic, gate.byte_count);
        }
        self.drops.merge(&one.traffic.drops);
        self.busy_ns += one.traffic.busy.as_nanos();
    }

    fn add_gate(&mut self, side: GateSide, traffic: GateTraffic, bytes: u64) {
        let count = self.gates.entry(side).or_default();
        count.batches += traffic.batch_count;
        count.packets += traffic.packet_count;
        count.bytes += bytes;
    }

    /// What passed a gate since it was made.
    pub(super) fn count_at(&self, side: GateSide) -> Count {
        self.gates.get(&side).copied().unwrap_or_default()
    }

    /// Packets that arrived.
    pub(super) fn received(&self) -> u64 {
        self.counts()
            .filter(|(side, _)| matches!(side, GateSide::Input(_)))
            .map(|(_, count)| count.packets)
            .sum()
    }

    /// All gates, input before output.
    pub(super) fn counts(&self) -> impl Iterator<Item = (GateSide, Count)> {
        self.gates.iter().map(|(side, count)| (*side, *count))
    }
}

impl Daemon {
    /// What each module did, on all workers together.
    pub(super) fn totals(&self) -> Outcome<BTreeMap<String, Total>> {
        let mut totals: BTreeMap<String, Total> = BTreeMap::new();
        for snapshot in self.snapshots()?.values() {
            for module in &snapshot.modules {
                totals.entry(module.name.clone()).or_default().add(module);
            }
        }
        Ok(totals)
    }

    pub(super) fn wish(&self, name: &str) -> Outcome<&ModuleWish> {
        self.plant.modules.get(name).ok_or_else(|| missing(name))
    }

    /// Makes a module and adds it to `plant`; it stays on the shelf until a change brings it to a worker.
    pub(crate) fn add_module(&mut self, plant: &mut Plant, name: &str, spec: &ModuleSpec) -> Outcome {
        let port = make::port_of(&spec.arg);
        if let Some(port) = port.as_ref().filter(|port| !plant.ports.contains_key(*port)) {
            return Err(Fault::new(Errno::ENODEV, format!("there is no port {port}: create it first")));
        }
        let module = make::make(spec.class, &spec.arg, Seat::TRIAL)?;
        let serial = self.serial();
        let wish = ModuleWish {
            class: spec.class,
            arg: spec.arg.clone(),
            serial,
            gates: module.gates(),
            attributes: module.attributes().to_vec(),
            task_count: module.task_count() as u32 * task_factor(plant, &spec.arg),
            port,
            said: Vec::new(),
            planned: Vec::new(),
            is_told_later: false,
        };
        if !make::is_seated(spec.class) {
            self.shelf.insert(serial, module);
        }
        plant.modules.insert(name.to_owned(), wish);
        Ok(())
    }

    /// Takes modules off the shelf that no plant has, after a refused change.
    pub(crate) fn tidy_shelf(&mut self) {
        let plant = &self.plant;
        self.shelf.retain(|serial, _| plant.modules.values().any(|module| module.serial == *serial));
    }

    /// What a controller sees of a gate: an output gate counts as long as it is tracked, an input gate always.
    fn shown(&self, name: &str, side: GateSide, total: &Total) -> (Count, Vec<GateHook>) {
        let site = (name.to_owned(), side);
        let now = total.count_at(side);
        let track = self.tracks.get(&site);
        let count = match (track, side) {
            (Some(track), _) => now.since(track.base),
            (None, GateSide::Input(_)) => now,
            (None, GateSide::Output(_)) => Count::default(),
        };
        let hook =
            |class: &str, name: &str| GateHook { class_name: class.to_owned(), hook_name: name.to_owned() };
        let taps = self.taps.iter().filter(|tap| tap.site == site);
        let taps = taps.map(|tap| hook(tap.format.class(), &tap.name));
        (count, track.map(|track| hook(TRACK, &track.name)).into_iter().chain(taps).collect())
    }

    fn attributes(&self, name: &str, wish: &ModuleWish) -> Vec<Attribute> {
        let number = self.plant.modules.keys().position(|other| other == name).unwrap_or(usize::MAX);
        let places = self.layout.places(number);
        let attribute = |(at, attribute): (usize, &tidegate_pipeline::metadata::Attribute)| Attribute {
            name: attribute.name.to_string(),
            size: attribute.size.into(),
            mode: match attribute.access {
                Access::Read => "read",
                Access::Write => "write",
                Access::Update => "update",
            }
            .to_owned(),
            offset: places.get(at).copied().unwrap_or(Place::Unread).bess_offset(),
        };
        wish.attributes.iter().enumerate().map(attribute).collect()
    }
}

/// A receiver from a port has a task for each of its queues.
fn task_factor(plant: &Plant, arg: &Message) -> u32 {
    match arg {
        Message::PortIncArg(arg) => plant.queues(&arg.port).len() as u32,
        _ => 1,
    }
}

fn missing(name: &str) -> Fault {
    Fault::missing(format!("there is no module {name}: list what there is, or create it"))
}

impl Modules for Daemon {
    fn has_module_class(&self, class: &'static ModuleClass) -> bool {
        make::is_known(class)
    }

    fn class_of(&self, module: &str) -> Outcome<&'static ModuleClass> {
        let class = self.wish(module)?.class;
        Ok(class_named(class.name).unwrap_or(class))
    }

    fn reset_modules(&mut self) -> Outcome {
        let mut next = self.plant.clone();
        next.clear_modules();
        self.change(next)
    }

    fn modules(&mut self) -> Outcome<Vec<Module>> {
        let module = |(name, wish): (&String, &ModuleWish)| Module {
            name: name.clone(),
            mclass: wish.class.name.to_owned(),
            desc: wish.port.clone().unwrap_or_default(),
        };
        let own = self.plant.modules.iter().filter(|(name, _)| self.plant.owner(name).is_none());
        Ok(own.map(module).collect())
    }

    fn create_module(&mut self, spec: ModuleSpec) -> Outcome<String> {
        let is_taken = |name: &str| self.plant.modules.contains_key(name);
        let name = spec.name.clone().unwrap_or_else(|| generated_name(spec.class.short_name, is_taken));
        if is_taken(&name) {
            let text =
                format!("there is a module {name} already: give this one another name, or destroy that one");
            return Err(Fault::new(Errno::EEXIST, text));
        }
        let mut next = self.plant.clone();
        self.add_module(&mut next, &name, &spec)?;
        let outcome = self.change(next);
        self.tidy_shelf();
        outcome.map(|()| name)
    }

    fn destroy_module(&mut self, name: &str) -> Outcome {
        self.wish(name)?;
        self.plant.check_free("module", name)?;
        let mut next = self.plant.clone();
        next.remove_module(name);
        self.change(next)
    }

    fn module_info(&mut self, name: &str) -> Outcome<GetModuleInfoResponse> {
        let wish = self.wish(name)?.clone();
        let total = self.totals()?.remove(name).unwrap_or_default();
        let timestamp = wall_s();
        let mut igates: BTreeMap<u16, IGate> = BTreeMap::new();
        let mut ogates = Vec::new();
        for ((from, ogate), (to, igate)) in &self.plant.links {
            if to == name {
                let (count, gatehooks) = self.shown(name, GateSide::Input((*igate).into()), &total);
                let gate = igates.entry(*igate).or_insert_with(|| IGate {
                    igate: (*igate).into(),
                    cnt: count.batches,
                    pkts: count.packets,
                    bytes: count.bytes,
                    timestamp,
                    gatehooks,
                    ..IGate::default()
                });
                gate.ogates.push(i_gate::OGate { ogate: (*ogate).into(), name: from.clone() });
            }
            if from == name {
                let (count, gatehooks) = self.shown(name, GateSide::Output((*ogate).into()), &total);
                ogates.push(OGate {
                    ogate: (*ogate).into(),
                    cnt: count.batches,
                    pkts: count.packets,
                    bytes: count.bytes,
                    timestamp,
                    name: to.clone(),
                    igate: (*igate).into(),
                    gatehooks,
                });
            }
        }
        Ok(GetModuleInfoResponse {
            error: None,
            name: name.to_owned(),
            mclass: wish.class.name.to_owned(),
            desc: wish.port.clone().unwrap_or_default(),
            igates: igates.into_values().collect(),
            ogates,
            metadata: self.attributes(name, &wish),
            deadends: total.drops.of(DropReason::Policy),
        })
    }

    fn connect(&mut self, connection: Connection) -> Outcome {
        let Connection { from, ogate, to, igate, default_hooks } = connection;
        self.plant.check_free("module", &from)?;
        self.plant.check_free("module", &to)?;
        let (from, to) = ((from, ogate), (to, igate));
        if let Some((module, gate)) = self.plant.links.get(&from) {
            let text = format!(
                "output gate {ogate} of {} leads to {module}:{gate} already: disconnect it first",
                from.0
            );
            return Err(Fault::new(Errno::EBUSY, text));
        }
        let mut next = self.plant.clone();
        let site = (from.0.clone(), GateSide::Output(from.1.into()));
        next.links.insert(from, to);
        self.change(next)?;
        if default_hooks {
            self.tracks.insert(site, Track::by_default());
        }
        Ok(())
    }

    fn disconnect(&mut self, module: &str, ogate: u16) -> Outcome {
        self.wish(module)?;
        self.plant.check_free("module", module)?;
        let mut next = self.plant.clone();
        if next.links.remove(&(module.to_owned(), ogate)).is_none() {
            return Err(Fault::missing(format!("output gate {ogate} of {module} leads nowhere")));
        }
        self.change(next)
    }

    fn run_command(&mut self, call: CommandCall) -> Outcome<Option<Message>> {
        let CommandCall { module: name, command, arg } = call;
        self.plant.check_free("module", &name)?;
        let wish = self.wish(&name)?.clone();
        let mut answer = None;
        let workers = self.placement.modules.get(&name).into_iter().flatten().copied();
        let wids: Vec<u8> = workers.filter(|wid| self.plant.crosses_to(&name, *wid).is_none()).collect();
        for wid in &wids {
            let Some(running) = self.workers.get(wid) else { continue };
            let (wish, arg, name) = (wish.clone(), arg.clone(), name.clone());
            let said = running.ask(move |worker| {
                if let Some(bundle) = worker.module_mut::<Bundle>(&name) {
                    let mut answer = None;
                    for part in bundle.parts_mut() {
                        answer = make::command(&wish, part.as_mut(), command, arg.clone())?;
                    }
                    return Ok(answer);
                }
                let module = worker.any_module_mut(&name).ok_or_else(|| missing(&name))?;
                make::command(&wish, module, command, arg)
            })??;
            answer = answer.or(said);
        }
        if wids.is_empty() {
            answer = match self.shelf.get_mut(&wish.serial) {
                Some(module) => make::command(&wish, module.as_mut(), command, arg.clone())?,
                None => {
                    let mut module = make::make_like(&wish, &wish.said, Seat::TRIAL)?;
                    make::command(&wish, module.as_mut(), command, arg.clone())?
                }
            };
        }
        if let Some(wish) = self.plant.modules.get_mut(&name) {
            wish.is_told_later |= make::note(wish, command, &arg);
        }
        Ok(answer)
    }
}
