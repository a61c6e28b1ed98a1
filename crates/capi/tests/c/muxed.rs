//! A mux at the server's end of a testbed, as `tidegate daemon --mux` has one, with programs in C that ask it.

use crate::installed::{Installed, run};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};
use tidegate_mux::server::Server;
use tidegate_mux::{Desk, NoCarrier};
use tidegate_testbed::{End, Process, ScratchDir, Testbed};

pub const PATIENCE: Duration = Duration::from_secs(20);
/// A user without rights whom nobody else is: what a user may lock in memory is for all that the user runs.
pub fn somebody() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    const FIRST: u32 = 1 << 24;
    FIRST + ((std::process::id() % (1 << 16)) << 8) + NEXT.fetch_add(1, Ordering::Relaxed) % (1 << 8)
}

/// Where the mux keeps what it has, with a bpf file system of its own.
pub struct Place(ScratchDir);

impl Place {
    fn new() -> Self {
        let scratch = ScratchDir::new().expect("a directory");
        open_to_all(scratch.path());
        std::fs::create_dir(scratch.join("bpf")).expect("writable");
        run(Command::new("mount").args(["-t", "bpf", "bpf"]).arg(scratch.join("bpf")));
        Self(scratch)
    }

    pub fn socket(&self) -> PathBuf {
        self.0.join("mux.sock")
    }

    /// What the library is told to ask this mux for the server's device, with a grade (`/queue=0`) or without.
    pub fn port(&self, bed: &Testbed, grade: &str) -> String {
        format!("mux:{}{grade}@{}", bed.server().device(), self.socket().display())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.join("bpf")).status();
    }
}

/// Ends the mux, also where a test fails.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Lets users without rights in.
pub fn open_to_all(directory: &Path) {
    std::fs::set_permissions(directory, PermissionsExt::from_mode(0o755)).expect("its owner");
}

/// Runs `work` while there is a mux.
pub fn beside_a_mux(bed: &Testbed, work: impl FnOnce(&Place)) {
    let place = Place::new();
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let ending = Ending(&ends);
        let (ready, is_ready) = channel();
        let (place, ends) = (&place, &ends);
        scope.spawn(move || bed.server().netns().run(|| serve(place, ends, ready)).expect("entered"));
        is_ready.recv().expect("the mux starts (run as root)");
        work(place);
        drop(ending);
    });
}

fn serve(place: &Place, ends: &AtomicBool, ready: Sender<()>) {
    let (state, pins) = (place.0.join("mux.state"), place.0.join("bpf"));
    let mut desk = Desk::open(state, pins, None, &mut NoCarrier).expect("root");
    let (server, events) = Server::start(&place.socket().to_string_lossy()).expect("a socket");
    ready.send(()).expect("somebody waits");
    while !ends.load(Ordering::Relaxed) {
        if let Ok(event) = events.recv_timeout(Duration::from_millis(5)) {
            desk.on_event(event, &mut NoCarrier);
        }
        desk.expire(Instant::now(), &mut NoCarrier);
    }
    drop((server, events));
}

/// Starts a program on the library at the server's end, as the user `uid`; it is ready to serve when this returns.
pub fn start(bed: &Testbed, installed: &Installed, uid: u32, program: &Path, arguments: &[&str]) -> Process {
    open_to_all(&installed.path(""));
    let mut command = Command::new(program);
    command.args(arguments).env("LD_LIBRARY_PATH", installed.lib()).uid(uid).gid(uid);
    let mut server = bed.server().spawn(command).expect("it starts");
    server.await_text("ready", PATIENCE).unwrap_or_else(|error| panic!("{error}: {}", server.said()));
    server
}

/// What curl says to a client that asks `at` the server: a port, perhaps with a path.
pub fn ask(bed: &Testbed, at: &str) -> String {
    let mut command = Command::new("curl");
    command.args(["--silent", "--show-error", "--max-time", "20"]).arg(format!("http://10.78.0.2:{at}"));
    let output = bed.client().output(command).expect("it runs");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

/// A server of the host's at the port, which serves the directory.
pub fn start_hosts(bed: &Testbed, port: &str, directory: &Path) -> Process {
    start_hosts_at(bed.server(), port, directory)
}

/// The same at either end.
pub fn start_hosts_at(end: &End, port: &str, directory: &Path) -> Process {
    let mut hosts = Command::new("python3");
    hosts.args(["-u", "-m", "http.server", port, "--directory"]).arg(directory);
    let mut host = end.spawn(hosts).expect("it starts");
    host.await_text("Serving", PATIENCE).expect("it serves");
    host
}
