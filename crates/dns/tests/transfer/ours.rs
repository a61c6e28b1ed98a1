//! Our name server in place of the testbed's second host, its dealings with others in the first.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tidegate_base::HashKey;
use tidegate_bpf::{LoadOptions, ModeChoice, XdpProgram};
use tidegate_dns::Namestorm;
use tidegate_dns::desk::DeskConfig;
use tidegate_dns::tcp::{Bounds, Tcp, TcpCounters, TcpShared};
use tidegate_dns::transfer::{ClientPatience, Exchange, Relations};
use tidegate_modules::{Impair, ImpairConfig, PortIn, PortOut, StackModule};
use tidegate_packet::{HeapMemory, Pool};
use tidegate_pipeline::{Control, Graph, KernelEnvironment, PortIndex, Waker, Worker, WorkerConfig, control};
use tidegate_port::AfXdpPort;
use tidegate_stack::{Interface, Limits, Ownership, Secrets, Stack, TcpConfig};
use tidegate_sys::netlink;
use tidegate_sys::xsk::{Umem, XskConfig};
use tidegate_testbed::{Side, Testbed};
use tidegate_wire::MacAddr;

const PORT: u16 = 53;
const CHUNK_COUNT: usize = 4096;

/// A worker with our server on a thread in the server's namespace. Stopped when dropped.
pub(crate) struct Ours {
    pub(crate) exchange: Exchange,
    control: Control,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Ours {
    /// Takes over the server's end of the cable; frames suffer `faults` both ways.
    pub(crate) fn start(bed: &Arc<Testbed>, faults: &str, relations: Relations) -> Self {
        let patience = ClientPatience { message: Duration::from_secs(5), ..ClientPatience::default() };
        let exchange = bed.client().run(|| Exchange::start(relations, patience, 7)).expect("a thread");
        let exchange = exchange.expect("sockets");
        let desk = || exchange.desk(Arc::new(DeskConfig::default()));
        let namestorm = Namestorm::new(desk(), Tcp::new(TcpShared::new(Bounds::default()), desk()));
        let waker = Waker::new().expect("an eventfd");
        let (control, commands) = {
            let waker = waker.clone();
            control(move || waker.wake())
        };
        let (bed, faults) = (bed.clone(), faults.to_owned());
        let (ready_tx, ready_rx) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let end = bed.server();
            end.netns().set_current_thread().expect("root");
            let ifindex = netlink::ifindex(end.device()).expect("the device");
            let program = XdpProgram::load(&LoadOptions::default()).expect("the program loads");
            let _attachment = program.attach(ifindex, ModeChoice::DriverOnly).expect("driver mode");
            let mut pool = Pool::new(Box::new(HeapMemory::new(CHUNK_COUNT * 2048)), 2048).expect("a pool");
            let umem = Umem::of_pool(&pool);
            let port =
                AfXdpPort::open(ifindex, 0, &umem, &XskConfig::default(), &mut pool).expect("a socket");
            program.set_xsk(0, port.socket()).expect("a slot");
            program.own_device(true).expect("settings");
            let graph = graph([end.ipv4().into(), end.ipv6().into()], &faults, namestorm);
            let mut worker =
                Worker::new(WorkerConfig::default(), pool, vec![Box::new(port)], graph, commands);
            ready_tx.send(()).expect("the test waits");
            worker.run(&mut KernelEnvironment::new(waker));
        });
        ready_rx.recv().expect("our server starts");
        Self { exchange, control, thread: Some(thread) }
    }

    /// What its connections did.
    pub(crate) fn tcp_counters(&self) -> TcpCounters {
        let read = |worker: &mut Worker| {
            let stack = worker.module_mut::<StackModule<Namestorm>>("stack").expect("a stack").stack_mut();
            stack.service().tcp_counters()
        };
        self.control.ask(Duration::from_secs(10), read).expect("an answer")
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        self.control.send(Worker::stop);
        let ended = self.thread.take().map(std::thread::JoinHandle::join);
        if !std::thread::panicking() {
            ended.expect("one thread").expect("no panic on the worker");
        }
    }
}

fn graph(addresses: [IpAddr; 2], faults: &str, namestorm: Namestorm) -> Graph {
    let mac = MacAddr(Side::Server.mac());
    let interface = Interface::new(mac, addresses, 1500, Ownership::Address);
    let secret = || HashKey::new(tidegate_sys::random::bytes().expect("random bytes"));
    let secrets =
        Secrets { isn: secret(), cookie: secret(), flow: tidegate_sys::random::u64().expect("random") };
    let (now, config) = (tidegate_sys::clock::now(), TcpConfig::SERVER);
    let mut stack = Stack::new(now, interface, config, Limits::default(), &secrets, namestorm);
    stack.listen(None, PORT);
    let impair = |seed| Impair::new(ImpairConfig { seed, ..faults.parse().expect("faults") });
    let mut graph = Graph::new();
    let row = [
        graph.add("port_in", Box::new(PortIn::new(PortIndex(0)))).expect("a new name"),
        graph.add("wire_in", Box::new(impair(11))).expect("a new name"),
        graph.add("stack", Box::new(StackModule::new(stack))).expect("a new name"),
        graph.add("wire_out", Box::new(impair(12))).expect("a new name"),
        graph.add("port_out", Box::new(PortOut::new(PortIndex(0)))).expect("a new name"),
    ];
    graph.chain(&row).expect("a row");
    graph
}
