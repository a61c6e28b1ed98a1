//! A network namespace of a test's own, with a veth pair in it, gone when dropped.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{io, thread};

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// The namespace.
pub(crate) struct Netns {
    name: String,
}

impl Netns {
    /// Makes a namespace with the veth pair `left` and `right`, both up; `None`, said on standard error, where
    /// the process may not and need not.
    pub(crate) fn with_veth() -> Option<Self> {
        let netns = Self::empty()?;
        netns.ip(&["link", "add", "left", "type", "veth", "peer", "name", "right"]);
        netns.ip(&["link", "set", "left", "up"]);
        netns.ip(&["link", "set", "right", "up"]);
        Some(netns)
    }

    /// Makes two namespaces with one end of a veth pair each: `left` with 192.0.2.1 and 2001:db8::1, and
    /// `right` with 192.0.2.7 and 2001:db8::7.
    pub(crate) fn pair() -> Option<(Self, Self)> {
        let (left, right) = (Self::empty()?, Self::empty()?);
        left.ip(&["link", "add", "left", "type", "veth", "peer", "name", "right", "netns", &right.name]);
        for (netns, device, v4, v6) in [
            (&left, "left", "192.0.2.1/24", "2001:db8::1/64"),
            (&right, "right", "192.0.2.7/24", "2001:db8::7/64"),
        ] {
            netns.ip(&["address", "add", v4, "dev", device]);
            netns.ip(&["address", "add", v6, "dev", device, "nodad"]);
            netns.ip(&["link", "set", device, "up"]);
        }
        Some((left, right))
    }

    fn empty() -> Option<Self> {
        crate::support::load()?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let netns = Self { name: format!("tgbpf-{}-{number}", std::process::id()) };
        ip(&["netns", "add", &netns.name]);
        Some(netns)
    }

    /// `ip` in the namespace.
    pub(crate) fn ip(&self, arguments: &[&str]) {
        ip(&[&["-n", &self.name], arguments].concat());
    }

    /// A command that runs in the namespace, and in the same process that is spawned.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net={}", self.path())).arg(program);
        command
    }

    /// Runs `work` on a thread in the namespace.
    pub(crate) fn enter<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let namespace = File::open(self.path()).expect("the namespace has a name");
        thread::scope(|scope| {
            let inside = scope.spawn(|| {
                set_namespace(&namespace).expect("root may enter a namespace");
                work()
            });
            inside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// The index of a device of the namespace.
    pub(crate) fn ifindex(&self, device: &str) -> u32 {
        let show = Command::new("ip").args(["-n", &self.name, "-o", "link", "show", device]).output();
        let show = show.expect("`ip` runs (apt install iproute2)");
        let text = String::from_utf8_lossy(&show.stdout);
        let index = text.split(':').next().and_then(|index| index.parse().ok());
        index.unwrap_or_else(|| panic!("no index of {device} in `{text}`"))
    }

    fn path(&self) -> String {
        format!("/run/netns/{}", self.name)
    }
}

impl Drop for Netns {
    fn drop(&mut self) {
        // The processes of a test are gone by now, and with the namespace its devices go.
        let _ = Command::new("ip").args(["netns", "del", &self.name]).stderr(Stdio::null()).status();
    }
}

fn ip(arguments: &[&str]) {
    let status = Command::new("ip").args(arguments).status().expect("`ip` runs (apt install iproute2)");
    assert!(status.success(), "`ip {}` failed", arguments.join(" "));
}

/// setns(2) for the calling thread.
fn set_namespace(namespace: &File) -> io::Result<()> {
    const CLONE_NEWNET: i32 = 0x4000_0000;
    unsafe extern "C" {
        safe fn setns(fd: i32, kind: i32) -> i32;
    }
    if setns(namespace.as_raw_fd(), CLONE_NEWNET) == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
