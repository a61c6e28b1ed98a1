//! Attaching to real devices: modes, clashes, and what is left after `kill -9`.

use std::env;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use libbpf_rs::query::{LinkInfoIter, ProgInfoIter};
use tidegate_bpf::{AttachError, AttachMode, Attachment, ModeChoice};

use crate::support::load;
use crate::veth::Veth;

/// Set in the process that [`killed_process_leaves_nothing`] kills: the index of its device.
const HOLDER_DEVICE: &str = "TIDEGATE_TEST_HOLDER_DEVICE";

#[test]
fn a_veth_runs_it_in_the_driver() {
    let (Some(veth), Some(program)) = (Veth::new(), load()) else { return };
    let ifindex = veth.left.ifindex;
    veth.left.enter(|| {
        let attachment = program.attach(ifindex, ModeChoice::default()).expect("veth takes XDP programs");
        assert_eq!(attachment.mode(), AttachMode::Driver);
        assert!(attachment.driver_refusal().is_none());
        assert_eq!(attachment.ifindex(), ifindex);
    });
}

#[test]
fn a_driver_that_refuses_is_replaced_by_generic_mode_and_named() {
    let (Some(veth), Some(program)) = (Veth::new(), load()) else { return };
    // veth in driver mode refuses a peer whose frames are larger than a page.
    veth.right.netlink().set_mtu(veth.right.ifindex, 9000).expect("veth has jumbo frames");
    let ifindex = veth.left.ifindex;
    veth.left.enter(|| {
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
    let (Some(veth), Some(first), Some(second)) = (Veth::new(), load(), load()) else { return };
    let ifindex = veth.left.ifindex;
    veth.left.enter(|| {
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
    let (Some(veth), Some(program)) = (Veth::new(), load()) else { return };
    let ifindex = veth.left.ifindex;
    veth.left.enter(|| {
        drop(program.attach(ifindex, ModeChoice::default()).expect("a free device"));
        // A child that another test forks has a copy of the descriptor until it runs its own program.
        wait_until(|| program.attach(ifindex, ModeChoice::default()).is_ok(), "the device to be free");
    });
}

#[test]
fn a_detached_device_is_free_at_once() {
    let (Some(veth), Some(program)) = (Veth::new(), load()) else { return };
    let ifindex = veth.left.ifindex;
    veth.left.enter(|| {
        let attachment = program.attach(ifindex, ModeChoice::default()).expect("a free device");
        attachment.detach().expect("an attached program can be detached");
        let _again = program.attach(ifindex, ModeChoice::default()).expect("the device is free");
    });
}

#[test]
fn a_device_of_another_namespace_is_not_found() {
    let (Some(veth), Some(program)) = (Veth::new(), load()) else { return };
    veth.left.enter(|| {
        let refused = program.attach(9999, ModeChoice::default()).expect_err("there is no such device");
        assert!(matches!(refused, AttachError::NoDevice { ifindex: 9999 }), "{refused}");
    });
}

#[test]
fn the_program_of_a_device_is_found_and_taken_off_though_another_holds_it() {
    let (Some(veth), Some(program), Some(other)) = (Veth::new(), load(), load()) else { return };
    let (left, right) = (&veth.left, &veth.right);
    // Numbers of devices are a namespace's own, so this one has the same as a rule.
    let _elsewhere = right.enter(|| other.attach(right.ifindex, ModeChoice::default())).expect("free");
    left.enter(|| {
        assert_eq!(Attachment::program_on(left.ifindex).expect("a device can be asked"), None);
        assert!(Attachment::of_device(left.ifindex).expect("a device can be asked").is_none());

        let held = program.attach(left.ifindex, ModeChoice::default()).expect("a free device");
        let name = Attachment::program_on(left.ifindex).expect("a device can be asked");
        assert_eq!(name.as_deref(), Some("tidegate"));
        let found = Attachment::of_device(left.ifindex).expect("a device can be asked").expect("a link");
        assert_eq!(found.ifindex(), held.ifindex());
        assert_eq!(found.link_id().expect("a live link"), held.link_id().expect("a live link"));
        found.detach().expect("the program can be taken off");
        assert_eq!(Attachment::program_on(left.ifindex).expect("a device can be asked"), None);
    });
}

#[test]
fn killed_process_leaves_nothing() {
    let (Some(veth), Some(program)) = (Veth::new(), load()) else { return };
    let attach = || veth.left.enter(|| program.attach(veth.left.ifindex, ModeChoice::default()));
    let mut holder = Holder::spawn(&veth);
    let (program_id, link_id) = holder.attached();
    assert!(link_exists(link_id), "the kernel lists the link of a running process");
    assert!(matches!(attach(), Err(AttachError::Occupied { program_id: id, .. }) if id == program_id));

    holder.process.kill().expect("SIGKILL to our own child");
    holder.process.wait().expect("our own child ends");
    wait_until(|| !link_exists(link_id), "the link to go");
    wait_until(|| !program_exists(program_id), "the program to go");
    drop(attach().expect("the device is free"));
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
    /// The process inherits the namespace of the thread that spawns it.
    fn spawn(veth: &Veth) -> Self {
        let mut command = Command::new(env::current_exe().expect("a test knows its own file"));
        command
            .args(["--exact", "attach::holder", "--nocapture"])
            .env(HOLDER_DEVICE, veth.left.ifindex.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let process = veth.left.enter(move || command.spawn());
        Self { process: process.expect("this test can be run again") }
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

/// The kernel frees programs and links a moment after their last descriptor is closed.
fn wait_until(condition: impl Fn() -> bool, what: &str) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(5), "waited 5 s for {what}");
        thread::sleep(Duration::from_millis(10));
    }
}
