//! Servers without rights beside the host's own at one address of one NIC, by leave of the mux.

use crate::installed::{Installed, run};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};
use tidegate_mux::Desk;
use tidegate_mux::server::Server;
use tidegate_sys::netns::Netns;
use tidegate_testbed::{Layout, Process, ScratchDir, Testbed};

const PATIENCE: Duration = Duration::from_secs(20);
const NOBODY: u32 = 65534;

/// Where the mux keeps what it has, with a bpf file system of its own.
struct Place(ScratchDir);

impl Place {
    fn new() -> Self {
        let scratch = ScratchDir::new().expect("a directory");
        std::fs::create_dir(scratch.join("bpf")).expect("writable");
        run(Command::new("mount").args(["-t", "bpf", "bpf"]).arg(scratch.join("bpf")));
        Self(scratch)
    }

    fn socket(&self) -> PathBuf {
        self.0.join("mux.sock")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.join("bpf")).status();
    }
}

/// A daemon, as far as stacks are concerned; it ends when this is dropped.
struct Mux<'a> {
    ends: &'a AtomicBool,
}

impl<'a> Mux<'a> {
    fn start<'s>(
        scope: &'s Scope<'s, '_>,
        host: &'s Netns,
        place: &'s Place,
        ends: &'a AtomicBool,
    ) -> (Self, ScopedJoinHandle<'s, ()>)
    where
        'a: 's,
    {
        let (ready, is_ready) = std::sync::mpsc::channel();
        let thread = scope.spawn(move || {
            let serve = move || {
                let mut desk = Desk::open(place.0.join("mux.state"), place.0.join("bpf")).expect("root");
                let (server, events) = Server::start(&place.socket().to_string_lossy()).expect("a socket");
                ready.send(()).expect("somebody waits");
                while !ends.load(Ordering::Relaxed) {
                    if let Ok(event) = events.recv_timeout(Duration::from_millis(5)) {
                        desk.on_event(event);
                    }
                    desk.expire(Instant::now());
                }
                drop((server, events));
            };
            host.run(serve).expect("root enters namespaces");
        });
        is_ready.recv().expect("the mux starts");
        (Self { ends }, thread)
    }
}

impl Drop for Mux<'_> {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
    }
}

/// A server in C as nobody, at that port of the host's address.
fn serve(bed: &Testbed, installed: &Installed, program: &Path, place: &Place, port: &str) -> Process {
    let mut command = Command::new(program);
    command.arg(format!("mux:server0@{}", place.socket().display()));
    command.args([format!("10.78.0.2:{port}").as_str(), port]).env("LD_LIBRARY_PATH", installed.lib());
    let mut server = bed
        .server()
        .spawn({
            command.uid(NOBODY).gid(NOBODY);
            command
        })
        .expect("it starts");
    server.await_text("ready", PATIENCE).unwrap_or_else(|error| panic!("{error}: {}", server.said()));
    server
}

fn ask(bed: &Testbed, port: &str) -> String {
    let mut command = Command::new("curl");
    command.args(["--silent", "--show-error", "--max-time", "20"]).arg(format!("http://10.78.0.2:{port}/"));
    let output = bed.client().output(command).expect("it runs");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

#[test]
fn servers_of_no_rights_share_an_address_with_the_host_and_each_other() {
    let installed = Installed::new();
    let program = installed.example("http");
    let place = Place::new();
    for directory in [installed.path(""), place.0.path().to_owned()] {
        std::fs::set_permissions(directory, PermissionsExt::from_mode(0o755)).expect("its owner");
    }
    let bed = Testbed::new(&Layout::unpinned()).expect("two namespaces (run as root)");
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (mux, _thread) = Mux::start(scope, bed.server().netns(), &place, &ends);
        let first = serve(&bed, &installed, &program, &place, "9000");
        let _second = serve(&bed, &installed, &program, &place, "9001");
        let mut hosts = Command::new("python3");
        hosts.args(["-u", "-m", "http.server", "9002", "--directory"]).arg(installed.path("usr/include"));
        let mut host = bed.server().spawn(hosts).expect("it starts");
        host.await_text("Serving", PATIENCE).expect("it serves");
        for port in ["9000", "9001"] {
            assert_eq!(ask(&bed, port), "Hello from user space\n");
        }
        assert!(ask(&bed, "9002").contains("tidegate.h"));
        drop(first);
        assert_eq!(
            ask(&bed, "9001"),
            "Hello from user space\n",
            "a neighbour's death is none of its business"
        );
        assert!(ask(&bed, "9000").contains("Failed to connect"), "the port is the host's again");
        let _again = serve(&bed, &installed, &program, &place, "9000");
        assert_eq!(ask(&bed, "9000"), "Hello from user space\n");
        drop(mux);
    });
}
