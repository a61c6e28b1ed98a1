//! The garbage flood: damaged queries through ports, pipeline and stack, as a service runs them, but in one thread
//! and in time of its own.
//!
//! ```text
//!   peer -> client_out ==memory== server_in -> server -> server_out ==memory== client_in -> peer
//!   makes a burst                              Stack<NameServer>                            holds answers against it
//! ```
//! In laps: each has a server of other settings, which lives as long as the lap. `GARBAGE_COUNT` says how many
//! packets, `GARBAGE_LAP` runs one lap alone.

use crate::host::{self, Outcome, Terms};
use crate::mutate::Mutator;
use std::collections::HashMap;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use tidegate_base::{Duration, Instant};
use tidegate_dns::config::RrlConfig;
use tidegate_dns::store::StoreSize;
use tidegate_dns::transfer::Exchange;
use tidegate_dns::udp::{KeyForm, Mode, UdpConfig};
use tidegate_dns::zone::Zone;
use tidegate_modules::{PortIn, PortOut, StackModule};
use tidegate_packet::{BATCH_LEN_MAX, Batch, HeapMemory, Pool};
use tidegate_pipeline::{Context, GateCounts, Graph, Module, PortIndex, Work, Worker, WorkerConfig, control};
use tidegate_port::joined_by_move;

/// Packets of a test run.
const COUNT_SHORT: u64 = 100_000;
pub(crate) const LAP_COUNT: u64 = 12;
const FRAME_COUNT: usize = 1024;
/// The time between two bursts: a million queries a second.
const BURST_TIME: Duration = Duration::from_micros(BATCH_LEN_MAX as u64);
/// Bursts after which the zones are published anew.
const RELOAD_INTERVAL: u64 = 4096;
/// Answers a second that a network gets in the laps with a limit: alike ones, and in all.
const RATES: [u32; 2] = [50, 200];
/// Octets that a lap's server may have grown by since it was warm.
const GROWTH_MAX: u64 = 8 << 20;
const CLIENTS: [&str; 8] = [
    "10.0.1.1",
    "10.0.1.2",
    "10.0.2.1",
    "10.0.3.1",
    "192.0.2.9",
    "fd00:1::1",
    "fd00:1::2",
    "fd00:2:0:100::1",
];

/// What a lap came to.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Tally {
    pub(crate) query_count: u64,
    pub(crate) query_bytes: u64,
    pub(crate) answer_count: u64,
    pub(crate) answer_bytes: u64,
    pub(crate) refused_count: u64,
    pub(crate) slip_count: u64,
    /// The longest answer for the length of its query, in thousandths.
    pub(crate) ratio_max: u64,
    /// Frames that answered nothing of the burst, which had damaged headers.
    pub(crate) stray_count: u64,
    pub(crate) growth: i64,
}

/// One query of the burst at hand.
#[derive(Default)]
struct Asked {
    query: Vec<u8>,
    is_answered: bool,
}

/// Both ends of the client.
struct Peer {
    mutator: Mutator,
    asked: [Asked; BATCH_LEN_MAX],
    has_broken_frame: bool,
    /// Another burst is to be sent.
    is_due: bool,
    frame: Vec<u8>,
    size_max: usize,
    tally: Tally,
    /// Answers that are neither slips nor refusals, by network.
    full_counts: HashMap<[u8; 7], u64>,
}

impl Peer {
    fn new(seed: u64, size_max: usize) -> Self {
        Self {
            mutator: Mutator::new(seed),
            asked: Default::default(),
            has_broken_frame: false,
            is_due: false,
            frame: Vec::new(),
            size_max,
            tally: Tally::default(),
            full_counts: HashMap::new(),
        }
    }

    /// Makes the frame at `place` of the next burst.
    fn make(&mut self, place: usize) {
        let Self { mutator, asked, frame, tally, .. } = self;
        let asked = &mut asked[place];
        asked.is_answered = false;
        mutator.write(&mut asked.query);
        let rng = mutator.rng();
        let client = CLIENTS[rng.below(CLIENTS.len() as u64) as usize].parse().unwrap();
        host::write_frame(&asked.query, place, client, frame);
        tally.query_count += 1;
        tally.query_bytes += asked.query.len() as u64;
        if rng.chance(1.0 / 128.0) {
            self.has_broken_frame = true;
            let header_len = (frame.len() - asked.query.len()) as u64;
            for _ in 0..=rng.below(3) {
                frame[rng.below(header_len) as usize] ^= 1 << rng.below(8);
            }
        }
    }

