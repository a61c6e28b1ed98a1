//! Pipelines as a whole: replaced in one change, shown, counted.

use super::wall_s;
use crate::Daemon;
use crate::hooks::{Count, Site, Track};
use crate::make::{self, Seat};
use crate::plant::{ModuleWish, Plant, WorkerWish};
use std::collections::{BTreeMap, HashMap};
use tidegate_control::controller::{
    Above, ClassSpec, CommandCall, Connection, Kinds, ModuleSpec, Outcome, PipelinePlan, Pipelines, Place,
    Policy, Resource, Slot,
};
use tidegate_control::proto::bess::{
    AddWorkerRequest, CommandRequest, ConnectModulesRequest, CreateModuleRequest, CreatePortRequest,
    TrafficClass, traffic_class::Arg,
};
use tidegate_control::proto::v1::{
    Attribute, ClassCounters, DirectionCounters, DropCounter, GateCounters, ModuleCounters, ModuleMetadata,
    PipelineSpec, PortCounters, ReplacePipelineResponse, ShowMetadataResponse, WatchResponse,
    attribute::Access as ShownAccess, gate_counters::Direction,
};
use tidegate_control::{Errno, Fault};
use tidegate_packet::SCRATCH_LEN;
use tidegate_pipeline::GateSide;
use tidegate_pipeline::metadata::Access;

impl Daemon {
    /// The plant that `plan` means, with modules and ports that are as they were kept. New ones are on the shelf and in
    /// the harbour then.
    fn next_of(&mut self, plan: &PipelinePlan, answer: &mut ReplacePipelineResponse) -> Outcome<Plant> {
        let mut next = self.plant.without_pipeline();
        for worker in &plan.workers {
            let old = next.workers.insert(worker.wid, WorkerWish::on(worker.core));
            if let Some(old) = old.filter(|old| old.is_of_service) {
                let text = format!("worker {} on core {} is a service's own", worker.wid, old.core);
                return Err(Fault::new(Errno::EEXIST, text));
            }
        }
        for spec in &plan.ports {
            let name = spec.name.clone().unwrap_or_default();
            self.plant.check_free("port", &name)?;
            let is_kept = self.plant.ports.get(&name).is_some_and(|old| old == spec);
            if !is_kept && self.plant.ports.contains_key(&name) {
                let text = format!(
                    "port {name} cannot be opened again in the same change: give the new one another name"
                );
                return Err(Fault::unsupported(text));
            }
            if is_kept { &mut answer.kept } else { &mut answer.created }.push(name.clone());
            next.ports.insert(name, spec.clone());
        }
        for spec in &plan.modules {
            let name = spec.name.as_deref().unwrap_or_default();
            let told = plan.commands.iter().filter(|call| call.module == name).cloned().collect();
            self.take_module(&mut next, spec, told, answer)?;
        }
        for link in &plan.connections {
            next.links.insert((link.from.clone(), link.ogate), (link.to.clone(), link.igate));
        }
        if !(plan.classes.is_empty() && plan.tasks.is_empty()) {
            next.need_worker();
        }
        plan.classes.iter().try_for_each(|class| next.add_class(class.clone()))?;
        plan.tasks.iter().try_for_each(|task| next.move_to(task.clone()))?;
        let is_gone = |name: &&String| !next.modules.contains_key(*name) && !next.ports.contains_key(*name);
        let old = self.plant.modules.keys().chain(self.plant.ports.keys());
        answer.removed = old.filter(is_gone).cloned().collect();
        Ok(next)
    }

    /// A module that was made with the same argument and commands stays; another one is made, and told `told`.
    fn take_module(
        &mut self,
        next: &mut Plant,
        spec: &ModuleSpec,
        told: Vec<CommandCall>,
        answer: &mut ReplacePipelineResponse,
    ) -> Outcome {
        let name = spec.name.clone().unwrap_or_default();
        self.plant.check_free("module", &name)?;
        if let Some(old) = self.kept(&name, spec, &told)? {
            next.modules.insert(name.clone(), old);
            answer.kept.push(name);
            return Ok(());
        }
        self.add_module(next, &name, spec).map_err(|fault| fault.of(&name))?;
        self.instruct(next, &name, told).map_err(|fault| fault.of(&name))?;
        answer.created.push(name);
        Ok(())
    }

