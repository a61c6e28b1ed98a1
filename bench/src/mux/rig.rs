//! A NIC, its wire, and stacks on it, all of it in namespaces that go with the process.

use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use anyhow::Context;
use tidegate_base::{Duration, SeqNumber};
use tidegate_bpf::{Attachment, LoadOptions, ModeChoice, Nic, Steering, Tuple, WayOut, XdpProgram};
use tidegate_mux::vport::{Vport, Vports};
use tidegate_packet::{Batch, Pool};
use tidegate_port::{AfXdpPort, Port};
use tidegate_sys::mem::Mapping;
use tidegate_sys::netlink::{LinkInfo, Netlink, VethEnd, disable_ipv6};
use tidegate_sys::netns::Netns;
use tidegate_sys::xsk::{Umem, XskConfig};
use tidegate_wire::egress::EgressVerdict;
use tidegate_wire::{EtherType, EthernetHeader, IpRepr, MacAddr, Protocol, TcpFlags, TcpOptions, TcpRepr};
use zerocopy::IntoBytes;

const NIC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const STATION: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
const NIC_ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub(super) const STATION_ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 7);
const CHUNK_LEN: usize = 2048;
const PATIENCE: Duration = Duration::from_secs(10);
/// Frames that a sender puts onto its ring at once.
const BURST: usize = 32;
const FIRST_PORT: u16 = 10_000;

/// Frames that are sent over and over.
pub(super) struct Sender {
    pool: Pool,
    port: AfXdpPort,
    frames: Vec<Vec<u8>>,
    next: usize,
    _cable: Option<Cable>,
}

/// A stack: what it sends, and the same port to receive on.
pub(super) struct Stack {
    pub(super) sender: Sender,
    vport: Vport,
}

/// Everything.
pub(super) struct Rig {
    wire: Sender,
    pub(super) stacks: Vec<Stack>,
    pub(super) program: Arc<XdpProgram>,
    /// Frames that stacks have taken.
    pub(super) taken_count: u64,
    _attachment: Attachment,
    pub(super) cable: Cable,
}

/// A veth pair with its ends in two namespaces.
pub(super) struct Cable {
    host: Netns,
    nic: LinkInfo,
    pub(super) far: Netns,
    pub(super) wire: LinkInfo,
}

fn raise(netns: &Netns, name: &str) -> anyhow::Result<LinkInfo> {
    let mut netlink = Netlink::open_in(netns)?;
    let link = netlink.link(name)?;
    netns.run(|| disable_ipv6(name))??;
    netlink.disable_arp(link.ifindex)?;
    netlink.set_up(link.ifindex, true)?;
    Ok(link)
}

impl Cable {
    fn new() -> anyhow::Result<Self> {
        let (host, far) = (Netns::create()?, Netns::create()?);
        let mut netlink = Netlink::open_in(&host)?;
        let wire = VethEnd { netns: Some(&far), mac: Some(STATION.0), ..VethEnd::new("wire") };
        netlink.create_veth(VethEnd { mac: Some(NIC.0), ..VethEnd::new("nic") }, wire)?;
        let (nic, wire) = (raise(&host, "nic")?, raise(&far, "wire")?);
        netlink.await_running(nic.ifindex, PATIENCE)?;
        Netlink::open_in(&far)?.await_running(wire.ifindex, PATIENCE)?;
        Ok(Self { host, nic, far, wire })
    }

    /// Has XDP drop what comes out on the wire: the program that feeds sockets, without any. The device holds it.
    pub(super) fn drop_all(&self) -> anyhow::Result<()> {
        let program = XdpProgram::load(&LoadOptions::default())?;
        self.far.run(|| program.feed(self.wire.ifindex))?.context("put a program on the wire")
    }
}

fn config(ring_size: u32) -> XskConfig {
    XskConfig {
        rx_size: ring_size,
        tx_size: ring_size,
        fill_size: ring_size,
        completion_size: ring_size,
        ..XskConfig::default()
    }
}

fn pool(chunk_count: usize) -> anyhow::Result<Pool> {
    Ok(Pool::new(Box::new(Mapping::anonymous(chunk_count * CHUNK_LEN)?), CHUNK_LEN)?)
}

