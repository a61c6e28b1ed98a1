//! A stack that does its worst: senseless descriptors on its rings, frames changed at random. Nothing that is not its own gets
//! out, and its neighbour goes on.

use std::env;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use tidegate_base::Rng;
use tidegate_bpf::{Steering, Tuple, WayOut, XdpProgram};
use tidegate_packet::{ChunkAddr, Pool};
use tidegate_sys::mem::Mapping;
use tidegate_sys::xsk::{Descriptor, Umem, XskConfig, XskSocket};
use tidegate_wire::MacAddr;
use tidegate_wire::egress::{Claim, Claims, EgressRules, EgressVerdict, Source, Transport, check};

use crate::world::{QUIET, Wire, World, all_golden, port_of, segment_from, segment_to};

const HOSTILE: u32 = 3;
const NEIGHBOUR: u32 = 4;
const CHUNK_COUNT: usize = 256;
const CHUNK_LEN: usize = 2048;
const UMEM_LEN: u64 = (CHUNK_COUNT * CHUNK_LEN) as u64;

/// Seconds that it goes on; 60 are asked for in a long run.
fn span() -> Duration {
    let seconds = env::var("TIDEGATE_TEST_HOSTILE_SECONDS").map_or(2, |text| text.parse().expect("a number"));
    Duration::from_secs(seconds)
}

/// What the hostile stack has: the tuples that the golden frames take it to have, and its port of this rig.
struct Own;

impl Claims for Own {
    fn claim(&self, source: &Source) -> Option<Claim> {
        let Source { transport, address, port } = *source;
        let own = match transport {
            Transport::Tcp if address.is_unspecified() => address.is_ipv4() && port == 9100,
            Transport::Tcp => is_v4(source) && (port == 9000 || port == port_of(HOSTILE)),
            Transport::Udp => {
                address == "2001:db8::1".parse::<std::net::IpAddr>().expect("an address") && port == 9053
            }
        };
        own.then_some(Claim::Own)
    }

    fn is_local(&self, address: std::net::IpAddr) -> bool {
        address == std::net::IpAddr::from([192, 0, 2, 1])
    }
}

fn is_v4(source: &Source) -> bool {
    source.address == std::net::IpAddr::from([192, 0, 2, 1])
}

fn rules() -> EgressRules {
    EgressRules { mac: MacAddr([2, 0, 0, 0, 0, 1]), mtu: 1500 }
}

/// The rings and the memory of a stack that keeps no promise.
struct Fuzzer {
    socket: XskSocket,
    pool: Pool,
    /// Where frames lie, and how long they are.
    chunks: Vec<(ChunkAddr, u32)>,
    golden: Vec<Vec<u8>>,
    rng: Rng,
}

impl Fuzzer {
    fn new(socket: OwnedFd, seed: u64) -> Self {
        let memory = Mapping::anonymous(CHUNK_COUNT * CHUNK_LEN).expect("memory for a few frames");
        let pool = Pool::new(Box::new(memory), CHUNK_LEN).expect("whole chunks");
        let config = XskConfig {
            rx_size: 64,
            tx_size: 256,
            fill_size: 64,
            completion_size: 256,
            ..Default::default()
        };
        let ifindex = XdpProgram::stack_end_ifindex(HOSTILE);
        let socket = XskSocket::bind_opened(socket, ifindex, 0, &Umem::of_pool(&pool), &config);
        let socket = socket.unwrap_or_else(|error| panic!("{error}"));
        let golden = all_golden().into_iter().filter(|frame| frame.len() < 256).collect();
        Self { socket, pool, chunks: Vec::new(), golden, rng: Rng::new(seed) }
    }

    /// A frame of the table, as it is or with a few bytes changed.
    fn frame(&mut self) -> Vec<u8> {
        let at = self.below(self.golden.len());
        let mut frame = self.golden[at].clone();
        for _ in 0..self.below(4) {
            let at = self.below(frame.len());
            frame[at] = self.rng.next_u32() as u8;
        }
        frame
    }

    /// Fills the memory anew. The kernel may have chunks of it: that is the stack's own harm.
    fn rewrite(&mut self) {
        for (chunk, _) in self.chunks.drain(..) {
            assert!(self.pool.complete(chunk), "it was submitted");
        }
        while let Some(mut out) = self.pool.alloc() {
            let frame = self.frame();
            out.push_back(frame.len()).expect("a chunk holds a frame").copy_from_slice(&frame);
            self.chunks.extend(self.pool.submit(out).map(|chunk| (chunk, frame.len() as u32)));
        }
    }

