//! What a simulation is run with: every fault a named option, everything else from the seed.

use tidegate_base::{Duration, Instant, Rng, SeqNumber};
use tidegate_tcp::{Config, KeepAlive};

/// Faults of the path, the same in both directions. Probabilities are a packet's.
#[derive(Clone, Debug, Default)]
pub(crate) struct NetworkFaults {
    /// Dropped.
    pub(crate) loss: f64,
    /// Bare acknowledgements dropped beside that.
    pub(crate) ack_loss: f64,
    /// Held back so that later ones overtake it.
    pub(crate) reorder: f64,
    /// Delivered twice.
    pub(crate) duplicate: f64,
    /// A bit flipped.
    pub(crate) corrupt: f64,
    /// Held back longer than a retransmission timeout.
    pub(crate) spike: f64,
    /// Marked as having met congestion, if ECN-capable.
    pub(crate) mark: f64,
    /// The least one-way delay.
    pub(crate) delay_us: u64,
    /// Random delay on top; packets overtake each other.
    pub(crate) jitter_us: u64,
    /// Arrivals are rounded up to this, and a host answers once for all of one instant.
    pub(crate) batch_us: u64,
    /// Packets that fit the path at once; zero for no limit.
    pub(crate) queue_len: usize,
    /// Larger segments do not pass, after the connection was established.
    pub(crate) path_mss: Option<u16>,
    /// Nobody says so by ICMP.
    pub(crate) is_black_hole: bool,
    /// From then on nothing passes.
    pub(crate) dead_from: Option<Instant>,
}

/// What a third party does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attack {
    /// RSTs with random sequence numbers.
    pub(crate) blind_reset: bool,
    /// RSTs inside the window, but not at its start.
    pub(crate) reset_in_window: bool,
    /// SYNs, and acknowledgements of what was never sent.
    pub(crate) inject: bool,
    /// "Packet too big" and "unreachable" for this connection.
    pub(crate) icmp_lies: bool,
    /// SYNs from everywhere.
    pub(crate) syn_flood: bool,
}

/// When a host closes its side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CloseWhen {
    /// Once it has offered everything.
    Offered,
    /// Once the peer has closed as well.
    PeerClosed,
}

/// What a host does.
#[derive(Clone, Debug)]
pub(crate) struct HostPlan {
    pub(crate) config: Config,
    /// Bytes that it sends.
    pub(crate) stream_len: u64,
    /// Bytes offered at a time, and the pause between.
    pub(crate) burst: u64,
    pub(crate) burst_every: Duration,
    /// Bytes read at a time and the pause between, for a slow reader.
    pub(crate) reads: Option<(u32, Duration)>,
    pub(crate) close_when: CloseWhen,
    /// Where its ready packets end: segments are not cut across.
    pub(crate) chunk_len: u64,
    pub(crate) isn: SeqNumber,
    /// Timers fire at multiples of this only; zero for no such wheel.
    pub(crate) timer_tick: Duration,
}

/// A simulation to run.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) rng: Rng,
    pub(crate) network: NetworkFaults,
    pub(crate) attack: Attack,
    pub(crate) hosts: [HostPlan; 2],
    pub(crate) simultaneous_open: bool,
    /// The server answers by SYN cookies only.
    pub(crate) cookies: bool,
    /// Bytes that may be sent for each byte of a stream.
    pub(crate) repeats_max: f64,
    /// Print segments.
    pub(crate) trace: bool,
}

const STREAM_LENS: [u64; 8] = [0, 1, 300, 1428, 5_000, 40_000, 150_000, 400_000];

fn host(rng: &mut Rng) -> HostPlan {
    let keep_alive =
        KeepAlive { idle: Duration::from_secs(30), interval: Duration::from_secs(5), probe_count_max: 30 };
    HostPlan {
        config: Config {
            keep_alive: Some(keep_alive),
            timestamp_offset: rng.next_u32(),
            receive_window: [8_000, 64_000, 200_000, 1_000_000][rng.below(4) as usize],
            // Half the networks here lose SYNs on purpose; giving up early is not what is tested.
            syn_retries: 12,
            syn_ack_retries: 12,
            user_timeout: Duration::from_secs(600),
            ..Config::SERVER
        },
        stream_len: STREAM_LENS[rng.below(8) as usize],
        burst: 1 + rng.below(100_000),
        burst_every: Duration::from_millis(rng.below(20)),
        reads: None,
        close_when: if rng.chance(0.5) { CloseWhen::Offered } else { CloseWhen::PeerClosed },
        chunk_len: [1428, 1428, 100, 9000][rng.below(4) as usize],
        isn: SeqNumber(rng.next_u32()),
        timer_tick: Duration::ZERO,
    }
}

