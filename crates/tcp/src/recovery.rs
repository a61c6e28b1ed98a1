//! Loss: how it is found (SACK, RFC 6675; RACK-TLP, RFC 8985; duplicate acknowledgements, RFC 5681) and
//! how a connection gets over it (RFC 6582, RFC 6675; Eifel, RFC 3522 and RFC 4015).
//!
//! A connection has this box from the first hint of a loss until everything is acknowledged again.
//! While it has none, all of SND.UNA..SND.NXT is simply in flight.
//!
//! ```text
//!   Open --- a hole counts as lost ---> Fast --- SND.UNA reaches `high` ---> Open
//!    |  \___ retransmission timeout __    |                                    ^
//!    |                                \   v                                    |
//!    +--- the timer fires ------------> Timeout -------------------------------+
//! ```

use crate::Config;
use crate::congestion::LossPhase as Phase;
use crate::connection::Connection;
use crate::flags::Flags;
use crate::scoreboard::{Range, Scoreboard, SentLast};
use crate::timestamps::stamp;
use tidegate_base::{Duration, Instant, SeqNumber};
use tidegate_wire::TcpRepr;

/// DupThresh (RFC 5681 section 3.2).
const DUPLICATE_THRESHOLD: u32 = 3;

/// What a reduction changed, to take it back.
#[derive(Clone, Copy, Debug)]
struct Undo {
    cwnd: u32,
    ssthresh: u32,
}

/// What SACK blocks of one acknowledgement said, and what was in flight before it.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct SackReport {
    /// FlightSize before the acknowledgement: one that answers a batch may acknowledge most of it and
    /// report the loss at once, and what is left then says nothing about the path.
    flight: u32,
    /// A block reported bytes that came twice (RFC 2883).
    pub(crate) is_duplicate: bool,
}

/// The state of loss recovery.
#[derive(Debug)]
pub(crate) struct Recovery {
    pub(crate) scoreboard: Scoreboard,
    phase: Phase,
    /// SND.NXT when the phase began (RFC 6675: RecoveryPoint).
    high: SeqNumber,
    /// Duplicate acknowledgements, each for a segment that arrived. Only without SACK.
    duplicate_count: u32,
    /// The next retransmission goes out whatever is in the pipe (RFC 6675 section 5, step 4.3).
    pub(crate) send_one: bool,
    undo: Option<Undo>,
    /// Our timestamp in the episode's first retransmission (RFC 3522 section 3.2, step 1).
    again_stamp: Option<u32>,
    /// SND.NXT when a tail loss probe went out that is not answered (RFC 8985 section 7.4).
    probe: Option<SeqNumber>,
    /// Below here bytes count as lost from then on, if they do not arrive (RFC 8985 section 6.2: the
    /// reordering window).
    suspects: Option<(SeqNumber, Instant)>,
    /// The retransmission sent last of those that arrived (RFC 8985 section 5.2: RACK.xmit_ts).
    arrived: Option<SentLast>,
}

impl Recovery {
    fn new(snd_una: SeqNumber) -> Self {
        Self {
            scoreboard: Scoreboard::new(snd_una),
            phase: Phase::Open,
            high: snd_una,
            duplicate_count: 0,
            send_one: false,
            undo: None,
            again_stamp: None,
            probe: None,
            suspects: None,
            arrived: None,
        }
    }

    pub(crate) const fn phase(&self) -> Phase {
        self.phase
    }

