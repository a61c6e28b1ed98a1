//! Controllers and a daemon that runs: Python clients made from the interface's facts alone drive `tidegate daemon`, each in a
//! network namespace of its own, where the usual address is free. As root: ports make devices.

mod daemon;
mod life;

use daemon::{Folder, Process, Scene};
use std::os::fd::{AsFd, AsRawFd};
use std::process::{Command, Stdio};
use tidegate_sys::netlink::{Netlink, VethEnd};
use tidegate_sys::netns::Netns;

#[test]
fn every_method_does_what_it_is_for() {
    let mut scene = Scene::start("methods");
    scene.python("methods.py", &[]);
    assert!(scene.daemon.wait().success(), "KillBess ends it as a signal does");
}

#[test]
fn controllers_pause_build_check_and_resume() {
    Scene::start("sequences").python("sequences.py", &[]);
}

#[test]
fn every_class_is_made_commanded_and_run() {
    Scene::start("classes").python("classes.py", &[]);
}

#[test]
fn arguments_that_make_no_sense_are_refused_and_packets_flow_on() {
    let folder = Folder::new("malformed");
    let fifo = folder.join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let core = *tidegate_sys::cpu::allowed().last().unwrap();
    Scene::start_in(folder, &[]).python("malformed.py", &[&fifo, &core.to_string()]);
}

#[test]
fn killed_clients_harm_nobody() {
    Scene::start("killed-client").python("killed.py", &[]);
}

#[test]
fn hooks_count_and_capture() {
    let scene = Scene::start("hooks");
    scene.python("hooks.py", &[&scene.folder.path()]);
}

#[test]
fn ports_of_every_driver_have_peers() {
    let folder = Folder::new("ports");
    let guest = Netns::create().unwrap();
    let sleeper = Process::spawn(&guest, Command::new("sleep").arg("infinity").stdin(Stdio::null()));
    folder.program("docker", &format!("[ \"$4\" = box ] && echo {} && exit 0\nexit 1\n", sleeper.id()));
    let scene = Scene::start_in(folder, &[]);
    let mut netlink = Netlink::open_in(&scene.netns).unwrap();
    netlink.create_veth(VethEnd::new("near"), VethEnd::new("far")).unwrap();
    for end in ["near", "far"] {
        let ifindex = netlink.link(end).unwrap().ifindex;
        netlink.disable_ipv6_address_generation(ifindex).unwrap();
        netlink.set_up(ifindex, true).unwrap();
    }
    scene.python("ports.py", &[&scene.folder.path(), &path_of(&guest), "far"]);
}

#[test]
fn tcp_between_kernels_is_filtered_cut_and_joined() {
    let guest = Netns::create().unwrap();
    Scene::start("tcp").python("tcp.py", &[&path_of(&guest)]);
}

/// Where programs find a namespace, as long as this one runs.
fn path_of(netns: &Netns) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), netns.as_fd().as_raw_fd())
}
