//! Segments in a synchronized state: is it acceptable, what does it say, and what of it is new
//! (RFC 9293 section 3.10.7.4, with RFC 5961 and RFC 7323).

use crate::connection::Connection;
use crate::flags::Flags;
use crate::reassembly::Reassembly;
use crate::recovery::SackReport;
use crate::scoreboard::Range;
use crate::timestamps::{clock_secs, stamp};
use crate::{Arrival, Closed, Config, Outcome, State};
use tidegate_base::{DropReason, Instant, SeqNumber};
use tidegate_wire::{TcpFlags, TcpRepr, Timestamps};

/// The ECN field's congestion mark (RFC 3168 section 5).
const CONGESTION_EXPERIENCED: u8 = 3;
/// Time between answers to segments that are not acceptable (RFC 5961 section 7).
const CHALLENGE_INTERVAL_MS: u32 = 100;
/// TS.Recent is not trusted once older than this (RFC 7323 section 5.5).
const TS_RECENT_AGE_SECS_MAX: u32 = 24 * 86_400;
/// In-order data segments that make an acknowledgement due (RFC 9293 section 3.8.6.3, SHLD-19).
const SEGMENTS_PER_ACK: u8 = 2;

/// What is left of a segment after the window has trimmed it.
struct Text<'a> {
    seq: SeqNumber,
    bytes: &'a [u8],
    fin: bool,
}

impl Connection {
    /// Header prediction: an ordinary segment that is next in order, while nothing is out of order in
    /// either direction. Such a segment meets none of the special cases below.
    #[inline]
    pub(crate) fn is_predicted(&self, arrival: &Arrival<'_>) -> bool {
        let repr = arrival.repr;
        self.state == State::Established
            && repr.flags.without(TcpFlags::PSH) == TcpFlags::ACK
            && repr.seq == self.receive.nxt
            && self.recovery.is_none()
            && self.reassembly.is_none()
            && arrival.ecn != CONGESTION_EXPERIENCED
            && repr.options.sack.is_empty()
            && repr.ack.since(self.send.una) <= self.send.nxt.since(self.send.una)
            && arrival.payload.len() <= self.receive.edge.since(self.receive.nxt) as usize
            && !(arrival.payload.is_empty() && repr.ack == self.send.una)
            && self.is_stamp_predicted(repr.options.timestamps)
    }

    #[inline]
    fn is_stamp_predicted(&self, timestamps: Option<Timestamps>) -> bool {
        match timestamps {
            Some(ts) if self.flags.has(Flags::TIMESTAMPS) => {
                stamp(ts.value).at_or_after(stamp(self.receive.ts_recent))
            }
            _ => !self.flags.has(Flags::TIMESTAMPS),
        }
    }

    /// Takes a segment for which [`Connection::is_predicted`] holds.
    #[inline]
    pub(crate) fn on_predicted(
        &mut self,
        now: Instant,
        config: &Config,
        arrival: &Arrival<'_>,
        deliver: &mut dyn FnMut(&[u8]),
    ) -> Outcome {
        let repr = arrival.repr;
        self.note_arrival(now, repr);
        let acked = repr.ack != self.send.una;
        if acked {
            self.on_new_ack(now, config, repr, SackReport::default());
        }
        self.update_window(repr, self.send_shift);
        if acked && self.flags.has(Flags::BY_RATE) {
            self.sample(now);
        }
        if !arrival.payload.is_empty() {
            self.deliver_in_order(arrival.payload, deliver);
            self.schedule_ack(now, config);
        }
        Outcome { acked, ..Outcome::NONE }
    }

    /// RFC 9293 section 3.10.7.4.
    pub(crate) fn on_segment_general(
        &mut self,
        now: Instant,
        config: &Config,
        arrival: &Arrival<'_>,
        deliver: &mut dyn FnMut(&[u8]),
    ) -> Outcome {
        if self.is_peer_syn_again(arrival.repr) {
            return self.on_peer_syn_again(now, config, arrival, deliver);
        }
        if let Err(outcome) = self.accept_segment(now, config, arrival) {
            return outcome;
        }
        self.note_arrival(now, arrival.repr);
        self.note_mark(arrival);
        let mut outcome = match self.on_ack(now, config, arrival) {
            Ok(outcome) => outcome,
            Err(outcome) => return outcome,
        };
        if outcome.closed.is_none() {
            self.on_text(now, config, arrival, deliver, &mut outcome);
        }
        outcome
    }