    pub(crate) fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }

    pub(crate) fn is_fast(&self) -> bool {
        self.phase == Phase::Fast
    }

    pub(crate) fn is_timeout(&self) -> bool {
        self.phase == Phase::Timeout
    }

    /// When the reordering window of the suspects ends.
    pub(crate) fn suspects_until(&self) -> Option<Instant> {
        self.suspects.map(|(_, at)| at)
    }

    /// Bytes thought to be in the network.
    pub(crate) fn pipe(&self, snd_nxt: SeqNumber, mss: u32) -> u32 {
        self.scoreboard.pipe(snd_nxt).saturating_sub(self.duplicate_count.saturating_mul(mss))
    }

    /// Whether something is lost that was not sent again yet.
    pub(crate) fn has_to_send_again(&self, snd_una: SeqNumber) -> bool {
        self.send_one || self.scoreboard.next_hole(snd_una).is_some()
    }

    /// A retransmission left at `range`.
    pub(crate) fn on_send_again(&mut self, range: Range, now: Instant, snd_nxt: SeqNumber, stamp: u32) {
        self.scoreboard.on_send_again(range, now, snd_nxt);
        self.again_stamp.get_or_insert(stamp);
        self.send_one = false;
    }

    fn is_needless(&self, snd_una: SeqNumber) -> bool {
        self.phase == Phase::Open
            && self.duplicate_count == 0
            && self.probe.is_none()
            && self.suspects.is_none()
            && self.scoreboard.is_empty(snd_una)
    }
}

impl Connection {
    pub(crate) fn recovery_mut(&mut self) -> &mut Recovery {
        self.recovery.get_or_insert_with(|| Box::new(Recovery::new(self.send.una)))
    }

    /// Bytes thought to be in the network.
    #[inline]
    pub(crate) fn pipe(&self) -> u32 {
        match &self.recovery {
            None => self.flight(),
            Some(recovery) => recovery.pipe(self.send.nxt, self.window.mss),
        }
    }

    /// Takes the SACK blocks of an acknowledgement (RFC 6675 section 5: Update).
    pub(crate) fn on_sack(&mut self, now: Instant, repr: &TcpRepr) -> SackReport {
        let mut report = SackReport { flight: self.flight(), ..SackReport::default() };
        if !self.flags.has(Flags::SACK) {
            return report;
        }
        let (snd_una, snd_nxt) = (self.send.una, self.send.nxt);
        let highest = self.recovery.as_ref().and_then(|recovery| recovery.scoreboard.highest_sacked());
        let blocks = repr.options.sack.as_slice();
        for (index, block) in blocks.iter().enumerate() {
            let within = |outer: &tidegate_wire::SackBlock| {
                outer.start.at_or_before(block.start) && outer.end.at_or_after(block.end)
            };
            // RFC 2883 section 4: the first block, below SEG.ACK or inside the second.
            if index == 0 && (block.end.at_or_before(repr.ack) || blocks.get(1).is_some_and(within)) {
                report.is_duplicate = true;
                continue;
            }
            let range = Range { start: block.start.max(snd_una), end: block.end };
            // Blocks that are empty, or beyond what was sent, are nonsense or old.
            if range.start.before(range.end) && range.end.at_or_before(snd_nxt) && range.end.after(repr.ack) {
                let news = self.recovery_mut().scoreboard.on_sack(range, highest);
                self.note_overtaken(news.overtaken);
                if news.byte_count > 0 && self.flags.has(Flags::BY_RATE) {
                    self.note_arrived(now, range.start, range.end);
                }
            }
        }
        report
    }

    fn note_overtaken(&mut self, overtaken: bool) {
        if overtaken {
            self.flags.set(Flags::REORDERED);
        }
    }

    /// Without SACK a duplicate acknowledgement says that a segment arrived, if not which.
    pub(crate) fn count_duplicate_ack(&mut self) {
        self.recovery_mut().duplicate_count += 1;
    }

    /// Everything below SND.UNA is out of the scoreboard's hands.
    #[inline]
    pub(crate) fn note_acked_in_recovery(&mut self, acked: u32) {
        let Some(recovery) = &mut self.recovery else { return };
        let overtaken = recovery.scoreboard.on_ack(self.send.una);
        recovery.duplicate_count = match recovery.phase {
            Phase::Open => 0,
            // RFC 6582 section 3.2, step 3: deflate by what was acknowledged.
            _ => recovery.duplicate_count.saturating_sub(acked.div_ceil(self.window.mss)),
        };
        self.note_overtaken(overtaken);
    }