impl Sender {
    fn new(pool: Pool, port: AfXdpPort) -> Self {
        Self { pool, port, frames: Vec::new(), next: 0, _cable: None }
    }

    fn on(netns: &Netns, ifindex: u32) -> anyhow::Result<Self> {
        let pool = pool(512)?;
        let umem = Umem::of_pool(&pool);
        let port = netns.run(|| AfXdpPort::bind(ifindex, 0, &umem, &config(256)))??;
        Ok(Self::new(pool, port))
    }

    /// One whose frames are dropped by XDP where they come in.
    pub(super) fn into_nowhere(frame_len: usize) -> anyhow::Result<Self> {
        let cable = Cable::new()?;
        cable.drop_all()?;
        let mut sender = Self::on(&cable.host, cable.nic.ifindex)?;
        sender.frames = vec![segment_from(0, frame_len)];
        sender._cable = Some(cable);
        Ok(sender)
    }

    /// Sends a burst, as far as there is room.
    pub(super) fn send(&mut self) -> anyhow::Result<()> {
        self.send_some(BURST)
    }

    /// Sends so many frames at most.
    pub(super) fn send_some(&mut self, count_max: usize) -> anyhow::Result<()> {
        let mut batch = Batch::with_len_max(BURST);
        for _ in 0..self.port.tx_room(&mut self.pool).min(count_max) {
            let Some(mut out) = self.pool.alloc() else { break };
            let frame = &self.frames[self.next];
            self.next = (self.next + 1) % self.frames.len();
            out.push_back(frame.len()).context("a chunk holds a frame")?.copy_from_slice(frame);
            if let Err(out) = batch.push(out) {
                self.pool.free(out);
            }
        }
        self.port.tx(&mut self.pool, &mut batch);
        batch.drain().for_each(|frame| self.pool.free(frame));
        self.port.flush(&mut self.pool);
        Ok(())
    }

    /// Frames that it has put on its ring.
    pub(super) fn sent_count(&self) -> u64 {
        self.port.counters().tx_packet_count
    }

    fn set_frames(&mut self, frames: Vec<Vec<u8>>) {
        (self.frames, self.next) = (frames, 0);
    }
}

impl Stack {
    fn new(slot: u32, mtu: u32, vport: Vport, socket: OwnedFd) -> anyhow::Result<Self> {
        let mut pool = pool(192)?;
        let ifindex = XdpProgram::stack_end_ifindex(slot);
        let port =
            AfXdpPort::bind_opened(socket, ifindex, 0, mtu as usize, &Umem::of_pool(&pool), &config(64));
        let mut port = port?;
        port.fill(&mut pool);
        Ok(Self { sender: Sender::new(pool, port), vport })
    }

    /// Takes what has come.
    fn take(&mut self) -> u64 {
        let Sender { port, pool, .. } = &mut self.sender;
        let (mut batch, mut count) = (Batch::new(), 0);
        loop {
            let got = port.rx(pool, &mut batch);
            batch.drain().for_each(|frame| pool.free(frame));
            if got == 0 {
                return count;
            }
            count += got as u64;
        }
    }
}

impl Rig {
    /// Stacks of which each has one port of the NIC's address. What comes out on the wire stays there, unless
    /// [`Cable::drop_all`] is called.
    pub(super) fn new(stack_count: u32) -> anyhow::Result<Self> {
        let cable = Cable::new()?;
        let program = Arc::new(XdpProgram::load(&LoadOptions::default())?);
        let attachment = cable.host.run(|| program.attach(cable.nic.ifindex, ModeChoice::DriverOnly))??;
        let vports = cable.host.run(|| Vports::new(program.clone(), &cable.nic, &[], WayOut::Packet))??;
        let mut stacks = Vec::new();
        for slot in 0..stack_count {
            program.register(Tuple::tcp(NIC_ADDRESS.into(), port_of(slot)), Steering::Device { slot })?;
            let (vport, socket) = cable.host.run(|| vports.create(slot))??;
            stacks.push(Stack::new(slot, vports.mtu(), vport, socket)?);
        }
        for stack in &stacks {
            stack.vport.await_running()?;
        }
        let wire = Sender::on(&cable.far, cable.wire.ifindex)?;
        Ok(Self { wire, stacks, program, taken_count: 0, _attachment: attachment, cable })
    }

