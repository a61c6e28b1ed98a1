//! What is known of the bytes in flight: which arrived out of order, which are lost, which were sent
//! again (RFC 6675 section 3).
//!
//! ```text
//!  SND.UNA                     lost_below                          SND.NXT
//!   |   lost   [sacked]  lost  |     in flight     [sacked]   in flight  |
//!   [again]                        first transmissions are in sequence, so one edge says
//!                                  which of them count as lost
//! ```
//!
//! There is no record of single segments: a first transmission is lost if it lies below one edge, and
//! only what was sent again has an entry of its own. Nothing exists here for a connection without loss.
//!
//! Invariant: both lists are sorted, hold no empty range, do not overlap themselves or each other, and
//! lie between SND.UNA and SND.NXT; `again` lies below `lost_below`.

use tidegate_base::{Instant, SeqNumber};

/// Ranges that a peer can make us remember.
const SACKED_COUNT_MAX: usize = 256;
/// Retransmissions remembered apart; more are joined to the last, as if sent with it.
const AGAIN_COUNT_MAX: usize = 1024;

/// Sequence numbers from `start` up to, not including, `end`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Range {
    pub(crate) start: SeqNumber,
    pub(crate) end: SeqNumber,
}

impl Range {
    pub(crate) const fn len(self) -> u32 {
        self.end.since(self.start)
    }
}

/// A range that was sent again and is not known to have arrived or to be lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Again {
    pub(crate) range: Range,
    pub(crate) sent_at: Instant,
    /// SND.NXT then: what lies above it was sent later.
    pub(crate) snd_nxt: SeqNumber,
}

/// When the retransmission sent last among some was sent, and where it ends: segments sent at one
/// instant were sent in sequence (RFC 8985 section 6.2: RACK_sent_after).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SentLast {
    pub(crate) at: Instant,
    pub(crate) end: SeqNumber,
}

impl SentLast {
    /// Whether `again` was sent before this.
    pub(crate) fn is_after(self, again: &Again) -> bool {
        (again.sent_at, 0) < (self.at, self.end - again.range.end)
    }
}

/// What a SACK block brought.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct SackNews {
    /// Bytes not reported before.
    pub(crate) byte_count: u32,
    /// Some of them, sent only once, lie below others reported earlier: segments overtook each other.
    pub(crate) overtaken: bool,
}

/// The bytes in flight that are not simply in flight.
#[derive(Clone, Debug)]
pub(crate) struct Scoreboard {
    sacked: Vec<Range>,
    again: Vec<Again>,
    lost_below: SeqNumber,
    /// Up to here bytes may have been sent twice.
    again_below: SeqNumber,
    /// Of the retransmitted ranges that arrived lately, the one sent last.
    arrived: Option<SentLast>,
}

impl Scoreboard {
    pub(crate) const fn new(snd_una: SeqNumber) -> Self {
        Self {
            sacked: Vec::new(),
            again: Vec::new(),
            lost_below: snd_una,
            again_below: snd_una,
            arrived: None,
        }
    }

    /// Whether nothing is known that is not also known without a scoreboard.
    pub(crate) fn is_empty(&self, snd_una: SeqNumber) -> bool {
        self.sacked.is_empty() && self.again.is_empty() && self.lost_below == snd_una
    }

    /// The end of the highest range that arrived out of order.
    pub(crate) fn highest_sacked(&self) -> Option<SeqNumber> {
        self.sacked.last().map(|range| range.end)
    }

    /// Bytes that arrived out of order.
    pub(crate) fn sacked_len(&self) -> u32 {
        self.sacked.iter().map(|range| range.len()).sum()
    }

    /// The edge below which what did not arrive counts as lost.
    pub(crate) const fn lost_below(&self) -> SeqNumber {
        self.lost_below
    }

    /// What was sent again and is still under way.
    pub(crate) fn again(&self) -> &[Again] {
        &self.again
    }

