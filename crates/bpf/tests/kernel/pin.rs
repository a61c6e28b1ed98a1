//! Pinned programs: they outlive their process, are found again, and are removed.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use tidegate_bpf::{AttachError, AttachMode, ModeChoice, PinDirectory, PinError, Steering, Tuple};

use crate::support::load;
use crate::veth::Veth;

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// A bpf file system of a test's own, unmounted when dropped.
struct BpfFileSystem {
    path: PathBuf,
}

impl BpfFileSystem {
    fn mount() -> Self {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("tidegate-bpf-{}-{number}", std::process::id()));
        std::fs::create_dir(&path).expect("a new directory");
        let mounted = Command::new("mount").args(["-t", "bpf", "bpf"]).arg(&path).status();
        assert!(mounted.expect("`mount` runs").success(), "a bpf file system can be mounted");
        Self { path }
    }

    fn directory(&self, device: &str) -> PinDirectory {
        PinDirectory::under(&self.path.join("tidegate"), device).expect("a device name")
    }
}

impl Drop for BpfFileSystem {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.path).status();
        let _ = std::fs::remove_dir(&self.path);
    }
}

fn service() -> Tuple {
    Tuple::tcp(IpAddr::from([192, 0, 2, 1]), 80)
}

#[test]
fn a_pinned_program_outlives_its_holder_and_is_found_again() {
    let (Some(veth), Some(program)) = (Veth::new(), load()) else { return };
    let file_system = BpfFileSystem::mount();
    let directory = file_system.directory("left");
    let (ifindex, id) = (veth.left.ifindex, program.id());
    veth.left.enter(move || {
        let attachment = program.attach(ifindex, ModeChoice::default()).expect("a free device");
        program.register(service(), Steering::Socket).expect("a new tuple");
        directory.pin(&program, &attachment).expect("pinning in a bpf file system");
        drop((program, attachment));

        let (found, attachment) = directory.open().expect("what was pinned opens");
        assert_eq!(found.id(), id);
        assert_eq!((attachment.ifindex(), attachment.mode()), (ifindex, AttachMode::Driver));
        assert_eq!(found.registered().expect("the map can be read"), [(service(), Steering::Socket)]);
    });
}

#[test]
fn removing_takes_the_program_off_though_somebody_holds_it() {
    let (Some(veth), Some(program)) = (Veth::new(), load()) else { return };
    let file_system = BpfFileSystem::mount();
    let directory = file_system.directory("left");
    let ifindex = veth.left.ifindex;
    veth.left.enter(|| {
        let attachment = program.attach(ifindex, ModeChoice::default()).expect("a free device");
        directory.pin(&program, &attachment).expect("pinning in a bpf file system");
        directory.remove().expect("what was pinned can be removed");
        let _again = program.attach(ifindex, ModeChoice::default()).expect("the device is free");
        assert!(!directory.path().exists());
        directory.remove().expect("removing nothing is no error");
        drop(attachment);
    });
}

#[test]
fn a_second_pin_is_refused() {
    let (Some(veth), Some(program)) = (Veth::new(), load()) else { return };
    let file_system = BpfFileSystem::mount();
    let directory = file_system.directory("left");
    let ifindex = veth.left.ifindex;
    veth.left.enter(|| {
        let attachment = program.attach(ifindex, ModeChoice::default()).expect("a free device");
        directory.pin(&program, &attachment).expect("pinning in a bpf file system");
        let refused = directory.pin(&program, &attachment).expect_err("the directory is taken");
        assert!(matches!(refused, PinError::Exists { .. }), "{refused}");
    });
}

