//! Sockets over a veth pair: frames in, frames out, several on one UMEM.

use std::os::fd::AsFd;

use tidegate_base::Duration;
use tidegate_packet::{ChunkAddr, Pool};

use super::redirect::Redirect;
use super::*;
use crate::event::{Interest, poll};
use crate::mem::Mapping;
use crate::netlink::{Netlink, VethEnd};
use crate::netns::Netns;

const CHUNK_COUNT: usize = 256;

fn pool() -> Pool {
    Pool::new(Box::new(Mapping::anonymous(CHUNK_COUNT * 2048).unwrap()), 2048).unwrap()
}

/// Runs a check beside two veth pairs `a`-`b` and `c`-`d`, all up; it gets their numbers.
fn beside_veths(check: impl FnOnce([u32; 4]) + Send) {
    let netns = Netns::create().unwrap();
    let mut netlink = Netlink::open_in(&netns).unwrap();
    netlink.create_veth(VethEnd::new("a"), VethEnd::new("b")).unwrap();
    netlink.create_veth(VethEnd::new("c"), VethEnd::new("d")).unwrap();
    let links = ["a", "b", "c", "d"].map(|name| netlink.link(name).unwrap().ifindex);
    for link in links {
        netlink.disable_ipv6_address_generation(link).unwrap();
        netlink.set_up(link, true).unwrap();
    }
    netns.run(|| check(links)).unwrap();
}

fn small() -> XskConfig {
    XskConfig { rx_size: 64, tx_size: 64, fill_size: 64, completion_size: 64, ..XskConfig::default() }
}

fn fill(socket: &mut XskSocket, pool: &mut Pool, count: usize) {
    for _ in 0..count {
        let chunk = pool.alloc().and_then(|frame| pool.submit(frame)).unwrap();
        assert!(socket.fill.push(chunk.0));
    }
    socket.fill.publish();
}

fn send(socket: &mut XskSocket, pool: &mut Pool, payload: &[u8]) {
    let mut frame = pool.alloc().unwrap();
    assert!(frame.extend(&[0xff; 12]) && frame.extend(&[0x88, 0xb5]) && frame.extend(payload));
    let len = frame.len() as u32;
    let addr = pool.submit(frame).unwrap().0;
    assert!(socket.tx.push(Descriptor { addr, len, options: 0 }));
    assert_eq!(socket.tx.publish(), 1);
    while socket.wake_tx() == Wake::TryAgain {}
}

/// Waits for a frame of this test, which all have the local experimental EtherType.
fn receive(socket: &mut XskSocket, pool: &mut Pool) -> Vec<u8> {
    loop {
        let ready = poll(&[(socket.as_fd(), Interest::READ)], Some(Duration::from_secs(5))).unwrap();
        assert_eq!(ready, 1, "nothing came: {:?}", socket.statistics().unwrap());
        let descriptor = socket.rx.pop().unwrap();
        socket.rx.release();
        let frame = pool.receive(ChunkAddr(descriptor.addr), descriptor.len as usize).unwrap();
        let data = frame.data().to_vec();
        let start = frame.start();
        pool.free(frame);
        if data[12..14] == [0x88, 0xb5] {
            assert!((256..=384).contains(&start), "headroom comes first: {start}");
            return data[14..].to_vec();
        }
    }
}

fn reap(socket: &mut XskSocket, pool: &mut Pool) {
    while let Some(addr) = socket.completion.pop() {
        assert!(pool.complete(ChunkAddr(addr)));
    }
    socket.completion.release();
}

#[test]
fn a_frame_crosses_a_veth_pair_and_its_chunk_comes_back() {
    beside_veths(|[a, b, ..]| {
        let (mut near_pool, mut far_pool) = (pool(), pool());
        let (near_umem, far_umem) = (Umem::of_pool(&near_pool), Umem::of_pool(&far_pool));
        let mut near = XskSocket::bind(a, 0, &near_umem, &small()).unwrap();
        let mut far = XskSocket::bind(b, 0, &far_umem, &small()).unwrap();
        assert_eq!(far.mode(), DriverMode::Copy, "veth has no zero-copy");
        let program = Redirect::attach(b).unwrap();
        program.insert(0, far.as_fd()).unwrap();
        fill(&mut far, &mut far_pool, 32);

        send(&mut near, &mut near_pool, &[7; 500]);
        assert_eq!(receive(&mut far, &mut far_pool), [7; 500]);
        reap(&mut near, &mut near_pool);
        assert_eq!(near_pool.free_count(), CHUNK_COUNT);
        assert!(near.syscall_count() >= 1);
    });
}

