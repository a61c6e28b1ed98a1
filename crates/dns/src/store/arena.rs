//! The memory that ready answers lie in: lines, laid end to end in segments that are added until the budget is
//! used up, then used again.
//!
//! ```text
//!   segment 0                      segment 1                      segment 2
//!   |entry|entry|gap |entry|entry| |entry|entry|entry|entry|gap|  |entry|entry| free ...
//!                     ^ hand
//! ```
//! Once the budget is spent, the hand looks for room (second chance): an entry that was used is passed and loses
//! its mark, one that was not gives its lines up. Neighbouring lines that came free make one gap; what an entry
//! leaves of it is a gap again. So nothing is moved, nothing is allocated, and no list of free pieces is kept.
//!
//! Invariant: up to its filled part each segment is entries and gaps, end to end; none crosses a segment's end.

use super::entry::{self, LINE_LEN};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

/// Lines in a segment; a power of two.
const SEGMENT_LINE_COUNT: usize = 1 << 14;
/// Entries and gaps that one search for room passes at most.
const STEP_COUNT: usize = 256;

/// One line.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C, align(64))]
struct Line([u8; LINE_LEN]);

/// All lines.
pub(crate) struct Arena {
    segments: Vec<Box<[Line]>>,
    segment_count_max: usize,
    /// Lines in use of the last segment.
    filled: usize,
    hand: usize,
}

impl Arena {
    /// An arena of at most `byte_count` bytes, at least one segment.
    pub(crate) fn new(byte_count: usize) -> Self {
        let segment_count_max = (byte_count / (SEGMENT_LINE_COUNT * LINE_LEN)).max(1);
        Self { segments: Vec::new(), segment_count_max, filled: SEGMENT_LINE_COUNT, hand: 0 }
    }

    /// Bytes that it takes now.
    pub(crate) fn byte_count(&self) -> usize {
        self.segments.len() * SEGMENT_LINE_COUNT * LINE_LEN
    }

    /// Gives up the last segment. False if none was left.
    pub(crate) fn shrink(&mut self) -> bool {
        self.segments.pop().is_some()
    }

    /// The octets from `line` to the end of its segment.
    #[inline]
    pub(crate) fn at(&self, line: u32) -> &[u8] {
        let lines = self.segments.get(line as usize / SEGMENT_LINE_COUNT);
        let lines = lines.and_then(|lines| lines.get(line as usize % SEGMENT_LINE_COUNT..));
        lines.unwrap_or_default().as_bytes()
    }

    /// The same, to change.
    #[inline]
    pub(crate) fn at_mut(&mut self, line: u32) -> &mut [u8] {
        let lines = self.segments.get_mut(line as usize / SEGMENT_LINE_COUNT);
        let lines = lines.and_then(|lines| lines.get_mut(line as usize % SEGMENT_LINE_COUNT..));
        lines.unwrap_or_default().as_mut_bytes()
    }

    /// `line_count` lines in a row, of which nothing else is left. What was in them is told to `evict` by its
    /// hash and line. `None` if a bounded search finds none.
    pub(crate) fn alloc(&mut self, line_count: usize, evict: &mut dyn FnMut(u64, u32)) -> Option<u32> {
        if line_count == 0 || line_count > SEGMENT_LINE_COUNT {
            return None;
        }
        self.alloc_unused(line_count).or_else(|| self.alloc_used(line_count, evict))
    }

    /// Makes the lines of the entry at `line` a gap.
    pub(crate) fn free(&mut self, line: u32) {
        let octets = self.at_mut(line);
        if let Some(line_count) = entry::head(octets).map(|head| head.line_count()) {
            entry::write_gap(octets, line_count);
        }
    }

    /// Lines that were never used, in the last segment or in a new one.
    fn alloc_unused(&mut self, line_count: usize) -> Option<u32> {
        if self.filled + line_count > SEGMENT_LINE_COUNT {
            if self.segments.len() >= self.segment_count_max {
                return None;
            }
            self.close_segment();
            self.segments.push(<[Line]>::new_box_zeroed_with_elems(SEGMENT_LINE_COUNT).ok()?);
            self.filled = 0;
        }
        let line = (self.segments.len() - 1) * SEGMENT_LINE_COUNT + self.filled;
        self.filled += line_count;
        u32::try_from(line).ok()
    }

    /// Makes what is left of the last segment a gap.
    fn close_segment(&mut self) {
        let left = SEGMENT_LINE_COUNT - self.filled;
        if left > 0 {
            let line = self.segments.len() * SEGMENT_LINE_COUNT - left;
            entry::write_gap(self.at_mut(line as u32), left);
            self.filled = SEGMENT_LINE_COUNT;
        }
    }

    /// Lines that gaps, and entries that were not asked for lately, give up.
    fn alloc_used(&mut self, line_count: usize, evict: &mut dyn FnMut(u64, u32)) -> Option<u32> {
        self.close_segment();
        let mut start = self.hand;
        let mut end = start;
        for _ in 0..STEP_COUNT {
            if end - start >= line_count {
                return self.cut(start, end, line_count);
            }
            let at_end = end == self.segments.len() * SEGMENT_LINE_COUNT;
            if at_end || (end > start && end.is_multiple_of(SEGMENT_LINE_COUNT)) {
                self.leave_gap(start, end);
                end = if at_end { 0 } else { end };
                start = end;
            }
            let passed = self.pass(end, evict)?;
            end += passed.line_count;
            if passed.is_kept {
                self.leave_gap(start, end - passed.line_count);
                start = end;
            }
        }
        self.leave_gap(start, end);
        self.hand = end % (self.segments.len() * SEGMENT_LINE_COUNT);
        None
    }

    /// Looks at what is at `line`.
    fn pass(&mut self, line: usize, evict: &mut dyn FnMut(u64, u32)) -> Option<Passed> {
        let head = entry::head(self.at_mut(line as u32))?;
        let (line_count, is_gap) = (head.line_count(), head.is_gap());
        let is_kept = !is_gap && head.take_used();
        if !is_gap && !is_kept {
            evict(head.hash(), line as u32);
        }
        // A line count of zero is nothing that was written here; it must not hold the hand up.
        Some(Passed { line_count: line_count.max(1), is_kept })
    }

    /// Takes the first `line_count` lines between `start` and `end`; the rest is a gap.
    fn cut(&mut self, start: usize, end: usize, line_count: usize) -> Option<u32> {
        self.leave_gap(start + line_count, end);
        self.hand = (start + line_count) % (self.segments.len() * SEGMENT_LINE_COUNT);
        u32::try_from(start).ok()
    }

    fn leave_gap(&mut self, start: usize, end: usize) {
        if end > start {
            entry::write_gap(self.at_mut(start as u32), end - start);
        }
    }
}

/// What the hand came by.
struct Passed {
    line_count: usize,
    is_kept: bool,
}
