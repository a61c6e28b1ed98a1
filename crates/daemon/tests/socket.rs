//! The daemon over a real socket, with the Rust client.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use tidegate_control::proto::{bess, v1};
use tidegate_control::{Client, ClientError, Errno, Listen, Message, Server, queue};
use tidegate_daemon::Daemon;

struct Running {
    path: PathBuf,
    server: Option<Server>,
    control: Option<JoinHandle<()>>,
}

impl Running {
    fn start() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("tidegate-daemon-{}-{count}", std::process::id()));
        let (caller, calls) = queue();
        let control = thread::spawn(move || calls.run(&mut Daemon::new(|| {})));
        let listen = Listen { tcp: None, unix: Some(path.clone()), remote_allowed: false };
        let server = Server::start(&listen, caller).unwrap();
        Self { path, server: Some(server), control: Some(control) }
    }

    fn client(&self) -> Client {
        Client::connect(&format!("unix:{}", self.path.display())).unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.server.take().unwrap().shutdown();
        self.control.take().unwrap().join().unwrap();
    }
}

fn create(client: &mut Client, name: &str, class: &str) -> Result<(), ClientError> {
    let request = bess::CreateModuleRequest { name: name.into(), mclass: class.into(), arg: None };
    client.create_module(request).map(drop)
}

fn connect(client: &mut Client, from: &str, ogate: u64, to: &str) -> Result<(), ClientError> {
    let request = bess::ConnectModulesRequest {
        m1: from.into(),
        m2: to.into(),
        ogate,
        ..bess::ConnectModulesRequest::default()
    };
    client.connect_modules(request).map(drop)
}

fn disconnect(client: &mut Client, name: &str) -> Result<(), ClientError> {
    client.disconnect_modules(bess::DisconnectModulesRequest { name: name.into(), ogate: 0 }).map(drop)
}

fn destroy(client: &mut Client, name: &str) {
    client.destroy_module(bess::DestroyModuleRequest { name: name.into() }).unwrap();
}

fn build(client: &mut Client) {
    for (name, class) in [("src", "Source"), ("by", "Bypass"), ("end", "Sink")] {
        create(client, name, class).unwrap();
    }
    connect(client, "src", 0, "by").unwrap();
    connect(client, "by", 0, "end").unwrap();
}

/// Frames that arrived at the sink.
fn arrived(client: &mut Client) -> u64 {
    let info = client.get_module_info(bess::GetModuleInfoRequest { name: "end".into() }).unwrap();
    info.igates.iter().map(|gate| gate.pkts).sum()
}

/// Waits until the sink has got more.
fn await_traffic(client: &mut Client) {
    let before = arrived(client);
    while arrived(client) <= before {
        thread::yield_now();
    }
}

fn errno(outcome: Result<impl Sized, ClientError>) -> Option<Errno> {
    match outcome.err()? {
        ClientError::Refused(fault) => Some(fault.errno),
        other => panic!("{other}"),
    }
}

fn in_use(client: &mut Client) -> (u32, u32) {
    let pools = client.dump_mempool(bess::DumpMempoolRequest { socket: -1 }).unwrap();
    (pools.dumps[0].mp_in_use_count, pools.dumps[0].mp_size - pools.dumps[0].mp_available_count)
}

#[test]
fn pipeline_is_built_taken_apart_and_built_again() {
    let daemon = Running::start();
    let mut client = daemon.client();
    for _ in 0..2 {
        build(&mut client);
        await_traffic(&mut client);
        disconnect(&mut client, "by").unwrap();
        let still = arrived(&mut client);
        assert_eq!(arrived(&mut client), still);
        connect(&mut client, "by", 0, "end").unwrap();
        await_traffic(&mut client);
        ["src", "by", "end"].into_iter().for_each(|name| destroy(&mut client, name));
        assert_eq!(client.list_modules(bess::EmptyRequest {}).unwrap().modules.len(), 0);
    }
    assert_eq!(in_use(&mut client), (0, 0));
}

