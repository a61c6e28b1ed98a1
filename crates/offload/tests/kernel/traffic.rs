//! Servers that know of nothing, on a veth: what their rules answer comes from the kernel, the rest from them.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tidegate_bpf::{
    Attachment, Fallback, ModeChoice, OffloadCounters, OffloadOutcome, OffloadPlace, OffloadTable, XdpProgram,
};
use tidegate_offload::{Action, Capacity, Condition, GroupId, Processor, Rule, Table};
use tidegate_sys::netlink::Netlink;
use tidegate_testbed::{Layout, Process, ScratchDir, Testbed};
use tidegate_wire::MacAddr;

use crate::rig::{SLOT, load, table_in};

const PATIENCE: Duration = Duration::from_secs(10);

/// Which program answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// XDP in the driver, with the second program behind it.
    DriverAndTc,
    /// XDP in the driver alone.
    Driver,
    /// XDP in the network core alone.
    Generic,
    /// The second program alone.
    Tc,
}

/// Two hosts, and the offload on the server's NIC.
struct Scene {
    bed: Testbed,
    program: XdpProgram,
    table: Table<OffloadTable>,
    _attached: (Option<Attachment>, Option<Fallback>),
    /// XDP on the client's end: a veth loses what XDP sends into one without.
    _far: (XdpProgram, Attachment),
}

impl Scene {
    fn new(by: By, port: u16) -> Option<Self> {
        let (program, far) = (load()?, load()?);
        let bed = Testbed::new(&Layout::default()).expect("root may make a testbed");
        let link = |end: &tidegate_testbed::End| {
            Netlink::open_in(end.netns())
                .and_then(|mut netlink| netlink.link(end.device()))
                .expect("a device")
        };
        let (near_link, far_link) = (link(bed.server()), link(bed.client()));
        program.answer_as(MacAddr(near_link.mac), near_link.mtu).expect("the setting can be written");
        let table = table_in(&program, Capacity { rule_count: 3000, record_bytes: 4_000_000 });
        for address in [IpAddr::from(bed.server().ipv4()), bed.server().ipv6().into()] {
            program.serve(SocketAddr::new(address, port), SLOT).expect("a service has a place");
        }
        let attached = bed.server().run(|| {
            let choice = if by == By::Generic { ModeChoice::GenericOnly } else { ModeChoice::DriverOnly };
            let xdp =
                (by != By::Tc).then(|| program.attach(near_link.ifindex, choice).expect("a free device"));
            let has_tc = matches!(by, By::Tc | By::DriverAndTc);
            let tc = has_tc.then(|| program.attach_fallback(near_link.ifindex).expect("tcx"));
            (xdp, tc)
        });
        let attached = attached.expect("root may enter a namespace");
        let held =
            bed.client().run(|| far.attach(far_link.ifindex, ModeChoice::DriverOnly)).expect("a namespace");
        let held = held.expect("a free device");
        for end in [bed.client(), bed.server()] {
            end.settle().expect("receive threads can be pinned");
        }
        Some(Self { bed, program, table, _attached: attached, _far: (far, held) })
    }

    fn counters(&self) -> OffloadCounters {
        self.program.offload_counters().expect("counters can be read")
    }

    fn count(&self, outcome: OffloadOutcome) -> u64 {
        let counters = self.counters();
        OffloadPlace::ALL.into_iter().map(|place| counters.of(place, outcome)).sum()
    }

    /// Sends a datagram from the client's host and waits for what comes back.
    fn ask(&self, server: SocketAddr, request: &[u8]) -> io::Result<Vec<u8>> {
        let client = self.bed.client();
        let any: IpAddr = match server {
            SocketAddr::V4(_) => client.ipv4().into(),
            SocketAddr::V6(_) => client.ipv6().into(),
        };
        let asked = client.run(|| {
            let socket = UdpSocket::bind((any, 0))?;
            socket.set_read_timeout(Some(Duration::from_millis(500)))?;
            socket.connect(server)?;
            let deadline = Instant::now() + PATIENCE;
            loop {
                socket.send(request)?;
                let mut reply = vec![0; 2048];
                match socket.recv(&mut reply) {
                    Ok(len) => return Ok(reply[..len].to_vec()),
                    // A first packet may be lost to the resolution of addresses.
                    Err(error) if Instant::now() > deadline => return Err(error),
                    Err(_) => {}
                }
            }
        });
        asked.expect("root may enter a namespace")
    }

    fn addresses(&self, port: u16) -> [SocketAddr; 2] {
        let server = self.bed.server();
        [(IpAddr::from(server.ipv4()), port).into(), (IpAddr::from(server.ipv6()), port).into()]
    }
}

