//! Against the kernel's own TCP on the device's other side.
use super::*;
use crate::Port;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::thread;
use tidegate_packet::HeapMemory;
use tidegate_sys::netlink::{Address, Netlink};
use tidegate_sys::netns::Netns;

const MTU: u32 = 1500;
const STREAM_LEN: usize = 8 << 20;

fn pool() -> Pool {
    Pool::new(Box::new(HeapMemory::new(256 * 2048)), 2048).unwrap()
}

/// A TAP device in a namespace of its own, with an address, and a port on it.
fn end(host: u8) -> (Netns, BulkTapPort) {
    let netns = Netns::create().unwrap();
    let port = netns.run(move || {
        let tap = BulkTap::open("tap%d").unwrap();
        let mut netlink = Netlink::open().unwrap();
        let ifindex = netlink.link(tap.name()).unwrap().ifindex;
        netlink.set_up(ifindex, true).unwrap();
        let ip = IpAddr::from(Ipv4Addr::new(10, 9, 0, host));
        netlink.add_address(ifindex, Address { ip, prefix_len: 24 }).unwrap();
        BulkTapPort::new(tap, MTU as usize + 18)
    });
    (netns, port.unwrap())
}

#[test]
fn a_stream_crosses_in_large_frames_and_no_checksum_fails() {
    let ((near, mut left), (far, mut right)) = (end(1), end(2));
    let server = far.run(|| TcpListener::bind("10.9.0.2:7").unwrap()).unwrap();
    let serving = thread::spawn(move || {
        let mut received = Vec::new();
        server.accept().unwrap().0.read_to_end(&mut received).unwrap();
        received
    });
    let sent: Vec<u8> = (0..STREAM_LEN).map(|n| (n / 7) as u8).collect();
    let text = sent.clone();
    let sending = thread::spawn(move || {
        near.run(|| TcpStream::connect("10.9.0.2:7").unwrap().write_all(&text).unwrap()).unwrap();
    });
    let (mut pool, mut batch) = (pool(), Batch::new());
    let mut large_count = 0;
    while !serving.is_finished() {
        left.rx(&mut pool, &mut batch);
        large_count += batch.iter().filter(|frame| frame.len_with_tail() > 30_000).count();
        right.tx(&mut pool, &mut batch);
        pool.free_batch(&mut batch);
        right.rx(&mut pool, &mut batch);
        left.tx(&mut pool, &mut batch);
        pool.free_batch(&mut batch);
    }
    sending.join().unwrap();
    assert_eq!(serving.join().unwrap(), sent);
    assert!(large_count > 20, "{large_count} large frames");
    assert_eq!(left.counters().rx_drop_count, 0);
    assert!(left.counters().rx_packet_count < (STREAM_LEN / 1448) as u64 / 4, "it was cut");
}

#[test]
fn checksums_are_finished_over_both_pieces() {
    let bytes: Vec<u8> = (0..101u8).map(|n| n.wrapping_mul(3)).collect();
    let mut whole = bytes.clone();
    write_checksum(&mut whole, &[], 10, 6).unwrap();
    for split in [50, 51] {
        let mut data = bytes[..split].to_vec();
        write_checksum(&mut data, &bytes[split..], 10, 6).unwrap();
        assert_eq!(data[16..18], whole[16..18]);
    }
    assert_eq!(write_checksum(&mut [0; 10], &[], 9, 4), None);
    assert_eq!(write_checksum(&mut [0; 10], &[], 11, 0), None);
}
