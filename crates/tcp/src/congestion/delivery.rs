//! How fast the path delivers (draft-ietf-ccwg-bbr, section 4.1, first draft-cheng-iccrg-delivery-rate-estimation):
//! each segment remembers what was delivered when it left, and its arrival tells how much more was delivered since.
//!
//! ```text
//!   sent:  [ delivered .. | arrived | in flight | in flight ... ]      one entry a transmission, in sequence
//!             ^ popped once SND.UNA passed it
//! ```
//!
//! Invariant: entries are sorted by sequence number and do not overlap; none lies below SND.UNA after
//! an acknowledgement was taken.

use super::LossPhase;
use std::collections::VecDeque;
use tidegate_base::{Duration, Instant, SeqNumber};

/// One transmission, and how things stood when it left.
#[derive(Clone, Copy, Debug)]
struct Sent {
    start: SeqNumber,
    end: SeqNumber,
    sent_at: Instant,
    /// Of the segment before it that was known to have arrived: when it was sent, when that became known.
    first_sent_at: Instant,
    delivered_at: Instant,
    /// Bytes known to have arrived, and to be lost, by then.
    delivered: u64,
    lost: u64,
    /// Bytes in flight, itself included.
    inflight: u32,
    is_app_limited: bool,
    is_again: bool,
    has_arrived: bool,
}

/// What an acknowledgement told of the path. Bytes and bytes a second throughout.
#[derive(Clone, Copy, Debug)]
pub struct RateSample {
    /// When it arrived.
    pub now: Instant,
    /// Bytes that it told to have arrived, by SEG.ACK or by SACK.
    pub acked: u32,
    /// Bytes found lost since the sample before.
    pub lost: u32,
    /// Bytes that have arrived on this connection in all.
    pub delivered: u64,
    /// The same when the segment left that tells the rate, the newest of those that arrived.
    pub prior_delivered: u64,
    /// Bytes found lost on this connection since that segment left.
    pub lost_since: u64,
    /// What was in flight when that segment left, itself included.
    pub tx_inflight: u32,
    /// The delivery rate; none where too little time passed to tell.
    pub rate: Option<u64>,
    /// The service had nothing to send while the rate was measured: the path may be faster.
    pub is_app_limited: bool,
    /// The round trip of that segment; none if it was sent more than once.
    pub rtt: Option<Duration>,
    /// Bytes thought to be in the network now.
    pub inflight: u32,
    /// The same before this acknowledgement and the losses that it told of.
    pub prior_inflight: u32,
    /// Rounds so far: one lasts until what was sent after it began has arrived.
    pub round_count: u64,
    /// A round began with this acknowledgement.
    pub is_round_start: bool,
    /// Sending began anew since the sample before, after everything had arrived.
    pub is_restart: bool,
    /// How far loss recovery is.
    pub phase: LossPhase,
    /// The peer echoed a congestion mark (RFC 3168) since the sample before.
    pub is_marked: bool,
}

/// What the connection knows at the end of an acknowledgement.
pub(crate) struct AfterAck {
    pub(crate) now: Instant,
    pub(crate) inflight: u32,
    pub(crate) min_rtt: Duration,
    pub(crate) phase: LossPhase,
}

/// The estimator's state: the sections' `C.` variables, with bytes for packets.
#[derive(Debug, Default)]
pub struct Delivery {
    sent: VecDeque<Sent>,
    delivered: u64,
    delivered_at: Instant,
    first_sent_at: Instant,
    lost: u64,
    /// Until so much is delivered, rates are those of the service and not of the path; zero: of the path.
    app_limited_until: u64,
    /// A round ends when a segment arrives that left after so much was delivered.
    round_end: u64,
    round_count: u64,
    /// Since the sample before.
    acked_new: u32,
    lost_new: u32,
    is_restart: bool,
    is_marked: bool,
    newest: Option<Sent>,
}

impl Delivery {
    /// Begins a new round now.
    pub fn start_round(&mut self) {
        self.round_end = self.delivered;
    }

    /// The rates of what is in flight say nothing about the path: something else held sending back.
    pub fn limit(&mut self, inflight: u32) {
        self.app_limited_until = (self.delivered + u64::from(inflight)).max(1);
    }