    /// The module that is so already: it was told this with its pipeline, or all in all.
    fn kept(&mut self, name: &str, spec: &ModuleSpec, told: &[CommandCall]) -> Outcome<Option<ModuleWish>> {
        let is_alike = |old: &&ModuleWish| old.class.name == spec.class.name && old.arg == spec.arg;
        let Some(mut old) = self.plant.modules.get(name).filter(is_alike).cloned() else { return Ok(None) };
        if old.planned == told {
            return Ok(Some(old));
        }
        if self.commands_of(name)? != told {
            return Ok(None);
        }
        (old.planned, old.is_told_later) = (told.to_vec(), false);
        Ok(Some(old))
    }

    /// The commands that bring a fresh module to where this one is.
    fn commands_of(&mut self, name: &str) -> Outcome<Vec<CommandCall>> {
        let Some(wish) = self.plant.modules.get(name) else { return Ok(Vec::new()) };
        let (class, planned) = (wish.class, wish.planned.clone());
        if !wish.is_told_later {
            return Ok(planned);
        }
        let told = self.told_to(name, &self.plant.clone())?;
        let call = |(command, arg)| {
            Some(CommandCall { module: name.to_owned(), command: class.command(command)?, arg })
        };
        Ok(told.into_iter().filter_map(call).collect())
    }

    /// Tells a new module of `next`, which no worker has yet, what came with the pipeline.
    fn instruct(&mut self, next: &mut Plant, name: &str, told: Vec<CommandCall>) -> Outcome {
        let Some(wish) = next.modules.get_mut(name) else { return Ok(()) };
        for call in &told {
            match self.shelf.get_mut(&wish.serial) {
                Some(module) => make::command(wish, module.as_mut(), call.command, call.arg.clone())?,
                None => {
                    // It is made for its worker later, and told again then: only see whether it can be.
                    let mut trial = make::make(wish.class, &wish.arg, Seat::TRIAL)?;
                    make::command(wish, trial.as_mut(), call.command, call.arg.clone())?
                }
            };
            make::note(wish, call.command, &call.arg);
        }
        wish.planned = told;
        Ok(())
    }

    fn replace(&mut self, plan: &PipelinePlan, check_only: bool) -> Outcome<ReplacePipelineResponse> {
        let mut answer = ReplacePipelineResponse::default();
        let next = self.next_of(plan, &mut answer)?;
        crate::plant::check(&next)?;
        crate::plant::place(&next, &self.placement)?;
        answer.notes = self.lay_out(&next).faults().iter().map(ToString::to_string).collect();
        if check_only {
            return Ok(answer);
        }
        let mut new_ports: Vec<String> =
            next.ports.keys().filter(|port| !self.plant.ports.contains_key(*port)).cloned().collect();
        let opened = self.open_all(&next, &new_ports);
        let fresh = self.fresh_links(plan);
        let outcome = opened.and_then(|()| self.change(next));
        if outcome.is_err() {
            new_ports.retain(|port| !self.plant.ports.contains_key(port));
            new_ports.iter().for_each(|port| self.close_port(port));
        }
        outcome?;
        self.tracks.extend(fresh.into_iter().map(|site| (site, Track::by_default())));
        Ok(answer)
    }

    /// Output gates of a plan that have the usual hooks and lead somewhere else than before, or were not there.
    fn fresh_links(&self, plan: &PipelinePlan) -> Vec<Site> {
        let links = plan.connections.iter().filter(|link| link.default_hooks);
        let is_fresh = |link: &&Connection| {
            self.plant.links.get(&(link.from.clone(), link.ogate)) != Some(&(link.to.clone(), link.igate))
        };
        links.filter(is_fresh).map(|link| (link.from.clone(), GateSide::Output(link.ogate.into()))).collect()
    }

    fn open_all(&mut self, next: &Plant, ports: &[String]) -> Outcome {
        for name in ports {
            self.open_port(name, &next.ports[name])?;
        }
        Ok(())
    }
}

