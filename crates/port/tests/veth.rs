//! Ports on real devices: AF_XDP over veth pairs and TAP, in namespaces that each test makes for itself.
//!
//! ```text
//!   near AF_XDP port == veth a ------ veth b == XDP program -> far AF_XDP port, which echoes
//! ```
#![forbid(unsafe_code)]

use std::time::Instant;

use tidegate_base::Duration;
use tidegate_bpf::{Attachment, LoadOptions, ModeChoice, XdpProgram};
use tidegate_packet::{Batch, Frame, Pool};
use tidegate_port::{AfXdpPort, Port, Push, TapPort};
use tidegate_sys::event::{Interest, poll};
use tidegate_sys::mem::Mapping;
use tidegate_sys::netlink::{Netlink, QueueWatch, VethEnd};
use tidegate_sys::netns::Netns;
use tidegate_sys::packet_socket::PacketSocket;
use tidegate_sys::tap::Tap;
use tidegate_sys::xsk::{BindMode, BusyPoll, Umem, XskConfig};

/// Local experimental EtherType 1 (IEEE 802): what these tests send, and the kernel never.
const ETHERTYPE: [u8; 2] = [0x88, 0xb5];

fn pool(chunk_count: usize) -> Pool {
    Pool::new(Box::new(Mapping::anonymous(chunk_count * 2048).unwrap()), 2048).unwrap()
}

/// A broadcast frame that carries a number, `len` bytes long.
fn numbered(pool: &mut Pool, number: u32, len: usize) -> Frame {
    let mut frame = pool.alloc().unwrap();
    let room = frame.push_back(len).unwrap();
    room.fill(0);
    room[..12].fill(0xff);
    room[12..14].copy_from_slice(&ETHERTYPE);
    room[14..18].copy_from_slice(&number.to_be_bytes());
    frame
}

fn number_of(frame: &Frame) -> Option<u32> {
    let data = frame.data();
    let ours = data.get(12..14)? == ETHERTYPE;
    data.get(14..18).filter(|_| ours).and_then(|bytes| Some(u32::from_be_bytes(bytes.try_into().ok()?)))
}

/// Makes a namespace with the veth pair `a`, `b`, both up, and runs `work` in it with their numbers.
fn beside_veth(queue_count: u32, work: impl FnOnce(u32, u32) + Send) {
    let netns = Netns::create().unwrap();
    let mut netlink = Netlink::open_in(&netns).unwrap();
    let end = |name| VethEnd { queue_count, ..VethEnd::new(name) };
    netlink.create_veth(end("a"), end("b")).unwrap();
    let [a, b] = ["a", "b"].map(|name| {
        let ifindex = netlink.link(name).unwrap().ifindex;
        netlink.disable_ipv6_address_generation(ifindex).unwrap();
        netlink.set_up(ifindex, true).unwrap();
        ifindex
    });
    netns.run(|| work(a, b)).unwrap();
}

/// One end: its pool, its port, and the program that feeds it.
struct End {
    pool: Pool,
    port: AfXdpPort,
    program: XdpProgram,
    _attachment: Attachment,
}

impl End {
    fn open(ifindex: u32, config: &XskConfig, chunk_count: usize) -> End {
        let mut pool = pool(chunk_count);
        let umem = Umem::of_pool(&pool);
        let port = AfXdpPort::open(ifindex, 0, &umem, config, &mut pool).unwrap();
        let program = XdpProgram::load(&LoadOptions::default()).unwrap();
        program.own_device(true).unwrap();
        program.set_xsk(0, port.socket()).unwrap();
        let attachment = program.attach(ifindex, ModeChoice::default()).unwrap();
        End { pool, port, program, _attachment: attachment }
    }

    /// Sends back whatever came.
    fn echo(&mut self) {
        let mut batch = Batch::new();
        self.port.rx(&mut self.pool, &mut batch);
        self.send(&mut batch);
    }

