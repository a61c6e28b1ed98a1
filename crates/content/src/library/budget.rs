//! What is loaded, and what must go when memory runs short.
//!
//! The order is second chance, an approximation of least recently used that costs a worker one flag: what was
//! used since it came round last goes to the end of the queue, what was not is forgotten.
//!
//! Invariant: a step looks at each resident twice at most.

use super::document::{Document, Variant};
use super::encoding::Encoding;
use crate::block::Account;
use std::collections::VecDeque;
use std::sync::{Arc, Weak};

/// A loaded variant, unless its document has been replaced.
struct Resident {
    document: Weak<Document>,
    encoding: Encoding,
    is_streamed: bool,
}

/// Loaded variants under one limit of bytes and one of open files.
pub(crate) struct Budget {
    limit: u64,
    open_count_max: usize,
    account: Account,
    residents: VecDeque<Resident>,
    evicted_count: u64,
}

impl Budget {
    pub(crate) fn new(limit: u64, open_count_max: usize) -> Self {
        let account = Account::default();
        Self { limit, open_count_max, account, residents: VecDeque::new(), evicted_count: 0 }
    }

    /// Where what is loaded is booked.
    pub(crate) const fn account(&self) -> &Account {
        &self.account
    }

    /// How many variants were forgotten for want of memory so far.
    pub(crate) const fn evicted_count(&self) -> u64 {
        self.evicted_count
    }

    /// Forgets until `size` more bytes are within the limit. False if what is under way leaves no such room.
    pub(crate) fn make_room(&mut self, size: u64) -> bool {
        while self.account.balance().saturating_add(size) > self.limit {
            if !self.forget_one(|_| true) {
                return false;
            }
        }
        true
    }

    /// Records what was loaded.
    pub(crate) fn admit(&mut self, document: &Arc<Document>, encoding: Encoding, is_streamed: bool) {
        if is_streamed {
            self.limit_open();
        }
        self.residents.push_back(Resident { document: Arc::downgrade(document), encoding, is_streamed });
    }

    /// Drops the record of what was replaced.
    pub(crate) fn tidy(&mut self) {
        self.residents.retain(|resident| resident.document.strong_count() > 0);
    }

    /// Closes streamed files until one more may be open.
    fn limit_open(&mut self) {
        self.tidy();
        let mut excess =
            (self.residents.iter().filter(|r| r.is_streamed).count() + 1).saturating_sub(self.open_count_max);
        while excess > 0 && self.forget_one(|resident| resident.is_streamed) {
            excess -= 1;
        }
    }

    /// Forgets the first in the queue that may go. False if none may, asked twice.
    fn forget_one(&mut self, may_go: impl Fn(&Resident) -> bool) -> bool {
        for _ in 0..2 * self.residents.len() {
            let Some(resident) = self.residents.pop_front() else { return false };
            let Some(document) = resident.document.upgrade() else { continue };
            let variant = document.variant(resident.encoding);
            if may_go(&resident) && variant.is_none_or(Variant::try_forget) {
                self.evicted_count += 1;
                return true;
            }
            self.residents.push_back(resident);
        }
        false
    }
}