    /// The peer has not seen our SYN-ACK, or this is its own in a simultaneous open, which then counts
    /// for its ACK.
    fn on_peer_syn_again(
        &mut self,
        now: Instant,
        config: &Config,
        arrival: &Arrival<'_>,
        deliver: &mut dyn FnMut(&[u8]),
    ) -> Outcome {
        if !arrival.repr.flags.contains(TcpFlags::ACK) {
            self.flags.set(Flags::SYN_DUE);
            return Outcome::NONE;
        }
        let flags = arrival.repr.flags.without(TcpFlags::SYN);
        let repr = TcpRepr { seq: self.receive.nxt, flags, ..*arrival.repr };
        self.on_segment_general(now, config, &Arrival { repr: &repr, payload: &[], ..*arrival }, deliver)
    }

    /// First to fourth: sequence number, RST, SYN; and PAWS before them.
    fn accept_segment(
        &mut self,
        now: Instant,
        config: &Config,
        arrival: &Arrival<'_>,
    ) -> Result<(), Outcome> {
        let repr = arrival.repr;
        let is_reset = repr.flags.contains(TcpFlags::RST);
        let is_syn = repr.flags.contains(TcpFlags::SYN);
        if !is_reset && !is_syn {
            self.check_stamp(now, repr)?;
        }
        if !self.is_in_window(repr, arrival.payload.len()) {
            if is_reset {
                return Err(Outcome::dropped(DropReason::OutOfWindow));
            }
            return Err(self.answer_unacceptable(now, config, arrival));
        }
        if is_reset {
            return Err(self.on_reset(now, repr));
        }
        if is_syn {
            // RFC 5961 section 4.2: whatever its sequence number, ask the peer.
            self.challenge(now);
            return Err(Outcome::dropped(DropReason::ChallengeAck));
        }
        if !repr.flags.contains(TcpFlags::ACK) {
            return Err(Outcome::dropped(DropReason::OutOfWindow));
        }
        Ok(())
    }

    /// PAWS (RFC 7323 section 5.3, R1), and segments that lack the agreed option (section 3.2).
    fn check_stamp(&mut self, now: Instant, repr: &TcpRepr) -> Result<(), Outcome> {
        if !self.flags.has(Flags::TIMESTAMPS) {
            return Ok(());
        }
        let Some(ts) = repr.options.timestamps else {
            return Err(Outcome::dropped(DropReason::StaleTimestamp));
        };
        let is_old = stamp(ts.value).before(stamp(self.receive.ts_recent));
        let age = clock_secs(now).wrapping_sub(self.receive.ts_recent_at);
        if is_old && age <= TS_RECENT_AGE_SECS_MAX {
            self.challenge(now);
            return Err(Outcome::dropped(DropReason::StaleTimestamp));
        }
        Ok(())
    }

    /// The four cases of the acceptability test (RFC 9293 section 3.4, table 6). An empty segment may
    /// also sit at the right edge, where a peer that filled the window sends its acknowledgements; and
    /// one that asks into a closed window is acceptable but for its text.
    fn is_in_window(&self, repr: &TcpRepr, payload_len: usize) -> bool {
        let len = repr.segment_len(payload_len);
        let in_window = |seq: SeqNumber| seq.at_or_after(self.receive.nxt) && seq.before(self.receive.edge);
        if repr.seq == self.receive.nxt || in_window(repr.seq) {
            return true;
        }
        match len {
            0 => repr.seq == self.receive.edge,
            len => repr.seq.before(self.receive.nxt) && in_window(repr.seq + (len - 1)),
        }
    }

    /// First, not acceptable: an acknowledgement tells the peer where we are. One with text is an
    /// honest repetition and always answered; the rest within the rate of challenges.
    fn answer_unacceptable(&mut self, now: Instant, config: &Config, arrival: &Arrival<'_>) -> Outcome {
        let repr = arrival.repr;
        let len = repr.segment_len(arrival.payload.len());
        if len == 0 || repr.flags.contains(TcpFlags::SYN) {
            self.challenge(now);
        } else {
            self.report_duplicate(Range { start: repr.seq, end: repr.seq + len });
            self.owe_ack();
            self.timers.received = now;
        }
        if self.state == State::TimeWait && repr.flags.contains(TcpFlags::FIN) {
            self.timers.start_time_wait(now, config);
        }
        Outcome::dropped(DropReason::OutOfWindow)
    }

