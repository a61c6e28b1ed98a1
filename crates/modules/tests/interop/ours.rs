//! Our stack in place of a testbed host's: it takes the whole device and answers for its addresses.

use crate::service::Transfers;
use std::sync::Arc;
use std::time::{Duration, Instant as Clock};
use tidegate_base::HashKey;
use tidegate_bpf::{LoadOptions, ModeChoice, XdpProgram};
use tidegate_modules::{Impair, ImpairConfig, PortIn, PortOut, StackModule};
use tidegate_packet::{HeapMemory, Pool};
use tidegate_pipeline::{Control, Graph, KernelEnvironment, PortIndex, Waker, Worker, WorkerConfig, control};
use tidegate_port::AfXdpPort;
use tidegate_stack::{Interface, Limits, Ownership, Secrets, Stack, StackCounters, TcpConfig};
use tidegate_sys::netlink;
use tidegate_sys::xsk::{Umem, XskConfig};
use tidegate_testbed::{Side, Testbed};
use tidegate_wire::MacAddr;

/// Where our stack listens.
pub(crate) const PORT: u16 = 80;
const CHUNK_COUNT: usize = 4096;

/// A worker with our stack, on a thread in the server's namespace. Stopped when dropped.
pub(crate) struct Ours {
    control: Control,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Ours {
    /// Takes over the server's end of the cable; frames suffer `faults` both ways.
    pub(crate) fn start(bed: &Arc<Testbed>, faults: &str) -> Self {
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
            let graph = graph([end.ipv4().into(), end.ipv6().into()], &faults);
            let mut worker =
                Worker::new(WorkerConfig::default(), pool, vec![Box::new(port)], graph, commands);
            ready_tx.send(()).expect("the test waits");
            worker.run(&mut KernelEnvironment::new(waker));
        });
        ready_rx.recv().expect("our stack starts");
        Self { control, thread: Some(thread) }
    }

    /// Does something to the stack between two rounds.
    pub(crate) fn with_stack<R: Send + 'static>(
        &self,
        f: impl FnOnce(&mut Stack<Transfers>) -> R + Send + 'static,
    ) -> R {
        let on_worker = |worker: &mut Worker| {
            f(worker.module_mut::<StackModule<Transfers>>("stack").expect("a stack").stack_mut())
        };
        self.control.ask(Duration::from_secs(10), on_worker).expect("an answer")
    }

    pub(crate) fn counters(&self) -> StackCounters {
        self.with_stack(|stack| stack.counters())
    }

    /// Waits until no connection is left.
    pub(crate) fn await_quiet(&self) {
        let patience = Clock::now() + Duration::from_secs(30);
        while self.counters().connection_count > 0 {
            assert!(Clock::now() < patience, "connections stay: {:?}", self.counters());
            std::thread::sleep(Duration::from_millis(5));
        }
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

fn graph(addresses: [std::net::IpAddr; 2], faults: &str) -> Graph {
    let mac = MacAddr(Side::Server.mac());
    let interface = Interface::new(mac, addresses, 1500, Ownership::Address);
    let secret = || HashKey::new(tidegate_sys::random::bytes().expect("random bytes"));
    let secrets =
        Secrets { isn: secret(), cookie: secret(), flow: tidegate_sys::random::u64().expect("random") };
    let (now, config) = (tidegate_sys::clock::now(), TcpConfig::default());
    let mut stack = Stack::new(now, interface, config, Limits::default(), &secrets, Transfers::default());
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
