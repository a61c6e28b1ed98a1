//! The tunnel by Tidegate: a worker at each end, beside the kernel's TCP on that end's processor.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, ensure};
use tidegate_base::Duration as Span;
use tidegate_bpf::{Attachment, LoadOptions, ModeChoice, XdpProgram};
use tidegate_modules::encap::{EtherEncap, IpEncap, VXLAN_PORT, VxlanDecap, VxlanEncap};
use tidegate_modules::mark::{MetadataSource, MetadataValue, SetMetadata};
use tidegate_modules::offload::{Lro, LroParams, Tso, TsoParams};
use tidegate_modules::{PortIn, PortOut};
use tidegate_packet::Pool;
use tidegate_pipeline::{
    Control, Graph, KernelEnvironment, Module, PortIndex, Waker, Worker, WorkerConfig, control,
};
use tidegate_port::{AfXdpPort, BulkTapPort, MemifConfig, MemifRole, Port, TapPort, open_memif};
use tidegate_sys::cpu;
use tidegate_sys::mem::Mapping;
use tidegate_sys::netlink::{Address, Netlink};
use tidegate_sys::netns::Netns;
use tidegate_sys::tap::{BulkTap, Tap};
use tidegate_sys::xsk::{Umem, XskConfig};
use tidegate_testbed::{End, ScratchDir, Testbed};

/// The device of each host that leads through the tunnel.
pub(super) const INNER: &str = "inner0";
/// What the cable carries less the tunnel's headers: Ethernet, VXLAN, UDP, IPv4.
pub(super) const INNER_MTU: u32 = 1500 - 14 - 8 - 8 - 20;
pub(super) const TUNNEL_ID: u32 = 42;

const CHUNK_LEN: usize = 2048;
const CHUNK_COUNT: usize = 8192;
const PATIENCE: Duration = Duration::from_secs(20);
const TAP_PORT: PortIndex = PortIndex(0);
const CABLE_PORT: PortIndex = PortIndex(1);

/// A host's address inside the tunnel.
pub(super) fn inner_address(host: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 79, 0, host)
}

/// What joins the two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cable {
    /// The testbed's, by AF_XDP at both ends.
    Veth,
    /// Memory that both ends map.
    Memif,
}

/// What one end is made from.
struct Plan {
    host: u8,
    netns: Netns,
    device: &'static str,
    cpu: usize,
    cable: Cable,
    /// A file, because the hosts' namespaces do not share names of sockets.
    memif: PathBuf,
    outer: [Ipv4Addr; 2],
    macs: [[u8; 6]; 2],
    has_offloads: bool,
    hold: Span,
}

/// A tunnel, there for as long as this lives.
pub(super) struct Tunnel {
    ends: [TunnelEnd; 2],
    _scratch: ScratchDir,
}

struct TunnelEnd {
    control: Control,
    thread: JoinHandle<()>,
    thread_id: u32,
}

impl Tunnel {
    /// A tunnel between the testbed's hosts.
    pub(super) fn dig(bed: &Testbed, cable: Cable, has_offloads: bool, hold_us: u64) -> anyhow::Result<Self> {
        let hosts = [(1, bed.client(), bed.server()), (2, bed.server(), bed.client())];
        let scratch = ScratchDir::new()?;
        let plan = |(host, end, peer): (u8, &End, &End)| -> anyhow::Result<Plan> {
            Ok(Plan {
                host,
                netns: end.netns().run(Netns::current)??,
                device: end.device(),
                cpu: end.cpu().context("the end is pinned to no processor")?,
                cable,
                memif: scratch.join("memif"),
                outer: [end.ipv4(), peer.ipv4()],
                macs: [mac_of(end)?, mac_of(peer)?],
                has_offloads,
                hold: Span::from_micros(hold_us),
            })
        };
        let ends = [TunnelEnd::start(plan(hosts[0])?)?, TunnelEnd::start(plan(hosts[1])?)?];
        if cable == Cable::Veth {
            bed.client().settle()?;
            bed.server().settle()?;
        }
        Ok(Self { ends, _scratch: scratch })
    }

    /// The kernel's numbers of the workers' threads, the client's first.
    pub(super) fn threads(&self) -> [u32; 2] {
        [self.ends[0].thread_id, self.ends[1].thread_id]
    }

    /// Ends both workers.
    pub(super) fn fill_in(self) {
        for end in self.ends {
            end.control.send(Worker::stop);
            // A worker that panicked has said so.
            let _ = end.thread.join();
        }
    }
}

fn mac_of(end: &End) -> anyhow::Result<[u8; 6]> {
    Ok(Netlink::open_in(end.netns())?.link(end.device())?.mac)
}

/// The calling thread's number.
fn thread_id() -> anyhow::Result<u32> {
    let link = std::fs::read_link("/proc/thread-self").context("read /proc/thread-self")?;
    let number = link.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse().ok());
    number.context("/proc/thread-self names no thread")
}

