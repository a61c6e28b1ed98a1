//! A controller that records every call, knows the names of its modules and ports, and does nothing else.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tidegate_control::classes::{Driver, HookClass, ModuleClass};
use tidegate_control::controller::*;
use tidegate_control::proto::bess::{self, list_modules_response, list_ports_response, list_tcs_response};
use tidegate_control::proto::v1;
use tidegate_control::{Client, Controller, Errno, Fault, Listen, Message, Server, generated_name, queue};

/// Lines of calls, as they came.
pub(crate) type Log = Arc<Mutex<Vec<String>>>;

/// What it does beside recording.
#[derive(Default)]
pub(crate) struct Fake {
    pub(crate) log: Log,
    /// Told when the module `held` is being made, which then waits until something can be received.
    pub(crate) hold: Option<(crossbeam_channel::Sender<()>, crossbeam_channel::Receiver<()>)>,
    /// How long counters are, more or less.
    pub(crate) counters_len: usize,
    pub(crate) modules: BTreeMap<String, &'static ModuleClass>,
    pub(crate) ports: BTreeMap<String, &'static Driver>,
}

impl Fake {
    fn record(&mut self, line: impl Into<String>) -> Outcome {
        self.log.lock().unwrap().push(line.into());
        Ok(())
    }

    fn known_port(&self, name: &str) -> Outcome {
        if self.ports.contains_key(name) { Ok(()) } else { Err(Fault::missing(format!("no port {name}"))) }
    }
}

/// A server with a fake behind it, on any free port and on a Unix socket.
pub(crate) struct Daemon {
    pub(crate) log: Log,
    pub(crate) tcp: String,
    pub(crate) unix: PathBuf,
    server: Option<Server>,
    control: Option<JoinHandle<()>>,
}

impl Daemon {
    pub(crate) fn start(mut fake: Fake) -> Daemon {
        let log = fake.log.clone();
        let unix = socket_path();
        let (caller, calls) = queue();
        let control = thread::spawn(move || calls.run(&mut fake));
        let listen = Listen {
            tcp: Some("127.0.0.1:0".parse().unwrap()),
            unix: Some(unix.clone()),
            remote_allowed: false,
        };
        let server = Server::start(&listen, caller).unwrap();
        let tcp = server.tcp_address().unwrap().to_string();
        Daemon { log, tcp, unix, server: Some(server), control: Some(control) }
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(&format!("unix:{}", self.unix.display())).unwrap()
    }

    pub(crate) fn shutdown(mut self) -> Vec<String> {
        self.end();
        self.log.lock().unwrap().clone()
    }

    fn end(&mut self) {
        if let Some(server) = self.server.take() {
            server.shutdown();
        }
        // With the server gone no call can come: the control thread ends by itself.
        if let Some(control) = self.control.take() {
            control.join().unwrap();
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.end();
    }
}

/// A path of its own for each socket.
pub(crate) fn socket_path() -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("tidegate-control-{}-{count}", std::process::id()))
}

impl Controller for Fake {
    fn version(&mut self) -> Outcome<String> {
        Ok("Tidegate of the tests".to_owned())
    }

    fn reset_all(&mut self) -> Outcome {
        self.modules.clear();
        self.ports.clear();
        self.record("reset_all")
    }

    fn kill(&mut self) -> Outcome {
        self.record("kill")
    }
}

impl Workers for Fake {
    fn pause_all(&mut self) -> Outcome {
        self.record("pause_all")
    }

    fn resume_all(&mut self) -> Outcome {
        self.record("resume_all")
    }

    fn pause_worker(&mut self, wid: u8) -> Outcome {
        self.record(format!("pause_worker {wid}"))
    }

    fn resume_worker(&mut self, wid: u8) -> Outcome {
        self.record(format!("resume_worker {wid}"))
    }

    fn reset_workers(&mut self) -> Outcome {
        self.record("reset_workers")
    }

    fn workers(&mut self) -> Outcome<Vec<bess::list_workers_response::WorkerStatus>> {
        let status = bess::list_workers_response::WorkerStatus {
            wid: 3,
            core: 1,
            running: true,
            num_tcs: 2,
            silent_drops: 5,
        };
        Ok(vec![status])
    }

    fn add_worker(&mut self, spec: WorkerSpec) -> Outcome {
        self.record(format!("add_worker {spec:?}"))
    }

    fn destroy_worker(&mut self, wid: u8) -> Outcome {
        self.record(format!("destroy_worker {wid}"))
    }
}

impl TrafficClasses for Fake {
    fn reset_classes(&mut self) -> Outcome {
        self.record("reset_classes")
    }

