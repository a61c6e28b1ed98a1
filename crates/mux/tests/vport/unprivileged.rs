//! A process of somebody else, without any capability, that is given nothing but the socket.

use std::env;
use std::io::{BufRead, BufReader};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use tidegate_bpf::WayOut;

use crate::world::{Stack, WAIT, World, segment_from, segment_to};

/// Set in the process that has the socket: its slot and its MTU.
const OWNER_SLOT: &str = "TIDEGATE_TEST_OWNER_SLOT";
const OWNER_MTU: &str = "TIDEGATE_TEST_OWNER_MTU";
/// `nobody` of Debian.
const NOBODY: u32 = 65_534;

#[test]
fn a_process_without_rights_is_a_stack() {
    let world = World::new(WayOut::Packet);
    let wire = world.wire();
    let (vport, socket) = world.create(9);
    vport.await_running().expect("a veth has carrier");
    let mut owner = spawn(9, world.vports.mtu(), socket.into());
    await_line(&mut owner, "bound");
    wire.send(&segment_to(9));
    assert_eq!(wire.receive(WAIT), Some(segment_from(9)), "the owner answers");
    assert!(owner.wait().expect("our own child").success());
}

/// The test once more, as somebody else, with the socket as its standard input. It is run from a copy that everybody may read.
fn spawn(slot: u32, mtu: u32, socket: Stdio) -> Child {
    let program = env::current_exe().expect("a test knows its own file");
    let mut command = Command::new(program);
    command
        .args(["--exact", "unprivileged::owner", "--nocapture"])
        .env(OWNER_SLOT, slot.to_string())
        .env(OWNER_MTU, mtu.to_string())
        .uid(NOBODY)
        .gid(NOBODY)
        .stdin(socket)
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command.spawn().expect("this test can be run again")
}

fn await_line(owner: &mut Child, wanted: &str) {
    let output = BufReader::new(owner.stderr.take().expect("a pipe"));
    let mut said = Vec::new();
    for line in output.lines().map_while(Result::ok) {
        if line == wanted {
            return;
        }
        said.push(line);
    }
    panic!("the owner ended before it said `{wanted}`: {said:?}");
}

/// Not a test by itself: the owner of the socket.
#[test]
fn owner() {
    let Ok(slot) = env::var(OWNER_SLOT) else { return };
    let slot = slot.parse().expect("a slot");
    let mtu = env::var(OWNER_MTU).ok().and_then(|mtu| mtu.parse().ok()).expect("an MTU");
    let status = std::fs::read_to_string("/proc/self/status").expect("a process knows itself");
    let is_bare =
        |line: &str| line.strip_prefix("CapEff:").is_some_and(|set| set.trim().trim_matches('0').is_empty());
    assert!(status.lines().any(is_bare), "no capability is left");
    let socket = std::io::stdin().as_fd().try_clone_to_owned().expect("the socket");
    let mut stack = Stack::open(slot, mtu, socket);
    eprintln!("bound");
    assert_eq!(stack.receive(WAIT), Some(segment_to(slot)));
    stack.send(&segment_from(slot));
}