/// A server in this process: it sends back what it gets, marked as its own.
fn with_echo(scene: &Scene, port: u16, check: impl FnOnce()) {
    let bind = |address: SocketAddr| {
        let socket = scene.bed.server().run(|| UdpSocket::bind(address)).expect("root may enter a namespace");
        let socket = socket.expect("a free port");
        socket.set_read_timeout(Some(Duration::from_millis(20))).expect("a time is not zero");
        socket
    };
    let sockets = scene.addresses(port).map(bind);
    let is_over = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        for socket in &sockets {
            scope.spawn(move || {
                let mut request = [0; 2048];
                while !is_over.load(Ordering::Relaxed) {
                    let Ok((len, peer)) = socket.recv_from(&mut request) else { continue };
                    let reply = [&b"server: "[..], &request[..len]].concat();
                    socket.send_to(&reply, peer).expect("the client is there");
                }
            });
        }
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(check));
        is_over.store(true, Ordering::Relaxed);
        checked.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

fn rule(request: &str, reply: Vec<u8>) -> Rule {
    Rule {
        conditions: vec![Condition::exact(0, request)],
        request_len: Some(request.len()),
        action: Action::Answer(vec![Processor::Put { at: 0, bytes: reply }]),
        group: GroupId(0),
        expires: None,
    }
}

/// The kernel answers one request, the server the others; over both IP versions.
fn kernel_and_server_share_the_work(by: By) {
    let Some(mut scene) = Scene::new(by, 7000) else { return };
    scene.table.insert(&rule("hot", b"kernel: hot".to_vec())).expect("room");
    let scene = scene;
    with_echo(&scene, 7000, || {
        for server in scene.addresses(7000) {
            assert_eq!(scene.ask(server, b"cold").expect("an answer"), b"server: cold", "{by:?}, {server}");
            assert_eq!(scene.ask(server, b"hot").expect("an answer"), b"kernel: hot", "{by:?}, {server}");
        }
        assert!(scene.count(OffloadOutcome::Answered) >= 2 && scene.count(OffloadOutcome::Miss) >= 2);
        scene.program.answer_nothing().expect("the setting can be written");
        for server in scene.addresses(7000) {
            assert_eq!(scene.ask(server, b"hot").expect("an answer"), b"server: hot", "{by:?}, {server}");
        }
    });
}

#[test]
fn the_driver_answers_beside_a_server() {
    kernel_and_server_share_the_work(By::Driver);
}

#[test]
fn generic_xdp_answers_beside_a_server() {
    kernel_and_server_share_the_work(By::Generic);
}

#[test]
fn tc_answers_beside_a_server() {
    kernel_and_server_share_the_work(By::Tc);
}

/// Replies of all lengths to a small request: with the second program all come from the kernel.
#[test]
fn replies_outgrow_their_requests() {
    let lens = [1, 5, 40, 180, 181, 200, 280, 281, 400, 512, 1000, 1232, 1452, 1472];
    let Some(mut scene) = Scene::new(By::DriverAndTc, 7001) else { return };
    for len in lens {
        let reply = (0..len).map(|n| n as u8).collect();
        scene.table.insert(&rule(&format!("len {len:04}"), reply)).expect("room");
    }
    let scene = scene;
    with_echo(&scene, 7001, || {
        for server in scene.addresses(7001) {
            for len in lens {
                let before = scene.counters();
                let reply = scene.ask(server, format!("len {len:04}").as_bytes()).expect("an answer");
                let expected: Vec<u8> = (0..len).map(|n| n as u8).collect();
                let is_too_long = server.is_ipv6() && len > 1452;
                let expected =
                    if is_too_long { format!("server: len {len:04}").into_bytes() } else { expected };
                assert_eq!(reply, expected, "{len} bytes over {server}");
                let since = scene.counters().since(&before);
                let at = |place| since.of(place, OffloadOutcome::Answered) > 0;
                eprintln!(
                    "{server}: 8 bytes to {len}: {}",
                    if at(OffloadPlace::Xdp) {
                        "XDP"
                    } else if at(OffloadPlace::Tc) {
                        "tc"
                    } else {
                        "the server"
                    }
                );
                assert_eq!(at(OffloadPlace::Xdp) || at(OffloadPlace::Tc), !is_too_long);
                // What any frame has room for at its head.
                assert!(len > 180 || at(OffloadPlace::Xdp), "{len} bytes over {server}");
            }
        }
    });
}

/// NSD, its zone, and a question to it.
struct Nsd {
    process: Process,
    _scratch: ScratchDir,
}