impl TunnelEnd {
    fn start(plan: Plan) -> anyhow::Result<Self> {
        let waker = Waker::new().context("an eventfd")?;
        let (control, commands) = {
            let waker = waker.clone();
            control(move || waker.wake())
        };
        let (told, ready) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let built = plan.build().and_then(|parts| Ok((thread_id()?, parts)));
            match built {
                Ok((id, Parts { pool, ports, graph, _held })) => {
                    let mut worker = Worker::new(WorkerConfig::default(), pool, ports, graph, commands);
                    // If nobody waits any more, it is stopped at once.
                    let _ = told.send(Ok(id));
                    worker.run(&mut KernelEnvironment::new(waker));
                }
                Err(error) => _ = told.send(Err(error)),
            }
        });
        let thread_id = ready.recv_timeout(PATIENCE).context("wait for a tunnel's end")??;
        Ok(Self { control, thread, thread_id })
    }
}

/// What a worker is made from.
struct Parts {
    pool: Pool,
    ports: Vec<Box<dyn Port>>,
    graph: Graph,
    _held: Option<(XdpProgram, Attachment)>,
}

/// A port, and what must live for as long as it does.
type CableEnd = (Box<dyn Port>, Option<(XdpProgram, Attachment)>);

impl Plan {
    /// On the thread that will run it, which ends up in the host's namespace.
    fn build(&self) -> anyhow::Result<Parts> {
        self.netns.set_current_thread()?;
        cpu::pin_current_thread(self.cpu)?;
        let mut pool = Pool::new(Box::new(Mapping::anonymous(CHUNK_COUNT * CHUNK_LEN)?), CHUNK_LEN)?;
        let tap = self.tap()?;
        let (cable, _held) = self.cable(&mut pool)?;
        Ok(Parts { pool, ports: vec![tap, cable], graph: self.graph()?, _held })
    }

    fn tap(&self) -> anyhow::Result<Box<dyn Port>> {
        let frame_len_max = INNER_MTU as usize + 14;
        let port: Box<dyn Port> = if self.has_offloads {
            Box::new(BulkTapPort::new(BulkTap::open(INNER)?, frame_len_max))
        } else {
            Box::new(TapPort::new(Tap::open(INNER)?, frame_len_max))
        };
        let mut netlink = Netlink::open()?;
        let ifindex = netlink.link(INNER)?.ifindex;
        netlink.set_mtu(ifindex, INNER_MTU)?;
        netlink.set_up(ifindex, true)?;
        let ip = IpAddr::from(inner_address(self.host));
        netlink.add_address(ifindex, Address { ip, prefix_len: 24 })?;
        Ok(port)
    }

    fn cable(&self, pool: &mut Pool) -> anyhow::Result<CableEnd> {
        if self.cable == Cable::Memif {
            let role = if self.host == 1 { MemifRole::Server } else { MemifRole::Client };
            let socket = self.memif.display().to_string();
            let port = open_memif(MemifConfig::new(&socket, role))?.pop().context("a memif of no queue")?;
            return Ok((Box::new(port), None));
        }
        let ifindex = Netlink::open()?.link(self.device)?.ifindex;
        let program = XdpProgram::load(&LoadOptions::default())?;
        let attachment = program.attach(ifindex, ModeChoice::DriverThenGeneric)?;
        let port = AfXdpPort::open(ifindex, 0, &Umem::of_pool(pool), &XskConfig::default(), pool)?;
        program.set_xsk(0, port.socket())?;
        program.own_device(true)?;
        Ok((Box::new(port), Some((program, attachment))))
    }

    fn graph(&self) -> anyhow::Result<Graph> {
        let mut out: Vec<Box<dyn Module>> = vec![Box::new(PortIn::new(TAP_PORT).holding_back())];
        let mut back: Vec<Box<dyn Module>> =
            vec![Box::new(PortIn::new(CABLE_PORT)), Box::new(VxlanDecap::new())];
        if self.has_offloads {
            out.push(Box::new(Tso::new(TsoParams { mtu: INNER_MTU.into() })?));
            back.push(Box::new(Lro::new(LroParams { hold: self.hold, ..LroParams::default() })?));
        }
        out.push(Box::new(self.metadata()?));
        out.push(Box::new(VxlanEncap::new(VXLAN_PORT)?));
        out.push(Box::new(IpEncap::new()));
        out.push(Box::new(EtherEncap::new()));
        out.push(Box::new(PortOut::new(CABLE_PORT)));
        back.push(Box::new(PortOut::new(TAP_PORT)));
        let mut graph = Graph::new();
        for (way, modules) in [("out", out), ("back", back)] {
            let row =
                modules.into_iter().enumerate().map(|(n, module)| graph.add(&format!("{way}{n}"), module));
            let row = row.collect::<Result<Vec<_>, _>>()?;
            graph.chain(&row)?;
        }
        let layout = graph.lay_out();
        ensure!(layout.faults().is_empty(), "the tunnel's attributes have faults: {:?}", layout.faults());
        Ok(graph)
    }

    /// Who the tunnel's ends are.
    fn metadata(&self) -> anyhow::Result<SetMetadata> {
        let value = |name: &str, bytes: &[u8]| MetadataValue {
            name: name.to_owned(),
            size: bytes.len() as u64,
            source: MetadataSource::Bytes(bytes.to_vec()),
        };
        Ok(SetMetadata::new(&[
            value("tun_ip_src", &self.outer[0].octets()),
            value("tun_ip_dst", &self.outer[1].octets()),
            value("tun_id", &TUNNEL_ID.to_be_bytes()),
            value("ether_src", &self.macs[0]),
            value("ether_dst", &self.macs[1]),
        ])?)
    }
}