    fn classes(&mut self, wid: Option<u8>) -> Outcome<Vec<list_tcs_response::TrafficClassStatus>> {
        self.record(format!("classes {wid:?}"))?;
        let class = bess::TrafficClass {
            name: "limit".into(),
            policy: "rate_limit".into(),
            resource: "bit".into(),
            limit: [("bit".to_owned(), 1_000_000)].into(),
            arg: Some(bess::traffic_class::Arg::Share(4)),
            wid: 3,
            ..Default::default()
        };
        Ok(vec![list_tcs_response::TrafficClassStatus { class: Some(class), parent: "root".into() }])
    }

    fn check_constraints(&mut self) -> Outcome<Violations> {
        let module = bess::check_scheduling_constraints_response::ViolatingModule { name: "q".into() };
        let texts = vec!["q is on two workers: move it".to_owned()];
        Ok(Violations { fatal: true, classes: Vec::new(), modules: vec![module], texts })
    }

    fn add_class(&mut self, spec: ClassSpec) -> Outcome {
        self.record(format!("add_class {spec:?}"))
    }

    fn change_class(&mut self, change: ClassChange) -> Outcome {
        self.record(format!("change_class {change:?}"))
    }

    fn move_class(&mut self, to: ClassMove) -> Outcome {
        self.record(format!("move_class {to:?}"))
    }

    fn class_usage(&mut self, name: &str) -> Outcome<bess::GetTcStatsResponse> {
        self.record(format!("class_usage {name}"))?;
        Ok(bess::GetTcStatsResponse {
            error: None,
            timestamp: 1.5,
            count: 1,
            cycles: 2,
            packets: 3,
            bits: u64::MAX,
        })
    }
}

impl Ports for Fake {
    fn has_driver(&self, driver: &'static Driver) -> bool {
        driver.name != "VPort"
    }

    fn reset_ports(&mut self) -> Outcome {
        self.ports.clear();
        self.record("reset_ports")
    }

    fn ports(&mut self) -> Outcome<Vec<list_ports_response::Port>> {
        let arg = Message::from(bess::PcapPortArg { dev: "lo".into() });
        let port = |(name, driver): (&String, &&'static Driver)| list_ports_response::Port {
            name: name.clone(),
            driver: driver.name.into(),
            driver_arg: Some(arg.to_any()),
            ..Default::default()
        };
        Ok(self.ports.iter().map(port).collect())
    }

    fn create_port(&mut self, spec: PortSpec) -> Outcome<bess::CreatePortResponse> {
        let PortSpec { name, driver, arg, rx_queues, tx_queues, rx_descriptors, tx_descriptors } = spec;
        self.record(format!(
            "create_port {name:?} {} {arg:?} rx {rx_queues} x {rx_descriptors:?} tx {tx_queues} x {tx_descriptors:?}",
            driver.name
        ))?;
        let name =
            name.unwrap_or_else(|| generated_name(driver.short_name, |name| self.ports.contains_key(name)));
        if self.ports.insert(name.clone(), driver).is_some() {
            return Err(Fault::new(Errno::EEXIST, format!("there is a port {name} already")));
        }
        Ok(bess::CreatePortResponse { error: None, name, mac_addr: "02:00:00:00:00:01".into() })
    }

    fn destroy_port(&mut self, name: &str) -> Outcome {
        self.known_port(name)?;
        self.ports.remove(name);
        self.record(format!("destroy_port {name}"))
    }

    fn set_port(&mut self, name: &str, settings: PortSettings) -> Outcome {
        self.known_port(name)?;
        self.record(format!("set_port {name} {settings:?}"))
    }

    fn port_settings(&mut self, name: &str) -> Outcome<bess::PortConf> {
        self.known_port(name)?;
        Ok(bess::PortConf { mac_addr: "02:00:00:00:00:01".into(), mtu: 1500, admin_up: true })
    }

    fn port_stats(&mut self, name: &str) -> Outcome<bess::GetPortStatsResponse> {
        self.known_port(name)?;
        let stat = |packets| bess::get_port_stats_response::Stat { packets, ..Default::default() };
        Ok(bess::GetPortStatsResponse { error: None, inc: Some(stat(1)), out: Some(stat(2)), timestamp: 0.5 })
    }

    fn link_status(&mut self, name: &str) -> Outcome<bess::GetLinkStatusResponse> {
        self.known_port(name)?;
        let up = bess::GetLinkStatusResponse {
            speed: 10_000,
            full_duplex: true,
            link_up: true,
            ..Default::default()
        };
        Ok(up)
    }