const ZONE: &str = "$ORIGIN example.\n$TTL 3600\n@ SOA ns hostmaster 1 7200 3600 604800 300\n@ NS ns\nns A 192.0.2.53\n\
                    hot A 192.0.2.80\nhot AAAA 2001:db8::80\ncold A 192.0.2.81\nalias CNAME hot\n";

impl Nsd {
    fn start(scene: &Scene) -> Self {
        let scratch = ScratchDir::new().expect("a directory");
        let zone = scratch.write("example.zone", ZONE).expect("a file");
        let dir = scratch.path().display();
        let addresses = scene.addresses(53).map(|address| format!(" ip-address: {}@53\n", address.ip()));
        let conf = format!(
            "server:\n{} server-count: 1\n username: \"\"\n chroot: \"\"\n database: \"\"\n zonesdir: \"{dir}\"\n \
             pidfile: \"{dir}/nsd.pid\"\n zonelistfile: \"{dir}/zone.list\"\n xfrdfile: \"{dir}/xfrd.state\"\n \
             xfrdir: \"{dir}\"\n rrl-ratelimit: 0\nremote-control:\n control-enable: no\nzone:\n name: example.\n \
             zonefile: \"{}\"\n",
            addresses.concat(),
            zone.display()
        );
        let conf = scratch.write("nsd.conf", conf).expect("a file");
        // It forks: in a process namespace its children end with it.
        let mut command = Command::new("unshare");
        command.args(["--pid", "--fork", "--kill-child", "nsd", "-d", "-c"]).arg(conf);
        let process = scene.bed.server().spawn(command).expect("nsd is installed");
        Self { process, _scratch: scratch }
    }
}