    /// A segment leaves for the first time or again; `inflight` counts it already.
    pub(crate) fn on_sent(
        &mut self,
        now: Instant,
        start: SeqNumber,
        end: SeqNumber,
        inflight: u32,
        again: bool,
    ) {
        if inflight <= end.since(start) {
            self.is_restart |= self.app_limited_until > 0;
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        let entry = Sent {
            start,
            end,
            sent_at: now,
            first_sent_at: self.first_sent_at,
            delivered_at: self.delivered_at,
            delivered: self.delivered,
            lost: self.lost,
            inflight,
            is_app_limited: self.app_limited_until > 0,
            is_again: again,
            has_arrived: false,
        };
        if !again {
            return self.sent.push_back(entry);
        }
        for index in self.within(start, end) {
            let known = self.sent[index];
            if !known.has_arrived {
                self.sent[index] = Sent { start: known.start, end: known.end, ..entry };
            }
        }
    }

    /// A range arrived out of order, perhaps known already.
    pub(crate) fn on_arrived(&mut self, now: Instant, start: SeqNumber, end: SeqNumber) {
        for index in self.within(start, end) {
            if !std::mem::replace(&mut self.sent[index].has_arrived, true) {
                let entry = self.sent[index];
                self.count(now, &entry);
            }
        }
    }

    /// Everything below `snd_una` has arrived.
    pub(crate) fn on_ack(&mut self, now: Instant, snd_una: SeqNumber) {
        self.split_at(snd_una);
        while let Some(entry) = self.sent.pop_front_if(|entry| entry.end.at_or_before(snd_una)) {
            if !entry.has_arrived {
                self.count(now, &entry);
            }
        }
    }

    /// So many bytes count as lost from now on.
    pub(crate) fn on_lost(&mut self, byte_count: u32) {
        self.lost += u64::from(byte_count);
        self.lost_new += byte_count;
    }

    /// The peer echoed a congestion mark.
    pub(crate) fn on_mark(&mut self) {
        self.is_marked = true;
    }

    /// What the acknowledgement came to, once all of it is taken; none if it told of nothing new.
    pub(crate) fn take_sample(&mut self, after: &AfterAck) -> Option<RateSample> {
        if self.app_limited_until > 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let (acked, lost) = (std::mem::take(&mut self.acked_new), std::mem::take(&mut self.lost_new));
        if acked == 0 && lost == 0 {
            return None;
        }
        let newest = self.newest.take();
        let is_round_start = newest.is_some_and(|newest| newest.delivered >= self.round_end);
        if is_round_start {
            self.round_end = self.delivered;
            self.round_count += 1;
        }
        Some(RateSample {
            now: after.now,
            acked,
            lost,
            delivered: self.delivered,
            prior_delivered: newest.map_or(self.delivered, |newest| newest.delivered),
            lost_since: newest.map_or(0, |newest| self.lost - newest.lost),
            tx_inflight: newest.map_or(0, |newest| newest.inflight),
            rate: newest.and_then(|newest| self.rate(&newest, after.min_rtt)),
            is_app_limited: newest.is_some_and(|newest| newest.is_app_limited),
            rtt: newest.filter(|newest| !newest.is_again).map(|newest| after.now.since(newest.sent_at)),
            inflight: after.inflight,
            prior_inflight: after.inflight.saturating_add(acked).saturating_add(lost),
            round_count: self.round_count,
            is_round_start,
            is_restart: std::mem::take(&mut self.is_restart),
            phase: after.phase,
            is_marked: std::mem::take(&mut self.is_marked),
        })
    }

    /// Bytes a second between the segment before `newest` and it: by the slower of how they were sent and how
    /// their arrival became known. An interval shorter than a round trip is one of bunched acknowledgements.
    fn rate(&self, newest: &Sent, min_rtt: Duration) -> Option<u64> {
        let send_elapsed = newest.sent_at.since(newest.first_sent_at);
        let ack_elapsed = self.delivered_at.since(newest.delivered_at);
        let interval = send_elapsed.max(ack_elapsed);
        if interval < min_rtt || interval == Duration::ZERO {
            return None;
        }
        let bytes = u128::from(self.delivered - newest.delivered);
        Some((bytes * 1_000_000_000 / u128::from(interval.as_nanos())) as u64)
    }

    fn count(&mut self, now: Instant, entry: &Sent) {
        let len = entry.end.since(entry.start);
        self.delivered += u64::from(len);
        self.acked_new += len;
        self.delivered_at = now;
        let is_newest = self.newest.is_none_or(|newest| {
            entry.sent_at > newest.sent_at || entry.sent_at == newest.sent_at && entry.end.after(newest.end)
        });
        if is_newest {
            self.newest = Some(*entry);
            self.first_sent_at = entry.sent_at;
        }
    }

    /// The entries from `start` to `end`, cut so that none lies across an edge.
    fn within(&mut self, start: SeqNumber, end: SeqNumber) -> std::ops::Range<usize> {
        self.split_at(start);
        self.split_at(end);
        let first = self.sent.partition_point(|entry| entry.end.at_or_before(start));
        let last = self.sent.partition_point(|entry| entry.start.before(end));
        first..last.max(first)
    }

    fn split_at(&mut self, seq: SeqNumber) {
        let index = self.sent.partition_point(|entry| entry.end.at_or_before(seq));
        let Some(entry) = self.sent.get_mut(index).filter(|entry| entry.start.before(seq)) else { return };
        let rest = Sent { start: seq, ..*entry };
        entry.end = seq;
        self.sent.insert(index + 1, rest);
    }
}

#[cfg(test)]
#[path = "delivery_tests.rs"]
mod tests;