    /// Holds a frame of the server's against what it answers.
    fn hold(&mut self, frame: &[u8]) {
        let read = host::read_frame(frame);
        let Some((place, client, answer)) = read.filter(|(place, ..)| *place < BATCH_LEN_MAX) else {
            assert!(self.has_broken_frame, "a frame to nobody: {frame:02x?}");
            self.tally.stray_count += 1;
            return;
        };
        let asked = &mut self.asked[place];
        if self.has_broken_frame && answer.first_chunk::<2>() != asked.query.first_chunk::<2>() {
            self.tally.stray_count += 1;
            return;
        }
        assert!(!std::mem::replace(&mut asked.is_answered, true), "two answers to one query");
        let outcome = host::check(&asked.query, answer, self.size_max);
        let tally = &mut self.tally;
        tally.answer_count += 1;
        tally.answer_bytes += answer.len() as u64;
        tally.ratio_max = tally.ratio_max.max((answer.len() * 1000 / asked.query.len()) as u64);
        match outcome {
            Outcome::Refused => tally.refused_count += 1,
            Outcome::Slipped => {
                assert!(answer.len() <= asked.query.len(), "a slip that is longer than its query");
                tally.slip_count += 1;
            }
            Outcome::Answered => *self.full_counts.entry(network(client)).or_default() += 1,
        }
    }
}

/// The /24 or /56 that an address is of.
fn network(client: IpAddr) -> [u8; 7] {
    let mut network = [0; 7];
    match client {
        IpAddr::V4(address) => network[4..].copy_from_slice(&address.octets()[..3]),
        IpAddr::V6(address) => network.copy_from_slice(&address.octets()[..7]),
    }
    network
}

impl Module for Peer {
    fn class(&self) -> &'static str {
        "peer"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::THROUGH
    }

    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        for frame in batch.drain() {
            self.hold(frame.data());
            ctx.pool().free(frame);
        }
    }

    fn task_count(&self) -> usize {
        1
    }

    fn run(&mut self, ctx: &mut Context<'_>, _: usize) -> Work {
        if !std::mem::take(&mut self.is_due) {
            return Work::NONE;
        }
        self.has_broken_frame = false;
        for place in 0..BATCH_LEN_MAX {
            self.make(place);
            let mut frame = ctx.pool().alloc().expect("a free frame: none is lost");
            assert!(frame.extend(&self.frame));
            ctx.emit(0, frame);
        }
        Work { packet_count: BATCH_LEN_MAX, byte_count: 0 }
    }
}

/// A server and its client.
struct Lap {
    number: u64,
    worker: Worker,
    exchange: Exchange,
    zones: Vec<Arc<Zone>>,
    terms: Terms,
    now: Instant,
}

fn terms(number: u64) -> Terms {
    let mode = [Mode::InPlace, Mode::MemCopy, Mode::PreCopy][(number % 3) as usize];
    let key_form = [KeyForm::Wire, KeyForm::Expanded][(number / 3 % 2) as usize];
    // Half of the stores are too small for the zones.
    let store = match number % 2 {
        0 => StoreSize { byte_count_max: 16 << 20, entry_count: 1 << 12 },
        _ => StoreSize { byte_count_max: 1 << 16, entry_count: 64 },
    };
    let size_max = [1232, 512, 4096, 1400][(number % 4) as usize];
    let is_limited = number >= LAP_COUNT / 2;
    let [responses_per_second, all_per_second] = if is_limited { RATES } else { [0, 0] };
    let rrl = RrlConfig { responses_per_second, all_per_second, ..RrlConfig::default() };
    Terms { udp: UdpConfig { key_form, mode, size_max, store }, has_cookies: number % 3 != 1, rrl }
}

impl Lap {
    fn new(number: u64) -> Self {
        let terms = terms(number);
        let exchange = host::exchange();
        let peer = Peer::new(number, terms.udp.size_max.into());
        let server = StackModule::new(host::stack(&exchange, &terms));
        let mut graph = Graph::new();
        for (names, port, module) in [
            (["server_in", "server", "server_out"], 1, Box::new(server) as Box<dyn Module>),
            (["client_in", "peer", "client_out"], 0, Box::new(peer)),
        ] {
            let row = [
                graph.add(names[0], Box::new(PortIn::new(PortIndex(port)))).unwrap(),
                graph.add(names[1], module).unwrap(),
                graph.add(names[2], Box::new(PortOut::new(PortIndex(port)))).unwrap(),
            ];
            graph.chain(&row).unwrap();
        }
        let (client_port, server_port) = joined_by_move(FRAME_COUNT, 1514);
        let pool = Pool::new(Box::new(HeapMemory::new(FRAME_COUNT * 2048)), 2048).unwrap();
        let (_, commands) = control(|| {});
        let ports = vec![Box::new(client_port) as _, Box::new(server_port) as _];
        let worker = Worker::new(WorkerConfig::default(), pool, ports, graph, commands);
        let zones = crate::driver::zones();
        Self { number, worker, exchange, zones, terms, now: Instant::from_millis(1) }
    }

