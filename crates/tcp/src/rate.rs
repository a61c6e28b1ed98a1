//! What a connection does for a control by rate: it notes what leaves, what arrives and what is lost, hands a sample
//! on for each acknowledgement, and holds segments back until their time. Nothing here runs for a control by window.

use crate::Config;
use crate::congestion::{AfterAck, CWND_MAX, LossPhase, Rate};
use crate::connection::Connection;
use crate::flags::Flags;
use tidegate_base::{Instant, SeqNumber};

impl Connection {
    /// Starts the congestion control that `config` names.
    pub(crate) fn start_congestion(&mut self, config: &Config) {
        let congestion = (config.congestion.start)();
        self.flags.assign(Flags::BY_RATE, congestion.rate().is_some());
        self.congestion = Some(congestion);
    }

    fn rate_mut(&mut self) -> Option<&mut Rate> {
        self.congestion.as_mut()?.rate_mut()
    }

    /// A segment from `start` to `end` left, and the pipe holds it.
    #[cold]
    pub(crate) fn note_sent(&mut self, now: Instant, start: SeqNumber, end: SeqNumber, again: bool) {
        let inflight = self.pipe();
        if let Some(rate) = self.rate_mut() {
            rate.delivery.on_sent(now, start, end, inflight, again);
            rate.pacer.on_sent(now, end.since(start));
        }
    }

    /// A SACK block says that a range arrived.
    #[cold]
    pub(crate) fn note_arrived(&mut self, now: Instant, start: SeqNumber, end: SeqNumber) {
        if let Some(rate) = self.rate_mut() {
            rate.delivery.on_arrived(now, start, end);
        }
    }

    /// SND.UNA moved.
    #[cold]
    pub(crate) fn note_acked(&mut self, now: Instant) {
        let snd_una = self.send.una;
        if let Some(rate) = self.rate_mut() {
            rate.delivery.on_ack(now, snd_una);
        }
    }

    /// The pipe was `pipe_before`, and what is missing now was found lost.
    #[cold]
    pub(crate) fn note_lost(&mut self, pipe_before: u32) {
        let lost = pipe_before.saturating_sub(self.pipe());
        if let Some(rate) = self.rate_mut().filter(|_| lost > 0) {
            rate.delivery.on_lost(lost);
        }
    }

    /// The peer echoed a congestion mark.
    #[cold]
    pub(crate) fn note_mark_echo(&mut self) {
        if let Some(rate) = self.rate_mut() {
            rate.delivery.on_mark();
        }
    }

    /// Everything offered was sent: the rate that follows is the service's, unless the window is full anyway.
    #[cold]
    pub(crate) fn note_all_sent(&mut self) {
        let inflight = self.pipe();
        if inflight < self.window.cwnd
            && let Some(rate) = self.rate_mut()
        {
            rate.delivery.limit(inflight);
        }
    }

    /// An acknowledgement is wholly taken: the control hears what it came to.
    #[cold]
    pub(crate) fn sample(&mut self, now: Instant) {
        let phase = self.recovery.as_ref().map_or(LossPhase::Open, |recovery| recovery.phase());
        let after = AfterAck { now, inflight: self.pipe(), min_rtt: self.rtt.min(), phase };
        let Some(congestion) = &mut self.congestion else { return };
        let Some(sample) = congestion.rate_mut().and_then(|rate| rate.delivery.take_sample(&after)) else {
            return;
        };
        congestion.on_sample(&mut self.window, &sample);
        self.window.cwnd = self.window.cwnd.clamp(self.window.mss, CWND_MAX);
    }

    /// Whether text has to wait for its time, which the deadline then is.
    #[cold]
    pub(crate) fn is_held_back(&mut self, now: Instant) -> bool {
        let is_early = self.next_send() > now;
        self.flags.assign(Flags::PACED, is_early);
        is_early
    }

    /// When text may leave next.
    #[cold]
    pub(crate) fn next_send(&self) -> Instant {
        let rate = self.congestion.as_ref().and_then(|congestion| congestion.rate());
        rate.map_or(Instant::ZERO, |rate| rate.pacer.next_send())
    }

    /// The most that may leave in one piece of bulk: what is due within a tick, and two segments at least.
    #[cold]
    pub(crate) fn paced_bulk_len(&self) -> u64 {
        let rate = self.congestion.as_ref().and_then(|congestion| congestion.rate());
        let quantum = rate.map_or(u64::MAX, |rate| rate.pacer.quantum());
        quantum.max(2 * u64::from(self.window.mss))
    }

    /// The rate that text is sent at, in bytes a second, where there is one.
    pub fn pacing_rate(&self) -> Option<u64> {
        let rate = self.congestion.as_ref()?.rate()?.pacer.rate();
        (rate > 0).then_some(rate)
    }
}
