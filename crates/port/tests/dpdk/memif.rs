//! memif, over either role.

use std::path::Path;

use tidegate_packet::Pool;
use tidegate_port::{MemifConfig, MemifPort, MemifRole, Port, open_memif};

use tidegate_testbed::Testpmd;

use crate::{Scratch, all_come_back, pool, testpmd, until};

fn start(role: &str, socket: &Path, more: &str) -> Testpmd {
    let device = format!("net_memif0,role={role},socket={},socket-abstract=no{more}", socket.display());
    testpmd(device, 1)
}

fn say(port: &MemifPort) -> String {
    format!("{:?}", port.status())
}

fn until_up(port: &mut MemifPort, pool: &mut Pool) {
    until("no link came up", port, say, |port| {
        port.tx_room(pool);
        port.is_connected()
    });
}

fn open(socket: &Path, role: MemifRole, change: impl Fn(&mut MemifConfig)) -> MemifPort {
    let mut config = MemifConfig::new(socket.to_str().unwrap(), role);
    change(&mut config);
    open_memif(config).unwrap().remove(0)
}

#[test]
fn dpdk_as_the_client_gets_frames_and_returns_them_and_comes_again_after_its_death() {
    let (scratch, mut pool) = (Scratch::new("client"), pool());
    let mut port = open(&scratch.socket(), MemifRole::Server, |config| config.secret = "shared".into());
    // Buffers shorter than the frames, so that most go in parts.
    for more in [",rsize=9,secret=shared", ",rsize=10,bsize=512,secret=shared"] {
        let peer = start("client", &scratch.socket(), more);
        until_up(&mut port, &mut pool);
        assert!(port.status().peer.is_some());
        all_come_back(&mut port, &mut pool, say);
        peer.kill();
        until("its death went unnoticed", &mut port, say, |port| {
            port.tx_room(&mut pool);
            !port.is_connected()
        });
    }
    let _wrong = start("client", &scratch.socket(), ",secret=other");
    until("a wrong secret was let in", &mut port, say, |port| {
        port.status().last_error.is_some_and(|said| said.contains("secrets differ"))
    });
}

#[test]
fn dpdk_as_the_server_gets_frames_and_returns_them() {
    let (scratch, mut pool) = (Scratch::new("server"), pool());
    let mut port = open(&scratch.socket(), MemifRole::Client, |config| config.ring_log2 = 8);
    let _testpmd = start("server", &scratch.socket(), "");
    until_up(&mut port, &mut pool);
    all_come_back(&mut port, &mut pool, say);
}
