//! Services: started beside what runs, listed, ended.

use crate::Daemon;
use crate::berth::fault;
use crate::hub::{Hub, Opening, host_name};
use crate::plant::Plant;
use crate::services::Serving;
use crate::worker::Shape;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tidegate_control::controller::{Ending, Job, Outcome, Prepared, ServiceSpec, Services};
use tidegate_control::proto::v1::{self, ReloadZonesResponse, Service, StartServiceResponse, service::State};
use tidegate_control::{Errno, Fault, generated_name};
use tidegate_pipeline::Module;
use tidegate_service::{
    Counted, Device, Endpoint, Lane, Line, Offer, Settings, Share, Source, Which, ZoneNews, attach_all, host,
    leave, share_out,
};
use tidegate_sys::cpu;

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
    seats: Vec<Seat>,
}

/// A worker, and the queues that it has or is to have.
type Seat = (u8, Vec<Lane>);

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
        let Read { name, workers, settings, source, mut notes } = read;
        let name = self.free_name(name.as_deref())?;
        let devices = Arc::new(attach_all(&settings, self.mux.ground(), &name).map_err(fault)?);
        let (open, shares) = self.share(&settings, &devices);
        notes.extend(self.notes_of_open(&settings, &devices));
        let opened = source.open(&settings.config, open.len() + shares.len()).map_err(fault);
        let outcome = opened.and_then(|offer| {
            check_open(&workers, &open)?;
            let mut seats = self.seat(&workers, shares, &settings)?;
            seats.extend(open);
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

    /// What of the devices is open already, by worker, and shares of the rest.
    fn share(&self, settings: &Settings, devices: &[Device]) -> (Vec<Seat>, Vec<Share>) {
        let wid_of = |lane: &Lane| {
            let hub = self.hubs.get(&devices[lane.device].nic.name)?;
            hub.seats.get(lane.queue as usize).copied()
        };
        let mut open: BTreeMap<u8, Vec<Lane>> = BTreeMap::new();
        let mut shares = share_out(settings, devices);
        for share in &mut shares {
            for lane in share.lanes.iter().filter(|lane| wid_of(lane).is_some()) {
                open.entry(wid_of(lane).unwrap_or_default()).or_default().push(*lane);
            }
            share.lanes.retain(|lane| wid_of(lane).is_none());
        }
        shares.retain(|share| !share.lanes.is_empty());
        (open.into_iter().collect(), shares)
    }

    /// Settings that were settled when a device's queues were opened.
    fn notes_of_open(&self, settings: &Settings, devices: &[Device]) -> Vec<String> {
        let wanted = opening(settings);
        let hubs = devices.iter().filter_map(|device| self.hubs.get(&device.nic.name));
        let others = hubs.filter(|hub| hub.opening != wanted).map(|hub| hub.nic.name.as_str());
        let note = |nic| format!("zero_copy, busy_poll and gso: {nic} is open already, as others wanted it");
        others.map(note).collect()
    }

    /// Gives each share a worker: one that is named, or a new one.
    fn seat(&mut self, named: &[u8], shares: Vec<Share>, settings: &Settings) -> Outcome<Vec<Seat>> {
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
        Ok(named.iter().copied().zip(shares.into_iter().map(|share| share.lanes)).collect())
    }

    /// Workers of the service's own, from the last core down as `tidegate serve` has it.
    fn start_workers(&mut self, shares: Vec<Share>, settings: &Settings) -> Outcome<Vec<Seat>> {
        let (cores, config) = (cpu::allowed(), settings.worker_config());
        let mut next = self.plant.clone();
        let mut seats = Vec::new();
        for (number, share) in shares.into_iter().enumerate() {
            let core = cores.get((cores.len().max(1) - 1).saturating_sub(number)).copied().unwrap_or(0);
            let shape = Shape {
                pool_size: share.pool_size,
                chunk_size: share.chunk_size,
                batch_len: config.batch_len,
                idle: config.idle,
            };
            seats.push((next.add_worker(core, shape)?, share.lanes));
        }
        self.change_to(next)?;
        Ok(seats)
    }

    /// Brings hosts to the workers of their queues, and frames to them.
    fn raise(&mut self, rising: Rising, offer: Offer) -> Outcome {
        let (mut next, mut hubs, mut hosts) = (self.plant.clone(), Vec::new(), Vec::new());
        for number in 0..rising.devices.len() {
            let hub = self.raise_on(&mut next, &rising, number, &offer)?;
            let names = (0..hub.seats.len()).map(|queue| host_name(&rising.name, &hub.nic.name, queue));
            hosts.extend(hub.seats.iter().copied().zip(names));
            hubs.push(hub);
        }
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
        hubs.into_iter().for_each(|hub| self.settle_hub(hub));
        devices.iter().try_for_each(|device| device.holding.claim()).map_err(|error| fault(error.into()))
    }

    /// A host on each queue of a device, whose queues are opened if they are not.
    fn raise_on(&mut self, next: &mut Plant, rising: &Rising, number: usize, offer: &Offer) -> Outcome<Hub> {
        let Rising { name, settings, devices, seats } = rising;
        let device = &devices[number];
        let mut wids: Vec<(u32, u8)> = seats
            .iter()
            .flat_map(|(wid, lanes)| lanes.iter().map(move |lane| (lane, *wid)))
            .filter(|(lane, _)| lane.device == number)
            .map(|(lane, wid)| (lane.queue, wid))
            .collect();
        wids.sort_unstable();
        let wids: Vec<u8> = wids.into_iter().map(|(_, wid)| wid).collect();
        let mut modules: Vec<Box<dyn Module>> = Vec::new();
        for wid in &wids {
            let running = self.workers.get(wid);
            let running =
                running.ok_or_else(|| Fault::missing(format!("there is no worker {wid}: add it first")))?;
            modules.push(Box::new(host(settings, device, offer, &running.waker).map_err(fault)?));
        }
        let hub = self.hubs.get(&device.nic.name).cloned();
        let mut hub = hub.map_or_else(|| self.open_hub(next, &device.nic, wids, opening(settings)), Ok)?;
        let tuples = device.listen.iter().flat_map(|endpoint| endpoint.tuples());
        self.join_service(next, &mut hub, name, tuples, modules)?;
        Ok(hub)
    }
}

/// Named workers must be those that a device's open queues are on.
fn check_open(named: &[u8], open: &[Seat]) -> Outcome {
    let strange = open.iter().find(|(wid, _)| !named.is_empty() && !named.contains(wid));
    strange.map_or(Ok(()), |(wid, _)| {
        let text = format!(
            "the device's queues are open on worker {wid} for others: start the service there, or name no workers"
        );
        Err(Fault::new(Errno::EBUSY, text))
    })
}

fn opening(settings: &Settings) -> Opening {
    Opening { xsk: settings.xsk(), gso: settings.config.gso }
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
