//! State by state, with samples made by hand: a path of 1 MB/s and 50 ms.

use super::*;

const MSS: u32 = 1000;
const BANDWIDTH: u64 = 1_000_000;
const ROUND_TRIP: Duration = Duration::from_millis(50);
/// What such a path holds.
const BDP: u32 = 50_000;

/// A connection's view, a sample a round.
struct Rounds {
    bbr: Bbr,
    window: Window,
    sample: RateSample,
}

impl Rounds {
    fn new() -> Self {
        let sample = RateSample {
            now: Instant::from_millis(1000),
            acked: 10 * MSS,
            lost: 0,
            delivered: 0,
            prior_delivered: 0,
            lost_since: 0,
            tx_inflight: 10 * MSS,
            rate: Some(BANDWIDTH),
            is_app_limited: false,
            rtt: Some(ROUND_TRIP),
            inflight: 2 * BDP,
            prior_inflight: 2 * BDP,
            round_count: 0,
            is_round_start: true,
            is_restart: false,
            phase: LossPhase::Open,
            is_marked: false,
        };
        let window = Window { cwnd: 10 * MSS, ssthresh: u32::MAX, mss: MSS };
        Self { bbr: Bbr::new(), window, sample }
    }

    /// A round passes, of which `change` says what was special.
    fn round(&mut self, change: impl FnOnce(&mut RateSample)) {
        self.sample.now += ROUND_TRIP;
        self.sample.round_count += 1;
        let mut sample = self.sample;
        change(&mut sample);
        self.sample.delivered += u64::from(sample.acked);
        sample.delivered = self.sample.delivered;
        self.bbr.on_sample(&mut self.window, &sample);
    }

    /// Goes on until the pipe was found full.
    fn filled() -> Self {
        let mut rounds = Self::new();
        for _ in 0..4 {
            rounds.round(|_| ());
        }
        assert_eq!(rounds.phase(), Phase::Drain);
        rounds
    }

    fn probing() -> Self {
        let mut rounds = Self::filled();
        rounds.round(|sample| sample.inflight = BDP - MSS);
        assert!(matches!(rounds.phase(), Phase::ProbeBw { .. }));
        rounds
    }

    fn phase(&self) -> Phase {
        self.bbr.state.phase
    }

    fn pacing(&self) -> u64 {
        self.bbr.rate.pacer.rate()
    }
}

#[test]
fn startup_sends_faster_as_long_as_the_rate_grows_with_it() {
    let mut rounds = Rounds::new();
    for n in 0..10 {
        rounds.round(|sample| sample.rate = Some(100_000 << n));
        assert_eq!(rounds.phase(), Phase::Startup);
        assert_eq!(rounds.pacing(), (2.885 * f64::from(100_000 << n)) as u64);
    }
}

#[test]
fn startup_ends_after_three_rounds_without_growth() {
    let mut rounds = Rounds::new();
    for _ in 0..3 {
        rounds.round(|_| ());
        assert_eq!(rounds.phase(), Phase::Startup);
    }
    rounds.round(|_| ());
    assert_eq!(rounds.phase(), Phase::Drain);
}

#[test]
fn rounds_that_the_service_did_not_fill_do_not_end_startup() {
    let mut rounds = Rounds::new();
    for _ in 0..10 {
        rounds.round(|sample| sample.is_app_limited = true);
    }
    assert_eq!(rounds.phase(), Phase::Startup);
}

#[test]
fn drain_sends_slower_until_the_queue_is_gone() {
    let mut rounds = Rounds::filled();
    rounds.round(|sample| sample.inflight = 2 * BDP);
    assert_eq!(rounds.phase(), Phase::Drain);
    assert!(rounds.pacing() < BANDWIDTH * 35 / 100);
    rounds.round(|sample| sample.inflight = BDP - MSS);
    assert!(matches!(rounds.phase(), Phase::ProbeBw { .. }));
}

#[test]
fn probe_bw_goes_around_its_cycle_a_round_trip_a_phase() {
    let mut rounds = Rounds::probing();
    let mut gains = Vec::new();
    for _ in 0..24 {
        // A phase lasts more than a round trip.
        rounds.sample.now += Duration::from_millis(1);
        rounds.round(|_| ());
        gains.push((rounds.bbr.state.pacing_gain * 100.0) as u32);
    }
    let first = gains.iter().position(|gain| *gain == 125).unwrap();
    assert_eq!(gains[first..first + 8], [125, 75, 100, 100, 100, 100, 100, 100]);
    assert!(rounds.window.cwnd >= 2 * BDP && rounds.window.cwnd < 3 * BDP, "{}", rounds.window.cwnd);
}

