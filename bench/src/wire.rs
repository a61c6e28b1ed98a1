//! A wire that loses between two testbeds: what a kernel peer's own TCP can be measured through.
//!
//! ```text
//!   bed A: client0 ==== server0 --AF_XDP--> impair --> AF_XDP-- client0 ==== server0 :bed B
//!          client               <---------- impair <---------                server
//! ```
//! Both testbeds have the same addresses, so frames pass as they are and neither host sees the wire.

use anyhow::Context;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;
use tidegate_bpf::{Attachment, LoadOptions, ModeChoice, XdpProgram};
use tidegate_modules::{Impair, ImpairConfig, PortIn, PortOut};
use tidegate_packet::Pool;
use tidegate_pipeline::{Control, Graph, KernelEnvironment, PortIndex, Waker, Worker, WorkerConfig, control};
use tidegate_port::{AfXdpPort, Port};
use tidegate_sys::ethtool::Offload;
use tidegate_sys::mem::Mapping;
use tidegate_sys::netlink::Netlink;
use tidegate_sys::xsk::{Umem, XskConfig};
use tidegate_testbed::{End, Layout, Testbed};

const CHUNK_LEN: usize = 2048;
const CHUNK_COUNT: usize = 8192;
const PATIENCE: Duration = Duration::from_secs(20);

/// Two hosts and the wire between them, up for as long as this lives.
pub(crate) struct Wire {
    near: Arc<Testbed>,
    far: Arc<Testbed>,
    control: Control,
    thread: Option<JoinHandle<()>>,
}

/// What a worker needs to carry frames between two devices.
struct Clamped {
    pool: Pool,
    ports: Vec<Box<dyn Port>>,
    graph: Graph,
    _held: [(XdpProgram, Attachment); 2],
}

impl Wire {
    /// A wire on which frames suffer `faults` both ways.
    pub(crate) fn new(faults: ImpairConfig) -> anyhow::Result<Self> {
        let near = Arc::new(Testbed::new(&Layout::default())?);
        let far = Arc::new(Testbed::new(&Layout::default())?);
        // What the far kernel sends passes as it is, so it must be whole.
        for offload in [Offload::TcpSegmentation, Offload::GenericSegmentation, Offload::TxChecksum] {
            far.server().set_offload(offload, false)?;
        }
        let waker = Waker::new().context("an eventfd")?;
        let (control, commands) = {
            let waker = waker.clone();
            control(move || waker.wake())
        };
        let (told, ready) = mpsc::channel();
        let beds = [near.clone(), far.clone()];
        let thread =
            std::thread::spawn(move || match Clamped::on([beds[0].server(), beds[1].client()], faults) {
                Ok(Clamped { pool, ports, graph, _held }) => {
                    let mut worker = Worker::new(WorkerConfig::default(), pool, ports, graph, commands);
                    // If nobody waits any more, it is stopped at once.
                    let _ = told.send(Ok(()));
                    worker.run(&mut KernelEnvironment::new(waker));
                }
                Err(error) => _ = told.send(Err(error)),
            });
        ready.recv_timeout(PATIENCE).context("wait for the wire")??;
        let wire = Self { near, far, control, thread: Some(thread) };
        wire.near.server().settle()?;
        wire.far.client().settle()?;
        Ok(wire)
    }

    /// The testbed whose client asks.
    pub(crate) fn near(&self) -> &Testbed {
        &self.near
    }

    /// The host that answers.
    pub(crate) fn server(&self) -> &End {
        self.far.server()
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.control.send(Worker::stop);
        // A wire that panicked has said so.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Clamped {
    /// Takes every frame that these two receive; the calling thread ends up in the second's namespace.
    fn on(ends: [&End; 2], faults: ImpairConfig) -> anyhow::Result<Self> {
        let mut pool = Pool::new(Box::new(Mapping::anonymous(CHUNK_COUNT * CHUNK_LEN)?), CHUNK_LEN)?;
        let umem = Umem::of_pool(&pool);
        let [(a, held_a), (b, held_b)] =
            [clamp(ends[0], &umem, &mut pool)?, clamp(ends[1], &umem, &mut pool)?];
        let ports: Vec<Box<dyn Port>> = vec![Box::new(a), Box::new(b)];
        Ok(Self { pool, ports, graph: graph(faults)?, _held: [held_a, held_b] })
    }
}

fn clamp(end: &End, umem: &Umem, pool: &mut Pool) -> anyhow::Result<(AfXdpPort, (XdpProgram, Attachment))> {
    end.netns().set_current_thread()?;
    let ifindex = Netlink::open()?.link(end.device())?.ifindex;
    let program = XdpProgram::load(&LoadOptions::default())?;
    let attachment = program.attach(ifindex, ModeChoice::DriverThenGeneric)?;
    let port = AfXdpPort::open(ifindex, 0, umem, &XskConfig::default(), pool)?;
    program.set_xsk(0, port.socket())?;
    program.own_device(true)?;
    Ok((port, (program, attachment)))
}

fn graph(faults: ImpairConfig) -> anyhow::Result<Graph> {
    let mut graph = Graph::new();
    for (from, to, seed) in [(0, 1, faults.seed), (1, 0, !faults.seed)] {
        let row = [
            graph.add(&format!("in{from}"), Box::new(PortIn::new(PortIndex(from))))?,
            graph.add(&format!("impair{from}"), Box::new(Impair::new(ImpairConfig { seed, ..faults })))?,
            graph.add(&format!("out{to}"), Box::new(PortOut::new(PortIndex(to))))?,
        ];
        graph.chain(&row)?;
    }
    Ok(graph)
}
