//! Asking workers and devices for their counters.

use crate::devices::Device;
use crate::offer::Offer;
use crate::report::{DeviceReport, ModuleReport, Named, PortReport, Report, WorkerReport, ZoneReport};
use crate::services::Services;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};
use tidegate_bpf::Verdict;
use tidegate_content::{Library, PackerCounters};
use tidegate_dns::NameServer;
use tidegate_dns::transfer::Exchange;
use tidegate_dns::zone::Zone;
use tidegate_modules::StackModule;
use tidegate_pipeline::{Control, ModuleSnapshot, Snapshot, Worker};
use tidegate_port::PortCounters;
use tidegate_web::SiteCounters;

/// A worker answers within a round, unless it has lost its processor.
const PATIENCE: Duration = Duration::from_millis(500);

/// A worker to ask.
#[derive(Clone)]
pub struct Asked {
    /// Its number.
    pub number: usize,
    /// The way to it.
    pub control: Control,
    /// The names of its ports.
    pub ports: Vec<String>,
}

/// One configuration's services, as far as they count. It keeps no device alive: a service that ends takes them
/// with it.
#[derive(Clone)]
pub struct Counted {
    service: String,
    devices: Weak<Vec<Device>>,
    library: Weak<Library>,
    exchange: Weak<Exchange>,
}

impl Counted {
    /// What is served on `devices`; `service` says what and where.
    pub fn new(service: String, devices: &Arc<Vec<Device>>, offer: &Offer) -> Self {
        let library = offer.library().map(Arc::downgrade).unwrap_or_default();
        let exchange = offer.exchange().map(Arc::downgrade).unwrap_or_default();
        Self { service, devices: Arc::downgrade(devices), library, exchange }
    }
}

/// Whom to ask: what changes while the process runs is behind a lock that no worker takes.
pub struct Collector {
    start: Instant,
    asked: Mutex<(Vec<Counted>, Vec<Asked>)>,
}

impl Default for Collector {
    fn default() -> Self {
        Self::new(Vec::new(), Vec::new())
    }
}

impl Collector {
    /// Asks these.
    pub fn new(services: Vec<Counted>, workers: Vec<Asked>) -> Self {
        Self { start: Instant::now(), asked: Mutex::new((services, workers)) }
    }

    /// Asks these from now on.
    pub fn set(&self, services: Vec<Counted>, workers: Vec<Asked>) {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = (services, workers);
    }

    /// The counters now.
    pub fn report(&self) -> Report {
        let (services, workers) = self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let named: Vec<&str> = services.iter().map(|counted| counted.service.as_str()).collect();
        let mut report = Report {
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").into(),
            service: named.join("; "),
            uptime_ms: self.start.elapsed().as_millis() as u64,
            ..Report::default()
        };
        for counted in &services {
            for (name, count) in counted.library.upgrade().map(|it| of_library(&it)).unwrap_or_default() {
                *report.library.entry(name).or_default() += count;
            }
            report.zones.extend(counted.exchange.upgrade().map(|it| zones(&it)).unwrap_or_default());
            let devices = counted.devices.upgrade();
            report.devices.extend(devices.iter().flat_map(|devices| devices.iter()).map(device));
        }
        let ask = |asked: &Asked| {
            let answer = asked.control.ask(PATIENCE, Answer::of)?;
            Some(worker(asked.number, &asked.ports, &answer))
        };
        report.workers = workers.iter().filter_map(ask).collect();
        report
    }
}

/// What a worker says of itself.
struct Answer {
    snapshot: Snapshot,
    /// For each module, its stack's part if it is one.
    stacks: Vec<Option<StackPart>>,
}

