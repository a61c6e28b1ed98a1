//! Turns any bytes into a life of a connection: segments that a hostile peer could send, time, and the
//! calls of an owner. Shared by the test beside it and by the fuzz target `tcp_segment`.
//!
//! Sequence numbers are drawn near those in use, so that few segments die at the first check.

use tidegate_base::{Duration, Instant, SeqNumber};
use tidegate_tcp::{Arrival, Config, Connection, CookieOptions, Outgoing, State};
use tidegate_wire::{SackBlock, SackBlocks, TcpFlags, TcpOptions, TcpRepr, Timestamps};

const ISN: SeqNumber = SeqNumber(0xffff_ff00);
const PEER_ISN: SeqNumber = SeqNumber(0x7fff_ff00);
/// The least data in a full segment: an MSS of 64 less timestamps.
const SEGMENT_LEN_MIN: u32 = 52;

/// Bytes to draw decisions from; zeros once they are used up.
struct Source<'a>(&'a [u8]);

impl Source<'_> {
    fn u8(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn u16(&mut self) -> u16 {
        u16::from_be_bytes([self.u8(), self.u8()])
    }

    fn bit(&mut self) -> bool {
        self.u8() & 1 != 0
    }

    /// A number next to `base`: mostly close, now and then anywhere.
    fn near(&mut self, base: SeqNumber) -> SeqNumber {
        match self.u8() {
            0..=99 => base,
            100..=159 => base + u32::from(self.u8()),
            160..=199 => base - u32::from(self.u8()),
            200..=224 => base + u32::from(self.u16()),
            225..=239 => base - u32::from(self.u16()),
            _ => SeqNumber(u32::from(self.u16()) << 16 | u32::from(self.u16())),
        }
    }
}

/// The connection and what its peer can know of it.
struct Life {
    now: Instant,
    config: Config,
    connection: Connection,
    /// The next sequence number that we were seen to send.
    sent: SeqNumber,
    /// The next sequence number that we were seen to expect.
    expected: SeqNumber,
    /// Bytes delivered that the owner has not consumed.
    unread: u32,
}

/// Lives through `bytes`; panics where an invariant breaks.
pub(crate) fn drive(bytes: &[u8]) {
    let mut source = Source(bytes);
    let mut life = Life::begin(&mut source);
    while !source.0.is_empty() {
        life.step(&mut source);
        life.connection.check_invariants(&life.config);
        if life.connection.is_finished() && life.connection.state() == State::Closed {
            return;
        }
    }
    life.end();
}

fn config(source: &mut Source<'_>) -> Config {
    let bits = source.u8();
    Config {
        timestamps: bits & 1 != 0,
        sack: bits & 2 != 0,
        ecn: bits & 4 != 0,
        window_scaling: bits & 8 != 0,
        nagle: bits & 16 != 0,
        receive_window: [1, 100, 5000, 65_535, 1 << 20][usize::from(source.u8() % 5)],
        mss: [64, 536, 1460, 8960][usize::from(bits >> 6)],
        ..Config::SERVER
    }
}

impl Life {
    fn begin(source: &mut Source<'_>) -> Self {
        let config = config(source);
        let now = Instant::from_millis(5_000);
        let syn = TcpRepr { options: syn_options(source), ..segment(PEER_ISN, ISN, TcpFlags::SYN) };
        let connection = match source.u8() % 8 {
            0 => Connection::connect(now, &config, ISN),
            1 => {
                let options =
                    CookieOptions { mss: source.u16(), window_scale: Some(7), sack: true, ecn: true };
                Connection::from_cookie(now, &config, &segment(PEER_ISN + 1, ISN + 1, TcpFlags::ACK), options)
            }
            _ => Connection::accept(now, &config, &syn, ISN),
        };
        let mut life = Self { now, config, connection, sent: ISN, expected: PEER_ISN, unread: 0 };
        life.transmit(usize::MAX);
        if source.u8() & 3 != 0 {
            // Most lives are led established.
            let flags = if life.connection.state() == State::SynSent { TcpFlags::SYN } else { TcpFlags(0) };
            let seq = if life.connection.state() == State::SynSent { PEER_ISN } else { PEER_ISN + 1 };
            let timestamps = syn.options.timestamps.filter(|_| life.config.timestamps);
            let options = TcpOptions { timestamps, ..TcpOptions::NONE };
            life.give(&TcpRepr { options, ..segment(seq, ISN + 1, flags.with(TcpFlags::ACK)) }, &[], 0);
            life.transmit(usize::MAX);
        }
        life
    }

    fn step(&mut self, source: &mut Source<'_>) {
        match source.u8() % 16 {
            0..=7 => self.segment(source),
            8 | 9 => self.transmit(usize::from(source.u8() % 4)),
            10 => self.pass(Duration::from_nanos(1 << (source.u8() % 42))),
            11 => self.pass(self.connection.deadline().since(self.now).min(Duration::from_secs(3600))),
            12 => self.connection.offer(u64::from(source.u16()) * u64::from(source.u8())),
            13 => self.read(source.u16().into()),
            14 => self.transmit(usize::MAX),
            _ => self.rare(source),
        }
    }

