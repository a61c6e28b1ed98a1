//! Network devices as ports of the daemon: a pipeline that sends every datagram back, beside the host that has the address.

use std::net::UdpSocket;
use std::path::PathBuf;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tidegate_bpf::Attachment;
use tidegate_control::proto::bess;
use tidegate_control::{Client, Listen, Message, Server, queue};
use tidegate_daemon::Daemon;
use tidegate_sys::cpu;
use tidegate_sys::ethtool::{Ethtool, Offload};
use tidegate_sys::netlink::{Address, Netlink, VethEnd};
use tidegate_sys::netns::Netns;

const SERVER: &str = "10.79.0.2";
const CLIENT: &str = "10.79.0.1";
const ECHO: u16 = 7;

/// Two machines on a wire: the daemon runs on one, the other asks.
struct Scene {
    server: Netns,
    client: Netns,
    path: PathBuf,
    daemon: Option<(Server, JoinHandle<()>)>,
}

fn raise(name: &str, ip: &str) {
    let mut netlink = Netlink::open().unwrap();
    let link = netlink.link(name).unwrap().ifindex;
    netlink.add_address(link, Address { ip: ip.parse().unwrap(), prefix_len: 24 }).unwrap();
    let offloads = Ethtool::open(name).unwrap();
    // A sum that the kernel leaves to a NIC would never be made.
    offloads.set(Offload::TxChecksum, false).unwrap();
    netlink.set_up(link, true).unwrap();
}

impl Scene {
    fn new(name: &str, queue_count: u32) -> Self {
        let (server, client) = (Netns::create().unwrap(), Netns::create().unwrap());
        let path = std::env::temp_dir().join(format!("tidegate-afxdp-{name}-{}", std::process::id()));
        let listen = Listen { tcp: None, unix: Some(path.clone()), remote_allowed: false };
        let daemon = server.run(|| {
            let near = VethEnd { queue_count, ..VethEnd::new("near") };
            let far = VethEnd { queue_count, netns: Some(&client), ..VethEnd::new("far") };
            Netlink::open().unwrap().create_veth(near, far).unwrap();
            raise("near", SERVER);
            let (caller, calls) = queue();
            // A thread is in the namespace of the one that makes it.
            let control = thread::spawn(move || Daemon::new(|| {}).run(&calls));
            (Server::start(&listen, caller).unwrap(), control)
        });
        client.run(|| raise("far", CLIENT)).unwrap();
        Self { server, client, path, daemon: Some(daemon.unwrap()) }
    }

    fn controller(&self) -> Client {
        Client::connect(&format!("unix:{}", self.path.display())).unwrap()
    }

    /// Whether each of `count` flows gets what it sends back.
    fn echoes(&self, count: u16) -> bool {
        let ask = |flow: u16| {
            // The port of both ends is the same, so that what comes back unchanged but for its addresses is ours.
            let socket = UdpSocket::bind((CLIENT, ECHO + flow)).unwrap();
            socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
            socket.connect((SERVER, ECHO + flow)).unwrap();
            let mut answer = [0; 64];
            let sent = flow.to_be_bytes();
            // One may be lost while the wire learns addresses.
            (0..3).any(|_| {
                socket.send(&sent).is_ok() && socket.recv(&mut answer).is_ok_and(|len| answer[..len] == sent)
            })
        };
        self.client.run(|| (0..count).all(ask)).unwrap()
    }

    /// Whether a datagram to a port that nobody has is answered by anything but a refusal.
    fn echoes_at_host(&self) -> bool {
        let ask = || {
            let socket = UdpSocket::bind((CLIENT, 0)).unwrap();
            socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
            socket.connect((SERVER, ECHO + 1)).unwrap();
            socket.send(b"?").unwrap();
            socket.recv(&mut [0; 16]).is_ok_and(|_| true)
        };
        self.client.run(ask).unwrap()
    }

    fn program(&self) -> Option<String> {
        let of_near = || {
            let link = Netlink::open().unwrap().link("near").unwrap().ifindex;
            Attachment::program_on(link).unwrap()
        };
        self.server.run(of_near).unwrap()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        if let Some((server, control)) = self.daemon.take() {
            server.shutdown();
            let _ = control.join();
        }
    }
}

fn create_port(client: &mut Client, queues: u64, driver: &str, arg: Message) -> Result<String, String> {
    let request = bess::CreatePortRequest {
        name: "p".into(),
        driver: driver.into(),
        num_inc_q: queues,
        num_out_q: queues,
        arg: Some(arg.to_any()),
        ..Default::default()
    };
    client.create_port(request).map(|port| port.mac_addr).map_err(|error| error.to_string())
}