/// A module's attributes, with the numbers of their scopes.
fn shown_attributes(
    wish: &ModuleWish,
    number: usize,
    daemon: &Daemon,
    scopes: &HashMap<(usize, &str), usize>,
) -> Vec<Attribute> {
    let places = daemon.layout.places(number);
    let shown = |(at, it): (usize, &tidegate_pipeline::metadata::Attribute)| Attribute {
        name: it.name.to_string(),
        len: it.size.into(),
        access: match it.access {
            Access::Read => ShownAccess::Read,
            Access::Write => ShownAccess::Write,
            Access::Update => ShownAccess::Update,
        }
        .into(),
        offset: places.get(at).and_then(|place| place.offset()).map(u32::from),
        scope: scopes.get(&(number, it.name.as_ref())).map_or(0, |scope| *scope as u32 + 1),
    };
    wish.attributes.iter().enumerate().map(shown).collect()
}

fn class_record(class: &ClassSpec) -> TrafficClass {
    let mut record = placed(&class.place);
    record.name = class.name.clone();
    let (policy, resource) = match class.policy {
        Policy::Priority => ("priority", None),
        Policy::RoundRobin => ("round_robin", None),
        Policy::WeightedFair(resource) => ("weighted_fair", Some(resource)),
        Policy::RateLimit { resource, limit, max_burst } => {
            let name = resource_name(resource).to_owned();
            record.limit = HashMap::from([(name.clone(), limit.unwrap_or(0) as i64)]);
            record.max_burst = HashMap::from([(name, max_burst as i64)]);
            ("rate_limit", Some(resource))
        }
    };
    record.policy = policy.to_owned();
    record.resource = resource.map_or("", resource_name).to_owned();
    record
}

fn placed(place: &Place) -> TrafficClass {
    let mut record = TrafficClass::default();
    match &place.above {
        Above::Class(parent) => record.parent = parent.clone(),
        Above::Worker(wid) => record.wid = (*wid).into(),
        Above::AnyWorker => record.wid = -1,
    }
    record.arg = match place.slot {
        Some(Slot::Priority(priority)) => Some(Arg::Priority(priority.into())),
        Some(Slot::Share(share)) => Some(Arg::Share(share.into())),
        None => None,
    };
    record
}

const fn resource_name(resource: Resource) -> &'static str {
    match resource {
        Resource::Count => "count",
        Resource::Cycle => "cycle",
        Resource::Packet => "packet",
        Resource::Bit => "bit",
    }
}

fn gate_record(module: &str, side: GateSide, count: Count) -> GateCounters {
    let (direction, gate) = match side {
        GateSide::Input(gate) => (Direction::Input, gate),
        GateSide::Output(gate) => (Direction::Output, gate),
    };
    GateCounters {
        module: module.to_owned(),
        direction: direction.into(),
        gate: gate as u32,
        batches: count.batches,
        packets: count.packets,
        bytes: count.bytes,
    }
}

impl Pipelines for Daemon {
    fn replace_pipeline(&mut self, plan: PipelinePlan, check_only: bool) -> Outcome<ReplacePipelineResponse> {
        let outcome = self.replace(&plan, check_only);
        self.tidy_shelf();
        outcome
    }