    /// What an acknowledgement means for losses, once SND.UNA and the scoreboard are up to date.
    pub(crate) fn recover(
        &mut self,
        now: Instant,
        config: &Config,
        repr: &TcpRepr,
        acked: bool,
        sack: SackReport,
    ) {
        if acked {
            self.undo_if_needless(repr);
            self.settle_probe(now, config, repr, sack);
            self.leave_if_done();
            self.on_partial_ack();
        }
        self.find_losses(now, config, sack.flight);
        self.release_recovery();
        if self.is_in_flight() {
            self.arm_reordering(now, config);
        }
    }

    /// Marks what counts as lost by now, and enters fast recovery if that is new. `flight` is what was
    /// in flight when the losses happened.
    pub(crate) fn find_losses(&mut self, now: Instant, config: &Config, flight: u32) {
        let reordering = self.reordering_window();
        let has_reordered = self.flags.has(Flags::REORDERED);
        let has_sack = self.flags.has(Flags::SACK);
        let (mss, snd_una, min_rtt) = (self.window.mss, self.send.una, self.rtt.min());
        let pipe_before = if self.flags.has(Flags::BY_RATE) { self.pipe() } else { 0 };
        let Some(recovery) = &mut self.recovery else { return };
        if has_sack {
            recovery.find_by_sack(now, mss, has_reordered, reordering);
            let reordering = if has_reordered { reordering } else { Duration::ZERO };
            recovery.find_lost_again(now, min_rtt, reordering);
        } else if recovery.phase == Phase::Open && recovery.duplicate_count >= DUPLICATE_THRESHOLD {
            recovery.scoreboard.lose_below((snd_una + mss).min(self.send.nxt));
        }
        let is_lost = recovery.scoreboard.next_hole(snd_una).is_some();
        let begins = recovery.phase == Phase::Open && is_lost;
        if pipe_before > 0 {
            self.note_lost(pipe_before);
        }
        if begins {
            self.enter_fast(now, config, flight);
        }
    }

    /// How late a segment may be before it counts as lost (RFC 8985 section 6.2, step 4).
    fn reordering_window(&self) -> Duration {
        let quarter = self.rtt.min().div(4);
        self.rtt.smoothed().map_or(quarter, |srtt| quarter.min(srtt))
    }

    fn enter_fast(&mut self, now: Instant, config: &Config, flight: u32) {
        let undo = Undo { cwnd: self.window.cwnd, ssthresh: self.window.ssthresh };
        self.reduce(now, config, flight);
        self.window.cwnd = self.window.ssthresh;
        let high = self.send.nxt;
        let recovery = self.recovery_mut();
        recovery.phase = Phase::Fast;
        recovery.high = high;
        recovery.undo = Some(undo);
        recovery.again_stamp = None;
        recovery.send_one = true;
        self.flags.clear(Flags::TIMING);
    }

    /// The retransmission timer fired (RFC 6298 section 5.4 to 5.6, RFC 5681 section 3.1).
    pub(crate) fn enter_timeout(&mut self, now: Instant, config: &Config) {
        let undo = Undo { cwnd: self.window.cwnd, ssthresh: self.window.ssthresh };
        let (snd_una, snd_nxt) = (self.send.una, self.send.nxt);
        let is_first = !self.recovery_mut().is_timeout();
        if is_first {
            // ssthresh stays as it is when the same segment times out again.
            self.reduce(now, config, self.flight());
        }
        self.window.cwnd = self.window.mss;
        self.flags.clear(Flags::TIMING);
        let pipe_before = self.pipe();
        let recovery = self.recovery_mut();
        if recovery.phase == Phase::Open {
            recovery.undo = Some(undo);
            recovery.again_stamp = None;
        }
        recovery.phase = Phase::Timeout;
        recovery.high = snd_nxt;
        recovery.duplicate_count = 0;
        recovery.probe = None;
        recovery.suspects = None;
        recovery.send_one = true;
        recovery.scoreboard.on_timeout(snd_una, snd_nxt);
        if self.flags.has(Flags::BY_RATE) {
            self.note_lost(pipe_before);
        }
    }