    /// Second: RST, believed only at the very next sequence number (RFC 5961 section 3.2).
    fn on_reset(&mut self, now: Instant, repr: &TcpRepr) -> Outcome {
        if self.state == State::TimeWait {
            return Outcome::dropped(DropReason::OutOfWindow); // RFC 1337 section 3.
        }
        if repr.seq != self.receive.nxt {
            self.challenge(now);
            return Outcome::dropped(DropReason::ChallengeAck);
        }
        let was_opening = self.state == State::SynReceived && self.flags.has(Flags::ACTIVE_OPEN);
        self.end();
        Outcome::closed(if was_opening { Closed::Refused } else { Closed::Reset })
    }

    /// The peer is there, whatever the segment says.
    #[inline]
    fn note_arrival(&mut self, now: Instant, repr: &TcpRepr) {
        self.note_stamp(now, repr);
        self.timers.received = now;
        self.probe_count = 0;
    }

    /// TS.Recent follows the segment that the next acknowledgement will cover (RFC 7323 section 4.3).
    #[inline]
    fn note_stamp(&mut self, now: Instant, repr: &TcpRepr) {
        if let Some(ts) = repr.options.timestamps
            && self.flags.has(Flags::TIMESTAMPS)
            && repr.seq.at_or_before(self.receive.last_ack)
        {
            self.receive.ts_recent = ts.value;
            self.receive.ts_recent_at = clock_secs(now);
        }
    }

    /// RFC 3168 section 6.1.3: a mark is echoed until the peer says that it slowed down.
    fn note_mark(&mut self, arrival: &Arrival<'_>) {
        if !self.flags.has(Flags::ECN) {
            return;
        }
        if arrival.repr.flags.contains(TcpFlags::CWR) {
            self.flags.clear(Flags::ECHO_MARK);
        }
        if arrival.ecn == CONGESTION_EXPERIENCED {
            self.flags.set(Flags::ECHO_MARK);
            self.owe_ack();
        }
    }

    /// Seventh and eighth: text and FIN.
    fn on_text(
        &mut self,
        now: Instant,
        config: &Config,
        arrival: &Arrival<'_>,
        deliver: &mut dyn FnMut(&[u8]),
        outcome: &mut Outcome,
    ) {
        let len = arrival.repr.segment_len(arrival.payload.len());
        if len == 0 {
            // A probe below the window was answered already; nothing more to do.
            return;
        }
        if !self.state.can_receive() {
            // RFC 9293: "this should not occur, since a FIN has been received"; a repetition that
            // straddles RCV.NXT does, and is acknowledged.
            self.owe_ack();
            return;
        }
        let text = self.trim(arrival);
        if text.bytes.is_empty() && !text.fin {
            self.owe_ack();
            outcome.drop = Some(DropReason::OutOfWindow);
            return;
        }
        if text.seq != self.receive.nxt {
            return self.on_early_text(config, &text, outcome);
        }
        self.on_next_text(now, config, &text, deliver, outcome);
    }