    fn pipeline(&mut self, with_commands: bool) -> Outcome<PipelineSpec> {
        let mut calls = Vec::new();
        for name in self.plant.modules.keys().filter(|_| with_commands).cloned().collect::<Vec<_>>() {
            calls.extend(self.commands_of(&name)?);
        }
        let plant = &self.plant;
        let is_own = |name: &String| plant.owner(name).is_none();
        let workers = plant.workers.iter().filter(|(_, wish)| !wish.is_of_service).map(|(wid, wish)| {
            AddWorkerRequest { wid: (*wid).into(), core: wish.core.into(), scheduler: String::new() }
        });
        let ports =
            plant.ports.iter().filter(|(name, _)| is_own(name)).map(|(name, spec)| CreatePortRequest {
                name: name.clone(),
                driver: spec.driver.name.to_owned(),
                num_inc_q: spec.rx_queues.into(),
                num_out_q: spec.tx_queues.into(),
                size_inc_q: spec.rx_descriptors.unwrap_or(0).into(),
                size_out_q: spec.tx_descriptors.unwrap_or(0).into(),
                arg: Some(spec.arg.to_any()),
            });
        let modules =
            plant.modules.iter().filter(|(name, _)| is_own(name)).map(|(name, wish)| CreateModuleRequest {
                name: name.clone(),
                mclass: wish.class.name.to_owned(),
                arg: Some(wish.arg.to_any()),
            });
        let links = plant.links.iter().filter(|((from, _), _)| is_own(from));
        let connections = links.map(|((from, out), (to, input))| ConnectModulesRequest {
            m1: from.clone(),
            m2: to.clone(),
            ogate: (*out).into(),
            igate: (*input).into(),
            skip_default_hooks: false,
        });
        let commands = calls.into_iter().map(|call| CommandRequest {
            name: call.module,
            cmd: call.command.name.to_owned(),
            arg: Some(call.arg.to_any()),
        });
        let tasks =
            plant.tasks.iter().filter(|((module, _), _)| is_own(module)).map(|((module, task), place)| {
                TrafficClass {
                    leaf_module_name: module.clone(),
                    leaf_module_taskid: (*task).into(),
                    ..placed(place)
                }
            });
        Ok(PipelineSpec {
            workers: workers.collect(),
            ports: ports.collect(),
            modules: modules.collect(),
            connections: connections.collect(),
            classes: plant.classes.iter().map(class_record).collect(),
            tasks: tasks.collect(),
            commands: commands.collect(),
        })
    }

    fn metadata(&mut self) -> Outcome<ShowMetadataResponse> {
        let mut scopes = HashMap::new();
        for (scope, component) in self.layout.components().iter().enumerate() {
            for member in &component.members {
                scopes.insert((*member, component.attribute.as_str()), scope);
            }
        }
        let module = |(number, (name, wish)): (usize, (&String, &ModuleWish))| ModuleMetadata {
            module: name.clone(),
            attributes: shown_attributes(wish, number, self, &scopes),
        };
        Ok(ShowMetadataResponse {
            used_len: self.layout.used_len() as u32,
            area_len: SCRATCH_LEN as u32,
            modules: self.plant.modules.iter().enumerate().map(module).collect(),
        })
    }

    fn counters(&mut self, kinds: Kinds) -> Outcome<WatchResponse> {
        let monotonic_s = tidegate_sys::clock::now().as_nanos() as f64 / 1e9;
        let mut answer = WatchResponse { timestamp: wall_s(), monotonic_s, ..WatchResponse::default() };
        let totals = if kinds.gates || kinds.modules { self.totals()? } else { BTreeMap::new() };
        for (name, total) in &totals {
            if kinds.gates {
                answer.gates.extend(total.counts().map(|(side, count)| gate_record(name, side, count)));
            }
            if kinds.modules {
                let drops = total.drops.iter().filter(|(_, count)| *count > 0);
                answer.modules.push(ModuleCounters {
                    module: name.clone(),
                    cycles: total.busy_ns,
                    packets: total.received(),
                    deadend_packets: total.drops.of(tidegate_base::DropReason::Policy),
                    drops: drops
                        .map(|(reason, packets)| DropCounter { reason: reason.as_str().to_owned(), packets })
                        .collect(),
                });
            }
        }
        if kinds.classes {
            answer.classes = self
                .usages()?
                .into_iter()
                .map(|(wid, class, usage)| ClassCounters {
                    class,
                    wid: wid.into(),
                    count: usage.count,
                    cycles: usage.cycles,
                    packets: usage.packets,
                    bits: usage.bits,
                    throttled: 0,
                })
                .collect();
        }
        if kinds.ports {
            let names: Vec<String> = self.plant.ports.keys().cloned().collect();
            for port in names {
                let counters = self.port_counters(&port)?;
                let direction = |packets, bytes, dropped| Some(DirectionCounters { packets, bytes, dropped });
                answer.ports.push(PortCounters {
                    port,
                    received: direction(
                        counters.rx_packet_count,
                        counters.rx_byte_count,
                        counters.rx_drop_count,
                    ),
                    sent: direction(counters.tx_packet_count, counters.tx_byte_count, counters.tx_drop_count),
                });
            }
        }
        Ok(answer)
    }
}