    fn rare(&mut self, source: &mut Source<'_>) {
        match source.u8() % 8 {
            0..=2 => self.connection.close(),
            3 | 4 => {
                let quoted = source.near(self.sent - 1u32);
                self.connection.on_path_mtu(&self.config, quoted, source.u16());
            }
            5 => {
                let quoted = source.near(ISN);
                self.connection.on_unreachable(quoted);
            }
            6 => self.connection.offer(u64::MAX / 2),
            _ => self.connection.abort(),
        }
    }

    fn segment(&mut self, source: &mut Source<'_>) {
        let flags = match source.u8() {
            0..=159 => TcpFlags::ACK,
            160..=199 => TcpFlags::ACK.with(TcpFlags::PSH),
            200..=219 => TcpFlags::ACK.with(TcpFlags::FIN),
            _ => TcpFlags(source.u8()),
        };
        let repr = TcpRepr {
            window: source.u16(),
            options: self.options(source),
            ..segment(source.near(self.expected), source.near(self.sent), flags)
        };
        let payload = [0x5a; 2048];
        let len = if source.bit() { usize::from(source.u16()) % payload.len() } else { 0 };
        self.give(&repr, &payload[..len], source.u8() & 3);
    }

    fn options(&self, source: &mut Source<'_>) -> TcpOptions {
        let bits = source.u8();
        let mut sack = SackBlocks::NONE;
        for _ in 0..bits & 3 {
            let start = source.near(self.sent - 3000u32);
            sack.push(SackBlock { start, end: start + u32::from(source.u16()) });
        }
        let lately = self.now.as_millis_wrapping() - u32::from(source.u8());
        let value = if bits & 8 != 0 { 100_000 + u32::from(source.u16()) } else { 1 };
        let timestamps = (bits & 4 == 0).then_some(Timestamps { value, echo: lately });
        TcpOptions { timestamps, sack, ..TcpOptions::NONE }
    }

    fn give(&mut self, repr: &TcpRepr, payload: &[u8], ecn: u8) {
        let mut delivered = 0;
        let arrival = Arrival { repr, payload, ecn };
        self.connection.on_segment(self.now, &self.config, &arrival, &mut |bytes| {
            assert!(!bytes.is_empty(), "nothing was delivered");
            delivered += bytes.len() as u32;
        });
        self.unread += delivered;
        let held_max = self.config.receive_window.max(65_535) + (1 << 14);
        assert!(self.unread <= held_max, "more was taken than the window allows");
    }

    fn read(&mut self, len: u32) {
        let len = len.min(self.unread);
        self.unread -= len;
        self.connection.consumed(&self.config, len);
    }

    fn pass(&mut self, span: Duration) {
        self.now += span;
        self.connection.on_timer(self.now, &self.config);
    }

    fn transmit(&mut self, count_max: usize) {
        let burst_max = (self.connection.cwnd() / SEGMENT_LEN_MIN) as usize + 300;
        for count in 0..count_max {
            let mut asked = None;
            let out = self.connection.poll_transmit(self.now, &self.config, &mut |offset, max| {
                assert!(max > 0 && asked.is_none());
                asked = Some(offset);
                max.min(1428)
            });
            let Some(out) = out else { return };
            assert!(count < burst_max, "sends for ever: {:?}", self.connection);
            assert!(out.payload_len == 0 || asked == Some(out.offset));
            self.look_at(&out);
        }
    }

    fn look_at(&mut self, out: &Outgoing) {
        assert!(out.repr.options.len() <= 40, "options do not fit: {out:?}");
        assert!(out.payload_len + out.repr.options.len() <= usize::from(self.config.mss).max(64), "{out:?}");
        assert!(
            out.offset + out.payload_len as u64 <= self.connection.offered(),
            "nothing is there: {out:?}"
        );
        let end = out.repr.seq + out.repr.segment_len(out.payload_len);
        self.sent = self.sent.max(end);
        if out.repr.flags.contains(TcpFlags::ACK) {
            self.expected = out.repr.ack;
        }
    }

    /// Left alone, every connection with something to wait for ends.
    fn end(&mut self) {
        self.connection.close();
        for _ in 0..10_000 {
            self.transmit(usize::MAX);
            self.connection.check_invariants(&self.config);
            let deadline = self.connection.deadline();
            if deadline == Instant::FAR_FUTURE {
                let state = self.connection.state();
                assert!(matches!(state, State::Closed), "waits for ever: {:?}", self.connection);
                return;
            }
            self.now = self.now.max(deadline);
            self.connection.on_timer(self.now, &self.config);
        }
        panic!("never ends: {:?}", self.connection);
    }
}

fn segment(seq: SeqNumber, ack: SeqNumber, flags: TcpFlags) -> TcpRepr {
    TcpRepr { src_port: 0, dst_port: 0, seq, ack, flags, window: 8000, options: TcpOptions::NONE }
}

fn syn_options(source: &mut Source<'_>) -> TcpOptions {
    let bits = source.u8();
    TcpOptions {
        mss: (bits & 1 == 0).then(|| source.u16()),
        window_scale: (bits & 2 == 0).then_some(bits >> 5),
        sack_permitted: bits & 4 == 0,
        timestamps: (bits & 8 == 0).then_some(Timestamps { value: 1, echo: 0 }),
        ..TcpOptions::NONE
    }
}