#[test]
fn the_rate_of_ten_rounds_ago_is_forgotten() {
    let mut rounds = Rounds::probing();
    for _ in 0..20 {
        rounds.round(|sample| sample.rate = Some(BANDWIDTH / 4));
    }
    assert_eq!(rounds.bbr.model.bandwidth(), BANDWIDTH / 4);
}

#[test]
fn a_rate_that_the_service_held_down_changes_nothing() {
    let mut rounds = Rounds::probing();
    for _ in 0..20 {
        rounds.round(|sample| (sample.rate, sample.is_app_limited) = (Some(BANDWIDTH / 4), true));
    }
    assert_eq!(rounds.bbr.model.bandwidth(), BANDWIDTH);
}

/// Ten seconds in which each round trip was longer than the first.
fn expire(rounds: &mut Rounds) {
    for _ in 0..220 {
        rounds.round(|sample| sample.rtt = Some(ROUND_TRIP + Duration::from_millis(1)));
        if matches!(rounds.phase(), Phase::ProbeRtt { .. }) {
            return;
        }
    }
    panic!("never probed");
}

#[test]
fn probe_rtt_comes_after_ten_seconds_without_a_shorter_round_trip() {
    let mut rounds = Rounds::probing();
    let began = rounds.sample.now;
    expire(&mut rounds);
    let passed = rounds.sample.now.since(began);
    assert!(passed > Duration::from_millis(9_700) && passed < Duration::from_millis(10_200), "{passed:?}");
    assert_eq!(rounds.window.cwnd, 4 * MSS);
}

#[test]
fn probe_rtt_lasts_200_ms_and_gives_the_window_back() {
    let mut rounds = Rounds::probing();
    for _ in 0..10 {
        rounds.round(|_| ());
    }
    let before = rounds.window.cwnd;
    expire(&mut rounds);
    rounds.round(|sample| sample.inflight = 4 * MSS);
    let began = rounds.sample.now;
    while matches!(rounds.phase(), Phase::ProbeRtt { .. }) {
        assert_eq!(rounds.window.cwnd, 4 * MSS);
        rounds.round(|sample| (sample.inflight, sample.acked) = (4 * MSS, MSS));
    }
    let passed = rounds.sample.now.since(began);
    assert!(passed > Duration::from_millis(200) && passed <= Duration::from_millis(250), "{passed:?}");
    assert!(matches!(rounds.phase(), Phase::ProbeBw { .. }));
    assert!(rounds.window.cwnd >= before, "{} of {before}", rounds.window.cwnd);
}

#[test]
fn a_shorter_round_trip_puts_probe_rtt_off() {
    let mut rounds = Rounds::probing();
    for _ in 0..400 {
        rounds.round(|_| ());
        assert!(!matches!(rounds.phase(), Phase::ProbeRtt { .. }));
    }
}

#[test]
fn the_first_round_of_recovery_sends_what_arrives() {
    let mut rounds = Rounds::probing();
    let before = rounds.window.cwnd;
    rounds.bbr.on_congestion(&mut rounds.window, rounds.sample.now, before);
    assert_eq!(rounds.window.ssthresh, before);
    rounds.round(|sample| {
        (sample.phase, sample.lost, sample.inflight) = (LossPhase::Fast, 2 * MSS, 20 * MSS);
    });
    assert_eq!(rounds.window.cwnd, 30 * MSS);
    rounds.round(|sample| {
        (sample.phase, sample.inflight, sample.is_round_start) = (LossPhase::Fast, 25 * MSS, false);
    });
    assert_eq!(rounds.window.cwnd, 35 * MSS);
}

#[test]
fn after_recovery_the_window_is_what_it_was() {
    for phase in [LossPhase::Fast, LossPhase::Timeout] {
        let mut rounds = Rounds::probing();
        (0..10).for_each(|_| rounds.round(|_| ()));
        let before = rounds.window.cwnd;
        rounds.bbr.on_congestion(&mut rounds.window, rounds.sample.now, before);
        rounds.window.cwnd = MSS;
        rounds.round(|sample| (sample.phase, sample.lost, sample.acked) = (phase, 5 * MSS, MSS));
        assert!(rounds.window.cwnd < before);
        rounds.round(|_| ());
        assert!(rounds.window.cwnd >= before, "{} of {before}", rounds.window.cwnd);
    }
}

#[test]
fn it_is_found_by_its_name_once_registered() {
    register().unwrap();
    register().unwrap();
    assert_eq!(congestion::by_name("bbr").map(|found| found.name), Some("bbr"));
    assert!(congestion::names().contains(&"bbr"));
    let other = Algorithm { start: || Box::new(Bbr::new()), ..BBR };
    assert_eq!(congestion::register(other), Err(NameTaken("bbr")));
}