    fn pools(&mut self, node: Option<u32>) -> Outcome<Vec<bess::MempoolDump>> {
        self.record(format!("pools {node:?}"))?;
        Ok(vec![bess::MempoolDump { initialized: true, mp_size: 8, ..Default::default() }])
    }
}

impl Modules for Fake {
    fn has_module_class(&self, class: &'static ModuleClass) -> bool {
        class.name != "NoOP"
    }

    fn class_of(&self, module: &str) -> Outcome<&'static ModuleClass> {
        let class = self.modules.get(module).copied();
        class.ok_or_else(|| Fault::missing(format!("there is no module {module}")))
    }

    fn reset_modules(&mut self) -> Outcome {
        self.modules.clear();
        self.record("reset_modules")
    }

    fn modules(&mut self) -> Outcome<Vec<list_modules_response::Module>> {
        let module = |(name, class): (&String, &&'static ModuleClass)| list_modules_response::Module {
            name: name.clone(),
            mclass: class.name.into(),
            desc: String::new(),
        };
        Ok(self.modules.iter().map(module).collect())
    }

    fn create_module(&mut self, spec: ModuleSpec) -> Outcome<String> {
        let ModuleSpec { name, class, arg } = spec;
        self.record(format!("create_module {name:?} {} {arg:?}", class.name))?;
        if let (Some("held"), Some((entered, released))) = (name.as_deref(), &self.hold) {
            entered.send(()).unwrap();
            released.recv().unwrap();
        }
        let name =
            name.unwrap_or_else(|| generated_name(class.short_name, |name| self.modules.contains_key(name)));
        if self.modules.insert(name.clone(), class).is_some() {
            return Err(Fault::new(Errno::EEXIST, format!("there is a module {name} already")));
        }
        Ok(name)
    }

    fn destroy_module(&mut self, name: &str) -> Outcome {
        assert_ne!(name, "forbidden", "a controller that is not as it should be");
        self.class_of(name)?;
        self.modules.remove(name);
        self.record(format!("destroy_module {name}"))
    }

    fn module_info(&mut self, name: &str) -> Outcome<bess::GetModuleInfoResponse> {
        use bess::get_module_info_response::{Attribute, OGate};
        let mclass = self.class_of(name)?.name.to_owned();
        let ogate = OGate { ogate: 1, pkts: 7, name: "next".into(), igate: 2, ..Default::default() };
        let attribute = Attribute { name: "vlan".into(), size: 2, mode: "read".into(), offset: -1 };
        Ok(bess::GetModuleInfoResponse {
            name: name.to_owned(),
            mclass,
            ogates: vec![ogate],
            metadata: vec![attribute],
            deadends: 9,
            ..Default::default()
        })
    }

    fn connect(&mut self, connection: Connection) -> Outcome {
        self.record(format!("connect {connection:?}"))
    }

    fn disconnect(&mut self, module: &str, ogate: u16) -> Outcome {
        self.class_of(module)?;
        self.record(format!("disconnect {module} {ogate}"))
    }

    fn run_command(&mut self, call: CommandCall) -> Outcome<Option<Message>> {
        let CommandCall { module, command, arg } = call;
        self.record(format!("run_command {module} {} {arg:?}", command.name))?;
        Ok(match command.name {
            "get_status" => {
                Some(bess::QueueCommandGetStatusResponse { count: 4, size: 64, ..Default::default() }.into())
            }
            _ => None,
        })
    }
}

impl GateHooks for Fake {
    fn has_hook(&self, class: &'static HookClass) -> bool {
        class.name != "PcapNg"
    }

    fn hooks(&mut self) -> Outcome<Vec<bess::GateHookInfo>> {
        let hook = bess::GateHookInfo {
            class_name: "Track".into(),
            gate: Some(bess::gate_hook_info::Gate::Ogate(0)),
            arg: Some(Message::from(bess::TrackArg { bits: true }).to_any()),
            ..Default::default()
        };
        Ok(vec![hook])
    }

    fn enable_hook(&mut self, hook: HookSpec, arg: Message) -> Outcome<String> {
        self.record(format!("enable_hook {} {arg:?}", shown(&hook)))?;
        Ok(hook.name.unwrap_or_else(|| generated_name(hook.class.short_name, |_| false)))
    }

    fn disable_hook(&mut self, hook: HookSpec) -> Outcome {
        self.record(format!("disable_hook {}", shown(&hook)))
    }

    fn run_hook_command(&mut self, call: HookCall) -> Outcome<Option<Message>> {
        self.record(format!("run_hook_command {} {} {:?}", shown(&call.hook), call.command.0, call.arg))?;
        Ok(None)
    }

