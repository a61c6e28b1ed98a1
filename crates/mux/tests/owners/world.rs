//! A host with a NIC, its mux, a peer on the wire, and stacks that echo.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::process::{self, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tidegate_bpf::Tuple;
use tidegate_mux::client::{Attachment, ClientError, attach};
use tidegate_mux::registry::{Grade, Wanted};
use tidegate_mux::server::Server;
use tidegate_mux::{Desk, NoCarrier};
use tidegate_packet::{Batch, Pool};
use tidegate_port::{AfXdpPort, Port};
use tidegate_sys::ethtool::{Ethtool, Offload};
use tidegate_sys::mem::Mapping;
use tidegate_sys::netlink::{Address, Netlink, VethEnd};
use tidegate_sys::netns::Netns;
use tidegate_sys::xsk::{Umem, XskConfig};

pub(crate) const HOST: &str = "10.9.0.1";
const PEER: &str = "10.9.0.2";
/// How long something that must happen may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// How long nothing must come.
pub(crate) const QUIET: Duration = Duration::from_millis(150);
const CHUNK_COUNT: usize = 128;
const CHUNK_LEN: usize = 2048;

/// Everything goes when it is dropped.
pub(crate) struct World {
    pub(crate) host: Arc<Netns>,
    peer: Netns,
    pub(crate) device: String,
    directory: PathBuf,
    mux: Option<Mux>,
}