#[test]
fn a_pin_whose_device_is_gone_says_so() {
    let (Some(veth), Some(program)) = (Veth::new(), load()) else { return };
    let file_system = BpfFileSystem::mount();
    let directory = file_system.directory("left");
    let ifindex = veth.left.ifindex;
    veth.left.enter(|| {
        let attachment = program.attach(ifindex, ModeChoice::default()).expect("a free device");
        directory.pin(&program, &attachment).expect("pinning in a bpf file system");
    });
    veth.left.netlink().delete_link(ifindex).expect("the link is there");
    veth.left.enter(|| {
        let refused = directory.open().expect_err("the device is gone");
        assert!(matches!(refused, PinError::Defunct { .. }), "{refused}");
        directory.remove().expect("what is left can be removed");
        assert!(!directory.path().exists());
    });
}

#[test]
fn a_pin_of_another_namespace_is_not_taken_for_ones_own() {
    let (Some(veth), Some(program)) = (Veth::new(), load()) else { return };
    let file_system = BpfFileSystem::mount();
    let directory = file_system.directory("left");
    let ifindex = veth.left.ifindex;
    veth.left.enter(|| {
        let attachment = program.attach(ifindex, ModeChoice::default()).expect("a free device");
        directory.pin(&program, &attachment).expect("pinning in a bpf file system");
    });
    // Each namespace numbers its devices from one: the far end may well have the same number.
    veth.right.enter(|| {
        for refused in [directory.open().err(), directory.attachment().err()] {
            assert!(matches!(refused, Some(PinError::Elsewhere { .. })), "{refused:?}");
        }
    });
    veth.left.enter(|| assert_eq!(directory.attachment().expect("its own").ifindex(), ifindex));
}

#[test]
fn nothing_pinned_is_absent() {
    if load().is_none() {
        return;
    }
    let refused = BpfFileSystem::mount().directory("left").open().expect_err("nothing is pinned");
    assert!(matches!(refused, PinError::Absent { .. }), "{refused}");
}

#[test]
fn outside_a_bpf_file_system_the_error_says_how_to_mount_one() {
    let (Some(veth), Some(program)) = (Veth::new(), load()) else { return };
    let outside = std::env::temp_dir().join(format!("tidegate-no-bpf-{}", std::process::id()));
    let directory = PinDirectory::under(&outside, "left").expect("a device name");
    let ifindex = veth.left.ifindex;
    let refused = veth.left.enter(|| {
        let attachment = program.attach(ifindex, ModeChoice::default()).expect("a free device");
        directory.pin(&program, &attachment).expect_err("not a bpf file system")
    });
    let _ = std::fs::remove_dir(&outside);
    assert!(refused.to_string().contains("mount -t bpf"), "{refused}");
    assert!(!directory.path().exists(), "a failed pin leaves nothing");
}

#[test]
fn names_that_no_device_has_are_refused() {
    for name in ["", ".", "..", "a/b", "a:b"] {
        let refused = PinDirectory::under(Path::new("/sys/fs/bpf/tidegate"), name);
        assert!(matches!(refused, Err(PinError::BadName(_))), "`{name}` was taken for a device name");
    }
}

#[test]
fn names_of_vlan_devices_are_taken_without_their_dots() {
    let directory = PinDirectory::under(Path::new("/sys/fs/bpf/tidegate"), "eth0.5").expect("a device name");
    assert_eq!(directory.path(), Path::new("/sys/fs/bpf/tidegate/eth0:5"));
}

#[test]
fn an_attached_device_refuses_a_new_program_while_pinned() {
    let (Some(veth), Some(program)) = (Veth::new(), load()) else { return };
    let file_system = BpfFileSystem::mount();
    let directory = file_system.directory("left");
    let ifindex = veth.left.ifindex;
    veth.left.enter(move || {
        let attachment = program.attach(ifindex, ModeChoice::default()).expect("a free device");
        directory.pin(&program, &attachment).expect("pinning in a bpf file system");
        drop((program, attachment));
        let second = load().expect("loading worked a moment ago");
        let refused = second.attach(ifindex, ModeChoice::default()).expect_err("the pinned one is there");
        assert!(matches!(refused, AttachError::Occupied { .. }), "{refused}");
    });
}
