//! What runs and what it has counted, as one record for the page.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use tidegate_control::controller::Kinds;
use tidegate_control::proto::bess::list_modules_response::Module;
use tidegate_control::proto::bess::list_tcs_response::TrafficClassStatus;
use tidegate_control::proto::bess::list_workers_response::WorkerStatus;
use tidegate_control::proto::bess::{TrafficClass, traffic_class};
use tidegate_control::proto::v1::service::State as ServiceState;
use tidegate_control::proto::v1::{
    ClassCounters, DirectionCounters, PipelineSpec, Service, WatchResponse, gate_counters,
};
use tidegate_control::{Controller, Fault};

use crate::scene::{DrawingRecord, Scene};

/// What the daemon said, all at one moment.
pub(crate) struct Seen {
    version: String,
    pub(crate) pipeline: PipelineSpec,
    modules: Vec<Module>,
    counters: WatchResponse,
    classes: Vec<TrafficClassStatus>,
    workers: Vec<WorkerStatus>,
    services: Vec<Service>,
}

impl Seen {
    /// Asks for everything in one call, so that no change comes between.
    pub(crate) fn of(daemon: &mut dyn Controller) -> Result<Self, Fault> {
        Ok(Self {
            version: daemon.version()?,
            pipeline: daemon.pipeline(false)?,
            modules: daemon.modules()?,
            counters: daemon.counters(Kinds::ALL)?,
            classes: daemon.classes(None)?,
            workers: daemon.workers()?,
            services: daemon.services()?,
        })
    }
}

/// The record. Counters only rise; the page makes rates of two records by `monotonic_s`.
#[derive(Debug, Serialize)]
pub(crate) struct State {
    version: String,
    timestamp: f64,
    monotonic_s: f64,
    drawing: DrawingRecord,
    modules: Vec<ModuleRecord>,
    /// Packets by link, in the order of the drawing's links.
    gates: Vec<GateRecord>,
    ports: Vec<PortRecord>,
    classes: Vec<ClassRecord>,
    workers: Vec<WorkerRecord>,
    services: Vec<ServiceRecord>,
}

#[derive(Debug, Serialize)]
struct ModuleRecord {
    name: String,
    class: String,
    description: String,
    packets: u64,
    cycles: u64,
    drops: BTreeMap<String, u64>,
}

/// What left by an output gate, whether or not it leads anywhere.
#[derive(Debug, Serialize)]
struct GateRecord {
    module: String,
    gate: u32,
    packets: u64,
    batches: u64,
    bytes: u64,
}

#[derive(Debug, Serialize)]
struct PortRecord {
    name: String,
    driver: String,
    received: DirectionRecord,
    sent: DirectionRecord,
}

#[derive(Debug, Default, Serialize)]
struct DirectionRecord {
    packets: u64,
    bytes: u64,
    dropped: u64,
}

#[derive(Debug, Serialize)]
struct ClassRecord {
    name: String,
    parent: String,
    wid: i64,
    policy: String,
    resource: String,
    limit: Option<i64>,
    max_burst: Option<i64>,
    priority: Option<i64>,
    share: Option<i64>,
    /// Of a leaf: the module whose task it runs.
    module: String,
    task: u64,
    count: u64,
    cycles: u64,
    packets: u64,
    bits: u64,
    throttled: u64,
}

#[derive(Debug, Serialize)]
struct WorkerRecord {
    wid: i64,
    core: i64,
    is_running: bool,
}

#[derive(Debug, Serialize)]
struct ServiceRecord {
    kind: String,
    name: String,
    state: &'static str,
    reason: String,
    listens: Vec<String>,
}

impl State {
    pub(crate) fn new(seen: &Seen, scene: &Scene) -> Self {
        Self {
            version: seen.version.clone(),
            timestamp: seen.counters.timestamp,
            monotonic_s: seen.counters.monotonic_s,
            drawing: scene.record(),
            modules: modules(seen),
            gates: gates(&seen.counters),
            ports: ports(seen),
            classes: classes(seen),
            workers: seen.workers.iter().map(worker).collect(),
            services: seen.services.iter().map(service).collect(),
        }
    }
}

