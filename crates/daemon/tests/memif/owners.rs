//! An owner that is a process of somebody else, without any capability: its memif is its own, and nobody else's.

use crate::world::{End, PATIENCE, World, udp, wanted};
use std::env;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use tidegate_mux::client::attach;
use tidegate_mux::registry::Grade;
use tidegate_sys::local_socket::connect;
use tidegate_sys::seqpacket::Channel;

/// Set in the process that is the owner: the mux's socket, and a memif of another user's.
const OWNER_SOCKET: &str = "TIDEGATE_TEST_MEMIF_SOCKET";
const OTHERS_MEMIF: &str = "TIDEGATE_TEST_MEMIF_OTHERS";
/// `nobody` of Debian.
const NOBODY: u32 = 65_534;

#[test]
fn a_memif_is_its_owners_alone_and_goes_when_it_is_killed() {
    let world = World::new();
    let roots = world.echo(Grade::Memif, 7002, "root");
    let path = roots.attachment.place().path.clone();
    let metadata = std::fs::metadata(&path).expect("it is there");
    assert_eq!((metadata.uid(), metadata.mode() & 0o777), (0, 0o600));
    let program = env::current_exe().expect("a test knows its own file");
    let mut owner = Command::new(program)
        .args(["--exact", "owners::owner", "--nocapture"])
        .envs([(OWNER_SOCKET, &world.socket()), (OTHERS_MEMIF, &path)])
        .uid(NOBODY)
        .gid(NOBODY)
        .stdout(Stdio::null())
        .spawn()
        .expect("this test can be run again");
    world.await_answer(7001, "nobody");
    let stacks = world.controller().list_stacks().expect("a list").stacks;
    assert!(stacks.iter().any(|stack| stack.uid == NOBODY && stack.pid == owner.id()), "{stacks:?}");
    owner.kill().expect("our own child");
    owner.wait().expect("our own child");
    let start = std::time::Instant::now();
    while let Err(error) = roots.attachment.bind(udp(7001)) {
        assert!(start.elapsed() < PATIENCE, "{error}");
    }
    world.await_answer(7001, "root");
    world.await_answer(7002, "root");
}

/// Not a test by itself: the owner.
#[test]
fn owner() {
    let (Ok(socket), Ok(others)) = (env::var(OWNER_SOCKET), env::var(OTHERS_MEMIF)) else { return };
    assert!(connect::<Channel>(&others).is_err(), "another user's memif");
    let mut attachment = attach(&socket, &wanted(Grade::Memif)).unwrap_or_else(|error| panic!("{error}"));
    let mut end = End::open(&mut attachment);
    attachment.bind(udp(7001)).unwrap_or_else(|error| panic!("{error}"));
    loop {
        if !end.answer("nobody") {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}
