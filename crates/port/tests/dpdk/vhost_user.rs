//! vhost-user: testpmd has a virtio-net driver, our port is its device.

use std::path::Path;

use tidegate_packet::Pool;
use tidegate_port::{Port, VhostUserConfig, VhostUserPort, VhostUserRole, open_vhost_user};

use tidegate_testbed::Testpmd;

use crate::{Scratch, all_come_back, pool, testpmd, until};

/// The bits of virtio for one queue's frames in several buffers, and for several queues.
const MERGED_BUFFERS: u64 = 1 << 15;
const QUEUES: u64 = 1 << 22;

fn start(socket: &Path, queue_count: u16, more: &str) -> Testpmd {
    let device = format!("net_virtio_user0,path={},queues={queue_count}{more}", socket.display());
    testpmd(device, queue_count)
}

fn say(port: &VhostUserPort) -> String {
    format!("{:?} {:?} {:?}", port.status(), port.counters(), port.drops())
}

fn until_up(port: &mut VhostUserPort, pool: &mut Pool) {
    until("no link came up", port, say, |port| {
        port.tx_room(pool);
        port.is_connected()
    });
}

fn open(socket: &Path, role: VhostUserRole, queue_count: u16) -> Vec<VhostUserPort> {
    let config = VhostUserConfig { queue_count, ..VhostUserConfig::new(socket.to_str().unwrap(), role) };
    open_vhost_user(config).unwrap()
}

#[test]
fn dpdk_gets_frames_and_returns_them_and_comes_again_after_its_death() {
    let (scratch, mut pool) = (Scratch::new("vhost"), pool());
    let mut port = open(&scratch.socket(), VhostUserRole::Server, 1).remove(0);
    // With and without merged buffers.
    for (more, is_merging) in [(",queue_size=256", true), (",queue_size=1024,mrg_rxbuf=0", false)] {
        let peer = start(&scratch.socket(), 1, more);
        until_up(&mut port, &mut pool);
        assert_eq!(port.status().features & MERGED_BUFFERS != 0, is_merging);
        all_come_back(&mut port, &mut pool, say);
        peer.kill();
        until("its death went unnoticed", &mut port, say, |port| {
            port.tx_room(&mut pool);
            !port.is_connected()
        });
    }
    assert_eq!(port.status().connect_count, 2);
}

#[test]
fn dpdk_that_listens_gets_frames_and_returns_them() {
    let (scratch, mut pool) = (Scratch::new("vhost-client"), pool());
    let mut port = open(&scratch.socket(), VhostUserRole::Client, 1).remove(0);
    let _testpmd = start(&scratch.socket(), 1, ",server=1");
    until_up(&mut port, &mut pool);
    all_come_back(&mut port, &mut pool, say);
}

#[test]
fn dpdk_returns_frames_on_the_queue_that_they_came_by() {
    let (scratch, mut pool) = (Scratch::new("vhost-queues"), pool());
    let mut ports = open(&scratch.socket(), VhostUserRole::Server, 2);
    let _testpmd = start(&scratch.socket(), 2, ",cq=1");
    for port in &mut ports {
        until_up(port, &mut pool);
    }
    assert!(ports[0].status().features & QUEUES != 0);
    for port in &mut ports {
        all_come_back(port, &mut pool, say);
    }
}