impl Scenario {
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let mut hosts = [host(&mut rng), host(&mut rng)];
        // Somebody has to begin.
        if hosts.iter().all(|host| host.close_when == CloseWhen::PeerClosed) {
            hosts[rng.below(2) as usize].close_when = CloseWhen::Offered;
        }
        let network = NetworkFaults { delay_us: 20 + rng.below(40_000), ..NetworkFaults::default() };
        Self {
            rng,
            network,
            attack: Attack::default(),
            hosts,
            simultaneous_open: false,
            cookies: false,
            repeats_max: 1000.0,
            trace: false,
        }
    }

    pub(crate) fn each_host(&mut self, change: impl Fn(&mut HostPlan)) {
        self.hosts.iter_mut().for_each(change);
    }

    /// Bounds the streams where the path is slow.
    pub(crate) fn shrink_streams(&mut self, len_max: u64) {
        self.each_host(|host| host.stream_len = host.stream_len.min(len_max));
    }

    /// Bounds what may be sent twice. One acknowledgement answers all that arrives at one instant, and
    /// tells of four runs at most: full segments keep the runs few.
    pub(crate) fn limit_repeats(&mut self, repeats_max: f64) {
        self.repeats_max = repeats_max;
        self.each_host(|host| host.chunk_len = 1428);
    }

    /// A last acknowledgement may be lost many times: TIME-WAIT must last longer than all of them.
    pub(crate) fn be_patient(&mut self) {
        self.each_host(|host| {
            host.config.rto_max = Duration::from_secs(10);
            host.config.time_wait = Duration::from_secs(600);
        });
    }

    /// A server that keeps nothing cannot send its SYN-ACK again: the client has to speak first.
    pub(crate) fn answer_by_cookies(&mut self) {
        self.cookies = true;
        self.hosts[0].stream_len = self.hosts[0].stream_len.max(1);
    }

    pub(crate) fn slow_readers(&mut self) {
        for host in &mut self.hosts {
            let bytes = 1 + self.rng.below(4000) as u32;
            let pause = Duration::from_millis(1 + self.rng.below(300));
            host.reads = Some((bytes, pause));
            host.config.receive_window = 1000 + self.rng.below(20_000) as u32;
        }
        self.shrink_streams(
            u64::from(self.hosts.iter().filter_map(|host| host.reads).map(|r| r.0).min().unwrap_or(1)) * 200,
        );
    }

    pub(crate) fn random_options(&mut self) {
        for host in &mut self.hosts {
            host.config.sack = self.rng.chance(0.5);
            host.config.timestamps = self.rng.chance(0.5);
            host.config.window_scaling = self.rng.chance(0.5);
            host.config.ecn = self.rng.chance(0.5);
            host.config.mss = 200 + self.rng.below(1300) as u16;
        }
    }

    pub(crate) fn simultaneous_close(&mut self) {
        self.each_host(|host| {
            host.close_when = CloseWhen::Offered;
            host.stream_len = host.stream_len.min(1000);
            host.burst_every = Duration::ZERO;
        });
    }

    pub(crate) fn half_close(&mut self) {
        self.hosts[0].close_when = CloseWhen::Offered;
        self.hosts[0].stream_len = self.hosts[0].stream_len.min(300);
        self.hosts[1].close_when = CloseWhen::Offered;
        self.hosts[1].stream_len = self.hosts[1].stream_len.max(40_000);
        self.hosts[1].burst = 10_000;
        self.hosts[1].burst_every = Duration::from_millis(50);
    }

    pub(crate) fn vanish(&mut self) {
        self.network.dead_from = Some(Instant::from_millis(1_000 + self.rng.below(2_000)));
        self.network.loss = 0.02;
        self.each_host(|host| host.config.user_timeout = Duration::from_secs(100));
    }

    pub(crate) fn wrap_soon(&mut self) {
        for host in &mut self.hosts {
            host.isn = SeqNumber(0) - self.rng.below(100_000) as u32;
            host.config.timestamp_offset = 0u32.wrapping_sub(self.rng.below(5_000) as u32);
        }
    }
}