#[test]
fn refused_change_leaves_what_runs() {
    let daemon = Running::start();
    let mut client = daemon.client();
    build(&mut client);
    assert_eq!(errno(connect(&mut client, "by", 1, "by")), Some(Errno::EINVAL));
    assert_eq!(errno(connect(&mut client, "src", 0, "end")), Some(Errno::EBUSY));
    assert_eq!(errno(create(&mut client, "x", "NoSuchClass")), Some(Errno::ENOENT));
    assert_eq!(errno(create(&mut client, "src", "Source")), Some(Errno::EEXIST));
    assert_eq!(errno(disconnect(&mut client, "end")), Some(Errno::ENOENT));
    create(&mut client, "other", "Source").unwrap();
    create(&mut client, "arp", "ArpResponder").unwrap();
    connect(&mut client, "by", 1, "arp").unwrap();
    connect(&mut client, "other", 0, "arp").unwrap();
    let core = client.list_workers(bess::EmptyRequest {}).unwrap().workers_status[0].core;
    let worker = bess::AddWorkerRequest { wid: 1, core, scheduler: String::new() };
    client.add_worker(worker).unwrap();
    let class = bess::TrafficClass { leaf_module_name: "other".into(), wid: 1, ..Default::default() };
    let moved = client.update_tc_parent(bess::UpdateTcParentRequest { class: Some(class) });
    assert_eq!(errno(moved), Some(Errno::EBUSY));
    await_traffic(&mut client);
}

#[test]
fn whole_pipeline_is_replaced_or_nothing() {
    let daemon = Running::start();
    let mut client = daemon.client();
    build(&mut client);
    let mut wish = client.show_pipeline().unwrap();
    assert_eq!((wish.modules.len(), wish.connections.len()), (3, 2));
    let swap = bess::CreateModuleRequest { name: "swap".into(), mclass: "MACSwap".into(), arg: None };
    wish.modules.push(swap);
    wish.connections.retain(|link| link.m1 != "by");
    for (m1, m2) in [("by", "swap"), ("swap", "end")] {
        wish.connections.push(bess::ConnectModulesRequest {
            m1: m1.into(),
            m2: m2.into(),
            ..Default::default()
        });
    }
    let mut wrong = wish.clone();
    let arg = Message::from(bess::SourceArg { pkt_size: 1 << 40 }).to_any();
    wrong.modules.push(bess::CreateModuleRequest {
        name: "w".into(),
        mclass: "Source".into(),
        arg: Some(arg),
    });
    assert!(client.replace_pipeline(wrong, false).is_err());
    assert_eq!(client.show_pipeline().unwrap().modules.len(), 3);
    await_traffic(&mut client);
    let said = client.replace_pipeline(wish.clone(), true).unwrap();
    assert_eq!((said.created, said.removed.len()), (vec!["swap".to_owned()], 0));
    assert_eq!(client.show_pipeline().unwrap().modules.len(), 3);
    let said = client.replace_pipeline(wish, false).unwrap();
    assert_eq!(said.kept.len(), 3);
    await_traffic(&mut client);
    client.replace_pipeline(v1::PipelineSpec::default(), false).unwrap();
    assert_eq!(client.list_modules(bess::EmptyRequest {}).unwrap().modules.len(), 0);
}

#[test]
fn modules_of_a_pipeline_are_told_its_commands() {
    let daemon = Running::start();
    let mut client = daemon.client();
    build(&mut client);
    let mut wish = client.show_pipeline().unwrap();
    let len = |pkt_size| {
        let arg = Message::from(bess::SourceCommandSetPktSizeArg { pkt_size }).to_any();
        bess::CommandRequest { name: "src".into(), cmd: "set_pkt_size".into(), arg: Some(arg) }
    };
    wish.commands = vec![len(9999)];
    assert!(client.replace_pipeline(wish.clone(), false).is_err());
    wish.commands = vec![len(100)];
    let said = client.replace_pipeline(wish.clone(), false).unwrap();
    assert_eq!((said.created, said.kept.len()), (vec!["src".to_owned()], 2));
    let shown = client.show_pipeline().unwrap();
    assert_eq!(shown.commands, wish.commands);
    assert_eq!(client.replace_pipeline(shown, false).unwrap().created, [""; 0]);
    await_traffic(&mut client);
}

#[test]
fn client_that_vanishes_harms_nothing() {
    let daemon = Running::start();
    build(&mut daemon.client());
    for _ in 0..10 {
        drop(daemon.client());
    }
    await_traffic(&mut daemon.client());
}

