//! A device taken over by one of our services: the pipeline that a bench's client runs in.

use anyhow::Context;
use std::net::IpAddr;
use tidegate_base::HashKey;
use tidegate_bpf::{Attachment, LoadOptions, ModeChoice, XdpProgram};
use tidegate_modules::{PortIn, PortOut, StackModule};
use tidegate_packet::Pool;
use tidegate_pipeline::{Control, Graph, KernelEnvironment, PortIndex, Waker, Worker, WorkerConfig, control};
use tidegate_port::AfXdpPort;
use tidegate_stack::{Interface, Limits, Ownership, Secrets, Service, Stack, TcpConfig};
use tidegate_sys::mem::Mapping;
use tidegate_sys::netlink::Netlink;
use tidegate_sys::xsk::{Umem, XskConfig};
use tidegate_sys::{clock, napi};
use tidegate_wire::MacAddr;

const CHUNK_LEN: usize = 2048;
const CHUNK_COUNT: usize = 8192;

/// The program that a device's frames go through, and the worker that they go to.
pub(crate) struct TakenDevice {
    _attachment: Attachment,
    _program: XdpProgram,
    worker: Worker,
    waker: Waker,
    pub(crate) control: Control,
}

impl TakenDevice {
    /// Takes `dev` over for `service`, which speaks from `addresses`. Its receive threads are kept on `cpu`.
    pub(crate) fn take<S: Service + Send + 'static>(
        dev: &str,
        addresses: &[IpAddr],
        cpu: Option<usize>,
        service: S,
    ) -> anyhow::Result<Self>
    where
        S::Response: Send,
        S::State: Send,
    {
        let waker = Waker::new().context("an eventfd")?;
        let (control, commands) = {
            let waker = waker.clone();
            control(move || waker.wake())
        };
        let link = Netlink::open()?.link(dev)?;
        let program = XdpProgram::load(&LoadOptions::default())?;
        let attachment = program.attach(link.ifindex, ModeChoice::DriverThenGeneric)?;
        program.own_device(true)?;
        let mut pool = Pool::new(Box::new(Mapping::anonymous(CHUNK_COUNT * CHUNK_LEN)?), CHUNK_LEN)?;
        let umem = Umem::of_pool(&pool);
        let port = AfXdpPort::open(link.ifindex, 0, &umem, &XskConfig::default(), &mut pool)?;
        program.set_xsk(0, port.socket())?;
        if let Some(cpu) = cpu {
            // Attaching made new receive threads, which inherit nothing.
            napi::set_threaded(dev, true)?;
            napi::pin_threads(dev, cpu)?;
        }
        // A kernel at the other end leaves checksums to a NIC that a veth does not have.
        let interface = Interface::new(
            MacAddr(link.mac),
            addresses.iter().copied(),
            link.mtu as usize,
            Ownership::Address,
        );
        let graph = graph(interface.trusting_checksums(), service)?;
        let worker = Worker::new(WorkerConfig::default(), pool, vec![Box::new(port)], graph, commands);
        Ok(Self { _attachment: attachment, _program: program, worker, waker, control })
    }

    /// Runs until the control end says stop.
    pub(crate) fn run(mut self) {
        self.worker.run(&mut KernelEnvironment::new(self.waker.clone()));
    }
}

/// The service inside a [`TakenDevice`]'s worker.
pub(crate) fn service<S: Service + Send + 'static>(worker: &mut Worker) -> Option<&mut S>
where
    S::Response: Send,
    S::State: Send,
{
    Some(worker.module_mut::<StackModule<S>>("client")?.stack_mut().service_mut())
}

/// Secrets from the kernel's random bytes.
pub(crate) fn secrets() -> anyhow::Result<Secrets> {
    let secret = || tidegate_sys::random::bytes().map(HashKey::new);
    Ok(Secrets { isn: secret()?, cookie: secret()?, flow: tidegate_sys::random::u64()? })
}

fn graph<S: Service + Send + 'static>(interface: Interface, service: S) -> anyhow::Result<Graph>
where
    S::Response: Send,
    S::State: Send,
{
    let config = TcpConfig::default();
    let stack = Stack::new(clock::now(), interface, config, Limits::default(), &secrets()?, service);
    let mut graph = Graph::new();
    let row = [
        graph.add("port_in", Box::new(PortIn::new(PortIndex(0))))?,
        graph.add("client", Box::new(StackModule::new(stack)))?,
        graph.add("port_out", Box::new(PortOut::new(PortIndex(0))))?,
    ];
    graph.chain(&row)?;
    Ok(graph)
}