    fn send(&mut self, batch: &mut Batch) {
        self.port.tx(&mut self.pool, batch);
        batch.drain().for_each(|frame| self.pool.free(frame));
        self.port.flush(&mut self.pool);
    }

    /// The numbers of the test's frames that have come.
    fn numbers(&mut self) -> Vec<u32> {
        let mut batch = Batch::new();
        self.port.rx(&mut self.pool, &mut batch);
        let numbers = batch.iter().filter_map(number_of).collect();
        batch.drain().for_each(|frame| self.pool.free(frame));
        numbers
    }
}

fn drop_count_of(end: &End) -> u64 {
    end.port.counters().rx_drop_count
}

fn wait(port: &impl Port) {
    let ready = poll(&[(port.wait_fd().unwrap(), Interest::READ)], Some(Duration::from_secs(5))).unwrap();
    assert_eq!(ready, 1, "nothing came in 5 s: {:?}", port.counters());
}

/// Sends `count` frames in batches of 32 to an echoing end and takes each back, in order.
fn round_trips(near: &mut End, far: &mut End, count: u32, len: usize) {
    let (mut sent, mut seen) = (0, 0);
    while seen < count {
        let mut batch = Batch::new();
        let room = near.port.tx_room(&mut near.pool).min(batch.room()) as u32;
        // What is under way is kept below what the far end has chunks for.
        for _ in 0..room.min(count - sent).min(64 - (sent - seen).min(64)) {
            batch.push(numbered(&mut near.pool, sent, len)).unwrap();
            sent += 1;
        }
        near.send(&mut batch);
        far.echo();
        for number in near.numbers() {
            assert_eq!(number, seen, "order");
            seen += 1;
        }
    }
}

#[test]
fn af_xdp_ports_echo_ten_thousand_frames_in_order() {
    beside_veth(1, |a, b| {
        let config = XskConfig::default();
        let (mut near, mut far) = (End::open(a, &config, 1024), End::open(b, &config, 1024));
        round_trips(&mut near, &mut far, 10_000, 60);
        let counters = near.port.counters();
        assert_eq!((counters.tx_packet_count, counters.rx_packet_count), (10_000, 10_000));
        assert_eq!((counters.tx_byte_count, counters.rx_byte_count), (600_000, 600_000));
        assert_eq!((counters.rx_drop_count, counters.tx_drop_count), (0, 0));
        assert!(counters.syscall_count < 10_000 / 8, "batches share system calls: {counters:?}");
    });
}

#[test]
fn full_sized_frames_cross_and_larger_ones_are_counted() {
    beside_veth(1, |a, b| {
        let config = XskConfig::default();
        let (mut near, mut far) = (End::open(a, &config, 512), End::open(b, &config, 512));
        assert_eq!(near.port.frame_len_max(), 1518);
        round_trips(&mut near, &mut far, 300, 1518);
        let mut batch = Batch::new();
        batch.push(numbered(&mut near.pool, 0, 1519)).unwrap();
        near.send(&mut batch);
        assert_eq!(near.port.counters().tx_drop_count, 1);
    });
}

#[test]
fn no_chunk_is_lost_over_many_rounds() {
    beside_veth(1, |a, b| {
        let config = XskConfig {
            rx_size: 64,
            tx_size: 64,
            fill_size: 64,
            completion_size: 64,
            ..XskConfig::default()
        };
        let (mut near, mut far) = (End::open(a, &config, 256), End::open(b, &config, 256));
        round_trips(&mut near, &mut far, 5_000, 200);
        for end in [&mut near, &mut far] {
            while end.pool.occupancy().submitted_count > 64 {
                end.port.tx_room(&mut end.pool);
            }
            let occupancy = end.pool.occupancy();
            assert_eq!((occupancy.held_count, occupancy.free_count + occupancy.submitted_count), (0, 256));
        }
    });
}

