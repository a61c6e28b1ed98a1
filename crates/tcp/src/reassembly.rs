//! Bytes that arrived ahead of RCV.NXT (RFC 9293 section 3.10.7.4, seventh), and what is told the peer
//! about them: SACK blocks (RFC 2018), among them one for bytes that came twice (RFC 2883).
//!
//! A connection has this box only while there is something in it. Its owner hands in no byte beyond
//! the receive window, so the window bounds the bytes, and a count bounds the runs.
//!
//! Invariant: runs are sorted, not empty, and do not touch; all start after RCV.NXT.

use crate::scoreboard::Range;
use tidegate_base::SeqNumber;
use tidegate_wire::{SackBlock, SackBlocks};

/// Contiguous bytes.
#[derive(Debug)]
struct Run {
    start: SeqNumber,
    bytes: Vec<u8>,
    /// When it last grew, by a count of insertions.
    grown_at: u32,
    /// It was reported since.
    is_told: bool,
}

impl Run {
    fn end(&self) -> SeqNumber {
        self.start + self.bytes.len() as u32
    }
}

/// The bytes ahead of a gap.
#[derive(Debug, Default)]
pub(crate) struct Reassembly {
    runs: Vec<Run>,
    fin: Option<SeqNumber>,
    duplicate: Option<Range>,
    insertion_count: u32,
}

impl Reassembly {
    /// Whether the box can go.
    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.fin.is_none() && self.duplicate.is_none()
    }

    /// Whether bytes or a FIN wait behind a gap.
    pub(crate) fn has_gap(&self) -> bool {
        !self.runs.is_empty() || self.fin.is_some()
    }

    /// Keeps `bytes`, which start at `start`, after RCV.NXT. False if there is no place for another run.
    pub(crate) fn insert(&mut self, start: SeqNumber, bytes: &[u8], run_count_max: usize) -> bool {
        let end = start + bytes.len() as u32;
        let first = self.runs.partition_point(|run| run.end().before(start));
        let last = self.runs.partition_point(|run| run.start.at_or_before(end));
        if bytes.is_empty() {
            return true;
        }
        if first == last && self.runs.len() >= run_count_max {
            return false;
        }
        self.insertion_count = self.insertion_count.wrapping_add(1);
        self.note_duplicate(first, last, Range { start, end });
        if let [run] = &mut self.runs[first..last]
            && run.start.at_or_before(start)
        {
            // The usual case: the run grows at its end.
            let known = run.end().since(start) as usize;
            run.bytes.extend_from_slice(bytes.get(known..).unwrap_or_default());
            run.grown_at = self.insertion_count;
            run.is_told = false;
            return true;
        }
        let run = self.merge(first, last, start, bytes);
        self.runs.splice(first..last, [run]);
        true
    }

    /// A FIN after the byte before `seq` arrived.
    pub(crate) fn insert_fin(&mut self, seq: SeqNumber) {
        self.fin = Some(seq);
    }

    /// `range` arrived a second time (RFC 2883 section 4).
    pub(crate) fn on_duplicate(&mut self, range: Range) {
        self.duplicate = Some(range);
    }

    /// `blocks` have been reported. True if runs are left that grew and were not.
    pub(crate) fn on_reported(&mut self, blocks: &SackBlocks) -> bool {
        if !blocks.is_empty() {
            self.duplicate = None;
        }
        for run in &mut self.runs {
            run.is_told |= blocks.as_slice().iter().any(|block| block.start == run.start);
        }
        self.runs.iter().any(|run| !run.is_told)
    }

    /// Hands over the bytes that are in order now that RCV.NXT is `rcv_nxt`. Returns the new RCV.NXT,
    /// and whether the FIN is next.
    pub(crate) fn take_in_order(
        &mut self,
        rcv_nxt: SeqNumber,
        deliver: &mut dyn FnMut(&[u8]),
    ) -> (SeqNumber, bool) {
        let mut next = rcv_nxt;
        let count = self.runs.partition_point(|run| run.start.at_or_before(rcv_nxt));
        for run in self.runs.drain(..count) {
            if run.end().after(next) {
                deliver(&run.bytes[next.since(run.start) as usize..]);
                next = run.end();
            }
        }
        (next, self.fin.take_if(|fin| *fin == next).is_some())
    }

    /// The blocks to report, at most `count_max`: the duplicate, then the runs, latest grown first
    /// (RFC 2018 section 4), but those not reported since before the others. So the acknowledgements
    /// of a batch, between them, tell of all that it brought.
    pub(crate) fn blocks(&self, count_max: usize) -> SackBlocks {
        let mut blocks = SackBlocks::NONE;
        let mut room = count_max.min(4);
        if let Some(Range { start, end }) = self.duplicate.filter(|_| room > 0) {
            blocks.push(SackBlock { start, end });
            room -= 1;
        }
        let rank = |run: &Run| (run.is_told, self.insertion_count.wrapping_sub(run.grown_at));
        let mut last = None;
        for _ in 0..room.min(self.runs.len()) {
            let is_after = |run: &&Run| last.is_none_or(|last| rank(run) > last);
            let Some(run) = self.runs.iter().filter(is_after).min_by_key(|run| rank(run)) else { break };
            blocks.push(SackBlock { start: run.start, end: run.end() });
            last = Some(rank(run));
        }
        blocks
    }

    /// The runs `first..last`, which touch `bytes`, joined with them. What is known stays.
    fn merge(&self, first: usize, last: usize, start: SeqNumber, bytes: &[u8]) -> Run {
        let mut merged = Vec::with_capacity(bytes.len());
        let begin = self.runs[first..last].first().map_or(start, |run| run.start.min(start));
        for run in &self.runs[first..last] {
            let at = begin + merged.len() as u32;
            if at.before(run.start) {
                merged.extend_from_slice(&bytes[at.since(start) as usize..run.start.since(start) as usize]);
            }
            merged.extend_from_slice(&run.bytes);
        }
        let at = begin + merged.len() as u32;
        merged.extend_from_slice(bytes.get(at.since(start) as usize..).unwrap_or_default());
        Run { start: begin, bytes: merged, grown_at: self.insertion_count, is_told: false }
    }

    /// Remembers the first part of `range` that is known already.
    fn note_duplicate(&mut self, first: usize, last: usize, range: Range) {
        let overlap = |run: &Run| Range { start: run.start.max(range.start), end: run.end().min(range.end) };
        let known = self.runs[first..last].iter().map(overlap).find(|known| known.start.before(known.end));
        if known.is_some() {
            self.duplicate = known;
        }
    }

    /// Panics unless the invariant holds.
    pub(crate) fn check_invariants(&self, rcv_nxt: SeqNumber, right_edge: SeqNumber) {
        let mut at = rcv_nxt;
        for run in &self.runs {
            assert!(run.start.after(at) && !run.bytes.is_empty(), "{self:?} at {rcv_nxt:?}");
            at = run.end();
        }
        assert!(at.at_or_before(right_edge), "{self:?} beyond {right_edge:?}");
    }
}

#[cfg(test)]
mod tests;