#[test]
fn graph_changed_under_load_loses_no_frame() {
    let daemon = Running::start();
    let mut client = daemon.client();
    build(&mut client);
    for round in 0..150 {
        if round % 2 == 0 {
            create(&mut client, "more", "Bypass").unwrap();
            connect(&mut client, "more", 0, "end").unwrap();
        } else {
            destroy(&mut client, "more");
        }
        disconnect(&mut client, "by").unwrap();
        connect(&mut client, "by", 0, "end").unwrap();
    }
    await_traffic(&mut client);
    destroy(&mut client, "src");
    assert_eq!(in_use(&mut client), (0, 0));
}

#[test]
fn classes_limit_a_task() {
    let daemon = Running::start();
    let mut client = daemon.client();
    build(&mut client);
    let limit = bess::TrafficClass {
        name: "limit".into(),
        policy: "rate_limit".into(),
        resource: "packet".into(),
        limit: [("packet".to_owned(), 1000)].into(),
        ..Default::default()
    };
    client.add_tc(bess::AddTcRequest { class: Some(limit) }).unwrap();
    let leaf =
        bess::TrafficClass { leaf_module_name: "src".into(), parent: "limit".into(), ..Default::default() };
    client.update_tc_parent(bess::UpdateTcParentRequest { class: Some(leaf) }).unwrap();
    await_traffic(&mut client);
    let used = client.get_tc_stats(bess::GetTcStatsRequest { name: "limit".into() }).unwrap();
    assert!(used.packets > 0);
    let list = client.list_tcs(bess::ListTcsRequest { wid: -1 }).unwrap().classes_status;
    assert!(list.iter().any(|it| it.class.as_ref().is_some_and(|class| class.leaf_module_name == "src")));
    client.reset_tcs(bess::EmptyRequest {}).unwrap();
    await_traffic(&mut client);
    client.reset_all(bess::EmptyRequest {}).unwrap();
    assert_eq!(client.list_workers(bess::EmptyRequest {}).unwrap().workers_status.len(), 0);
}

/// Puts a task on a worker.
fn place(client: &mut Client, module: &str, wid: i64) -> Result<(), ClientError> {
    let class = bess::TrafficClass { leaf_module_name: module.into(), wid, ..Default::default() };
    client.update_tc_parent(bess::UpdateTcParentRequest { class: Some(class) }).map(drop)
}

#[test]
fn queue_hands_frames_from_worker_to_worker() {
    let daemon = Running::start();
    let mut client = daemon.client();
    for (name, class) in
        [("src", "Source"), ("q", "Queue"), ("by", "Bypass"), ("buf", "Buffer"), ("end", "Sink")]
    {
        create(&mut client, name, class).unwrap();
    }
    for (from, to) in [("src", "by"), ("by", "q"), ("q", "buf"), ("buf", "end")] {
        connect(&mut client, from, 0, to).unwrap();
    }
    let core = client.list_workers(bess::EmptyRequest {}).unwrap().workers_status[0].core;
    client.add_worker(bess::AddWorkerRequest { wid: 1, core, scheduler: String::new() }).unwrap();
    await_traffic(&mut client);
    // There, back and there again, with a change on the way each time.
    for round in 0..6 {
        place(&mut client, "q", i64::from(round % 2 == 0)).unwrap();
        await_traffic(&mut client);
        disconnect(&mut client, "src").unwrap();
        connect(&mut client, "src", 0, "by").unwrap();
        await_traffic(&mut client);
    }
    place(&mut client, "q", 1).unwrap();
    let status = bess::CommandRequest {
        name: "q".into(),
        cmd: "get_status".into(),
        arg: Some(Message::from(bess::QueueCommandGetStatusArg {}).to_any()),
    };
    assert!(client.module_command(status).unwrap().data.is_some());
    // Without the queue between, no two workers may have what is behind it.
    disconnect(&mut client, "by").unwrap();
    place(&mut client, "src", 0).unwrap();
    assert_eq!(errno(connect(&mut client, "by", 0, "buf")), Some(Errno::EBUSY));
    connect(&mut client, "by", 0, "q").unwrap();
    await_traffic(&mut client);
    destroy(&mut client, "src");
    destroy(&mut client, "q");
    destroy(&mut client, "buf");
    assert_eq!(in_use(&mut client), (0, 0));
}