/// A daemon, as far as stacks are concerned.
struct Mux {
    ends: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl World {
    /// With a mux that runs.
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let device = format!("m{}-{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let (host, peer) = (Netns::create().expect("root"), Netns::create().expect("root"));
        let mut netlink = Netlink::open_in(&host).expect("rtnetlink");
        let end = VethEnd { queue_count: 2, ..VethEnd::new(&device) };
        let other = VethEnd { netns: Some(&peer), queue_count: 2, ..VethEnd::new("peer") };
        netlink.create_veth(end, other).expect("root makes links");
        raise(&host, &device, HOST);
        raise(&peer, "peer", PEER);
        let directory = std::env::temp_dir().join(&device);
        std::fs::create_dir_all(directory.join("bpf")).expect("a temporary directory");
        let mounted = Command::new("mount").args(["-t", "bpf", "bpf"]).arg(directory.join("bpf")).status();
        assert!(mounted.expect("`mount` runs").success(), "a bpf file system can be mounted");
        let mut world = Self { host: Arc::new(host), peer, device, directory, mux: None };
        world.start();
        world
    }

    pub(crate) fn socket(&self) -> String {
        self.directory.join("mux.sock").to_string_lossy().into_owned()
    }

    /// Starts the mux: anew, or where the one before it ended.
    pub(crate) fn start(&mut self) {
        let (ends, path, host) = (Arc::default(), self.socket(), Arc::clone(&self.host));
        let (told, state) = (Arc::clone(&ends), self.directory.join("mux.state"));
        let pins = self.directory.join("bpf");
        let (ready, is_ready) = crossbeam_channel::bounded(1);
        let thread = std::thread::spawn(move || {
            host.run(|| {
                let mut desk = Desk::open(state, pins, None, &mut NoCarrier).expect("root");
                let (server, events) = Server::start(&path).expect("a socket");
                ready.send(()).expect("somebody waits");
                while !AtomicBool::load(&told, Ordering::Relaxed) {
                    if let Ok(event) = events.recv_timeout(Duration::from_millis(5)) {
                        desk.on_event(event, &mut NoCarrier);
                    }
                    desk.expire(Instant::now(), &mut NoCarrier);
                }
                drop((server, events));
                desk.leave();
            })
            .expect("root enters namespaces");
        });
        is_ready.recv().expect("the mux starts");
        self.mux = Some(Mux { ends, thread });
    }

    /// Ends the mux as a daemon ends that is to be started again.
    pub(crate) fn stop(&mut self) {
        if let Some(Mux { ends, thread }) = self.mux.take() {
            ends.store(true, Ordering::Relaxed);
            let _ = thread.join();
        }
    }

    pub(crate) fn attach(&self) -> Attachment {
        self.try_attach(Grade::Veth).unwrap_or_else(|error| panic!("{error}"))
    }

    pub(crate) fn try_attach(&self, grade: Grade) -> Result<Attachment, ClientError> {
        attach(&self.socket(), &Wanted { device: self.device.clone(), grade, queue: Some(1) })
    }

    /// What answers the peer at that UDP port of the host.
    pub(crate) fn ask(&self, port: u16) -> Option<String> {
        let asked = self.peer.run(|| {
            let socket = UdpSocket::bind((PEER, 0)).expect("a socket");
            socket.connect((HOST, port)).expect("an address");
            socket.set_read_timeout(Some(QUIET)).expect("a time");
            socket.send(b"who is there?").ok()?;
            let mut answer = [0; 64];
            let len = socket.recv(&mut answer).ok()?;
            Some(String::from_utf8_lossy(&answer[..len]).into_owned())
        });
        asked.expect("root enters namespaces")
    }

    /// Asks until `wanted` answers.
    pub(crate) fn await_answer(&self, port: u16, wanted: &str) {
        let start = Instant::now();
        let mut last = None;
        while start.elapsed() < PATIENCE {
            last = self.ask(port);
            if last.as_deref() == Some(wanted) {
                return;
            }
        }
        panic!("port {port}: {wanted} does not answer, {last:?} does");
    }

    /// A server of the host's, on a thread that lives as long as the process does.
    pub(crate) fn host_server(&self, port: u16) {
        let bound = self.host.run(|| UdpSocket::bind((HOST, port))).expect("root enters namespaces");
        let socket = bound.expect("a free port");
        std::thread::spawn(move || {
            let mut question = [0; 64];
            while let Ok((_, from)) = socket.recv_from(&mut question) {
                let _ = socket.send_to(b"the host", from);
            }
        });
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.stop();
        let _ = Command::new("umount").arg(self.directory.join("bpf")).status();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn raise(netns: &Netns, name: &str, address: &str) {
    let mut netlink = Netlink::open_in(netns).expect("rtnetlink");
    let ifindex = netlink.link(name).expect("just made").ifindex;
    let ip: IpAddr = address.parse().expect("an address");
    netlink.add_address(ifindex, Address { ip, prefix_len: 24 }).expect("an address");
    let set = |offload| Ethtool::open(name).and_then(|device| device.set(offload, false));
    netns.run(|| set(Offload::TxChecksum)).expect("root").expect("a veth computes checksums");
    netlink.set_up(ifindex, true).expect("up");
}

pub(crate) fn udp(port: u16) -> Tuple {
    Tuple::udp(HOST.parse().expect("an address"), port)
}

pub(crate) fn at(text: &str) -> SocketAddr {
    text.parse().expect("an address and a port")
}

/// A stack that sends its name back to whoever asks, for as long as this lives.
pub(crate) struct Echo {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Echo {
    /// On its own thread; the attachment is the caller's.
    pub(crate) fn start(attachment: &mut Attachment, name: &'static str) -> Self {
        let mut end = End::open(attachment);
        let ends = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&ends);
        let thread = std::thread::spawn(move || {
            while !told.load(Ordering::Relaxed) {
                if !end.answer(name) {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        });
        Self { ends, thread: Some(thread) }
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A stack's frames.
pub(crate) struct End {
    pool: Pool,
    port: AfXdpPort,
}

impl End {
    pub(crate) fn open(attachment: &mut Attachment) -> Self {
        let memory = Mapping::anonymous(CHUNK_COUNT * CHUNK_LEN).expect("memory for a few frames");
        let mut pool = Pool::new(Box::new(memory), CHUNK_LEN).expect("whole chunks");
        let config = XskConfig {
            rx_size: 64,
            tx_size: 64,
            fill_size: 64,
            completion_size: 64,
            ..XskConfig::default()
        };
        let port = attachment.port(&Umem::of_pool(&pool), &config);
        let mut port = port.unwrap_or_else(|error| panic!("{error}"));
        port.fill(&mut pool);
        Self { pool, port }
    }

    /// Answers what has come with `name`; whether anything had.
    pub(crate) fn answer(&mut self, name: &str) -> bool {
        let mut batch = Batch::with_len_max(16);
        if self.port.rx(&mut self.pool, &mut batch) == 0 {
            return false;
        }
        for frame in batch.iter_mut() {
            let answer = answer(frame.data(), name);
            frame.truncate(0);
            frame.push_back(answer.len()).expect("a chunk holds it").copy_from_slice(&answer);
        }
        self.port.tx_room(&mut self.pool);
        self.port.tx(&mut self.pool, &mut batch);
        batch.drain().for_each(|frame| self.pool.free(frame));
        self.port.flush(&mut self.pool);
        true
    }
}

/// The UDP datagram that answers one over IPv4, without a UDP checksum.
fn answer(question: &[u8], text: &str) -> Vec<u8> {
    let mut frame = question[..42].to_vec();
    frame[..6].copy_from_slice(&question[6..12]);
    frame[6..12].copy_from_slice(&question[..6]);
    frame[26..30].copy_from_slice(&question[30..34]);
    frame[30..34].copy_from_slice(&question[26..30]);
    frame[34..36].copy_from_slice(&question[36..38]);
    frame[36..38].copy_from_slice(&question[34..36]);
    let udp_len = 8 + text.len() as u16;
    frame[38..40].copy_from_slice(&udp_len.to_be_bytes());
    frame[40..42].fill(0);
    frame[16..18].copy_from_slice(&(20 + udp_len).to_be_bytes());
    frame[24..26].fill(0);
    let sum: u32 =
        frame[14..34].chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame.extend_from_slice(text.as_bytes());
    frame
}