fn own(steer: &[&str]) -> Message {
    let steer = steer.iter().map(ToString::to_string).collect();
    bess::AfxdpPortArg { dev: "near".into(), steer, ..Default::default() }.into()
}

fn create(client: &mut Client, name: &str, class: &str, arg: Option<Message>) {
    let arg = arg.map(|arg| arg.to_any());
    client.create_module(bess::CreateModuleRequest { name: name.into(), mclass: class.into(), arg }).unwrap();
}

/// in -> MACSwap -> IPSwap -> out.
fn build(client: &mut Client) {
    create(client, "in", "PortInc", Some(bess::PortIncArg { port: "p".into(), prefetch: false }.into()));
    create(client, "mac", "MACSwap", None);
    create(client, "ip", "IPSwap", None);
    create(client, "out", "PortOut", Some(bess::PortOutArg { port: "p".into() }.into()));
    for (m1, m2) in [("in", "mac"), ("mac", "ip"), ("ip", "out")] {
        let link = bess::ConnectModulesRequest { m1: m1.into(), m2: m2.into(), ..Default::default() };
        client.connect_modules(link).unwrap();
    }
}

fn in_use(client: &mut Client) -> u32 {
    let pools = client.dump_mempool(bess::DumpMempoolRequest { socket: -1 }).unwrap();
    pools.dumps.iter().map(|pool| pool.mp_in_use_count).sum()
}

#[test]
fn steered_datagrams_come_to_the_pipeline_and_the_rest_to_the_host() {
    let scene = Scene::new("steered", 1);
    let mut client = scene.controller();
    let rule = format!("udp {SERVER}:{ECHO}");
    for _ in 0..3 {
        let mac = create_port(&mut client, 1, "AFXDPPort", own(&[&rule])).unwrap();
        assert_ne!(mac, "00:00:00:00:00:00");
        assert_eq!(scene.program().as_deref(), Some("tidegate"));
        let again = create_port(&mut client, 1, "PMDPort", own(&[])).unwrap_err();
        assert!(again.contains("already") || again.contains("expected"), "{again}");
        build(&mut client);
        assert!(scene.echoes(1));
        assert!(!scene.echoes_at_host(), "the host refuses what is not steered");
        let stats = client.get_port_stats(bess::GetPortStatsRequest { name: "p".into() }).unwrap();
        assert!(stats.inc.unwrap().packets > 0 && stats.out.unwrap().packets > 0);
        client.reset_modules(bess::EmptyRequest {}).unwrap();
        client.destroy_port(bess::DestroyPortRequest { name: "p".into() }).unwrap();
        assert_eq!((scene.program(), in_use(&mut client)), (None, 0));
    }
}

#[test]
fn each_queue_has_a_task_that_may_be_on_a_worker_of_its_own() {
    let scene = Scene::new("queues", 2);
    let mut client = scene.controller();
    let core = cpu::allowed()[0] as i64;
    for wid in 0..2 {
        client.add_worker(bess::AddWorkerRequest { wid, core, scheduler: String::new() }).unwrap();
    }
    let vdev = bess::pmd_port_arg::Port::Vdev("net_af_xdp0,iface=near".into());
    let pmd = || Message::from(bess::PmdPortArg { port: Some(vdev.clone()), ..Default::default() });
    let refused = create_port(&mut client, 3, "PMDPort", pmd()).unwrap_err();
    assert!(refused.contains("2 receive queues"), "{refused}");
    assert_eq!(scene.program(), None);
    let rules: Vec<String> = (0..16).map(|flow| format!("udp {SERVER}:{}", ECHO + flow)).collect();
    let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
    create_port(&mut client, 2, "AFXDPPort", own(&rules)).unwrap();
    build(&mut client);
    assert!(scene.echoes(16));
    for wid in [1, 0, 1] {
        let task = bess::TrafficClass {
            leaf_module_name: "in".into(),
            leaf_module_taskid: 1,
            wid,
            ..Default::default()
        };
        client.update_tc_parent(bess::UpdateTcParentRequest { class: Some(task) }).unwrap();
        assert!(scene.echoes(16), "on worker {wid}");
    }
    client.reset_all(bess::EmptyRequest {}).unwrap();
    assert_eq!(scene.program(), None);
}
