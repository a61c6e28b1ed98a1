//! Services: started beside what runs, listed, ended.

use crate::Daemon;
use crate::berth::{Berth, fault};
use crate::plant::{ModuleWish, Plant, ServiceWish, WorkerWish};
use crate::services::Serving;
use crate::worker::Shape;
use std::sync::Arc;
use std::time::Duration;
use tidegate_control::classes::{self, Driver, GateLimits, ModuleClass};
use tidegate_control::controller::{
    Ending, Job, ModuleSpec, Outcome, PortSpec, Prepared, ServiceSpec, Services,
};
use tidegate_control::proto::bess::{EmptyArg, PortIncArg, PortOutArg};
use tidegate_control::proto::v1::{self, ReloadZonesResponse, Service, StartServiceResponse, service::State};
use tidegate_control::{Errno, Fault, Kind, Message, generated_name};
use tidegate_pipeline::Module;
use tidegate_service::{
    Counted, Device, Endpoint, Lane, Line, Offer, Settings, Share, Source, Which, ZoneNews, attach_all, host,
    leave, share_out,
};
use tidegate_sys::cpu;

/// The class of a service's host; no controller can make one.
static STACK: ModuleClass = ModuleClass {
    name: "Stack",
    short_name: "stack",
    arg: Kind::EmptyArg,
    gates: GateLimits { inputs: 1, outputs: 1 },
    help: "a host with web and name servers",
    commands: &[],
};

/// The driver of a service's ports.
static QUEUE: Driver = Driver {
    name: "DeviceQueue",
    short_name: "queue",
    arg: Kind::EmptyArg,
    help: "one queue of a service's device",
};

/// The highest number of a worker: services' own are taken from there down, pipelines' from 0 up.
const WID_MAX: u8 = 63;

/// What was read for a service.
struct Read {
    name: Option<String>,
    /// Workers that are named.
    workers: Vec<u8>,
    settings: Settings,
    source: Source,
    notes: Vec<String>,
}

impl Read {
    /// Reads configuration, error pages and zone files, on any thread.
    fn of(spec: ServiceSpec) -> Outcome<Self> {
        let mut settings = Settings::parse(&spec.config, &spec.directory).map_err(fault)?;
        if !spec.workers.is_empty() {
            settings.config.workers = Some(spec.workers.len() as u32);
        }
        let notes = notes(&settings, &spec);
        let source = Source::prepare(&settings.config).map_err(fault)?;
        Ok(Self { name: spec.name, workers: spec.workers, settings, source, notes })
    }
}

/// How long zones may take to be read.
const READ_PATIENCE: Duration = Duration::from_secs(600);

/// A service while it comes up.
struct Rising {
    name: String,
    settings: Settings,
    devices: Arc<Vec<Device>>,
    /// For each worker, its queues.
    seats: Vec<(u8, Share)>,
}

impl Daemon {
    /// A name that no service has.
    fn free_name(&self, wanted: Option<&str>) -> Outcome<String> {
        let is_taken = |name: &str| self.services.serving.contains_key(name);
        let name = wanted.map_or_else(|| generated_name("service", is_taken), str::to_owned);
        if is_taken(&name) {
            let text =
                format!("there is a service {name} already: give this one another name, or stop that one");
            return Err(Fault::new(Errno::EEXIST, text));
        }
        Ok(name)
    }

    fn start(&mut self, read: Read) -> Outcome<StartServiceResponse> {
        let Read { name, workers, settings, source, notes } = read;
        let name = self.free_name(name.as_deref())?;
        let devices = Arc::new(attach_all(&settings, self.mux.ground(), &name).map_err(fault)?);
        let shares = share_out(&settings, &devices);
        let opened = source.open(&settings.config, shares.len()).map_err(fault);
        let outcome = opened.and_then(|offer| {
            let seats = self.seat(&workers, shares, &settings)?;
            self.raise(Rising { name: name.clone(), settings, devices: Arc::clone(&devices), seats }, offer)
        });
        if let Err(refusal) = outcome {
            self.remove_service(&name);
            // The line that says why it did not start is the one to tell.
            let _ = leave(devices);
            return Err(refusal);
        }
        self.services.ended.remove(&name);
        let services = self.services.serving.get(&name).map(|it| records(&name, it)).unwrap_or_default();
        Ok(StartServiceResponse { name, services, notes })
    }

    /// Gives each share a worker: one that is named, or a new one.
    fn seat(&mut self, named: &[u8], shares: Vec<Share>, settings: &Settings) -> Outcome<Vec<(u8, Share)>> {
        if named.is_empty() {
            return self.start_workers(shares, settings);
        }
        for (wid, share) in named.iter().zip(&shares) {
            let wish = self.plant.workers.get(wid);
            let wish =
                wish.ok_or_else(|| Fault::missing(format!("there is no worker {wid}: add it first")))?;
            if wish.shape.chunk_size < share.chunk_size {
                let text = format!(
                    "frames of worker {wid} hold {} bytes and the device's MTU wants {}: start the service on \
                     workers of its own",
                    wish.shape.chunk_size, share.chunk_size
                );
                return Err(Fault::invalid(text));
            }
        }
        Ok(named.iter().copied().zip(shares).collect())
    }

