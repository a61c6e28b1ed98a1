//! A NIC with a wire, and stacks on it.

use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use tidegate_base::Duration;
use tidegate_bpf::{Attachment, LoadOptions, ModeChoice, Steering, Tuple, WayOut, XdpProgram};
use tidegate_mux::vport::{Vport, Vports};
use tidegate_packet::{Batch, Pool};
use tidegate_port::{AfXdpPort, Port};
use tidegate_sys::device_socket::DeviceSocket;
use tidegate_sys::event::{Interest, poll};
use tidegate_sys::mem::Mapping;
use tidegate_sys::netlink::{Netlink, VethEnd, disable_ipv6};
use tidegate_sys::netns::Netns;
use tidegate_sys::xsk::{Umem, XskConfig};

pub(crate) const WAIT: Duration = Duration::from_secs(5);
/// How long nothing must come.
pub(crate) const QUIET: Duration = Duration::from_millis(100);
/// What the golden frames take for the NIC's address, and for a station on the wire.
const NIC: [u8; 6] = [2, 0, 0, 0, 0, 1];
const STATION: [u8; 6] = [2, 0, 0, 0, 0, 2];
const CHUNK_COUNT: usize = 128;
const CHUNK_LEN: usize = 2048;

/// Everything goes when it is dropped.
pub(crate) struct World {
    pub(crate) host: Netns,
    pub(crate) program: Arc<XdpProgram>,
    pub(crate) vports: Arc<Vports>,
    wire_netns: Netns,
    wire_ifindex: u32,
    _attachments: Vec<Attachment>,
}

impl World {
    pub(crate) fn new(way_out: WayOut) -> Self {
        let (host, wire_netns) =
            (Netns::create().expect("root makes namespaces"), Netns::create().expect("as above"));
        let mut netlink = Netlink::open_in(&host).expect("a namespace has rtnetlink");
        let wire = VethEnd { netns: Some(&wire_netns), mac: Some(STATION), ..VethEnd::new("wire") };
        netlink
            .create_veth(VethEnd { mac: Some(NIC), ..VethEnd::new("nic") }, wire)
            .expect("root makes links");
        let (nic, wire_ifindex) = (raise(&host, "nic"), raise(&wire_netns, "wire"));
        netlink.await_running(nic, WAIT).expect("a veth has carrier");
        let program = Arc::new(XdpProgram::load(&LoadOptions::default()).expect("root loads programs"));
        let attach = |program: &XdpProgram, ifindex| {
            program.attach(ifindex, ModeChoice::DriverOnly).expect("a free device")
        };
        let mut attachments = vec![host.run(|| attach(&program, nic)).expect("root enters namespaces")];
        if way_out == WayOut::Xdp {
            // A veth takes redirected frames only where its peer runs XDP too; an empty program passes everything.
            let other = XdpProgram::load(&LoadOptions::default()).expect("root loads programs");
            attachments
                .push(wire_netns.run(|| attach(&other, wire_ifindex)).expect("root enters namespaces"));
        }
        let link = netlink.link("nic").expect("it is there");
        let addresses = ["192.0.2.1", "2001:db8::1"].map(|text| text.parse::<IpAddr>().expect("an address"));
        let vports = host.run(|| Vports::new(program.clone(), &link, &addresses, way_out));
        let vports = vports.expect("root enters namespaces").expect("the NIC can be shared");
        Self { host, program, vports, wire_netns, wire_ifindex, _attachments: attachments }
    }

    /// Makes the veth of a stack that has the TCP port of that number: 10,000 and the slot.
    pub(crate) fn create(&self, slot: u32) -> (Vport, OwnedFd) {
        let made = self.host.run(|| self.vports.create(slot)).expect("root enters namespaces");
        let (vport, socket) = made.unwrap_or_else(|error| panic!("{error}"));
        let tuple = Tuple::tcp(IpAddr::from([192, 0, 2, 1]), port_of(slot));
        self.program.register(tuple, Steering::Device { slot }).expect("a new tuple");
        (vport, socket)
    }

    /// The same, with a stack at the other end.
    pub(crate) fn attach(&self, slot: u32) -> (Vport, Stack) {
        let (vport, socket) = self.create(slot);
        vport.await_running().expect("a veth has carrier");
        (vport, Stack::open(slot, self.vports.mtu(), socket))
    }

    pub(crate) fn wire(&self) -> Wire {
        let socket = self.wire_netns.run(|| DeviceSocket::open(self.wire_ifindex));
        Wire(socket.expect("root enters namespaces").expect("the device is there"))
    }

    /// Frames that came out on the wire, as its device counts them.
    pub(crate) fn wire_rx_count(&self) -> u64 {
        let path = "/proc/thread-self/net/dev";
        let read = self.wire_netns.run(|| std::fs::read_to_string(path)).expect("root enters namespaces");
        let text = read.expect("the kernel lists its devices");
        let line =
            text.lines().find_map(|line| line.trim().strip_prefix("wire:")).expect("the wire is listed");
        line.split_whitespace().nth(1).and_then(|count| count.parse().ok()).expect("frames are counted")
    }
}

