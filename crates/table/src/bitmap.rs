//! One dimension of an access list: which rules admit each value, as rows of bits.
//!
//! ```text
//!   values    0 ........ 80 .. 443 ..... 65535      the ends of the rules' ranges cut them into intervals
//!   rows      |  r0      | r1 | r2 |  r0  |         each interval has a row, equal rows are kept once
//!   row       [ summary | rule bits 0..64 | 64..128 | ... ]
//! ```
//!
//! A bit of the summary says whether a word of the row has any bit (aggregated bit vectors: Baboescu, Varghese,
//! "Scalable packet classification", 2001), so that the words that cannot match are not read.

use hashbrown::HashMap;
use tidegate_base::FlowHasher;

/// The values that a rule admits in this dimension, both ends included.
pub(crate) type Range = (u32, u32);

/// Bits of a word.
const WORD_BITS: usize = u64::BITS as usize;

/// How long the parts of a row are, in words.
#[derive(Clone, Copy)]
pub(crate) struct RowShape {
    pub(crate) summary_len: usize,
    pub(crate) bits_len: usize,
}

impl RowShape {
    /// The shape of rows for `rule_count` rules.
    pub(crate) const fn new(rule_count: usize) -> Self {
        let bits_len = rule_count.div_ceil(WORD_BITS);
        Self { summary_len: bits_len.div_ceil(WORD_BITS), bits_len }
    }

    pub(crate) const fn len(self) -> usize {
        self.summary_len + self.bits_len
    }
}

/// The intervals of a dimension and the rows of its rules.
pub(crate) struct Dimension {
    /// The first value of each interval, rising from 0.
    pub(crate) starts: Vec<u32>,
    /// For each interval, where its row starts in `rows`.
    pub(crate) offsets: Vec<u32>,
    /// The different rows, one behind the other.
    pub(crate) rows: Vec<u64>,
}

impl Dimension {
    /// The dimension in which rule `i` admits `ranges[i]`.
    pub(crate) fn new(ranges: &[Range]) -> Self {
        let shape = RowShape::new(ranges.len());
        let mut sweep = Sweep::new(shape);
        let changes = changes(ranges);
        let mut at = 0;
        let mut start = 0;
        loop {
            while let Some((value, rule)) = changes.get(at)
                && *value == start
            {
                sweep.flip(*rule as usize);
                at += 1;
            }
            sweep.keep(start as u32);
            match changes.get(at) {
                Some((value, _)) => start = *value,
                None => return sweep.dimension,
            }
        }
    }

    /// The row's place for `value`, by search. The interval is one of `low..=high`.
    #[inline]
    pub(crate) fn search(&self, value: u32, mut low: usize, mut high: usize) -> u32 {
        while low < high {
            let middle = (low + high).div_ceil(2);
            let is_right = self.starts[middle] <= value;
            low = if is_right { middle } else { low };
            high = if is_right { high } else { middle - 1 };
        }
        self.offsets[low]
    }
}

/// Where a rule's bit changes, rising: at its first value and behind its last, unless no value is behind it.
fn changes(ranges: &[Range]) -> Vec<(u64, u32)> {
    let mut changes = Vec::with_capacity(ranges.len() * 2);
    for (rule, (first, last)) in ranges.iter().enumerate() {
        changes.push((u64::from(*first), rule as u32));
        if *last != u32::MAX {
            changes.push((u64::from(*last) + 1, rule as u32));
        }
    }
    changes.sort_unstable();
    changes
}

/// The row of the value under way, and the rows kept so far.
struct Sweep {
    shape: RowShape,
    row: Vec<u64>,
    dimension: Dimension,
    known: HashMap<Vec<u64>, u32, FlowHasher>,
}

impl Sweep {
    fn new(shape: RowShape) -> Self {
        let dimension = Dimension { starts: Vec::new(), offsets: Vec::new(), rows: Vec::new() };
        Self { shape, row: vec![0; shape.len()], dimension, known: HashMap::with_hasher(FlowHasher::new(1)) }
    }

    fn flip(&mut self, rule: usize) {
        let (summary, bits) = self.row.split_at_mut(self.shape.summary_len);
        let word = rule / WORD_BITS;
        bits[word] ^= 1 << (rule % WORD_BITS);
        let mark = 1 << (word % WORD_BITS);
        summary[word / WORD_BITS] &= !mark;
        if bits[word] != 0 {
            summary[word / WORD_BITS] |= mark;
        }
    }

    fn keep(&mut self, start: u32) {
        let offset = match self.known.get(&self.row) {
            Some(offset) => *offset,
            None => {
                let offset = self.dimension.rows.len() as u32;
                self.dimension.rows.extend(&self.row);
                self.known.insert(self.row.clone(), offset);
                offset
            }
        };
        self.dimension.starts.push(start);
        self.dimension.offsets.push(offset);
    }
}
