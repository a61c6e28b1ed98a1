//! The memory that ready answers lie in: lines, laid end to end until the budget is used up, then used again.
//!
//! ```text
//!   |entry|entry|gap |entry|entry|entry|entry|entry|entry| never used ...                     |
//!                     ^ hand                              ^ filled                     budget ^
//! ```
//! The budget's addresses are taken at once, its memory as it is used, by huge pages: entries are looked up at
//! random, and each on a page of its own would cost a TLB miss more.
//!
//! Once the budget is spent, the hand looks for room (second chance): an entry that was used is passed and loses
//! its mark, one that was not gives its lines up. Neighbouring lines that came free make one gap; what an entry
//! leaves of it is a gap again. So nothing is moved, nothing is allocated, and no list of free pieces is kept.
//!
//! Invariant: the filled lines are entries and gaps, end to end.

use super::area;
use super::entry::{self, LINE_LEN};
use tidegate_sys::mem::{Area, HUGE_PAGE_SIZE};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Lines on a huge page.
const PAGE_LINE_COUNT: usize = HUGE_PAGE_SIZE / LINE_LEN;
/// Lines of the smallest arena, and of the longest entry.
const LINE_COUNT_MIN: usize = 1 << 7;
/// Entries and gaps that one search for room passes at most.
const STEP_COUNT: usize = 256;

/// One line.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C, align(64))]
struct Line([u8; LINE_LEN]);

/// All lines.
pub(crate) struct Arena {
    lines: Area<Line>,
    /// Lines that were used, from the first on.
    filled: usize,
    hand: usize,
}

impl Arena {
    /// An arena of at most `byte_count` bytes, at least 8 KiB; of less if there are not so many addresses.
    pub(crate) fn new(byte_count: usize) -> Self {
        let line_count = (byte_count / LINE_LEN).clamp(LINE_COUNT_MIN, u32::MAX as usize);
        Self { lines: area(line_count), filled: 0, hand: 0 }
    }

    /// Bytes that it takes now.
    pub(crate) fn byte_count(&self) -> usize {
        self.filled * LINE_LEN
    }

    /// Bytes that it may take.
    pub(crate) fn byte_count_max(&self) -> usize {
        self.lines.len() * LINE_LEN
    }

    /// Gives up the last huge page. False if nothing is left.
    pub(crate) fn shrink(&mut self) -> bool {
        let last_page = self.filled.saturating_sub(1) / PAGE_LINE_COUNT * PAGE_LINE_COUNT;
        self.lines.truncate(last_page);
        self.filled = last_page;
        last_page > 0
    }

    /// The octets from `line` on.
    #[inline]
    pub(crate) fn at(&self, line: u32) -> &[u8] {
        self.lines.get(line as usize..).unwrap_or_default().as_bytes()
    }

    /// The same, to change.
    #[inline]
    pub(crate) fn at_mut(&mut self, line: u32) -> &mut [u8] {
        self.lines.get_mut(line as usize..).unwrap_or_default().as_mut_bytes()
    }

    /// `line_count` lines in a row, of which nothing else is left. What was in them is told to `evict` by its
    /// hash and line. `None` if a bounded search finds none.
    pub(crate) fn alloc(&mut self, line_count: usize, evict: &mut dyn FnMut(u64, u32)) -> Option<u32> {
        if line_count == 0 || line_count > LINE_COUNT_MIN {
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

    /// Lines that were never used.
    pub(crate) fn alloc_unused(&mut self, line_count: usize) -> Option<u32> {
        let line = self.filled;
        if line + line_count > self.lines.len() {
            return None;
        }
        self.filled += line_count;
        u32::try_from(line).ok()
    }

    /// Lines that gaps, and entries that were not asked for lately, give up.
    fn alloc_used(&mut self, line_count: usize, evict: &mut dyn FnMut(u64, u32)) -> Option<u32> {
        if self.filled == 0 {
            return None;
        }
        let mut start = self.hand;
        let mut end = start;
        for _ in 0..STEP_COUNT {
            if end - start >= line_count {
                return self.cut(start, end, line_count);
            }
            if end == self.filled {
                self.leave_gap(start, end);
                end = 0;
                start = 0;
            }
            let passed = self.pass(end, evict)?;
            end += passed.line_count;
            if passed.is_kept {
                self.leave_gap(start, end - passed.line_count);
                start = end;
            }
        }
        self.leave_gap(start, end);
        self.hand = end % self.filled;
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
        self.hand = (start + line_count) % self.filled;
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
