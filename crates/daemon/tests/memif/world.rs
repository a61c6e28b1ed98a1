//! A host with a NIC, its daemon, a peer on the wire, and stacks that echo.

use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tidegate_bpf::{Rate, Tuple};
use tidegate_control::proto::v1;
use tidegate_control::{Client, Listen, Server, queue};
use tidegate_daemon::{Daemon, MuxConfig};
use tidegate_mux::client::{Attachment, ClientError, attach};
use tidegate_mux::registry::{Grade, Wanted};
use tidegate_packet::{Batch, Pool};
use tidegate_port::{MemifConfig, MemifRole, Port, open_memif};
use tidegate_sys::mem::Mapping;
use tidegate_sys::xsk::{Umem, XskConfig};
use tidegate_testbed::{Layout, ScratchDir, Side, Testbed};

use crate::frames::answer;

/// How long something that must happen may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
/// How long an answer may take before the question is asked again.
const ANSWER_PATIENCE: Duration = Duration::from_millis(300);
const CHUNK_COUNT: usize = 512;
const CHUNK_LEN: usize = 2048;

/// Everything goes when it is dropped.
pub(crate) struct World {
    pub(crate) bed: Testbed,
    pub(crate) scratch: ScratchDir,
    rate: Option<Rate>,
    daemon: Option<(Server, JoinHandle<()>)>,
}

impl World {
    /// With a daemon that runs, on a NIC of one queue.
    pub(crate) fn new() -> Self {
        Self::made(None, 1)
    }

    pub(crate) fn made(rate: Option<Rate>, queue_count: u32) -> Self {
        let layout = Layout { queue_count, client_cpu: None, server_cpu: None, ..Layout::default() };
        let bed = Testbed::new(&layout).expect("two namespaces (run as root)");
        let scratch = ScratchDir::new().expect("a directory");
        // Owners that are others than root pass through it.
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(scratch.path(), mode).expect("its owner");
        std::fs::create_dir(scratch.join("bpf")).expect("writable");
        let mounted = Command::new("mount").args(["-t", "bpf", "bpf"]).arg(scratch.join("bpf")).status();
        assert!(mounted.expect("`mount` runs").success(), "a bpf file system can be mounted");
        let mut world = Self { bed, scratch, rate, daemon: None };
        world.start();
        world
    }

    pub(crate) fn socket(&self) -> String {
        self.scratch.join("mux.sock").to_string_lossy().into_owned()
    }

    fn control_path(&self) -> PathBuf {
        self.scratch.join("control")
    }

    /// Starts the daemon: anew, or where the one before it ended.
    pub(crate) fn start(&mut self) {
        let listen = Listen { tcp: None, unix: Some(self.control_path()), remote_allowed: false };
        let pin_root = self.scratch.join("bpf");
        let config = MuxConfig { pin_root, rate: self.rate, ..MuxConfig::at(self.socket()) };
        let (ready, is_ready) = std::sync::mpsc::channel();
        let started = self.bed.server().netns().run(|| {
            let (caller, calls) = queue();
            // A thread is in the namespace of the one that makes it.
            let control = thread::spawn(move || {
                let mut daemon = Daemon::new(|| {});
                daemon.open_mux(&config).unwrap_or_else(|error| panic!("{error}"));
                ready.send(()).expect("somebody waits");
                daemon.run(&calls);
            });
            (Server::start(&listen, caller).expect("a socket"), control)
        });
        is_ready.recv().expect("the daemon starts");
        self.daemon = Some(started.expect("root enters namespaces"));
    }

    /// Ends the daemon as one that is to be started again.
    pub(crate) fn stop(&mut self) {
        if let Some((server, control)) = self.daemon.take() {
            server.shutdown();
            let _ = control.join();
        }
    }

    pub(crate) fn controller(&self) -> Client {
        Client::connect(&format!("unix:{}", self.control_path().display())).expect("the daemon answers")
    }

    pub(crate) fn try_attach(&self, grade: Grade) -> Result<Attachment, ClientError> {
        attach(&self.socket(), &wanted(grade))
    }

    pub(crate) fn attach(&self, grade: Grade) -> Attachment {
        self.try_attach(grade).unwrap_or_else(|error| panic!("{error}"))
    }

    /// A stack behind memif that answers at that UDP port with that name.
    pub(crate) fn echo(&self, grade: Grade, port: u16, name: &'static str) -> Echo {
        let mut attachment = self.attach(grade);
        let end = End::open(&mut attachment);
        attachment.bind(udp(port)).unwrap_or_else(|error| panic!("{error}"));
        Echo::start(attachment, end, name)
    }

    /// What answers the peer at that UDP port of the host, asked once.
    pub(crate) fn ask(&self, port: u16) -> Option<String> {
        let asked = self.bed.client().run(|| {
            let socket = UdpSocket::bind((Side::Client.ipv4(), 0)).expect("a socket");
            socket.connect((Side::Server.ipv4(), port)).expect("an address");
            socket.set_read_timeout(Some(ANSWER_PATIENCE)).expect("a time");
            socket.send(b"who is there?").ok()?;
            let mut answer = [0; 64];
            let len = socket.recv(&mut answer).ok()?;
            Some(String::from_utf8_lossy(&answer[..len]).into_owned())
        });
        asked.expect("root enters namespaces")
    }

    /// Asks, again where no answer comes, as clients over UDP do; `wanted` must be the one who answers.
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

    /// The page that a web server at that port of the host gives the peer.
    pub(crate) fn page(&self, port: u16) -> String {
        let got = self.bed.client().run(|| {
            let mut stream = TcpStream::connect((Side::Server.ipv4(), port))?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.write_all(b"GET / HTTP/1.1\r\nHost: tide\r\nConnection: close\r\n\r\n")?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            Ok::<_, std::io::Error>(answer.lines().last().unwrap_or_default().to_owned())
        });
        let got = got.expect("root enters namespaces");
        got.unwrap_or_else(|error| panic!("port {port}: {error}"))
    }

