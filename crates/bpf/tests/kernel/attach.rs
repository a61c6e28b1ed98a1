//! Attaching to real devices: modes, clashes, and what is left after `kill -9`.

use std::env;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use libbpf_rs::query::{LinkInfoIter, ProgInfoIter};
use tidegate_bpf::{AttachError, AttachMode, ModeChoice};

use crate::netns::Netns;
use crate::support::load;

/// Set in the process that [`killed_process_leaves_nothing`] kills: the index of its device.
const HOLDER_DEVICE: &str = "TIDEGATE_TEST_HOLDER_DEVICE";

#[test]
fn a_veth_runs_it_in_the_driver() {
    let (Some(netns), Some(program)) = (Netns::with_veth(), load()) else { return };
    let ifindex = netns.ifindex("left");
    netns.enter(|| {
        let attachment = program.attach(ifindex, ModeChoice::default()).expect("veth takes XDP programs");
        assert_eq!(attachment.mode(), AttachMode::Driver);
        assert!(attachment.driver_refusal().is_none());
        assert_eq!(attachment.ifindex(), ifindex);
    });
}

#[test]
fn a_driver_that_refuses_is_replaced_by_generic_mode_and_named() {
    let (Some(netns), Some(program)) = (Netns::with_veth(), load()) else { return };
    // veth in driver mode refuses a peer whose frames are larger than a page.
    netns.ip(&["link", "set", "right", "mtu", "9000"]);
    let ifindex = netns.ifindex("left");
    netns.enter(|| {
        let attachment = program.attach(ifindex, ModeChoice::default()).expect("generic mode takes it");
        assert_eq!(attachment.mode(), AttachMode::Generic);
        assert!(attachment.driver_refusal().is_some());
        drop(attachment);
        let refused = program.attach(ifindex, ModeChoice::DriverOnly).expect_err("the driver refuses");
        assert!(matches!(refused, AttachError::Refused { mode: AttachMode::Driver, .. }), "{refused}");
    });
}

#[test]
fn a_device_has_one_program_and_the_error_names_it() {
    let (Some(netns), Some(first), Some(second)) = (Netns::with_veth(), load(), load()) else { return };
    let ifindex = netns.ifindex("left");
    netns.enter(|| {
        let _attachment = first.attach(ifindex, ModeChoice::GenericOnly).expect("a free device");
        for choice in [ModeChoice::DriverThenGeneric, ModeChoice::DriverOnly, ModeChoice::GenericOnly] {
            let refused = second.attach(ifindex, choice).expect_err("the device is taken");
            let AttachError::Occupied { program_id, name, .. } = refused else { panic!("{refused}") };
            assert_eq!((program_id, name.as_str()), (first.id(), "tidegate"));
        }
    });
}

#[test]
fn a_dropped_attachment_frees_the_device() {
    let (Some(netns), Some(program)) = (Netns::with_veth(), load()) else { return };
    let ifindex = netns.ifindex("left");
    netns.enter(|| {
        drop(program.attach(ifindex, ModeChoice::default()).expect("a free device"));
        // A child that another test forks has a copy of the descriptor until it runs its own program.
        wait_until(|| program.attach(ifindex, ModeChoice::default()).is_ok(), "the device to be free");
    });
}

#[test]
fn a_detached_device_is_free_at_once() {
    let (Some(netns), Some(program)) = (Netns::with_veth(), load()) else { return };
    let ifindex = netns.ifindex("left");
    netns.enter(|| {
        let attachment = program.attach(ifindex, ModeChoice::default()).expect("a free device");
        attachment.detach().expect("an attached program can be detached");
        let _again = program.attach(ifindex, ModeChoice::default()).expect("the device is free");
    });
}

#[test]
fn a_device_of_another_namespace_is_not_found() {
    let (Some(netns), Some(program)) = (Netns::with_veth(), load()) else { return };
    netns.enter(|| {
        let refused = program.attach(9999, ModeChoice::default()).expect_err("there is no such device");
        assert!(matches!(refused, AttachError::NoDevice { ifindex: 9999 }), "{refused}");
    });
}

#[test]
fn killed_process_leaves_nothing() {
    let Some(netns) = Netns::with_veth() else { return };
    let ifindex = netns.ifindex("left");
    let mut holder = Holder::spawn(&netns, ifindex);
    let (program_id, link_id) = holder.attached();
    assert!(link_exists(link_id), "the kernel lists the link of a running process");
    assert!(device_shows_xdp(&netns), "the device shows its program");

    holder.process.kill().expect("SIGKILL to our own child");
    holder.process.wait().expect("our own child ends");
    wait_until(|| !link_exists(link_id), "the link to go");
    wait_until(|| !program_exists(program_id), "the program to go");
    assert!(!device_shows_xdp(&netns), "the device has no program any more");
}

/// Not a test by itself: the process that is killed. It attaches, says so, and sleeps.
#[test]
fn holder() {
    let Ok(ifindex) = env::var(HOLDER_DEVICE) else { return };
    let ifindex = ifindex.parse().expect("an index");
    let program = load().expect("the parent could load it");
    let attachment = program.attach(ifindex, ModeChoice::default()).expect("a free device");
    eprintln!("attached {} {}", program.id(), attachment.link_id().expect("an attached link"));
    thread::sleep(Duration::from_secs(60));
}

struct Holder {
    process: Child,
}

impl Holder {
    fn spawn(netns: &Netns, ifindex: u32) -> Self {
        let this = env::current_exe().expect("a test knows its own file");
        let process = netns
            .command(&this.to_string_lossy())
            .args(["--exact", "attach::holder", "--nocapture"])
            .env(HOLDER_DEVICE, ifindex.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        Self { process: process.expect("`nsenter` runs (apt install util-linux)") }
    }

    /// Waits for the process to say what it attached: the numbers of its program and its link.
    fn attached(&mut self) -> (u32, u32) {
        let output = BufReader::new(self.process.stderr.take().expect("a pipe"));
        for line in output.lines().map_while(Result::ok) {
            let words: Vec<_> = line.split(' ').collect();
            if let ["attached", program, link] = words[..] {
                return (program.parse().expect("a number"), link.parse().expect("a number"));
            }
        }
        panic!("the holder ended before it attached");
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// As `bpftool prog` lists it.
fn program_exists(id: u32) -> bool {
    ProgInfoIter::default().any(|program| program.id == id)
}

/// As `bpftool link` lists it.
fn link_exists(id: u32) -> bool {
    LinkInfoIter::default().any(|link| link.id == id)
}

fn device_shows_xdp(netns: &Netns) -> bool {
    let shown = netns.command("ip").args(["-d", "link", "show", "left"]).output().expect("`ip` runs");
    String::from_utf8_lossy(&shown.stdout).contains("prog/xdp")
}

/// The kernel frees programs and links a moment after their last descriptor is closed.
fn wait_until(condition: impl Fn() -> bool, what: &str) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(5), "waited 5 s for {what}");
        thread::sleep(Duration::from_millis(10));
    }
}