    pub(super) fn set_way_out(&self, way_out: WayOut) -> anyhow::Result<()> {
        let nic = Nic { ifindex: self.cable.nic.ifindex, mac: NIC, mtu: self.cable.nic.mtu, way_out };
        let program = &self.program;
        Ok(self.cable.host.run(|| program.set_nic(&nic))??)
    }

    pub(super) fn load_wire(&mut self, frame_len: usize) {
        let slots = 0..self.stacks.len() as u32;
        self.wire.set_frames(slots.map(|slot| segment_to(slot, frame_len)).collect());
    }

    pub(super) fn load_stacks(&mut self, frame_len: usize) {
        for (slot, stack) in (0..).zip(&mut self.stacks) {
            stack.sender.set_frames(vec![segment_from(slot, frame_len)]);
        }
    }

    /// A frame for each stack, or a few for each of few, and what has come is taken.
    pub(super) fn send_to_stacks(&mut self) -> anyhow::Result<()> {
        for _ in 0..self.stacks.len().div_ceil(BURST) {
            self.wire.send()?;
        }
        self.taken_count += self.stacks.iter_mut().map(Stack::take).sum::<u64>();
        Ok(())
    }

    /// A burst from each stack.
    pub(super) fn send_from_stacks(&mut self) -> anyhow::Result<()> {
        self.stacks.iter_mut().try_for_each(|stack| stack.sender.send())
    }

    /// Frames that the check let through.
    pub(super) fn passed_count(&self) -> anyhow::Result<u64> {
        let counters = (0..self.stacks.len() as u32).map(|slot| self.program.stack_counters(slot));
        counters.map(|counters| Ok(counters?.from_frames(EgressVerdict::Sent))).sum()
    }
}

impl Drop for Rig {
    /// The kernel removes namespaces together, but links one by one, and slowly: they are left to go with their sockets.
    fn drop(&mut self) {
        self.stacks.drain(..).for_each(|Stack { sender, vport }| {
            drop(sender);
            std::mem::forget(vport);
        });
    }
}

pub(super) fn port_of(slot: u32) -> u16 {
    FIRST_PORT + slot as u16
}

fn segment_to(slot: u32, frame_len: usize) -> Vec<u8> {
    segment([(STATION, STATION_ADDRESS, 40_000), (NIC, NIC_ADDRESS, port_of(slot))], frame_len)
}

/// To a port that tells stacks apart.
fn segment_from(slot: u32, frame_len: usize) -> Vec<u8> {
    segment([(NIC, NIC_ADDRESS, port_of(slot)), (STATION, STATION_ADDRESS, port_of(slot))], frame_len)
}

/// A TCP segment that fills a frame of so many bytes.
fn segment([from, to]: [(MacAddr, Ipv4Addr, u16); 2], frame_len: usize) -> Vec<u8> {
    let tcp = TcpRepr {
        src_port: from.2,
        dst_port: to.2,
        seq: SeqNumber(1),
        ack: SeqNumber(1),
        flags: TcpFlags::ACK,
        window: 64_240,
        options: TcpOptions::NONE,
    };
    let (src, dst) = (IpAddr::V4(from.1).into(), IpAddr::V4(to.1).into());
    let ip = IpRepr { src, dst, protocol: Protocol::Tcp, hop_limit: 64, ecn: 0 };
    let ethernet = EthernetHeader::new(to.0, from.0, EtherType::Ipv4);
    let (ip_at, tcp_at) = (ethernet.as_bytes().len(), ethernet.as_bytes().len() + ip.header_len());
    let mut frame = vec![0; frame_len];
    tcp.emit(ip.pseudo_header_sum(frame_len - tcp_at), &mut frame[tcp_at..tcp_at + tcp.header_len()]);
    ip.emit(frame_len - tcp_at, &mut frame[ip_at..tcp_at]);
    frame[..ip_at].copy_from_slice(ethernet.as_bytes());
    frame
}