    /// The path carries only smaller segments than were sent: they go out again, and that is no sign
    /// of congestion (RFC 1191 section 6.5).
    pub(crate) fn resend_all(&mut self) {
        let snd_nxt = self.send.nxt;
        let recovery = self.recovery_mut();
        recovery.scoreboard.lose_below(snd_nxt);
        recovery.scoreboard.lose_again(|_| true);
        recovery.send_one = true;
        if recovery.phase == Phase::Open {
            recovery.phase = Phase::Fast;
            recovery.high = snd_nxt;
            recovery.undo = None;
        }
        self.flags.clear(Flags::TIMING);
    }

    /// A reduction by the congestion control: sets ssthresh.
    pub(crate) fn reduce(&mut self, now: Instant, config: &Config, flight: u32) {
        let flight = flight.min(self.window.cwnd);
        let congestion = self.congestion.get_or_insert_with(config.congestion.start);
        congestion.on_congestion(&mut self.window, now, flight);
        // Whatever the algorithm says, a segment may always be sent.
        self.window.ssthresh = self.window.ssthresh.max(self.window.mss);
    }

    /// The first new acknowledgement echoes a timestamp from before the first retransmission: the
    /// original arrived, nothing was lost (RFC 3522 section 3.2, RFC 4015).
    fn undo_if_needless(&mut self, repr: &TcpRepr) {
        let Some(recovery) = &mut self.recovery else { return };
        let (Some(again), Some(ts), Some(undo)) =
            (recovery.again_stamp, repr.options.timestamps, recovery.undo)
        else {
            return;
        };
        // Only the first acknowledgement after the retransmission can tell.
        recovery.undo = None;
        if !self.flags.has(Flags::TIMESTAMPS) || stamp(ts.echo).at_or_after(stamp(again)) {
            return;
        }
        if recovery.phase == Phase::Fast {
            self.flags.set(Flags::REORDERED);
        }
        recovery.phase = Phase::Open;
        recovery.send_one = false;
        recovery.duplicate_count = 0;
        recovery.scoreboard.undo(self.send.una);
        self.window.cwnd = self.window.cwnd.max(undo.cwnd);
        self.window.ssthresh = undo.ssthresh;
        if let Some(congestion) = &mut self.congestion {
            congestion.on_undo();
        }
    }

    /// A tail loss probe is answered: if it repaired a loss, that loss counts (RFC 8985 section 7.4). In
    /// recovery, where it counts already, any progress is an answer.
    fn settle_probe(&mut self, now: Instant, config: &Config, repr: &TcpRepr, sack: SackReport) {
        let Some(recovery) = &mut self.recovery else { return };
        if recovery.is_fast() {
            recovery.probe = None;
        }
        if recovery.probe.take_if(|end| repr.ack.at_or_after(*end)).is_none() {
            return;
        }
        if !sack.is_duplicate && recovery.is_open() {
            self.reduce(now, config, sack.flight);
            self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
        }
    }

    /// All that was in flight when recovery began is acknowledged (RFC 6582 section 3.2, step 3, with
    /// its option 2: the window stays at ssthresh).
    fn leave_if_done(&mut self) {
        let Some(recovery) = &mut self.recovery else { return };
        if recovery.is_open() || self.send.una.before(recovery.high) {
            return;
        }
        recovery.phase = Phase::Open;
        recovery.duplicate_count = 0;
        recovery.send_one = false;
        recovery.undo = None;
    }