    /// Cuts a segment to the window (RFC 9293 section 3.10.7.4: "tailored to the window").
    fn trim<'a>(&mut self, arrival: &Arrival<'a>) -> Text<'a> {
        let repr = arrival.repr;
        let mut text =
            Text { seq: repr.seq, bytes: arrival.payload, fin: repr.flags.contains(TcpFlags::FIN) };
        if text.seq.before(self.receive.nxt) {
            let known = self.receive.nxt.since(text.seq);
            self.report_duplicate(Range { start: text.seq, end: self.receive.nxt });
            text.bytes = text.bytes.get(known as usize..).unwrap_or_default();
            text.seq = self.receive.nxt;
        }
        let room = self.receive.edge.since(text.seq) as usize;
        if text.bytes.len() > room {
            text.bytes = &text.bytes[..room];
            text.fin = false;
        }
        text
    }

    /// Text beyond a gap waits, and the peer is told at once (RFC 5681 section 4.2).
    fn on_early_text(&mut self, config: &Config, text: &Text<'_>, outcome: &mut Outcome) {
        let reassembly = self.reassembly.get_or_insert_with(Box::default);
        if text.fin {
            reassembly.insert_fin(text.seq + text.bytes.len() as u32);
        }
        if !reassembly.insert(text.seq, text.bytes, config.reassembly_count_max.into()) {
            outcome.drop = Some(DropReason::ReassemblyFull);
        }
        self.release_reassembly();
        self.owe_ack();
    }

    /// Text that is next, and what waited for it.
    fn on_next_text(
        &mut self,
        now: Instant,
        config: &Config,
        text: &Text<'_>,
        deliver: &mut dyn FnMut(&[u8]),
        outcome: &mut Outcome,
    ) {
        if !text.bytes.is_empty() {
            self.deliver_in_order(text.bytes, deliver);
        }
        let mut fin = text.fin;
        if let Some(reassembly) = self.reassembly.as_mut().filter(|reassembly| reassembly.has_gap()) {
            let (nxt, fin_is_next) = reassembly.take_in_order(self.receive.nxt, deliver);
            self.receive.unread += nxt.since(self.receive.nxt);
            self.receive.nxt = nxt;
            fin |= fin_is_next;
            // RFC 5681 section 4.2: at once when a segment fills a gap.
            self.owe_ack();
            self.release_reassembly();
        }
        self.schedule_ack(now, config);
        if fin {
            self.on_fin(now, config, outcome);
        }
    }

    #[inline]
    pub(crate) fn deliver_in_order(&mut self, bytes: &[u8], deliver: &mut dyn FnMut(&[u8])) {
        self.receive.nxt += bytes.len() as u32;
        self.receive.unread += bytes.len() as u32;
        deliver(bytes);
    }

    /// Eighth: the FIN bit.
    fn on_fin(&mut self, now: Instant, config: &Config, outcome: &mut Outcome) {
        // The FIN's own sequence number may lie just beyond a window that the data filled.
        self.receive.nxt += 1;
        self.receive.edge = self.receive.edge.max(self.receive.nxt);
        self.reassembly = None;
        self.owe_ack();
        outcome.peer_closed = true;
        match self.state {
            State::Established => self.state = State::CloseWait,
            State::FinWait1 => self.state = State::Closing,
            State::FinWait2 => self.enter_time_wait(now, config, outcome),
            _ => {}
        }
    }

    pub(crate) fn enter_time_wait(&mut self, now: Instant, config: &Config, outcome: &mut Outcome) {
        self.state = State::TimeWait;
        self.clear_timers();
        self.timers.start_time_wait(now, config);
        self.recovery = None;
        self.congestion = None;
        outcome.closed = Some(Closed::Finished);
    }

    /// An acknowledgement is due now, or soon if nothing carries it meanwhile (RFC 9293
    /// section 3.8.6.3).
    #[inline]
    fn schedule_ack(&mut self, now: Instant, config: &Config) {
        self.receive.segment_count = self.receive.segment_count.saturating_add(1);
        if self.receive.segment_count >= SEGMENTS_PER_ACK {
            self.receive.acks_owed = self.receive.acks_owed.max(1);
        } else {
            self.timers.arm_ack(now, config);
        }
    }

    /// One more acknowledgement is due now. Without SACK the peer counts duplicates, so each counts.
    pub(crate) fn owe_ack(&mut self) {
        let most = if self.flags.has(Flags::SACK) { 1 } else { u8::MAX };
        self.receive.acks_owed = self.receive.acks_owed.saturating_add(1).min(most);
    }

    /// A challenge ACK, unless one was sent a moment ago (RFC 5961 section 7).
    pub(crate) fn challenge(&mut self, now: Instant) {
        let now_ms = now.as_millis_wrapping();
        let since = now_ms.wrapping_sub(self.receive.challenged_at);
        if self.receive.challenged_at == 0 || since >= CHALLENGE_INTERVAL_MS {
            self.receive.challenged_at = now_ms.max(1);
            self.owe_ack();
        }
    }

    /// Bytes that came twice are reported in the next SACK option (RFC 2883).
    fn report_duplicate(&mut self, range: Range) {
        if self.flags.has(Flags::SACK) && self.state.can_receive() {
            self.reassembly.get_or_insert_with(Box::<Reassembly>::default).on_duplicate(range);
        }
    }

    /// Gives the box back once nothing is in it.
    pub(crate) fn release_reassembly(&mut self) {
        if self.reassembly.as_ref().is_some_and(|reassembly| reassembly.is_empty()) {
            self.reassembly = None;
        }
    }
}
