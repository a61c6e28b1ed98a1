//! A stack that sends what it may not, and a peer that is no memif: nothing foreign is on the wire, all of it is counted under its
//! rule, and a neighbour goes on.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use tidegate_base::Rng;
use tidegate_bpf::Tuple;
use tidegate_mux::registry::Grade;
use tidegate_sys::device_socket::DeviceSocket;
use tidegate_sys::local_socket::connect;
use tidegate_sys::netlink::Netlink;
use tidegate_sys::seqpacket::Channel;
use tidegate_testbed::Side;
use tidegate_wire::MacAddr;
use tidegate_wire::egress::{Claim, Claims, EgressRules, EgressVerdict, Source, Transport, check};

use crate::frames::{datagram, golden};
use crate::world::{End, PATIENCE, World};

/// Seconds that it goes on; 60 are asked for in a long run.
fn span() -> Duration {
    let seconds = env::var("TIDEGATE_TEST_HOSTILE_SECONDS").map_or(2, |text| text.parse().expect("a number"));
    Duration::from_secs(seconds)
}

fn server(port: u16) -> (IpAddr, u16) {
    (Side::Server.ipv4().into(), port)
}

/// What the hostile stack has.
fn tuples() -> [Tuple; 3] {
    let (address, port) = server(9000);
    [
        Tuple::tcp(address, port),
        Tuple::udp(Side::Server.ipv6().into(), 9053),
        Tuple::tcp("0.0.0.0".parse().expect("an address"), 9100),
    ]
}

struct Own;

impl Claims for Own {
    fn claim(&self, source: &Source) -> Option<Claim> {
        let tuple = match source.transport {
            Transport::Tcp => Tuple::tcp(source.address, source.port),
            Transport::Udp => Tuple::udp(source.address, source.port),
        };
        // A tuple takes IPv4-mapped addresses for IPv4 ones, which they are not on the wire.
        let is_mapped = source.address.to_canonical() != source.address;
        (!is_mapped && tuples().contains(&tuple)).then_some(Claim::Own)
    }

    fn is_local(&self, address: IpAddr) -> bool {
        address == server(0).0 || address == IpAddr::from(Side::Server.ipv6())
    }
}

fn verdict(frame: &[u8]) -> EgressVerdict {
    check(frame, &EgressRules { mac: MacAddr(Side::Server.mac()), mtu: 1500 }, &Own)
}

/// What comes out on the wire.
struct Wire(DeviceSocket);

impl Wire {
    fn of(world: &World) -> Self {
        let opened = world.bed.client().run(|| {
            let ifindex = Netlink::open().expect("rtnetlink").link("client0").expect("it is there").ifindex;
            DeviceSocket::open(ifindex)
        });
        Self(opened.expect("root enters namespaces").expect("the device is there"))
    }

    /// The frames of the server's since the last look.
    fn take(&self) -> Vec<Vec<u8>> {
        let (mut frames, mut buffer) = (Vec::new(), [0; 4096]);
        while let Some(received) = self.0.try_receive(&mut buffer).expect("the wire is up") {
            frames.push(buffer[..received.len].to_vec());
        }
        frames.retain(|frame| frame.get(6..12).is_some_and(|mac| mac == Side::Server.mac()));
        frames
    }
}

/// A stack's frames: those of the table as they are, then changed at random.
struct Fuzzer {
    table: Vec<Vec<u8>>,
    rng: Rng,
}

impl Fuzzer {
    fn batch(&mut self, round: usize) -> Vec<Vec<u8>> {
        if round == 0 {
            return self.table.clone();
        }
        (0..32).map(|_| self.frame()).collect()
    }

    fn frame(&mut self) -> Vec<u8> {
        let mut frame = self.table[self.rng.below(self.table.len() as u64) as usize].clone();
        for _ in 0..self.rng.below(4) {
            let at = self.rng.below(frame.len() as u64) as usize;
            frame[at] = self.rng.next_u32() as u8;
        }
        if self.rng.below(8) == 0 {
            frame.truncate(1 + self.rng.below(frame.len() as u64 - 1) as usize);
        }
        frame
    }
}

