//! A machine whose NIC many share, and `tidegate` as its administrator types it.

use crate::scene::{output, run};
use crate::service::TIDEGATE;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tidegate_control::Client;
use tidegate_sys::netns::Netns;
use tidegate_testbed::{Layout, Process, ScratchDir, Testbed};

/// How long anything may take that must happen, however busy the machine is.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// The address that all share.
pub(crate) const ADDRESS: &str = "10.78.0.2";
pub(crate) const DEVICE: &str = "server0";

/// The machine and one that asks it. All of it goes when this is dropped: processes on it first.
pub(crate) struct Host {
    pub(crate) bed: Testbed,
    pub(crate) scratch: ScratchDir,
}

/// A stack, as `tidegate mux stats` shows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stack {
    pub(crate) slot: u64,
    pub(crate) pid: u64,
    pub(crate) to_packets: u64,
    pub(crate) from_packets: u64,
}

impl Host {
    pub(crate) fn new() -> Self {
        let scratch = ScratchDir::new().expect("a temporary directory");
        // Users without rights find programs and the mux's socket in it.
        fs::set_permissions(scratch.path(), PermissionsExt::from_mode(0o755)).expect("its owner");
        fs::create_dir(scratch.join("bpf")).expect("writable");
        let mounted = Command::new("mount").args(["-t", "bpf", "bpf"]).arg(scratch.join("bpf")).status();
        assert!(mounted.expect("mount").success(), "a bpf file system can be mounted (run as root)");
        let layout = Layout { stops_senders: true, ..Layout::unpinned() };
        Self { bed: Testbed::new(&layout).expect("two network namespaces (run as root)"), scratch }
    }

    pub(crate) fn netns(&self) -> &Netns {
        self.bed.server().netns()
    }

    /// The mux's socket.
    pub(crate) fn socket(&self) -> PathBuf {
        self.scratch.join("mux.sock")
    }

    /// Where the daemon pins.
    pub(crate) fn pins(&self) -> PathBuf {
        self.scratch.join("bpf/tidegate")
    }

    /// Where the daemon is commanded.
    pub(crate) fn control(&self) -> String {
        format!("unix:{}", self.scratch.join("control").display())
    }

    /// `tidegate daemon --mux`, with what else is said.
    pub(crate) fn daemon_command(&self, more: &[&str]) -> Command {
        let mut command = Command::new(TIDEGATE);
        command.args(["daemon", "--listen", "127.0.0.1:0"]).args(more);
        command
    }

    /// The daemon, once it serves: anew, or where the one before it ended.
    pub(crate) fn start_daemon(&self) -> Process {
        let mut command = self.daemon_command(&["--socket"]);
        command.arg(self.scratch.join("control")).arg("--mux").arg(self.socket());
        command.arg("--pins").arg(self.pins());
        let mut daemon = self.bed.server().spawn(command).expect("the binary under test");
        let ready = daemon.await_text("controllers reach it", PATIENCE);
        ready.unwrap_or_else(|error| panic!("{error}: {}", daemon.said()));
        daemon
    }

    /// Starts servers of the daemon's by a configuration.
    pub(crate) fn start_service(&self, config: &str) {
        let file = self.scratch.write("service.toml", config).expect("writable");
        self.say(&["service", "start", &file.to_string_lossy(), "--name", "line"]);
    }

    /// What a command to the daemon prints.
    pub(crate) fn say(&self, words: &[&str]) -> String {
        run(self.netns(), TIDEGATE, &[words, &["--address", &self.control()]].concat())
    }

    /// What a command prints that the daemon refuses.
    pub(crate) fn refused(&self, words: &[&str]) -> String {
        let output = output(self.netns(), TIDEGATE, &[words, &["--address", &self.control()]].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{words:?} was to be refused");
        assert_eq!(said.trim_end().lines().count(), 1, "{said}");
        said
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(&self.control()).expect("the daemon answers")
    }

    fn list(&self) -> serde_json::Value {
        serde_json::from_str(&self.say(&["mux", "stats", "--json"])).expect("JSON")
    }

    /// Who has a TCP port of the address that all share.
    pub(crate) fn stack_of(&self, port: u16) -> Option<Stack> {
        let all = self.list();
        let address = format!("{ADDRESS}:{port}");
        let has =
            |it: &&serde_json::Value| it["tuple"]["address"] == address && it["tuple"]["protocol"] == "tcp";
        let slot = all["bindings"].as_array()?.iter().find(has)?["slot"].as_u64()?;
        let stack = all["stacks"].as_array()?.iter().find(|it| it["slot"] == slot)?;
        let number = |name: &str| stack[name].as_u64().unwrap_or_else(|| panic!("{name} in {all}"));
        Some(Stack {
            slot,
            pid: number("pid"),
            to_packets: number("to_packets"),
            from_packets: number("from_packets"),
        })
    }

    /// Waits until the process has the port, after a restart of the daemon.
    pub(crate) fn await_owner(&self, port: u16, process: &Process) -> Stack {
        let mut seen = None;
        self.await_that(&format!("{port} is not process {}'s", process.pid()), || {
            seen = self.stack_of(port).filter(|stack| stack.pid == u64::from(process.pid()));
            seen.is_some()
        });
        seen.expect("just seen")
    }

    pub(crate) fn await_that(&self, complaint: &str, mut holds: impl FnMut() -> bool) {
        let start = Instant::now();
        while !holds() {
            assert!(start.elapsed() < PATIENCE, "{complaint}: {}", self.list());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Whether an XDP program is on the NIC.
    pub(crate) fn has_program(&self) -> bool {
        run(self.netns(), "ip", &["-d", "link", "show", DEVICE]).contains("prog/xdp")
    }

    /// What a web server at that port of the shared address says, or what curl says of it.
    pub(crate) fn ask(&self, port: u16) -> String {
        let url = format!("http://{ADDRESS}:{port}/");
        let output = output(self.bed.client().netns(), "curl", &["-sS", "--max-time", "50", &url]);
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.scratch.join("bpf")).status();
    }
}

/// A user that no other test has: what users may lock in memory is counted for each.
pub(crate) fn stranger() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    1_000_000 + std::process::id() * 64 + NEXT.fetch_add(1, Ordering::Relaxed) % 64
}
