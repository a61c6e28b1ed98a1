//! Our TCP against smoltcp's, over a path that loses and delays: streams both ways, each side opening.

mod peer;

use peer::{Peer, Role};
use tidegate_base::{Duration, Instant, Rng};
use tidegate_tcp::{Arrival, Config, Connection, Outcome, State};
use tidegate_wire::{IpRepr, Protocol, TcpPacket, TcpRepr};

const SEED_COUNT: u64 = 60;
const DELAY: Duration = Duration::from_millis(5);
const TIME_MAX: Duration = Duration::from_secs(3600);

/// The byte at `offset` of either stream.
fn stream_byte(offset: usize) -> u8 {
    (offset.wrapping_mul(0x9e37_79b1) >> 13) as u8
}

/// Our end.
struct Ours {
    config: Config,
    connection: Option<Connection>,
    received: usize,
    len: usize,
    established: bool,
    ended: bool,
}

impl Ours {
    fn new(config: Config, len: usize) -> Self {
        Self { config, connection: None, received: 0, len, established: false, ended: false }
    }

    fn on_packet(&mut self, now: Instant, bytes: &[u8]) {
        let Ok((ip, payload)) = IpRepr::parse(bytes) else { panic!("not IP") };
        let Ok(tcp) = TcpPacket::parse(payload) else { panic!("not TCP") };
        assert!(tcp.checksum_ok(&ip));
        let repr = tcp.repr();
        if self.connection.is_none() && repr.flags == tidegate_wire::TcpFlags::SYN {
            self.connection =
                Some(Connection::accept(now, &self.config, &repr, tidegate_base::SeqNumber(77)));
            return;
        }
        let Some(connection) = &mut self.connection else { return };
        let before = self.received;
        let received = &mut self.received;
        let arrival = Arrival { repr: &repr, payload: tcp.payload(), ecn: ip.ecn };
        let outcome = connection.on_segment(now, &self.config, &arrival, &mut |bytes| {
            for byte in bytes {
                assert_eq!(*byte, stream_byte(*received));
                *received += 1;
            }
        });
        connection.consumed(&self.config, (self.received - before) as u32);
        connection.check_invariants(&self.config);
        self.note(&outcome);
    }

    fn note(&mut self, outcome: &Outcome) {
        if outcome.established {
            self.established = true;
            if let Some(connection) = &mut self.connection {
                connection.offer(self.len as u64);
                connection.close();
            }
        }
        if let Some(why) = outcome.closed {
            assert_eq!(why, tidegate_tcp::Closed::Finished);
            self.ended = true;
        }
    }

    fn on_time(&mut self, now: Instant) {
        let Some(connection) = &mut self.connection else { return };
        if connection.deadline() <= now {
            let outcome = connection.on_timer(now, &self.config);
            self.note(&outcome);
        }
    }

    fn transmit(&mut self, now: Instant) -> Option<Vec<u8>> {
        let connection = self.connection.as_mut()?;
        let out = connection
            .poll_transmit(now, &self.config, &mut |offset, max| (1428 - offset as usize % 1428).min(max))?;
        let payload: Vec<u8> = (0..out.payload_len).map(|n| stream_byte(out.offset as usize + n)).collect();
        let repr = TcpRepr { src_port: peer::OUR_PORT, dst_port: peer::PEER_PORT, ..out.repr };
        Some(packet(&repr, &payload, out.ecn))
    }

    fn is_done(&self) -> bool {
        self.ended
    }
}

fn packet(repr: &TcpRepr, payload: &[u8], ecn: u8) -> Vec<u8> {
    let ip = IpRepr {
        src: peer::our_address().into(),
        dst: peer::peer_address().into(),
        protocol: Protocol::Tcp,
        hop_limit: 64,
        ecn,
    };
    let tcp_len = repr.header_len() + payload.len();
    let mut bytes = vec![0; ip.header_len() + repr.header_len()];
    let (ip_bytes, tcp_bytes) = bytes.split_at_mut(ip.header_len());
    ip.emit(tcp_len, ip_bytes);
    repr.emit(ip.pseudo_header_sum(tcp_len) + tidegate_base::Sum::of(payload), tcp_bytes);
    bytes.extend_from_slice(payload);
    bytes
}

/// Packets on their way, in order of arrival.
#[derive(Default)]
struct Path(Vec<(Instant, Vec<u8>)>);

impl Path {
    fn send(&mut self, now: Instant, rng: &mut Rng, loss: f64, bytes: Vec<u8>) {
        if !rng.chance(loss) {
            self.0.push((now + DELAY, bytes));
        }
    }

    fn arrived(&mut self, now: Instant) -> Vec<Vec<u8>> {
        let count = self.0.partition_point(|(at, _)| *at <= now);
        self.0.drain(..count).map(|(_, bytes)| bytes).collect()
    }
}

fn exchange(seed: u64, role: Role, loss: f64) {
    let mut rng = Rng::new(seed);
    let lens = [1, 1000, 30_000, 200_000];
    let (our_len, peer_len) = (lens[rng.below(4) as usize], lens[rng.below(4) as usize]);
    let config = Config { syn_retries: 20, syn_ack_retries: 20, ..Config::SERVER };
    let mut now = Instant::from_millis(1000);
    let mut ours = Ours::new(config, our_len);
    let mut peer = Peer::new(role, peer_len, our_len, seed);
    if role == Role::Listens {
        ours.connection = Some(Connection::connect(now, &ours.config, tidegate_base::SeqNumber(99)));
    }
    let (mut to_peer, mut to_us) = (Path::default(), Path::default());
    let begin = now;
    while !(ours.is_done() && peer.is_done()) {
        for bytes in to_us.arrived(now) {
            ours.on_packet(now, &bytes);
        }
        ours.on_time(now);
        while let Some(bytes) = ours.transmit(now) {
            to_peer.send(now, &mut rng, loss, bytes);
        }
        for bytes in peer.poll(now, to_peer.arrived(now)) {
            to_us.send(now, &mut rng, loss, bytes);
        }
        now += Duration::from_millis(1);
        let state = ours.connection.as_ref().map_or(State::Closed, |connection| connection.state());
        assert!(now.since(begin) < TIME_MAX, "seed {seed}: never ends, {state:?} and {}", peer.state());
    }
    assert_eq!((ours.received, peer.received()), (peer_len, our_len), "seed {seed}");
}

#[test]
fn we_serve_smoltcp() {
    (0..SEED_COUNT).for_each(|seed| exchange(seed, Role::Connects, 0.0));
}

#[test]
fn we_serve_smoltcp_under_loss() {
    (0..SEED_COUNT).for_each(|seed| exchange(seed, Role::Connects, 0.05));
}

#[test]
fn smoltcp_serves_us_under_loss() {
    (0..SEED_COUNT).for_each(|seed| exchange(seed, Role::Listens, 0.05));
}