/// A question without EDNS (RFC 1035 4.1).
fn question(id: u16, name: &str, kind: u16) -> Vec<u8> {
    let mut message = id.to_be_bytes().to_vec();
    message.extend([0, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    for label in name.split('.') {
        message.push(label.len() as u8);
        message.extend(label.as_bytes());
    }
    message.push(0);
    message.extend(kind.to_be_bytes());
    message.extend([0, 1]);
    message
}

/// The rule by which `reply` answers all that ask as `request` does: its ID and the letters of its name come back.
fn rule_of(request: &[u8], reply: &[u8]) -> Rule {
    let name_len = request.len() - 12 - 4;
    Rule {
        conditions: vec![
            Condition::exact(2, &request[2..12]),
            Condition::any_case(12, &request[12..12 + name_len]),
            Condition::exact(12 + name_len, &request[12 + name_len..]),
        ],
        request_len: Some(request.len()),
        action: Action::Answer(vec![
            Processor::Put { at: 0, bytes: reply.to_vec() },
            Processor::Copy { from: 0, len: 2, to: 0 },
            Processor::Copy { from: 12, len: name_len, to: 12 },
        ]),
        group: GroupId(0),
        expires: None,
    }
}

#[test]
fn nsd_is_answered_for_and_nobody_can_tell() {
    let Some(mut scene) = Scene::new(By::DriverAndTc, 53) else { return };
    let mut nsd = Nsd::start(&scene);
    let servers = scene.addresses(53);
    let ask = |scene: &Scene, server, request: &[u8]| {
        scene
            .ask(server, request)
            .unwrap_or_else(|error| panic!("{error}; NSD says:\n{}", nsd.process.said()))
    };
    let questions: [(&str, u16); 5] =
        [("hot.example", 1), ("hot.example", 28), ("alias.example", 1), ("none.example", 1), ("example", 6)];
    for (name, kind) in questions {
        let request = question(1, name, kind);
        let reply = ask(&scene, servers[0], &request);
        assert_eq!(scene.count(OffloadOutcome::Answered), 0);
        scene.table.insert(&rule_of(&request, &reply)).expect("room");
        // Nobody is answered while the rules are made.
        scene.program.answer_nothing().expect("the setting can be written");
    }
    let mixed = ["hOt.ExamPle", "HOT.example", "aliaS.EXAMPLE", "None.Example", "EXAMPLE"];
    let all = |scene: &Scene| -> Vec<Vec<u8>> {
        let asked = questions.iter().zip(mixed).enumerate().flat_map(|(n, ((plain, kind), mixed))| {
            [question(100 + n as u16, plain, *kind), question(200 + n as u16, mixed, *kind)]
        });
        let requests: Vec<_> = asked.collect();
        servers
            .iter()
            .flat_map(|server| requests.iter().map(|request| ask(scene, *server, request)))
            .collect()
    };
    let by_nsd = all(&scene);
    assert_eq!(scene.count(OffloadOutcome::Answered), 0);
    let link = Netlink::open_in(scene.bed.server().netns()).and_then(|mut netlink| netlink.link("server0"));
    let link = link.expect("a device");
    scene.program.answer_as(MacAddr(link.mac), link.mtu).expect("the setting can be written");
    let by_kernel = all(&scene);
    assert_eq!(by_kernel, by_nsd);
    assert!(scene.count(OffloadOutcome::Answered) >= by_nsd.len() as u64);

    let cold = ask(&scene, servers[1], &question(7, "cold.example", 1));
    assert!(
        cold.starts_with(&[0, 7]) && cold.windows(4).any(|bytes| bytes == [192, 0, 2, 81]),
        "{cold:02x?}"
    );
    dig(&scene, servers[0]);
    assert!(nsd.process.is_running());
}

/// What a resolver's tool makes of it: an answer of the kernel's, and of the server's where it asks in another way.
fn dig(scene: &Scene, server: SocketAddr) {
    let dig = |arguments: &[&str]| {
        let mut command = Command::new("dig");
        command.arg(format!("@{}", server.ip())).args(["+short", "+tries=3", "+norecurse"]).args(arguments);
        let output = scene.bed.client().output(command).expect("dig is installed");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let before = scene.count(OffloadOutcome::Answered);
    assert_eq!(dig(&["+noedns", "+noadflag", "hot.example", "A"]), "192.0.2.80\n");
    assert!(scene.count(OffloadOutcome::Answered) > before, "the kernel answered dig");
    let (before, missed) = (scene.count(OffloadOutcome::Answered), scene.count(OffloadOutcome::Miss));
    assert_eq!(dig(&["hot.example", "A"]), "192.0.2.80\n");
    assert!(scene.count(OffloadOutcome::Answered) == before && scene.count(OffloadOutcome::Miss) > missed);
}

/// What a rule answers in its `version`: the version, as often as the reply is long.
fn versioned(version: u32) -> Rule {
    let count = 50 + version as usize % 200;
    rule("key", version.to_be_bytes().repeat(count))
}

/// A client's questions while the rule that answers them is replaced, and its room used again and again: each reply is of one
/// version, and none is older than one that was seen before.
#[test]
fn replies_are_whole_while_rules_change() {
    const VERSIONS: u32 = 1000;
    const REPLIES: u64 = 500;
    let Some(mut scene) = Scene::new(By::DriverAndTc, 7002) else { return };
    scene.table = table_in(&scene.program, Capacity { rule_count: 10, record_bytes: 1 });
    let id = scene.table.insert(&versioned(0)).expect("room");
    let server = scene.addresses(7002)[0];
    let Scene { bed, table, .. } = &mut scene;
    let (client, is_over, reply_count) = (bed.client(), AtomicBool::new(false), AtomicU64::new(0));
    let (last, seen) = std::thread::scope(|scope| {
        let follow = || follow_versions(server, client.ipv4(), &reply_count, &is_over);
        let asking = scope.spawn(move || client.run(follow));
        let mut version = 0;
        // Both long enough for places to be used again under a reader, however the two are scheduled.
        while (version < VERSIONS || reply_count.load(Ordering::Relaxed) < REPLIES) && !asking.is_finished() {
            version += 1;
            table.put(id, &versioned(version)).expect("room");
        }
        is_over.store(true, Ordering::Relaxed);
        let seen =
            asking.join().expect("the client found nothing wrong").expect("root may enter a namespace");
        (version, seen)
    });
    let reply_count = reply_count.into_inner();
    eprintln!("{reply_count} replies while {last} versions were put, the last one seen was {seen}");
    // Those in the moments of replacement may be missing.
    let hits = table.status(id).expect("a rule").hits;
    assert!(hits > 0 && hits <= reply_count, "{hits} hits, {reply_count} replies");
}

/// Asks until it is over; the last version.
fn follow_versions(
    server: SocketAddr,
    client: Ipv4Addr,
    reply_count: &AtomicU64,
    is_over: &AtomicBool,
) -> u32 {
    let socket = UdpSocket::bind((client, 0)).expect("a free port");
    socket.set_read_timeout(Some(PATIENCE)).expect("a time is not zero");
    let (mut seen, mut reply) = (0, [0; 2048]);
    while !is_over.load(Ordering::Relaxed) {
        socket.send_to(b"key", server).expect("the client can send");
        let len = socket.recv(&mut reply).expect("the kernel answers, there is nobody else");
        let number = |word: &[u8]| u32::from_be_bytes(word.try_into().expect("whole words"));
        let versions: Vec<u32> = reply[..len].chunks(4).map(number).collect();
        let version = versions[0];
        assert!(version >= seen && versions == vec![version; 50 + version as usize % 200], "{versions:?}");
        seen = version;
        reply_count.fetch_add(1, Ordering::Relaxed);
    }
    seen
}
