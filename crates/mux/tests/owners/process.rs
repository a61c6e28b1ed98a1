//! An owner that is a process of somebody else, without any capability, and that is killed.

use crate::world::{Echo, End, World, udp};
use std::env;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use tidegate_mux::client::attach;
use tidegate_mux::registry::{Grade, Wanted};

/// Set in the process that is the owner: the socket, and the NIC.
const OWNER_SOCKET: &str = "TIDEGATE_TEST_OWNER_SOCKET";
const OWNER_DEVICE: &str = "TIDEGATE_TEST_OWNER_DEVICE";
/// `nobody` of Debian.
const NOBODY: u32 = 65_534;

#[test]
fn a_killed_owner_gives_everything_back() {
    let world = World::new();
    let mut neighbour = world.attach();
    let _echo = Echo::start(&mut neighbour, "neighbour");
    neighbour.bind(udp(7002)).expect("free");
    let program = env::current_exe().expect("a test knows its own file");
    let mut owner = Command::new(program)
        .args(["--exact", "process::owner", "--nocapture"])
        .envs([(OWNER_SOCKET, &world.socket()), (OWNER_DEVICE, &world.device)])
        .uid(NOBODY)
        .gid(NOBODY)
        .stdout(Stdio::null())
        .spawn()
        .expect("this test can be run again");
    world.await_answer(7001, "nobody");
    let said = neighbour.bind(udp(7001)).unwrap_err().to_string();
    assert!(said.contains(&format!("(user {NOBODY}, process {})", owner.id())), "{said}");
    owner.kill().expect("our own child");
    owner.wait().expect("our own child");
    world.await_answer(7002, "neighbour");
    // The next one may have what the dead one had, once the mux has read its connection's end.
    let start = std::time::Instant::now();
    while let Err(error) = neighbour.bind(udp(7001)) {
        assert!(start.elapsed() < crate::world::PATIENCE, "{error}");
    }
    world.await_answer(7001, "neighbour");
}

/// Not a test by itself: the owner.
#[test]
fn owner() {
    let (Ok(socket), Ok(device)) = (env::var(OWNER_SOCKET), env::var(OWNER_DEVICE)) else { return };
    let wanted = Wanted { device, grade: Grade::Veth, queue: None };
    let mut attachment = attach(&socket, &wanted).unwrap_or_else(|error| panic!("{error}"));
    let said = attachment.bind(udp(1023)).unwrap_err().to_string();
    assert!(said.contains("CAP_NET_BIND_SERVICE"), "{said}");
    let raw = Wanted { grade: Grade::Queue, queue: Some(1), ..wanted };
    let said = attach(&socket, &raw).unwrap_err().to_string();
    assert!(said.contains("CAP_NET_RAW"), "{said}");
    let mut end = End::open(&mut attachment);
    attachment.bind(udp(7001)).unwrap_or_else(|error| panic!("{error}"));
    loop {
        if !end.answer("nobody") {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}
