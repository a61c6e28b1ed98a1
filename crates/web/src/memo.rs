//! Requests repeat byte for byte; so do their answers.
//!
//! A direct-mapped table from the bytes of a head to what was planned for it: the common request costs
//! a hash, a comparison and a reference, and is neither scanned nor parsed.
//!
//! Only what follows from the bytes and from the library's state alone is put in: never a 408, a part
//! of a file, or anything that depends on a peer. Answers are held weakly, so that the table keeps no
//! document in memory that the library gives up; and an entry is good for some seconds only, so that
//! the library hears from time to time what is in use.
//!
//! Invariant: an entry is found only under the very bytes and in the very era it was made in.

use foldhash::fast::RandomState;
use std::hash::BuildHasher;
use std::sync::{Arc, Weak};
use tidegate_content::Prepared;

/// Longer heads are not remembered.
pub const HEAD_LEN_MAX: usize = 512;

/// A state of the library, and a few seconds of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Era {
    /// The library's generation.
    pub generation: u64,
    /// Some number that changes every few seconds.
    pub period: u64,
}

/// A planned answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Head and body.
    pub prepared: Arc<Prepared>,
    /// What is sent of it, and what becomes of the connection.
    pub traits: AnswerTraits,
}

/// What there is to say of an answer beside its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AnswerTraits {
    /// The status code.
    pub code: u16,
    /// Whether the body is left away: the answer to HEAD.
    pub head_only: bool,
    /// Whether the connection ends behind it.
    pub close: bool,
}

struct Entry {
    hash: u64,
    era: Era,
    head: Box<[u8]>,
    prepared: Weak<Prepared>,
    traits: AnswerTraits,
}

/// A worker's table.
pub struct Memo {
    entries: Box<[Option<Entry>]>,
    hasher: RandomState,
}

impl Memo {
    /// A table with room for `entry_count` heads, rounded up to a power of two.
    pub fn new(entry_count: usize) -> Self {
        let entries = (0..entry_count.next_power_of_two()).map(|_| None).collect();
        Self { entries, hasher: RandomState::default() }
    }

    /// The answer to a head, if it was planned in this era and still is in memory.
    #[inline]
    pub fn find(&self, head: &[u8], era: Era) -> Option<Answer> {
        if head.len() > HEAD_LEN_MAX {
            return None;
        }
        let hash = self.hasher.hash_one(head);
        let entry = self.entries[self.place(hash)].as_ref()?;
        if entry.hash != hash || entry.era != era || *entry.head != *head {
            return None;
        }
        Some(Answer { prepared: entry.prepared.upgrade()?, traits: entry.traits })
    }

    /// Remembers the answer to a head, in place of what has the same place.
    pub fn put(&mut self, head: &[u8], era: Era, answer: &Answer) {
        if head.len() > HEAD_LEN_MAX {
            return;
        }
        let hash = self.hasher.hash_one(head);
        let prepared = Arc::downgrade(&answer.prepared);
        let entry = Entry { hash, era, head: head.into(), prepared, traits: answer.traits };
        self.entries[self.place(hash)] = Some(entry);
    }

    #[inline]
    const fn place(&self, hash: u64) -> usize {
        hash as usize & (self.entries.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Pages;
    use crate::status::Status;
    use std::collections::BTreeMap;

    const ERA: Era = Era { generation: 1, period: 1 };
    const TRAITS: AnswerTraits = AnswerTraits { code: 404, head_only: false, close: false };

    fn answer() -> Answer {
        let prepared = Pages::new(BTreeMap::new()).error(Status::NotFound);
        Answer { prepared, traits: TRAITS }
    }

    #[test]
    fn the_same_bytes_in_the_same_era() {
        let mut memo = Memo::new(8);
        let kept = answer();
        memo.put(b"GET / ", ERA, &kept);
        let found = memo.find(b"GET / ", ERA).unwrap();
        assert!(Arc::ptr_eq(&found.prepared, &kept.prepared));
        assert_eq!(found.traits, TRAITS);
        assert!(memo.find(b"GET /a", ERA).is_none());
        assert!(memo.find(b"GET / ", Era { generation: 2, ..ERA }).is_none());
        assert!(memo.find(b"GET / ", Era { period: 2, ..ERA }).is_none());
    }

    #[test]
    fn an_answer_that_is_gone_is_not_found() {
        let mut memo = Memo::new(1);
        memo.put(b"x", ERA, &answer());
        assert!(memo.find(b"x", ERA).is_none());
    }

    #[test]
    fn long_heads_and_neighbours() {
        let mut memo = Memo::new(1);
        let kept = answer();
        let long = [b'x'; HEAD_LEN_MAX + 1];
        memo.put(&long, ERA, &kept);
        assert!(memo.find(&long, ERA).is_none());
        memo.put(b"a", ERA, &kept);
        memo.put(b"b", ERA, &kept);
        assert!(memo.find(b"a", ERA).is_none());
        assert!(memo.find(b"b", ERA).is_some());
    }
}