    /// Workers of the service's own, from the last core down as `tidegate serve` has it.
    fn start_workers(&mut self, shares: Vec<Share>, settings: &Settings) -> Outcome<Vec<(u8, Share)>> {
        let (cores, config) = (cpu::allowed(), settings.worker_config());
        let mut next = self.plant.clone();
        let mut seats = Vec::new();
        for (number, share) in shares.into_iter().enumerate() {
            let free = (0..=WID_MAX).rev().find(|wid| !next.workers.contains_key(wid));
            let wid = free.ok_or_else(|| Fault::new(Errno::ENOSPC, "all 64 workers are in use"))?;
            let core = cores.get((cores.len().max(1) - 1).saturating_sub(number)).copied().unwrap_or(0);
            let shape = Shape {
                pool_size: share.pool_size,
                chunk_size: share.chunk_size,
                batch_len: config.batch_len,
                idle: config.idle,
            };
            let wish = WorkerWish { is_of_service: true, shape, ..WorkerWish::on(core as u32) };
            next.workers.insert(wid, wish);
            seats.push((wid, share));
        }
        self.change_to(next)?;
        Ok(seats)
    }

    /// Brings hosts and ports to their workers, and frames to them.
    fn raise(&mut self, rising: Rising, offer: Offer) -> Outcome {
        let mut next = self.plant.clone();
        let (mut wish, mut hosts) = (ServiceWish::default(), Vec::new());
        for (wid, share) in &rising.seats {
            for lane in &share.lanes {
                let module = self.add_lane(&mut next, &rising, &offer, *wid, *lane, &mut wish)?;
                hosts.push((*wid, module));
            }
        }
        next.services.insert(rising.name.clone(), wish);
        let Rising { name, settings, devices, .. } = rising;
        let endpoints: Vec<Endpoint> = devices.iter().flat_map(|device| device.listen.clone()).collect();
        let serving = Serving {
            counted: Counted::new(said(&name, &endpoints), &devices, &offer),
            offer,
            endpoints,
            hosts,
            drain: settings.config.process.drain.0.into(),
            ends_at: None,
            devices: Arc::clone(&devices),
        };
        self.services.serving.insert(name, serving);
        self.change_to(next)?;
        devices.iter().try_for_each(|device| device.holding.claim()).map_err(|error| fault(error.into()))
    }

    /// One queue of one device: port_in -> host -> port_out. The host's name comes back.
    fn add_lane(
        &mut self,
        next: &mut Plant,
        rising: &Rising,
        offer: &Offer,
        wid: u8,
        lane: Lane,
        wish: &mut ServiceWish,
    ) -> Outcome<String> {
        let Some(running) = self.workers.get(&wid) else {
            return Err(Fault::missing(format!("there is no worker {wid}: add it first")));
        };
        let Rising { name, settings, devices, .. } = rising;
        let device = &devices[lane.device];
        let module = host(settings, device, offer, &running.waker).map_err(fault)?;
        let place = format!("{name}/{}/{}", device.nic.name, lane.queue);
        next.ports.insert(place.clone(), port_spec(&place));
        wish.ports.insert(place.clone());
        let berth = Berth {
            nic: Arc::clone(&device.nic),
            _holding: None,
            queue: lane.queue,
            xsk: settings.xsk(),
            gso: settings.config.gso,
        };
        self.berths.insert(place.clone(), berth);
        let part = |part: &str| format!("{place}/{part}");
        let receive = PortIncArg { port: place.clone(), ..PortIncArg::default() };
        self.add_part(next, &part("in"), "PortInc", receive.into())?;
        self.add_part(next, &part("out"), "PortOut", PortOutArg { port: place.clone() }.into())?;
        self.add_host(next, &part("stack"), Box::new(module));
        for end in ["in", "stack", "out"] {
            wish.modules.insert(part(end), wid);
        }
        next.links.insert((part("in"), 0), (part("stack"), 0));
        next.links.insert((part("stack"), 0), (part("out"), 0));
        Ok(part("stack"))
    }

    fn add_part(&mut self, next: &mut Plant, name: &str, class: &str, arg: Message) -> Outcome {
        let class = classes::module(class);
        let class = class.ok_or_else(|| Fault::new(Errno::EIO, "a class is missing, please report it"))?;
        self.add_module(next, name, &ModuleSpec { name: None, class, arg })
    }

    fn add_host(&mut self, next: &mut Plant, name: &str, module: Box<dyn Module>) {
        let serial = self.serial();
        let wish = ModuleWish {
            class: &STACK,
            arg: EmptyArg {}.into(),
            serial,
            gates: module.gates(),
            attributes: module.attributes().to_vec(),
            task_count: module.task_count() as u32,
            port: None,
            said: Vec::new(),
            planned: Vec::new(),
            is_told_later: false,
        };
        self.shelf.insert(serial, module);
        next.modules.insert(name.to_owned(), wish);
    }
}

fn missing(name: &str) -> Fault {
    Fault::missing(format!("there is no service {name}: ListServices names all"))
}