    /// A descriptor that may name a frame, a part of one, two chunks, or nothing at all, or be the first of several buffers. One
    /// that asks for metadata (option 2) that the memory has no room for is not among them: the kernel takes nothing more
    /// from such a ring, not even that.
    fn descriptor(&mut self) -> Descriptor {
        let at = self.below(self.chunks.len());
        let (ChunkAddr(addr), len) = self.chunks[at];
        match self.below(8) {
            0 => Descriptor {
                addr: self.rng.next_u64(),
                len: self.rng.next_u32(),
                options: self.rng.next_u32(),
            },
            1 => Descriptor { addr: self.rng.next_u64() % UMEM_LEN, len, options: 0 },
            2 => Descriptor { addr, len: self.below(4096) as u32, options: self.below(2) as u32 },
            3 => Descriptor { addr: addr.wrapping_sub(self.rng.below(64)), len, options: 0 },
            _ => Descriptor { addr, len, options: 0 },
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.rng.below(bound as u64) as usize
    }

    fn round(&mut self) {
        self.rewrite();
        for _ in 0..self.socket.tx.room(64).min(64) {
            let descriptor = self.descriptor();
            self.socket.tx.push(descriptor);
        }
        self.socket.tx.publish();
        for _ in 0..self.socket.fill.room(8).min(8) {
            let addr = self.rng.next_u64() % (2 * UMEM_LEN);
            self.socket.fill.push(addr);
        }
        self.socket.fill.publish();
        self.socket.wake_tx();
        while self.socket.completion.pop().is_some() {}
        self.socket.completion.release();
        while self.socket.rx.pop().is_some() {}
        self.socket.rx.release();
    }
}

/// Takes what is on the wire; all of it must be the hostile stack's own, or a segment of its neighbour.
fn inspect(wire: &Wire, neighbours: &mut u64) -> u64 {
    let mut count = 0;
    while let Some(frame) = wire.receive(tidegate_base::Duration::ZERO) {
        count += 1;
        if frame == segment_from(NEIGHBOUR) {
            *neighbours += 1;
        } else {
            assert_eq!(check(&frame, &rules(), &Own), EgressVerdict::Sent, "on the wire: {frame:02x?}");
        }
    }
    count
}

fn nothing_foreign_gets_out(way_out: WayOut) {
    let world = World::new(way_out);
    let wire = world.wire();
    let (hostile, socket) = world.create(HOSTILE);
    let address = |text: &str| text.parse().expect("an address");
    let more = [
        Tuple::tcp(address("192.0.2.1"), 9000),
        Tuple::udp(address("2001:db8::1"), 9053),
        Tuple::tcp(address("0.0.0.0"), 9100),
    ];
    for tuple in more {
        world.program.register(tuple, Steering::Device { slot: HOSTILE }).expect("a new tuple");
    }
    hostile.await_running().expect("a veth has carrier");
    let (neighbour, mut stack) = world.attach(NEIGHBOUR);
    let mut fuzzer = Fuzzer::new(socket, 0x7469_6465);

    let start = Instant::now();
    let (mut seen, mut seen_neighbours, mut sent_neighbours, mut received) = (0, 0, 0, 0);
    while start.elapsed() < span() {
        fuzzer.round();
        wire.send(&segment_to(HOSTILE));
        wire.send(&segment_to(NEIGHBOUR));
        stack.send(&segment_from(NEIGHBOUR));
        sent_neighbours += 1;
        while let Some(frame) = stack.receive(tidegate_base::Duration::ZERO) {
            assert_eq!(frame, segment_to(NEIGHBOUR));
            received += 1;
        }
        seen += inspect(&wire, &mut seen_neighbours);
    }
    while let Some(frame) = stack.receive(QUIET) {
        assert_eq!(frame, segment_to(NEIGHBOUR));
        received += 1;
    }
    seen += inspect(&wire, &mut seen_neighbours);

    let (of_hostile, of_neighbour) =
        (hostile.counters().expect("counters"), neighbour.counters().expect("counters"));
    let passed = of_hostile.from_frames(EgressVerdict::Sent);
    eprintln!(
        "{way_out:?}: {passed} passed, {} dropped; {sent_neighbours} of a neighbour",
        of_hostile.dropped_frames()
    );
    for (verdict, frames) in of_hostile.iter() {
        eprintln!("  {:20} {frames}", verdict.name());
    }
    assert!(passed > 0 && of_hostile.dropped_frames() > passed, "{of_hostile:?}");
    assert_eq!(of_neighbour.dropped_frames(), 0);
    assert_eq!((seen_neighbours, received), (sent_neighbours, sent_neighbours), "the neighbour lost nothing");
    assert_eq!(seen, passed + sent_neighbours, "each frame on the wire was let through, and seen");
    assert_eq!(world.wire_rx_count(), seen);
}

#[test]
fn nothing_foreign_gets_out_as_packets() {
    nothing_foreign_gets_out(WayOut::Packet);
}

#[test]
fn nothing_foreign_gets_out_by_xdp() {
    nothing_foreign_gets_out(WayOut::Xdp);
}