#[test]
fn a_frame_that_finds_no_chunk_is_dropped_once() {
    const SENT_COUNT: u64 = 100;
    beside_veth(1, |a, b| {
        let config = XskConfig { mode: BindMode::Copy, fill_size: 64, ..XskConfig::default() };
        let (mut near, mut far) = (End::open(a, &config, 512), End::open(b, &config, 512));
        for number in 0..SENT_COUNT as u32 {
            let mut batch = Batch::new();
            batch.push(numbered(&mut near.pool, number, 60)).unwrap();
            near.send(&mut batch);
        }
        until("what finds no chunk is dropped", || drop_count_of(&far) >= SENT_COUNT - 64);
        let mut seen = 0;
        while seen + drop_count_of(&far) < SENT_COUNT {
            seen += far.numbers().len() as u64;
        }
        assert_eq!((seen, drop_count_of(&far)), (64, SENT_COUNT - 64));
    });
}

#[test]
fn ports_that_share_a_pool_leave_frames_to_send() {
    beside_veth(4, |a, _| {
        let mut pool = pool(256);
        let umem = Umem::of_pool(&pool);
        let config = XskConfig::default();
        let ports = [0, 1, 2, 3].map(|queue| AfXdpPort::open(a, queue, &umem, &config, &mut pool).unwrap());
        assert_eq!(pool.free_count(), 256 / 8, "an eighth of the pool");
        drop(ports);
    });
}

#[test]
fn the_whole_ring_is_room_again_once_all_was_sent() {
    beside_veth(1, |a, b| {
        let config = XskConfig { tx_size: 64, ..XskConfig::default() };
        let (mut near, mut far) = (End::open(a, &config, 256), End::open(b, &config, 256));
        for _ in 0..16 {
            round_trips(&mut near, &mut far, 2, 60);
        }
        let start = Instant::now();
        while near.port.tx_room(&mut near.pool) < 64 {
            assert!(start.elapsed() < Duration::from_secs(60).into(), "room does not come back");
        }
    });
}

#[test]
fn retained_frames_come_back_to_their_store() {
    beside_veth(1, |a, b| {
        let config = XskConfig::default();
        let (mut near, mut far) = (End::open(a, &config, 256), End::open(b, &config, 256));
        let frame = numbered(&mut near.pool, 7, 100);
        let kept = near.pool.retain(frame).unwrap();
        for _ in 0..20 {
            let mut batch = Batch::new();
            let ready = loop {
                match near.pool.lend(&kept) {
                    Some(frame) => break frame,
                    None => drop(near.port.tx_room(&mut near.pool)),
                }
            };
            batch.push(ready).unwrap();
            near.send(&mut batch);
            wait(&far.port);
            assert_eq!(far.numbers(), [7]);
        }
        near.pool.release(kept);
    });
}

#[test]
fn a_port_forwards_what_another_of_its_pool_received() {
    beside_veth(1, |a, b| {
        let netns = Netns::current().unwrap();
        let mut netlink = Netlink::open_in(&netns).unwrap();
        netlink.create_veth(VethEnd::new("c"), VethEnd::new("d")).unwrap();
        let [c, d] = ["c", "d"].map(|name| {
            let ifindex = netlink.link(name).unwrap().ifindex;
            netlink.set_up(ifindex, true).unwrap();
            ifindex
        });
        let config = XskConfig::default();
        let (mut near, mut far) = (End::open(a, &config, 256), End::open(d, &config, 256));
        let mut middle = pool(512);
        let umem = Umem::of_pool(&middle);
        let mut entry = AfXdpPort::open(b, 0, &umem, &config, &mut middle).unwrap();
        let mut exit = AfXdpPort::open(c, 0, &umem, &config, &mut middle).unwrap();
        near.program.unset_xsk(0).unwrap();
        let program = XdpProgram::load(&LoadOptions::default()).unwrap();
        program.own_device(true).unwrap();
        program.set_xsk(0, entry.socket()).unwrap();
        let _attachment = program.attach(b, ModeChoice::default()).unwrap();
        let mut seen = Vec::new();
        for number in 0..100 {
            let mut batch = Batch::new();
            batch.push(numbered(&mut near.pool, number, 64)).unwrap();
            near.send(&mut batch);
            wait(&entry);
            entry.rx(&mut middle, &mut batch);
            exit.tx(&mut middle, &mut batch);
            exit.flush(&mut middle);
            wait(&far.port);
            seen.extend(far.numbers());
        }
        assert_eq!(seen, (0..100).collect::<Vec<_>>());
    });
}

