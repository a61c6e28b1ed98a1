//! Frames that hold a ready answer already, kept to be sent again (pre-copy).
//!
//! ```text
//!   places  [ - | 3 | - | 1 | ... ]       by the line of the store's entry
//!                 |
//!   stocks  [ stock | stock | ... ]       hash, used, frames: one is under way to one peer at a time
//! ```
//! An answer whose frames are all under way gets one more, until the frames have their share of the pool; then a
//! stock that was not asked for lately gives its frames up (second chance).
//!
//! Invariant: a frame holds the answer of the entry whose hash its stock has, and that entry is at its line, or
//! the stock is stale and its frames are released before it is used for another.

use tidegate_packet::{Frame, Pool, Retained};

/// What percentage of a pool the frames may take: the rest is for receiving.
const SHARE_PERCENT: usize = 50;
/// Frames of one stock that are tried.
const TRY_COUNT: usize = 8;
/// Stocks that one look for a victim passes.
const STEP_COUNT: usize = 32;

/// The frames of one answer.
struct Stock {
    hash: u64,
    line: u32,
    was_used: bool,
    cursor: usize,
    frames: Vec<Retained>,
}

impl Stock {
    /// An idle frame, those that were sent longest ago first.
    fn take(&mut self, pool: &mut Pool) -> Option<Frame> {
        self.was_used = true;
        let count = self.frames.len();
        let mut order = (self.cursor..count).chain(0..self.cursor.min(count)).take(TRY_COUNT);
        let (at, frame) = order.find_map(|at| Some((at, pool.lend(&self.frames[at])?)))?;
        self.cursor = if at + 1 < count { at + 1 } else { 0 };
        Some(frame)
    }

    fn release(&mut self, pool: &mut Pool) -> usize {
        let count = self.frames.len();
        self.frames.drain(..).for_each(|kept| pool.release(kept));
        self.cursor = 0;
        count
    }
}

/// A worker's ready frames.
#[derive(Default)]
pub(crate) struct ReadyFrames {
    /// One plus the stock's number, zero for none.
    places: Vec<u32>,
    stocks: Vec<Stock>,
    hand: usize,
    frame_count: usize,
}

impl ReadyFrames {
    /// An idle frame with the answer of the entry at `line`, whose hash this is.
    pub(crate) fn take(&mut self, line: u32, hash: u64, pool: &mut Pool) -> Option<Frame> {
        let number = self.places.get(line as usize)?.checked_sub(1)?;
        let stock = self.stocks.get_mut(number as usize).filter(|stock| stock.hash == hash)?;
        stock.take(pool)
    }

    /// Keeps `frame`, which holds the answer of the entry at `line`, and lends it out. It comes back as it is if
    /// there is no room for it.
    pub(crate) fn keep(&mut self, line: u32, hash: u64, frame: Frame, pool: &mut Pool) -> Option<Frame> {
        if self.frame_count >= pool.chunk_count() * SHARE_PERCENT / 100 && !self.evict(pool) {
            return Some(frame);
        }
        let kept = pool.retain(frame)?;
        let lent = pool.lend(&kept);
        self.stock(line, hash, pool).frames.push(kept);
        self.frame_count += 1;
        lent
    }

    /// Gives all frames back to the pool.
    pub(crate) fn release(&mut self, pool: &mut Pool) {
        self.stocks.iter_mut().for_each(|stock| {
            stock.release(pool);
        });
        *self = Self::default();
    }

    /// The stock for the entry at `line`, emptied if it was another's.
    fn stock(&mut self, line: u32, hash: u64, pool: &mut Pool) -> &mut Stock {
        let line_index = line as usize;
        if self.places.len() <= line_index {
            self.places.resize(line_index + 1, 0);
        }
        let place = &mut self.places[line_index];
        if *place == 0 {
            self.stocks.push(Stock { hash, line, was_used: true, cursor: 0, frames: Vec::new() });
            *place = self.stocks.len() as u32;
        }
        let stock = &mut self.stocks[*place as usize - 1];
        if stock.hash != hash {
            self.frame_count -= stock.release(pool);
            stock.hash = hash;
        }
        stock
    }

    /// Releases the frames of a stock that was not used lately. False if a bounded look finds none.
    fn evict(&mut self, pool: &mut Pool) -> bool {
        for _ in 0..STEP_COUNT {
            self.hand = if self.hand + 1 < self.stocks.len() { self.hand + 1 } else { 0 };
            let Some(stock) = self.stocks.get_mut(self.hand) else { return false };
            if !std::mem::replace(&mut stock.was_used, false) {
                self.frame_count -= stock.release(pool);
                self.forget(self.hand);
                return true;
            }
        }
        false
    }

    /// Takes the stock at `at` out; the last one moves to its number.
    fn forget(&mut self, at: usize) {
        let gone = self.stocks.swap_remove(at);
        self.places[gone.line as usize] = 0;
        if let Some(moved) = self.stocks.get(at) {
            self.places[moved.line as usize] = at as u32 + 1;
        }
    }
}
