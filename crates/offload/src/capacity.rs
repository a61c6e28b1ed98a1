//! How much a table holds, and where its parts begin.

use crate::layout::{BUCKETS_A_PAGE, HOME_PAGE, PAGE_LEN, PAGE_WORDS, RECORD_WORDS_MAX};
use crate::normal::Normal;
use crate::record::record_words;
use crate::rule::{Rule, RuleError};

/// What the last record of a page keeps free behind its beginning: see [`record_start_max`](crate::layout::record_start_max).
const SHORT_RECORD_LEN: u64 = 296;
const LONG_RECORD_LEN: u64 = 1512;

/// Of eight slots so many are filled when a table is full.
const SLOTS_FILLED: u32 = 6;

/// How much a table holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Rules, and places that are reserved for some.
    pub rule_count: u32,
    /// Bytes of records: 40 a rule, and its patterns, copies and template in whole words.
    pub record_bytes: u64,
}

/// Why there is no table of such a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CapacityError {
    /// Nothing would fit.
    #[error("a table of {0:?} holds nothing: give it room for a rule")]
    Nothing(Capacity),
    /// Addresses of records are words' numbers of 32 bits.
    #[error("a table of {0:?} is more than 32 GiB: make several")]
    TooLarge(Capacity),
    /// The memory is smaller.
    #[error("a table of {capacity:?} needs {needed} pages of 64 KiB, and the memory has {found}")]
    Memory {
        /// What was asked for.
        capacity: Capacity,
        /// Pages that it takes.
        needed: usize,
        /// Pages that there are.
        found: usize,
    },
}

impl Capacity {
    /// For so many rules that are alike: this one.
    pub fn of_rules(rule_count: u32, like: &Rule) -> Result<Self, RuleError> {
        let words = record_words(&Normal::of(like)?);
        Ok(Self { rule_count, record_bytes: u64::from(rule_count) * words as u64 * 8 })
    }

    /// Pages that such a table takes.
    pub fn page_count(&self) -> usize {
        // At the end of a page there is no room for another record.
        let spare = match self.record_bytes / u64::from(self.rule_count.max(1)) {
            mean if mean <= SHORT_RECORD_LEN => SHORT_RECORD_LEN,
            mean => mean.clamp(LONG_RECORD_LEN, RECORD_WORDS_MAX as u64 * 8),
        };
        let record_pages = self.record_bytes.div_ceil(PAGE_LEN as u64 - spare) as usize;
        self.first_record_page() + record_pages
    }

    pub(crate) fn bucket_count(&self) -> u32 {
        self.rule_count.div_ceil(SLOTS_FILLED).max(1)
    }

    pub(crate) fn bucket_page(&self) -> usize {
        HOME_PAGE + (self.rule_count as usize).div_ceil(PAGE_WORDS)
    }

    pub(crate) fn first_record_page(&self) -> usize {
        self.bucket_page() + (self.bucket_count() as usize).div_ceil(BUCKETS_A_PAGE)
    }

    pub(crate) fn check(self, found: usize) -> Result<(), CapacityError> {
        let needed = self.page_count();
        if self.rule_count == 0 || self.record_bytes == 0 {
            return Err(CapacityError::Nothing(self));
        }
        if needed.saturating_mul(PAGE_WORDS) > u32::MAX as usize || self.rule_count == u32::MAX {
            return Err(CapacityError::TooLarge(self));
        }
        if found < needed {
            return Err(CapacityError::Memory { capacity: self, needed, found });
        }
        Ok(())
    }
}