    /// Starts a web server of the daemon's whose page is its name.
    pub(crate) fn serve(&self, name: &str, port: u16, workers: Option<u32>) {
        let root = self.scratch.join(name);
        let _ = std::fs::create_dir(&root);
        std::fs::write(root.join("index.html"), name).expect("writable");
        let workers = workers.map(|count| format!("workers = {count}\n")).unwrap_or_default();
        let config = format!(
            "{workers}[web]\nroot = \"{}\"\n[[web.listen]]\ndev = \"server0\"\naddress = \"10.78.0.2:{port}\"\n",
            root.display()
        );
        let request =
            v1::StartServiceRequest { name: name.into(), config, directory: "/".into(), workers: Vec::new() };
        self.controller().start_service(request).unwrap_or_else(|error| panic!("{error}"));
    }

    pub(crate) fn end_service(&self, name: &str) {
        let request = v1::StopServiceRequest { name: name.into(), drain_ms: None };
        self.controller().stop_service(request).unwrap_or_else(|error| panic!("{error}"));
    }

    /// What the daemon counted for the stack in that slot.
    pub(crate) fn counted(&self, slot: u32) -> v1::Stack {
        let all = self.controller().list_stacks().expect("a list");
        all.stacks.into_iter().find(|stack| stack.slot == slot).expect("it is attached")
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.stop();
        let _ = Command::new("umount").arg(self.scratch.join("bpf")).status();
    }
}

pub(crate) fn wanted(grade: Grade) -> Wanted {
    Wanted { device: "server0".into(), grade, queue: None }
}

pub(crate) fn udp(port: u16) -> Tuple {
    Tuple::udp(Side::Server.ipv4().into(), port)
}

pub(crate) fn drops(stack: &v1::Stack, reason: &str) -> u64 {
    stack.from_drops.iter().find(|drop| drop.reason == reason).map_or(0, |drop| drop.packets)
}

/// A stack's frames.
pub(crate) struct End {
    pool: Pool,
    port: Box<dyn Port>,
}

fn pool() -> Pool {
    let memory = Mapping::anonymous(CHUNK_COUNT * CHUNK_LEN).expect("memory for a few frames");
    Pool::new(Box::new(memory), CHUNK_LEN).expect("whole chunks")
}

impl End {
    /// One over memif that sends frames of any length.
    pub(crate) fn unbounded(attachment: &Attachment) -> Self {
        let config = MemifConfig {
            frame_len_max: CHUNK_LEN,
            ..MemifConfig::new(&attachment.place().path, MemifRole::Client)
        };
        let port = open_memif(config).expect("a socket").remove(0);
        let start = Instant::now();
        while port.status().peer.is_none() {
            assert!(start.elapsed() < PATIENCE, "{:?}", port.status());
        }
        Self { pool: pool(), port: Box::new(port) }
    }

    pub(crate) fn open(attachment: &mut Attachment) -> Self {
        let pool = pool();
        let config = XskConfig {
            rx_size: 64,
            tx_size: 64,
            fill_size: 64,
            completion_size: 64,
            ..XskConfig::default()
        };
        let port = attachment.open_port(&Umem::of_pool(&pool), &config);
        Self { pool, port: port.unwrap_or_else(|error| panic!("{error}")) }
    }

    /// Sends as many of the frames as there is room for; how many.
    pub(crate) fn send(&mut self, frames: &[Vec<u8>]) -> usize {
        let mut batch = Batch::new();
        let room = self.port.tx_room(&mut self.pool).min(batch.room());
        for bytes in frames.iter().take(room) {
            let Some(mut frame) = self.pool.alloc() else { break };
            assert!(frame.extend(bytes), "a chunk holds it");
            batch.push(frame).expect("there is room");
        }
        let count = batch.len();
        self.port.tx(&mut self.pool, &mut batch);
        let left = batch.len();
        self.pool.free_batch(&mut batch);
        self.port.flush(&mut self.pool);
        count - left
    }

    /// Sends all of them.
    pub(crate) fn send_all(&mut self, frames: &[Vec<u8>]) {
        let (start, mut at) = (Instant::now(), 0);
        while at < frames.len() {
            at += self.send(&frames[at..]);
            assert!(start.elapsed() < PATIENCE, "the daemon takes nothing");
        }
    }

    /// Answers datagrams that have come with `name`; whether anything had.
    pub(crate) fn answer(&mut self, name: &str) -> bool {
        let mut batch = Batch::with_len_max(16);
        if self.port.rx(&mut self.pool, &mut batch) == 0 {
            return false;
        }
        let is_datagram = |frame: &&[u8]| frame.get(23) == Some(&17);
        let questions = batch.iter().map(|frame| frame.data()).filter(is_datagram);
        let answers: Vec<Vec<u8>> = questions.map(|frame| answer(frame, name)).collect();
        self.pool.free_batch(&mut batch);
        self.send(&answers);
        true
    }
}

/// A stack that sends its name back to whoever asks, for as long as this lives.
pub(crate) struct Echo {
    pub(crate) attachment: Attachment,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Echo {
    fn start(attachment: Attachment, mut end: End, name: &'static str) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&ends);
        let thread = thread::spawn(move || {
            while !told.load(Ordering::Relaxed) {
                if !end.answer(name) {
                    thread::sleep(Duration::from_millis(1));
                }
            }
        });
        Self { attachment, ends, thread: Some(thread) }
    }

    pub(crate) fn slot(&self) -> u32 {
        self.attachment.place().slot
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