struct StackPart {
    drops: Vec<(&'static str, u64)>,
    web: Option<(SiteCounters, PackerCounters)>,
    dns: Named,
}

impl Answer {
    fn of(worker: &mut Worker) -> Self {
        let snapshot = worker.snapshot();
        let stacks = snapshot.modules.iter().map(|module| stack_part(worker, &module.name)).collect();
        Self { snapshot, stacks }
    }
}

fn stack_part(worker: &mut Worker, name: &str) -> Option<StackPart> {
    let module = worker.module_mut::<StackModule<Services>>(name)?;
    let dns = module.stack_mut().service_mut().dns_mut().map(of_dns).unwrap_or_default();
    let stack = module.stack();
    Some(StackPart {
        drops: stack.drops().iter().map(|(reason, count)| (reason.as_str(), count)).collect(),
        dns,
        web: stack.service().web().map(|site| (site.tally().read(), site.packer().counters())),
    })
}

fn of_library(library: &Library) -> Named {
    let counters = library.counters();
    named([
        ("loaded", counters.loaded_count),
        ("streamed", counters.streamed_count),
        ("failed", counters.failed_count),
        ("refused", counters.refused_count),
        ("evicted", counters.evicted_count),
        ("reloaded", counters.reloaded_count),
        ("watch_failed", counters.watch_failed_count),
        ("held_bytes", counters.held_bytes),
        ("entries", counters.entry_count),
    ])
}

/// The zones, by name.
fn zones(exchange: &Exchange) -> Vec<ZoneReport> {
    let catalog = exchange.served().catalog().load_full();
    let report = |zone: &Arc<Zone>| ZoneReport {
        name: zone.apex().to_string(),
        serial: zone.serial(),
        sizes: named([
            ("names", zone.node_count() as u64),
            ("rrsets", zone.rrset_count() as u64),
            ("bytes", zone.memory_size() as u64),
        ]),
    };
    let mut zones: Vec<ZoneReport> = catalog.zones().map(report).collect();
    zones.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    zones
}

fn device(device: &Device) -> DeviceReport {
    let counters = device.nic.counters().ok();
    let of = |verdict| {
        let all = counters.iter().flat_map(|counters| counters.iter());
        let wanted = all.filter(|(reason, _)| reason.verdict() == verdict);
        wanted.map(|(reason, frames)| (reason.name().to_owned(), frames)).collect()
    };
    DeviceReport {
        name: device.nic.name.clone(),
        mode: device.nic.mode().to_string(),
        xdp_socket: of(Verdict::Socket),
        xdp_pass: of(Verdict::Pass),
    }
}

fn worker(number: usize, ports: &[String], answer: &Answer) -> WorkerReport {
    let snapshot = &answer.snapshot;
    let pool = snapshot.pool;
    WorkerReport {
        worker: number,
        round_count: snapshot.round_count,
        sleep_count: snapshot.sleep_count,
        frames: named([
            ("free", pool.free_count as u64),
            ("held", pool.held_count as u64),
            ("submitted", pool.submitted_count as u64),
            ("retained", pool.retained_count as u64),
        ]),
        ports: ports.iter().zip(&snapshot.ports).map(|(name, counters)| port(name, counters)).collect(),
        modules: snapshot.modules.iter().zip(&answer.stacks).map(module).collect(),
    }
}

fn port(name: &str, counters: &PortCounters) -> PortReport {
    let counters = named([
        ("rx_packets", counters.rx_packet_count),
        ("rx_bytes", counters.rx_byte_count),
        ("rx_drops", counters.rx_drop_count),
        ("tx_packets", counters.tx_packet_count),
        ("tx_bytes", counters.tx_byte_count),
        ("tx_drops", counters.tx_drop_count),
        ("tx_ring_full", counters.tx_ring_full_count),
        ("syscalls", counters.syscall_count),
    ]);
    PortReport { name: name.into(), counters }
}

fn module((module, stack): (&ModuleSnapshot, &Option<StackPart>)) -> ModuleReport {
    let gate_drops = module.traffic.drops.iter().map(|(reason, count)| (reason.as_str(), count));
    let stack_drops = stack.iter().flat_map(|stack| stack.drops.iter().copied());
    let web = stack.as_ref().and_then(|stack| stack.web.as_ref());
    ModuleReport {
        name: module.name.clone(),
        class: module.class.into(),
        gates: named([
            ("in_packets", module.traffic.in_packet_count),
            ("in_batches", module.traffic.in_batch_count),
            ("out_packets", module.traffic.out_packet_count),
        ]),
        drops: summed(gate_drops.chain(stack_drops)),
        own: named(module.own.iter().copied()),
        site: web.map(|(site, _)| of_site(site)).unwrap_or_default(),
        dns: stack.as_ref().map(|stack| stack.dns.clone()).unwrap_or_default(),
        packer: web.map(|(_, packer)| of_packer(packer)).unwrap_or_default(),
    }
}

fn of_site(counters: &SiteCounters) -> Named {
    named(counters.entries().map(|(name, _, count)| (name.trim_end_matches("_count"), count)))
}

fn of_dns(server: &mut NameServer) -> Named {
    let (udp, store) = (server.udp_counters(), server.store_counters());
    let of_tcp = server.tcp_counters();
    let of_tcp =
        of_tcp.entries().map(|(name, _, count)| (format!("tcp_{}", name.trim_end_matches("_count")), count));
    let mut counters = named([
        ("udp_queries", udp.query_count),
        ("udp_ready", udp.ready_count),
        ("udp_common", udp.common_count),
        ("udp_found", udp.found_count),
        ("udp_kept", udp.kept_count),
        ("udp_answered", udp.answered_count),
        ("udp_silent", udp.silence_count),
        ("store_entries", store.entry_count),
        ("store_bytes", store.byte_count),
        ("store_filled", store.filled_count),
        ("store_evicted", store.evicted_count),
        ("store_declined", store.declined_count),
    ]);
    counters.extend(of_tcp);
    for sample in server.tally().read().samples() {
        let name = sample.name.trim_end_matches("_count");
        let label = sample.label.map_or_else(String::new, |(_, value)| format!("_{value}"));
        counters.insert(format!("{name}{label}"), sample.value);
    }
    counters
}

fn of_packer(counters: &PackerCounters) -> Named {
    named([
        ("ready", counters.ready_count),
        ("bulk", counters.bulk_count),
        ("stocked", counters.stocked_count),
        ("copied", counters.copied_count),
        ("sliced", counters.sliced_count),
        ("evicted", counters.evicted_count),
        ("starved", counters.starved_count),
        ("broken", counters.broken_count),
    ])
}

/// The reasons that occurred, each once.
fn summed<'a>(drops: impl Iterator<Item = (&'a str, u64)>) -> Named {
    let mut sums = Named::new();
    for (reason, count) in drops.filter(|(_, count)| *count > 0) {
        *sums.entry(reason.to_owned()).or_default() += count;
    }
    sums
}

fn named<'a>(counters: impl IntoIterator<Item = (&'a str, u64)>) -> Named {
    counters.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
}