fn zone_news(service: &str, news: ZoneNews) -> v1::ZoneNews {
    v1::ZoneNews {
        service: service.to_owned(),
        zone: news.zone,
        serial: news.serial,
        fault: news.fault.unwrap_or_default(),
    }
}

fn port_spec(name: &str) -> PortSpec {
    PortSpec {
        name: Some(name.to_owned()),
        driver: &QUEUE,
        arg: EmptyArg {}.into(),
        rx_queues: 1,
        tx_queues: 1,
        rx_descriptors: None,
        tx_descriptors: None,
    }
}

/// Settings that are the process's affair.
fn notes(settings: &Settings, spec: &ServiceSpec) -> Vec<String> {
    let (config, own) = (&settings.config, tidegate_service::Config::default());
    let mut notes = Vec::new();
    let mut note = |differs: bool, text: &str| {
        if differs {
            notes.push(text.to_owned());
        }
    };
    let process = tidegate_service::config::Process { drain: config.process.drain, ..own.process };
    note(config.process != process, "process: user, sandbox and log_format are the daemon's own");
    note(config.metrics != own.metrics, "metrics: the daemon has one endpoint for all (--metrics)");
    let is_seated = !spec.workers.is_empty();
    note(is_seated && config.batch != own.batch, "batch: the named workers have their own");
    note(is_seated && config.idle != own.idle, "idle: the named workers have their own");
    notes
}

fn said(name: &str, endpoints: &[Endpoint]) -> String {
    let places: Vec<String> = endpoints.iter().map(|it| format!("{} on {}", it.kind, it.address)).collect();
    format!("{name}: {}", places.join(", "))
}

/// A record for each kind of server of a service.
fn records(name: &str, serving: &Serving) -> Vec<Service> {
    let state = if serving.ends_at.is_some() { State::Draining } else { State::Serving };
    let mut kinds: Vec<_> = serving.endpoints.iter().map(|endpoint| endpoint.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let devices: Vec<&str> = serving.devices.iter().map(|device| device.nic.name.as_str()).collect();
    let record = |kind: &tidegate_service::Kind| Service {
        kind: kind.to_string(),
        name: name.to_owned(),
        state: state.into(),
        reason: String::new(),
        device: devices.join(", "),
        listens: serving
            .endpoints
            .iter()
            .filter(|endpoint| endpoint.kind == *kind)
            .map(|endpoint| endpoint.address.to_string())
            .collect(),
        detail: None,
    };
    kinds.iter().map(record).collect()
}

impl Services for Daemon {
    fn prepare_service(&mut self, spec: ServiceSpec) -> Outcome<Job<Prepared>> {
        self.free_name(spec.name.as_deref())?;
        Ok(Box::new(|| Ok(Box::new(Read::of(spec)?) as Prepared)))
    }

    fn start_service(&mut self, prepared: Prepared) -> Outcome<StartServiceResponse> {
        let unknown = |_| Fault::new(Errno::EIO, "what was prepared is no service, please report it");
        let read: Box<Read> = prepared.downcast().map_err(unknown)?;
        let outcome = self.start(*read);
        self.tidy_shelf();
        outcome
    }

    fn reload_zones(
        &mut self,
        service: Option<&str>,
        zone: Option<&str>,
    ) -> Outcome<Job<ReloadZonesResponse>> {
        let which = match zone {
            None => Which::All,
            Some(zone) => Which::named(zone).map_err(fault)?,
        };
        if let Some(name) = service.filter(|name| !self.services.serving.contains_key(*name)) {
            return Err(missing(name));
        }
        let meant = self.services.serving.iter().filter(|(name, _)| service.is_none_or(|it| it == *name));
        let lines = meant.filter_map(|(name, serving)| Some((name.clone(), serving.offer.zones()?)));
        let lines: Vec<(String, Line)> = lines.collect();
        if lines.is_empty() {
            let text = "no name server is meant: `tidegate show services` names all, by their services";
            return Err(Fault::missing(text));
        }
        let asked: Vec<_> =
            lines.iter().map(|(name, line)| (name.clone(), line.read(which.clone()))).collect();
        Ok(Box::new(move || {
            let mut zones = Vec::new();
            for (service, news) in asked {
                let gone =
                    |_| Fault::new(Errno::EIO, format!("service {service} ended, or still reads zones"));
                let news = news.recv_timeout(READ_PATIENCE).map_err(gone)?;
                zones.extend(news.into_iter().map(|it| zone_news(&service, it)));
            }
            Ok(ReloadZonesResponse { zones })
        }))
    }

    fn stop_service(&mut self, name: &str, drain: Option<Duration>) -> Outcome<Ending> {
        self.begin_end(name, drain);
        self.look_at_ending();
        if let Some(cut_count) = self.services.ended.remove(name) {
            return Ok(Ending::Gone { cut_count });
        }
        match self.services.serving.contains_key(name) {
            true => Ok(Ending::Draining),
            false => Err(missing(name)),
        }
    }

    fn services(&mut self) -> Outcome<Vec<Service>> {
        Ok(self.services.serving.iter().flat_map(|(name, serving)| records(name, serving)).collect())
    }
}