    /// Takes a SACK block that lies within SND.UNA and SND.NXT. `highest` is what `highest_sacked` was
    /// before the acknowledgement that holds the block.
    pub(crate) fn on_sack(&mut self, block: Range, highest: Option<SeqNumber>) -> SackNews {
        let first = self.sacked.partition_point(|range| range.end.before(block.start));
        let last = self.sacked.partition_point(|range| range.start.at_or_before(block.end));
        if first == last && self.sacked.len() >= SACKED_COUNT_MAX {
            return SackNews::default();
        }
        let known: u32 = self.sacked[first..last].iter().map(|range| range.len()).sum();
        let merged = self.sacked[first..last].iter().fold(block, |merged, range| Range {
            start: merged.start.min(range.start),
            end: merged.end.max(range.end),
        });
        let byte_count = merged.len() - known;
        let overtaken = byte_count > 0
            && block.start.at_or_after(self.again_below)
            && highest.is_some_and(|highest| block.end.before(highest));
        self.sacked.splice(first..last, [merged]);
        self.remove_again(merged);
        SackNews { byte_count, overtaken }
    }

    /// Everything below `snd_una` has arrived. True if some of it, sent only once, was overtaken.
    pub(crate) fn on_ack(&mut self, snd_una: SeqNumber) -> bool {
        let hole = self.sacked.first().map(|range| range.start);
        let overtaken = self.again_below.before(snd_una)
            && hole.is_some_and(|start| start.after(self.again_below) && start.at_or_before(snd_una));
        let gone = self.sacked.partition_point(|range| range.end.at_or_before(snd_una));
        self.sacked.drain(..gone);
        if let Some(first) = self.sacked.first_mut() {
            first.start = first.start.max(snd_una);
        }
        if let Some(first) = self.again.first().map(|again| again.range.start) {
            self.remove_again(Range { start: first.min(snd_una), end: snd_una });
        }
        self.lost_below = self.lost_below.max(snd_una);
        self.again_below = self.again_below.max(snd_una);
        overtaken
    }

    /// First transmissions below `edge` that did not arrive are lost.
    pub(crate) fn lose_below(&mut self, edge: SeqNumber) {
        self.lost_below = self.lost_below.max(edge);
    }

    /// The retransmitted range that arrived since this was last asked; of several, the one sent last.
    pub(crate) fn take_arrived(&mut self) -> Option<SentLast> {
        self.arrived.take()
    }

    /// Retransmissions that `is_lost` says so of are lost too. True if there was one.
    pub(crate) fn lose_again(&mut self, is_lost: impl Fn(&Again) -> bool) -> bool {
        let count = self.again.len();
        self.again.retain(|again| !is_lost(again));
        self.again.len() != count
    }

    /// The first `len` bytes of a retransmission at `snd_una` are lost too.
    pub(crate) fn lose_again_at(&mut self, snd_una: SeqNumber, len: u32) {
        let Some(first) = self.again.first_mut().filter(|again| again.range.start == snd_una) else { return };
        first.range.start = (snd_una + len).min(first.range.end);
        self.again.retain(|again| again.range.start.before(again.range.end));
    }

    /// The retransmission timer fired: whatever did not arrive is lost. If the peer claims to hold the
    /// very byte that it asks for, its claims are void (RFC 2018 section 8).
    pub(crate) fn on_timeout(&mut self, snd_una: SeqNumber, snd_nxt: SeqNumber) {
        if self.sacked.first().is_some_and(|range| range.start == snd_una) {
            self.sacked.clear();
        }
        self.again.clear();
        self.lost_below = snd_nxt;
    }

    /// Nothing counts as lost any more: the timeout or the duplicates were a mistake.
    pub(crate) fn undo(&mut self, snd_una: SeqNumber) {
        self.again.clear();
        self.lost_below = snd_una;
    }