    /// Without SACK, an acknowledgement of part of what was in flight says that the next segment is
    /// lost too (RFC 6582 section 3.2, step 3).
    fn on_partial_ack(&mut self) {
        let edge = (self.send.una + self.window.mss).min(self.send.nxt);
        if self.flags.has(Flags::SACK) {
            return;
        }
        if let Some(recovery) = self.recovery.as_mut().filter(|recovery| recovery.is_fast()) {
            recovery.scoreboard.lose_below(edge);
            recovery.send_one = true;
        }
    }

    /// Whether a tail loss probe may go out: one at a time, and none once a timeout has told that much is
    /// lost. Unlike in RFC 8985 section 7.2 also in fast recovery, as in RFC 9002 section 6.2: where one
    /// acknowledgement answers all that is in flight, its loss would cost a timeout.
    #[inline]
    pub(crate) fn may_probe(&self) -> bool {
        let is_free = |recovery: &Recovery| recovery.probe.is_none() && !recovery.is_timeout();
        self.state.can_send() && self.recovery.as_deref().is_none_or(is_free)
    }

    /// A tail loss probe goes out. In recovery that is the oldest segment, which counts as lost again.
    pub(crate) fn on_tail_probe(&mut self) {
        let (snd_una, snd_nxt, mss) = (self.send.una, self.send.nxt, self.window.mss);
        let recovery = self.recovery_mut();
        recovery.probe = Some(snd_nxt);
        if recovery.is_fast() {
            recovery.scoreboard.lose_again_at(snd_una, mss);
            recovery.send_one = true;
        }
    }

    /// Gives the box back once nothing is in it.
    pub(crate) fn release_recovery(&mut self) {
        if self.recovery.as_ref().is_some_and(|recovery| recovery.is_needless(self.send.una)) {
            self.recovery = None;
        }
    }
}

impl Recovery {
    /// First transmissions that others overtook. As long as no reordering was ever seen, three segments
    /// or an episode under way are proof enough; else they have the reordering window's time to arrive
    /// (RFC 8985 section 6.2, steps 4 and 5).
    fn find_by_sack(&mut self, now: Instant, mss: u32, has_reordered: bool, reordering: Duration) {
        if let Some((edge, at)) = self.suspects
            && (now >= at || edge.at_or_before(self.scoreboard.lost_below()))
        {
            self.scoreboard.lose_below(edge);
            self.suspects = None;
        }
        let Some(highest) = self.scoreboard.highest_sacked() else {
            self.suspects = None;
            return;
        };
        if !highest.after(self.scoreboard.lost_below()) {
            return;
        }
        let is_plain =
            self.phase != Phase::Open || self.scoreboard.sacked_len() > (DUPLICATE_THRESHOLD - 1) * mss;
        if !has_reordered && is_plain {
            self.scoreboard.lose_below(highest);
            self.suspects = None;
        } else if self.suspects.is_none() {
            self.suspects = Some((highest, now + reordering));
        }
    }

    /// Retransmissions that were lost themselves: something sent later arrived, another retransmission
    /// or new data, and they had the time to (RFC 8985 section 6.2, steps 2 and 5).
    fn find_lost_again(&mut self, now: Instant, round_trip: Duration, reordering: Duration) {
        if let Some(arrived) = self.scoreboard.take_arrived()
            && now.since(arrived.at) >= round_trip
        {
            // Any sooner, and it would be the first transmission that arrived after all.
            self.arrived = Some(arrived);
        }
        if self.scoreboard.again().is_empty() {
            return;
        }
        let (arrived, highest) = (self.arrived, self.scoreboard.highest_sacked());
        self.scoreboard.lose_again(|again| {
            let is_overtaken = arrived.is_some_and(|arrived| arrived.is_after(again))
                || highest.is_some_and(|highest| highest.after(again.snd_nxt));
            is_overtaken && now >= again.sent_at + round_trip + reordering
        });
    }
}
