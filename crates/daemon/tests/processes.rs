//! Ports to other processes as drivers of the daemon's own: memif, with itself, and vhost-user.

use std::path::PathBuf;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tidegate_control::proto::bess;
use tidegate_control::{Client, Listen, Message, Server, queue};
use tidegate_daemon::Daemon;

/// A daemon, a client of it, and a folder for sockets.
struct Scene {
    folder: PathBuf,
    daemon: Option<(Server, JoinHandle<()>)>,
    client: Client,
}

impl Scene {
    fn new(name: &str) -> Scene {
        let folder = std::env::temp_dir().join(format!("tidegate-processes-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let unix = folder.join("control");
        let (caller, calls) = queue();
        let control = thread::spawn(move || Daemon::new(|| {}).run(&calls));
        let listen = Listen { tcp: None, unix: Some(unix.clone()), remote_allowed: false };
        let server = Server::start(&listen, caller).unwrap();
        let client = Client::connect(&format!("unix:{}", unix.display())).unwrap();
        Scene { folder, daemon: Some((server, control)), client }
    }

    fn socket(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    fn create_port(&mut self, name: &str, queues: u64, driver: &str, arg: Message) -> Result<(), String> {
        let request = bess::CreatePortRequest {
            name: name.into(),
            driver: driver.into(),
            num_inc_q: queues,
            num_out_q: queues,
            arg: Some(arg.to_any()),
            ..Default::default()
        };
        self.client.create_port(request).map(drop).map_err(|error| error.to_string())
    }

    fn create(&mut self, name: &str, class: &str, arg: Option<Message>) {
        let arg = arg.map(|arg| arg.to_any());
        let request = bess::CreateModuleRequest { name: name.into(), mclass: class.into(), arg };
        self.client.create_module(request).unwrap();
    }

    fn connect(&mut self, m1: &str, m2: &str) {
        let link = bess::ConnectModulesRequest { m1: m1.into(), m2: m2.into(), ..Default::default() };
        self.client.connect_modules(link).unwrap();
    }

    fn is_linked(&mut self, port: &str) -> bool {
        self.client.get_link_status(bess::GetLinkStatusRequest { name: port.into() }).unwrap().link_up
    }

    fn stats(&mut self, port: &str) -> bess::GetPortStatsResponse {
        self.client.get_port_stats(bess::GetPortStatsRequest { name: port.into() }).unwrap()
    }

    fn until(&mut self, what: &str, mut is_so: impl FnMut(&mut Scene) -> bool) {
        let start = Instant::now();
        while !is_so(self) {
            assert!(start.elapsed() < Duration::from_secs(120), "{what}");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        if let Some((server, control)) = self.daemon.take() {
            server.shutdown();
            let _ = control.join();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn memif(socket: &str, role: &str) -> bess::MemifPortArg {
    bess::MemifPortArg {
        socket: socket.into(),
        role: role.into(),
        id: 7,
        secret: "tide".into(),
        ..Default::default()
    }
}

fn vhost_user(socket: &str, role: &str) -> Message {
    bess::VhostUserPortArg { socket: socket.into(), role: role.into() }.into()
}

#[test]
fn frames_cross_each_queue_of_a_memif_port() {
    let mut scene = Scene::new("memif");
    let socket = scene.socket("memif");
    scene.create_port("server", 2, "MemifPort", memif(&socket, "server").into()).unwrap();
    let client = bess::MemifPortArg { ring_size: 256, buffer_size: 512, ..memif(&socket, "") };
    scene.create_port("client", 2, "MemifPort", client.into()).unwrap();
    for qid in 0..2 {
        let (port, source, out) = ("client".into(), format!("src{qid}"), format!("out{qid}"));
        scene.create(&source, "Source", None);
        scene.create(&out, "QueueOut", Some(bess::QueueOutArg { port, qid }.into()));
        scene.connect(&source, &out);
    }
    scene.create("in", "PortInc", Some(bess::PortIncArg { port: "server".into(), prefetch: false }.into()));
    scene.create("end", "Sink", None);
    scene.connect("in", "end");
    scene.until("nothing crosses", |scene| scene.stats("server").inc.unwrap().packets > 10_000);
    assert!(scene.is_linked("server") && scene.is_linked("client"));
    assert!(scene.stats("client").out.unwrap().packets > 10_000);
    scene.client.reset_all(bess::EmptyRequest {}).unwrap();
    assert!(!PathBuf::from(socket).exists());
}

#[test]
fn a_device_for_a_guest_listens_until_it_is_destroyed() {
    let mut scene = Scene::new("vhost");
    let socket = scene.socket("guest");
    for queues in [1, 3] {
        scene.create_port("guest", queues, "VhostUserPort", vhost_user(&socket, "")).unwrap();
        scene.create(
            "in",
            "PortInc",
            Some(bess::PortIncArg { port: "guest".into(), prefetch: false }.into()),
        );
        scene.create("out", "PortOut", Some(bess::PortOutArg { port: "guest".into() }.into()));
        scene.connect("in", "out");
        assert!(PathBuf::from(&socket).exists() && !scene.is_linked("guest"));
        scene.client.reset_all(bess::EmptyRequest {}).unwrap();
        assert!(!PathBuf::from(&socket).exists());
    }
}

#[test]
fn what_cannot_be_is_refused_with_what_would_be() {
    let mut scene = Scene::new("refused");
    let socket = scene.socket("x");
    for (arg, text) in [
        (bess::MemifPortArg::default(), "socket is missing"),
        (memif(&socket, "both"), "role is both: it may be client or server"),
        (bess::MemifPortArg { ring_size: 1000, ..memif(&socket, "") }, "power of two"),
        (bess::MemifPortArg { buffer_size: 63, ..memif(&socket, "") }, "give 64 to 65535"),
        (bess::MemifPortArg { secret: "x".repeat(25), ..memif(&socket, "") }, "at most 24 bytes"),
        (memif("/nowhere/at/all", "server"), "/nowhere/at/all"),
    ] {
        let said = scene.create_port("x", 1, "MemifPort", arg.into()).unwrap_err();
        assert!(said.contains(text), "{said}");
    }
    for (arg, text) in [
        (vhost_user("", ""), "socket is missing"),
        (vhost_user(&socket, "front"), "role is front: it may be client or server"),
        (vhost_user("/nowhere/at/all", ""), "/nowhere/at/all"),
    ] {
        let said = scene.create_port("x", 1, "VhostUserPort", arg).unwrap_err();
        assert!(said.contains(text), "{said}");
    }
}