    /// The first range that is lost and was not sent again.
    pub(crate) fn next_hole(&self, snd_una: SeqNumber) -> Option<Range> {
        let mut at = snd_una;
        while at.before(self.lost_below) {
            let sacked = &self.sacked[self.sacked.partition_point(|range| range.end.at_or_before(at))..];
            let again = &self.again[self.again.partition_point(|again| again.range.end.at_or_before(at))..];
            let covers = |range: Range| range.start.at_or_before(at).then_some(range.end);
            let (sacked, again) = (sacked.first().copied(), again.first().map(|again| again.range));
            match (sacked.and_then(covers), again.and_then(covers)) {
                (Some(end), _) | (None, Some(end)) => at = end,
                (None, None) => {
                    let end = [sacked, again]
                        .into_iter()
                        .flatten()
                        .fold(self.lost_below, |end, range| end.min(range.start));
                    return Some(Range { start: at, end });
                }
            }
        }
        None
    }

    /// `range`, the beginning of a hole, is sent again.
    pub(crate) fn on_send_again(&mut self, range: Range, sent_at: Instant, snd_nxt: SeqNumber) {
        self.again_below = self.again_below.max(range.end);
        let index = self.again.partition_point(|again| again.range.start.before(range.start));
        let is_full = self.again.len() >= AGAIN_COUNT_MAX;
        if let Some(before) = index.checked_sub(1).and_then(|index| self.again.get_mut(index))
            && before.range.end == range.start
            && (before.sent_at == sent_at || is_full)
        {
            *before = Again { range: Range { end: range.end, ..before.range }, sent_at, snd_nxt };
            return;
        }
        self.again.insert(index, Again { range, sent_at, snd_nxt });
    }

    /// What is thought to be in the network (RFC 6675 section 4, SetPipe): all in flight, less what
    /// arrived, less what is lost, plus what was sent again.
    pub(crate) fn pipe(&self, snd_nxt: SeqNumber) -> u32 {
        let edge = self.lost_below;
        let above = |range: &Range| range.end.max(edge).since(range.start.max(edge));
        let arrived: u32 = self.sacked.iter().map(above).sum();
        let again: u32 = self.again.iter().map(|again| again.range.len()).sum();
        snd_nxt.since(edge).saturating_sub(arrived) + again
    }

    /// Removes from `again` what arrived.
    fn remove_again(&mut self, arrived: Range) {
        let first = self.again.partition_point(|again| again.range.end.at_or_before(arrived.start));
        let last = self.again.partition_point(|again| again.range.start.before(arrived.end));
        if first >= last {
            return;
        }
        for again in &self.again[first..last] {
            if !self.arrived.is_some_and(|arrived| arrived.is_after(again)) {
                let end = again.range.end.min(arrived.end);
                self.arrived = Some(SentLast { at: again.sent_at, end });
            }
        }
        let head = self.again[first];
        let tail = self.again[last - 1];
        let head = Again { range: Range { end: arrived.start, ..head.range }, ..head };
        let tail = Again { range: Range { start: arrived.end, ..tail.range }, ..tail };
        let keep = [head, tail].into_iter().filter(|again| again.range.start.before(again.range.end));
        self.again.splice(first..last, keep);
    }

    /// Panics unless the invariant holds.
    pub(crate) fn check_invariants(&self, snd_una: SeqNumber, snd_nxt: SeqNumber) {
        let again: Vec<Range> = self.again.iter().map(|again| again.range).collect();
        for ranges in [&self.sacked, &again] {
            let mut at = snd_una;
            for range in ranges {
                assert!(range.start.at_or_after(at) && range.start.before(range.end), "{self:?}");
                at = range.end;
            }
            assert!(at.at_or_before(snd_nxt), "{self:?}");
        }
        for range in &again {
            let apart =
                |sacked: &Range| sacked.end.at_or_before(range.start) || sacked.start.at_or_after(range.end);
            assert!(self.sacked.iter().all(apart) && range.end.at_or_before(self.lost_below), "{self:?}");
        }
        assert!(self.lost_below.at_or_after(snd_una) && self.lost_below.at_or_before(snd_nxt), "{self:?}");
    }
}

#[cfg(test)]
mod tests;