#[test]
fn sockets_of_one_umem_forward_without_a_copy() {
    beside_veths(|[a, b, c, d]| {
        let (mut ends, mut middle) = (pool(), pool());
        let (ends_umem, middle_umem) = (Umem::of_pool(&ends), Umem::of_pool(&middle));
        let mut source = XskSocket::bind(a, 0, &ends_umem, &small()).unwrap();
        let mut sink = XskSocket::bind(d, 0, &ends_umem, &small()).unwrap();
        let mut entry = XskSocket::bind(b, 0, &middle_umem, &small()).unwrap();
        let mut exit = XskSocket::bind(c, 0, &middle_umem, &small()).unwrap();
        let programs = [(b, &entry), (d, &sink)].map(|(link, socket)| {
            let program = Redirect::attach(link).unwrap();
            program.insert(0, socket.as_fd()).unwrap();
            program
        });
        fill(&mut entry, &mut middle, 8);
        fill(&mut sink, &mut ends, 8);

        send(&mut source, &mut ends, b"through");
        assert_eq!(poll(&[(entry.as_fd(), Interest::READ)], Some(Duration::from_secs(5))).unwrap(), 1);
        let descriptor = entry.rx.pop().unwrap();
        entry.rx.release();
        assert!(exit.tx.push(descriptor));
        exit.tx.publish();
        while exit.wake_tx() == Wake::TryAgain {}
        assert_eq!(receive(&mut sink, &mut ends), b"through");
        reap(&mut exit, &mut middle);
        assert_eq!(middle.free_count(), CHUNK_COUNT - 7);
        drop(programs);
    });
}

#[test]
fn a_umem_outlives_the_socket_that_registered_it() {
    beside_veths(|[a, b, c, ..]| {
        let pool = pool();
        let umem = Umem::of_pool(&pool);
        let first = XskSocket::bind(a, 0, &umem, &small()).unwrap();
        let second = XskSocket::bind(b, 0, &umem, &small()).unwrap();
        drop(first);
        let third = XskSocket::bind(a, 0, &umem, &small()).unwrap();
        drop((second, third));
        XskSocket::bind(c, 0, &umem, &small()).unwrap();
    });
}

#[test]
fn a_frame_without_a_chunk_is_counted() {
    beside_veths(|[a, b, ..]| {
        let mut pool = pool();
        let umem = Umem::of_pool(&pool);
        let mut near = XskSocket::bind(a, 0, &umem, &small()).unwrap();
        let far = XskSocket::bind(b, 0, &umem, &small()).unwrap();
        let program = Redirect::attach(b).unwrap();
        program.insert(0, far.as_fd()).unwrap();
        send(&mut near, &mut pool, b"nowhere to go");
        std::thread::sleep(std::time::Duration::from_millis(50));
        let counted = far.statistics().unwrap();
        assert!(counted.fill_ring_empty > 0 || counted.rx_dropped > 0, "{counted:?}");
    });
}

#[test]
fn busy_polling_carries_frames_too() {
    beside_veths(|[a, b, ..]| {
        let (mut near_pool, mut far_pool) = (pool(), pool());
        let config = XskConfig { busy_poll: Some(BusyPoll { poll_us: 20, budget: 64 }), ..small() };
        let mut near = XskSocket::bind(a, 0, &Umem::of_pool(&near_pool), &small()).unwrap();
        let mut far = XskSocket::bind(b, 0, &Umem::of_pool(&far_pool), &config).unwrap();
        let program = Redirect::attach(b).unwrap();
        program.insert(0, far.as_fd()).unwrap();
        fill(&mut far, &mut far_pool, 8);
        send(&mut near, &mut near_pool, b"polled");
        far.poll_rx();
        assert_eq!(receive(&mut far, &mut far_pool), b"polled");
    });
}

#[test]
fn what_cannot_be_bound_says_why() {
    beside_veths(|[a, b, ..]| {
        let pool = pool();
        let umem = Umem::of_pool(&pool);
        let text = |ifindex, queue, config: &XskConfig| {
            XskSocket::bind(ifindex, queue, &umem, config).map(drop).unwrap_err().to_string()
        };
        let zero_copy = XskConfig { mode: BindMode::ZeroCopy, ..small() };
        assert!(text(a, 0, &zero_copy).contains("use copy mode"), "{}", text(a, 0, &zero_copy));
        assert!(text(a, 9, &small()).contains("have that queue"), "{}", text(a, 9, &small()));
        assert!(text(9999, 0, &small()).contains("no such device"));
        let odd = XskConfig { fill_size: 100, ..small() };
        assert!(text(a, 0, &odd).contains("size the fill ring"));
        let other = Umem::of_pool(&pool);
        let _taken = XskSocket::bind(b, 0, &other, &small()).unwrap();
        assert!(text(b, 0, &small()).contains("another AF_XDP program"), "{}", text(b, 0, &small()));
    });
}