#[test]
fn nothing_foreign_gets_out_and_the_neighbour_lives() {
    let world = World::new();
    let neighbour = world.echo(Grade::Memif, 7001, "neighbour");
    world.await_answer(7001, "neighbour");
    let wire = Wire::of(&world);
    let attachment = world.attach(Grade::Memif);
    let mut end = End::unbounded(&attachment);
    tuples().into_iter().for_each(|tuple| attachment.bind(tuple).expect("free"));
    // Frames of its neighbour's, and of the host's SSH, are in the table's spirit and not in it.
    let mut table = golden();
    table.extend([datagram(7001, 40_000, b"not mine"), datagram(22, 40_000, b"not mine")]);
    let mut fuzzer = Fuzzer { table, rng: Rng::new(0x7469_6465) };

    let mut wanted: BTreeMap<&str, u64> = BTreeMap::new();
    let mut refused: BTreeSet<Vec<u8>> = BTreeSet::new();
    let (mut passed, mut seen) = (0, 0);
    let (start, mut round) = (Instant::now(), 0);
    while round == 0 || start.elapsed() < span() {
        let frames = fuzzer.batch(round);
        for frame in &frames {
            let verdict = verdict(frame);
            *wanted.entry(verdict.name()).or_default() += 1;
            match verdict {
                EgressVerdict::Sent => passed += 1,
                _ => drop(refused.insert(frame.clone())),
            }
        }
        end.send_all(&frames);
        let deadline = Instant::now() + PATIENCE;
        while seen < passed {
            for frame in wire.take() {
                seen += u64::from(verdict(&frame) == EgressVerdict::Sent);
                assert!(!refused.contains(&frame), "on the wire: {frame:02x?}");
            }
            assert!(Instant::now() < deadline, "{seen} of {passed} own frames came out");
        }
        if round % 64 == 0 {
            world.await_answer(7001, "neighbour");
        }
        round += 1;
    }
    world.await_answer(7001, "neighbour");
    assert!(wire.take().iter().all(|frame| !refused.contains(frame)));

    let counted = world.counted(attachment.place().slot);
    let sent = wanted.remove(EgressVerdict::Sent.name()).unwrap_or(0);
    assert_eq!((counted.from_packets, seen), (sent, sent));
    let dropped: BTreeMap<&str, u64> =
        counted.from_drops.iter().map(|drop| (drop.reason.as_str(), drop.packets)).collect();
    eprintln!("{round} rounds: {sent} sent, dropped: {dropped:?}");
    assert_eq!(dropped, wanted);
    // The table has a frame for each rule; a rate is not set.
    assert_eq!(dropped.len(), EgressVerdict::ALL.len() - 2, "{dropped:?}");
    assert_eq!(world.counted(neighbour.slot()).from_drops, []);
}

#[test]
fn who_is_no_memif_harms_nobody() {
    let world = World::new();
    let neighbour = world.echo(Grade::Memif, 7001, "neighbour");
    let attachment = world.attach(Grade::Memif);
    let mut rng = Rng::new(7);
    for _ in 0..100 {
        let Ok(channel) = connect::<Channel>(&attachment.place().path) else { continue };
        let mut message = [0; 128];
        message.fill_with(|| rng.next_u32() as u8);
        message[..2].copy_from_slice(&(rng.below(10) as u16).to_le_bytes());
        let _ = channel.try_send(&message);
    }
    world.await_answer(7001, "neighbour");
    // It is still there for one that is.
    let mut attachment = attachment;
    let end = End::open(&mut attachment);
    drop(end);
    // A second client of a memif is sent away, and the first one stays.
    let intruder = connect::<Channel>(&neighbour.attachment.place().path);
    world.await_answer(7001, "neighbour");
    drop(intruder);
}