/// In the order of the pipeline, which is the drawing's.
fn modules(seen: &Seen) -> Vec<ModuleRecord> {
    let counters: HashMap<&str, _> =
        seen.counters.modules.iter().map(|counters| (counters.module.as_str(), counters)).collect();
    let descriptions: HashMap<&str, &str> =
        seen.modules.iter().map(|module| (module.name.as_str(), module.desc.as_str())).collect();
    let record = |spec: &tidegate_control::proto::bess::CreateModuleRequest| {
        let name = spec.name.as_str();
        let counted = counters.get(name);
        ModuleRecord {
            name: spec.name.clone(),
            class: spec.mclass.clone(),
            description: descriptions.get(name).map_or_else(String::new, |text| text.to_string()),
            packets: counted.map_or(0, |it| it.packets),
            cycles: counted.map_or(0, |it| it.cycles),
            drops: counted.map_or_else(BTreeMap::new, |it| {
                it.drops.iter().map(|drop| (drop.reason.clone(), drop.packets)).collect()
            }),
        }
    };
    seen.pipeline.modules.iter().map(record).collect()
}

fn gates(counters: &WatchResponse) -> Vec<GateRecord> {
    let outputs = counters.gates.iter().filter(|gate| gate.direction() == gate_counters::Direction::Output);
    let record = |gate: &tidegate_control::proto::v1::GateCounters| GateRecord {
        module: gate.module.clone(),
        gate: gate.gate,
        packets: gate.packets,
        batches: gate.batches,
        bytes: gate.bytes,
    };
    outputs.map(record).collect()
}

fn ports(seen: &Seen) -> Vec<PortRecord> {
    let drivers: HashMap<&str, &str> =
        seen.pipeline.ports.iter().map(|port| (port.name.as_str(), port.driver.as_str())).collect();
    let direction = |counters: Option<&DirectionCounters>| {
        counters.map_or_else(DirectionRecord::default, |it| DirectionRecord {
            packets: it.packets,
            bytes: it.bytes,
            dropped: it.dropped,
        })
    };
    let record = |port: &tidegate_control::proto::v1::PortCounters| PortRecord {
        name: port.port.clone(),
        driver: drivers.get(port.port.as_str()).map_or_else(String::new, |driver| driver.to_string()),
        received: direction(port.received.as_ref()),
        sent: direction(port.sent.as_ref()),
    };
    seen.counters.ports.iter().map(record).collect()
}

fn classes(seen: &Seen) -> Vec<ClassRecord> {
    let counters: HashMap<(i64, &str), &ClassCounters> =
        seen.counters.classes.iter().map(|it| ((it.wid, it.class.as_str()), it)).collect();
    let record = |status: &TrafficClassStatus| {
        let class = status.class.as_ref()?;
        Some(class_record(class, &status.parent, counters.get(&(class.wid, class.name.as_str())).copied()))
    };
    seen.classes.iter().filter_map(record).collect()
}

fn class_record(class: &TrafficClass, parent: &str, used: Option<&ClassCounters>) -> ClassRecord {
    let none = ClassCounters::default();
    let used = used.unwrap_or(&none);
    let (priority, share) = match class.arg {
        Some(traffic_class::Arg::Priority(priority)) => (Some(priority), None),
        Some(traffic_class::Arg::Share(share)) => (None, Some(share)),
        None => (None, None),
    };
    ClassRecord {
        name: class.name.clone(),
        parent: parent.to_owned(),
        wid: class.wid,
        policy: class.policy.clone(),
        resource: class.resource.clone(),
        limit: class.limit.get(&class.resource).copied().filter(|limit| *limit > 0),
        max_burst: class.max_burst.get(&class.resource).copied(),
        priority,
        share,
        module: class.leaf_module_name.clone(),
        task: class.leaf_module_taskid,
        count: used.count,
        cycles: used.cycles,
        packets: used.packets,
        bits: used.bits,
        throttled: used.throttled,
    }
}

fn worker(status: &WorkerStatus) -> WorkerRecord {
    WorkerRecord { wid: status.wid, core: status.core, is_running: status.running }
}

fn service(service: &Service) -> ServiceRecord {
    ServiceRecord {
        kind: service.kind.clone(),
        name: service.name.clone(),
        state: match service.state() {
            ServiceState::Starting => "starting",
            ServiceState::Serving => "serving",
            ServiceState::Draining => "draining",
            ServiceState::Failed => "failed",
            ServiceState::Unspecified => "",
        },
        reason: service.reason.clone(),
        listens: service.listens.clone(),
    }
}