/// Tries until it is so; a test that would wait for ever fails.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = std::time::Instant::now();
    while !is_so() {
        assert!(start.elapsed() < std::time::Duration::from_secs(60), "{what}");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

#[test]
fn a_queue_says_when_its_driver_has_let_go() {
    beside_veth(2, |a, _| {
        let mut watches = [0, 1].map(|queue| QueueWatch::open(a, queue).unwrap());
        let mut netlink = Netlink::open().unwrap();
        for _ in 0..20 {
            let mut pool = pool(64);
            let umem = Umem::of_pool(&pool);
            let port = AfXdpPort::open(a, 1, &umem, &XskConfig::default(), &mut pool).unwrap();
            assert_eq!(watches.each_mut().map(QueueWatch::is_tied), [Some(false), Some(true)]);
            drop(port);
            until("the queue stays tied", || watches[1].is_tied() == Some(false));
        }
        netlink.set_up(a, false).unwrap();
        assert_eq!(watches[0].is_tied(), None, "nobody says of a device that is down");
        netlink.delete_link(a).unwrap();
        assert_eq!(watches[0].is_tied(), Some(false), "a device that is gone has let go");
    });
}

/// Frames are on their way in and out, some are held, others wait to be cut: all come back when the port leaves.
#[test]
fn a_port_that_is_closed_leaves_no_chunk_behind() {
    beside_veth(1, |a, b| {
        let config = XskConfig::default();
        let mut far = End::open(b, &config, 256);
        for round in 0..20 {
            let mut near = End::open(a, &config, 256);
            near.port.send_bulk_through(PacketSocket::open(a, 1 << 16).unwrap(), Push::Kept);
            for number in 0..64 {
                let mut batch = Batch::new();
                batch.push(numbered(&mut far.pool, number, 64)).unwrap();
                far.send(&mut batch);
            }
            wait(&near.port);
            let mut held = Batch::with_len_max(1 + round);
            near.port.rx(&mut near.pool, &mut held);
            let mut out = Batch::new();
            for number in 0..8 {
                let mut frame = numbered(&mut near.pool, number, 60);
                if number % 2 == 0 {
                    let bytes: tidegate_packet::SharedBytes = std::sync::Arc::new([0_u8; 100]);
                    frame.append(tidegate_packet::Tail::new(bytes, 0..100).unwrap());
                }
                out.push(frame).unwrap();
            }
            // Half on the ring, half waiting for their socket; neither is told to go.
            near.port.tx(&mut near.pool, &mut out);
            let End { mut pool, mut port, program, _attachment } = near;
            port.release(&mut pool);
            assert_eq!(pool.occupancy().held_count, held.len());
            drop((program, _attachment));
            for chunk in Box::new(port).close() {
                pool.complete(chunk);
            }
            assert_eq!((pool.occupancy().submitted_count, pool.free_count()), (0, 256 - held.len()));
            pool.free_batch(&mut held);
            assert_eq!(pool.free_count(), 256);
        }
    });
}

#[test]
fn two_queues_share_one_pool() {
    beside_veth(2, |a, _| {
        let mut pool = pool(256);
        let umem = Umem::of_pool(&pool);
        let config = XskConfig::default();
        let ports = [0, 1].map(|queue| AfXdpPort::open(a, queue, &umem, &config, &mut pool).unwrap());
        let filled = pool.occupancy().submitted_count;
        assert_eq!(filled, 128, "a quarter of the pool each");
        drop(ports);
    });
}

#[test]
fn busy_polling_and_always_waking_carry_frames_too() {
    let polled = XskConfig { busy_poll: Some(BusyPoll { poll_us: 20, budget: 64 }), ..XskConfig::default() };
    let always = XskConfig { need_wakeup: false, ..XskConfig::default() };
    for config in [polled, always] {
        beside_veth(1, move |a, b| {
            let (mut near, mut far) = (End::open(a, &config, 512), End::open(b, &config, 512));
            round_trips(&mut near, &mut far, 1_000, 60);
        });
    }
}

#[test]
fn a_device_that_went_away_stops_nothing() {
    beside_veth(1, |a, b| {
        let config = XskConfig::default();
        let (mut near, mut far) = (End::open(a, &config, 256), End::open(b, &config, 256));
        round_trips(&mut near, &mut far, 100, 60);
        Netlink::open().unwrap().delete_link(a).unwrap();
        for number in 0..1000 {
            let mut batch = Batch::new();
            batch.push(numbered(&mut near.pool, number, 60)).unwrap();
            near.send(&mut batch);
            assert_eq!(near.numbers(), [0_u32; 0]);
            far.echo();
        }
        assert!(near.port.counters().tx_drop_count > 990, "{:?}", near.port.counters());
    });
}

#[test]
fn a_device_that_was_down_carries_frames_again() {
    beside_veth(1, |a, b| {
        let config = XskConfig::default();
        let (mut near, mut far) = (End::open(a, &config, 256), End::open(b, &config, 256));
        let mut netlink = Netlink::open().unwrap();
        netlink.set_up(a, false).unwrap();
        let mut batch = Batch::new();
        batch.push(numbered(&mut near.pool, 0, 60)).unwrap();
        near.send(&mut batch);
        netlink.set_up(a, true).unwrap();
        near.send(&mut batch);
        wait(&far.port);
        assert_eq!(far.numbers(), [0], "what waited on the ring is sent when the device is back");
        round_trips(&mut near, &mut far, 100, 60);
    });
}

#[test]
fn the_kernel_answers_arp_over_tap() {
    let netns = Netns::create().unwrap();
    netns.run(arp_over_tap).unwrap();
}

/// Asks the kernel who has 10.0.0.1, which it answers.
fn arp_over_tap() {
    let mut port = TapPort::new(Tap::open("tap0").unwrap(), 1518);
    let mut netlink = Netlink::open().unwrap();
    let ifindex = netlink.link("tap0").unwrap().ifindex;
    netlink.set_up(ifindex, true).unwrap();
    let address = tidegate_sys::netlink::Address { ip: "10.0.0.1".parse().unwrap(), prefix_len: 24 };
    netlink.add_address(ifindex, address).unwrap();
    let mut pool = pool(64);
    let mut request = pool.alloc().unwrap();
    let mac = [2, 0, 0, 0, 0, 9];
    // RFC 826: Ethernet, IPv4, request; sender 10.0.0.9, target 10.0.0.1.
    for part in
        [&[0xff; 6][..], &mac, &[8, 6, 0, 1, 8, 0, 6, 4, 0, 1], &mac, &[10, 0, 0, 9], &[0; 6], &[10, 0, 0, 1]]
    {
        assert!(request.extend(part));
    }
    let mut batch = Batch::new();
    batch.push(request).unwrap();
    port.tx(&mut pool, &mut batch);
    let reply = loop {
        wait(&port);
        port.rx(&mut pool, &mut batch);
        let found = batch.drain().find(|frame| frame.data()[..6] == mac);
        if let Some(frame) = found {
            break frame;
        }
    };
    assert_eq!(reply.data()[12..14], [8, 6]);
    assert_eq!(reply.data()[28..32], [10, 0, 0, 1]);
    assert_eq!(port.counters().tx_packet_count, 1);
}