    /// Floods the server with at least `count` packets.
    fn run(&mut self, count: u64) -> Tally {
        let burst_count = count.div_ceil(BATCH_LEN_MAX as u64);
        let mut resident = 0;
        for burst in 0..=burst_count {
            // By then every table that fills has been filled.
            if burst == burst_count / 4 {
                resident = resident_bytes();
            }
            if burst % RELOAD_INTERVAL == RELOAD_INTERVAL / 2 {
                self.exchange.served().publish(self.zones.clone());
            }
            self.round(burst);
        }
        let (seconds, is_limited) = (self.now.as_nanos() / 1_000_000_000, self.terms.rrl.all_per_second > 0);
        let peer = self.peer();
        for (network, full_count) in peer.full_counts.iter().filter(|_| is_limited) {
            // One bucket full at the start, and what comes back as time goes by.
            let bound = u64::from(RATES[1]) * (seconds + 2);
            assert!(*full_count <= bound, "{network:02x?} got {full_count} answers, more than {bound}");
        }
        let tally = peer.tally;
        Tally { growth: resident_bytes() as i64 - resident as i64, ..tally }
    }

    fn peer(&mut self) -> &mut Peer {
        self.worker.module_mut("peer").expect("the peer")
    }

    fn round(&mut self, burst: u64) {
        self.now += BURST_TIME;
        let now = self.now;
        self.peer().is_due = true;
        // Until nothing is under way any more.
        let result = catch_unwind(AssertUnwindSafe(|| while self.worker.round(now) > 0 {}));
        if let Err(panic) = result {
            eprintln!("failed with GARBAGE_LAP={} at burst {burst}, which was:", self.number);
            for asked in &self.peer().asked {
                eprintln!("{}", asked.query.iter().map(|octet| format!("{octet:02x}")).collect::<String>());
            }
            resume_unwind(panic);
        }
    }
}

/// What this process holds resident.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) << 10
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}: a number")))
}

#[test]
fn a_flood_of_garbage_is_answered_by_the_rules_or_not_at_all() {
    let count = setting("GARBAGE_COUNT").unwrap_or(COUNT_SHORT);
    let laps = setting("GARBAGE_LAP").map_or(0..LAP_COUNT, |lap| lap..lap + 1);
    let mut sum = Tally::default();
    for number in laps {
        let mut lap = Lap::new(number);
        let tally = lap.run(count / LAP_COUNT);
        eprintln!("{}", shown(&format!("lap {number:>2}"), &tally));
        assert!(tally.growth < GROWTH_MAX as i64, "{:?} grew by {} octets", lap.terms, tally.growth);
        sum = plus(sum, tally);
    }
    eprintln!("{}", shown("all", &sum));
    assert!(sum.answer_count * 4 > sum.query_count, "that was no test: {sum:?}");
}

fn plus(a: Tally, b: Tally) -> Tally {
    Tally {
        query_count: a.query_count + b.query_count,
        query_bytes: a.query_bytes + b.query_bytes,
        answer_count: a.answer_count + b.answer_count,
        answer_bytes: a.answer_bytes + b.answer_bytes,
        refused_count: a.refused_count + b.refused_count,
        slip_count: a.slip_count + b.slip_count,
        ratio_max: a.ratio_max.max(b.ratio_max),
        stray_count: a.stray_count + b.stray_count,
        growth: a.growth.max(b.growth),
    }
}

fn shown(name: &str, tally: &Tally) -> String {
    format!(
        "{name}: {} queries of {} octets, {} answers of {} ({} refusals, {} slips); octets out for one in {:.2}, \
         at most {:.1}; {} strays; grown by {} KiB",
        tally.query_count,
        tally.query_bytes,
        tally.answer_count,
        tally.answer_bytes,
        tally.refused_count,
        tally.slip_count,
        tally.answer_bytes as f64 / tally.query_bytes.max(1) as f64,
        tally.ratio_max as f64 / 1000.0,
        tally.stray_count,
        tally.growth / 1024,
    )
}