    fn set_resume_hook(&mut self, hook: ResumeHook, enable: bool) -> Outcome {
        self.record(format!("set_resume_hook {hook:?} {enable}"))
    }
}

fn shown(hook: &HookSpec) -> String {
    let HookSpec { class, name, module, direction, gate } = hook;
    format!("{} {name:?} {module:?} {direction:?} {gate:?}", class.name)
}

impl Pipelines for Fake {
    fn replace_pipeline(
        &mut self,
        plan: PipelinePlan,
        check_only: bool,
    ) -> Outcome<v1::ReplacePipelineResponse> {
        let created: Vec<String> = plan.modules.iter().filter_map(|module| module.name.clone()).collect();
        let (workers, classes, tasks) = (plan.workers.len(), plan.classes.len(), plan.tasks.len());
        let connections = plan.connections.len();
        self.record(format!(
            "replace_pipeline {workers} workers, {created:?}, {connections} connections, \
             {classes} classes, {tasks} tasks, check_only {check_only}"
        ))?;
        Ok(v1::ReplacePipelineResponse { created, ..Default::default() })
    }

    fn pipeline(&mut self, _: bool) -> Outcome<v1::PipelineSpec> {
        Ok(v1::PipelineSpec::default())
    }

    fn metadata(&mut self) -> Outcome<v1::ShowMetadataResponse> {
        let modules = self
            .modules
            .keys()
            .map(|module| v1::ModuleMetadata { module: module.clone(), attributes: Vec::new() });
        Ok(v1::ShowMetadataResponse { used_len: 2, area_len: 128, modules: modules.collect() })
    }

    fn counters(&mut self, kinds: Kinds) -> Outcome<v1::WatchResponse> {
        self.record(format!("counters {kinds:?}"))?;
        let long = v1::ModuleCounters { module: "m".repeat(self.counters_len), ..Default::default() };
        Ok(v1::WatchResponse { timestamp: 2.0, modules: vec![long], ..Default::default() })
    }
}

impl Services for Fake {
    fn prepare_service(&mut self, spec: ServiceSpec) -> Outcome<Job<Prepared>> {
        self.record(format!("prepare_service {spec:?}"))?;
        let hold = if spec.name.as_deref() == Some("held") { self.hold.take() } else { None };
        Ok(Box::new(move || {
            if let Some((entered, released)) = hold {
                entered.send(()).unwrap();
                released.recv().unwrap();
            }
            Ok(Box::new(spec) as Prepared)
        }))
    }

    fn start_service(&mut self, prepared: Prepared) -> Outcome<v1::StartServiceResponse> {
        let spec: Box<ServiceSpec> = prepared.downcast().unwrap();
        let name = spec.name.clone().unwrap_or_else(|| "service0".to_owned());
        self.record(format!("start_service {spec:?}"))?;
        Ok(v1::StartServiceResponse { name, ..Default::default() })
    }

    fn reload_zones(
        &mut self,
        service: Option<&str>,
        zone: Option<&str>,
    ) -> Outcome<Job<v1::ReloadZonesResponse>> {
        self.record(format!("reload_zones {service:?} {zone:?}"))?;
        let service = service.unwrap_or_default().to_owned();
        let zone = zone.unwrap_or_default().to_owned();
        let news = v1::ZoneNews { service, zone, serial: Some(7), fault: String::new() };
        Ok(Box::new(|| Ok(v1::ReloadZonesResponse { zones: vec![news] })))
    }

    fn stop_service(&mut self, name: &str, drain: Option<Duration>) -> Outcome<Ending> {
        self.record(format!("stop_service {name} {drain:?}"))?;
        Ok(Ending::Gone { cut_count: 1 })
    }

    fn services(&mut self) -> Outcome<Vec<v1::Service>> {
        let listens = vec!["10.77.0.2:80".to_owned()];
        let state = v1::service::State::Serving.into();
        Ok(vec![v1::Service { kind: "web".into(), state, listens, ..Default::default() }])
    }
}

impl Stacks for Fake {
    fn reserve_tuple(&mut self, spec: ReservationSpec) -> Outcome<String> {
        self.record(format!("reserve_tuple {spec:?}"))?;
        Ok("eth0".into())
    }

    fn release_tuple(&mut self, tuple: TupleSpec) -> Outcome {
        self.record(format!("release_tuple {tuple:?}"))
    }

    fn stacks(&mut self) -> Outcome<v1::ListStacksResponse> {
        self.record("stacks")?;
        Ok(v1::ListStacksResponse::default())
    }
}