pub(crate) fn port_of(slot: u32) -> u16 {
    10_000 + slot as u16
}

fn raise(netns: &Netns, name: &str) -> u32 {
    let mut netlink = Netlink::open_in(netns).expect("a namespace has rtnetlink");
    let ifindex = netlink.link(name).expect("it was just made").ifindex;
    netns.run(|| disable_ipv6(name)).expect("root enters namespaces").expect("root changes settings");
    netlink.disable_arp(ifindex).expect("a setting of every link");
    netlink.set_up(ifindex, true).expect("a veth can be up");
    ifindex
}

/// What is on the wire.
pub(crate) struct Wire(DeviceSocket);

impl Wire {
    pub(crate) fn send(&self, frame: &[u8]) {
        assert!(self.0.try_send(frame).expect("the wire is up"), "the wire has room");
    }

    /// The next frame, if one comes in time.
    pub(crate) fn receive(&self, timeout: Duration) -> Option<Vec<u8>> {
        let mut buffer = vec![0; 4096];
        poll(&[(self.0.as_fd(), Interest::READ)], Some(timeout)).expect("a socket can be polled");
        let received = self.0.try_receive(&mut buffer).expect("the wire is up")?;
        buffer.truncate(received.len);
        Some(buffer)
    }
}

/// A stack's own end, as its process has it.
pub(crate) struct Stack {
    pool: Pool,
    port: AfXdpPort,
}

impl Stack {
    pub(crate) fn open(slot: u32, mtu: u32, socket: OwnedFd) -> Self {
        let memory = Mapping::anonymous(CHUNK_COUNT * CHUNK_LEN).expect("memory for a few frames");
        let mut pool = Pool::new(Box::new(memory), CHUNK_LEN).expect("whole chunks");
        let ifindex = XdpProgram::stack_end_ifindex(slot);
        let port = AfXdpPort::bind_opened(
            socket,
            ifindex,
            0,
            mtu as usize,
            &Umem::of_pool(&pool),
            &XskConfig::default(),
        );
        let mut port = port.unwrap_or_else(|error| panic!("{error}"));
        port.fill(&mut pool);
        Self { pool, port }
    }

    pub(crate) fn send(&mut self, frame: &[u8]) {
        let mut batch = Batch::new();
        let mut out = self.pool.alloc().expect("a free chunk");
        out.push_back(frame.len()).expect("a chunk holds a frame").copy_from_slice(frame);
        batch.push(out).expect("an empty batch");
        self.port.tx_room(&mut self.pool);
        self.port.tx(&mut self.pool, &mut batch);
        assert!(batch.is_empty(), "the ring has room");
        self.port.flush(&mut self.pool);
    }

    /// The next frame, if one comes in time.
    pub(crate) fn receive(&mut self, timeout: Duration) -> Option<Vec<u8>> {
        let mut batch = Batch::with_len_max(1);
        if self.port.rx(&mut self.pool, &mut batch) == 0 {
            let fd = self.port.wait_fd().expect("a socket");
            poll(&[(fd, Interest::READ)], Some(timeout)).expect("a socket can be polled");
            self.port.rx(&mut self.pool, &mut batch);
        }
        let received = batch.iter().next().map(|frame| frame.data().to_vec());
        batch.drain().for_each(|frame| self.pool.free(frame));
        received
    }
}

/// A frame of the tables of `bpf`'s tests: `folder` is `golden` (for stacks) or `egress` (from them).
pub(crate) fn golden(folder: &str, name: &str) -> Vec<u8> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bpf/tests");
    parse(&std::fs::read_to_string(tests.join(folder).join(name).with_extension("hex")).expect("it is there"))
}

/// All that stacks may try to send.
pub(crate) fn all_golden() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bpf/tests/egress");
    let entries = std::fs::read_dir(folder).expect("it is there");
    let texts = entries.map(|entry| std::fs::read_to_string(entry.expect("an entry").path()).expect("text"));
    texts.map(|text| parse(&text)).collect()
}

fn parse(text: &str) -> Vec<u8> {
    let lines = text.lines().filter(|line| !line.contains(['#', ':']));
    let bytes = lines.flat_map(str::split_whitespace).map(|byte| u8::from_str_radix(byte, 16));
    bytes.collect::<Result<_, _>>().expect("bytes in hexadecimal")
}

/// A segment to the stack `slot`.
pub(crate) fn segment_to(slot: u32) -> Vec<u8> {
    let mut frame = golden("golden", "ipv4-device");
    frame[36..38].copy_from_slice(&port_of(slot).to_be_bytes());
    frame
}

/// A segment from the stack `slot`.
pub(crate) fn segment_from(slot: u32) -> Vec<u8> {
    let mut frame = golden("egress", "ipv4-tcp-data");
    frame[34..36].copy_from_slice(&port_of(slot).to_be_bytes());
    frame
}
