//! What the kernel does with a request, in Rust, by the very words of a table: crates/bpf/src/xdp/offload/match.h, line by line.
//!
//! It is what the program is compared with, and how a table is tried without a kernel. Like the program it trusts nothing that
//! it reads to be in range: a table that makes no sense gives no answer.

use tidegate_base::Instant;

use crate::buckets::Buckets;
use crate::layout::{
    BUCKET_SLOTS, HEADER_ANY_LEN, HEADER_BUCKETS, HEADER_BY_LEN, HEADER_GROUPS, HEADER_HOMES, HEADER_MAGIC,
    HEADER_SEED, Hash, MAGIC, PAGE_WORDS, RECORD_BODY, RECORD_EXPIRES, RECORD_HITS, RECORD_LIFE,
    RECORD_PLACE, RECORD_REPLY, REGION_WORDS, SHAPE_REGIONS, SHAPES_TRIED_MAX, hash, high, low, unpack16,
};
use crate::memory::Memory;
use crate::normal::region_words;
use crate::rule::{REQUEST_LEN_MAX, RuleId};
use crate::shapes::{ShapeHead, shape_at};
use crate::table::home_at;

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No rule matches: it is the server's.
    Pass,
    /// A rule answers it.
    Answer {
        /// The rule.
        id: RuleId,
        /// The payload of the reply.
        reply: Vec<u8>,
    },
    /// It is the server's, and what a rule says it makes stale was dropped.
    Invalidate {
        /// The rule.
        id: RuleId,
    },
}

/// A table, read as the kernel reads it.
#[derive(Clone, Copy, Debug)]
pub struct Image<M> {
    memory: M,
}

impl<M: Memory> Image<M> {
    /// Over the memory of a table.
    pub const fn new(memory: M) -> Self {
        Self { memory }
    }

    /// Decides about a request: counts the hit, and drops what is invalidated.
    pub fn serve(&self, request: &[u8], now: Instant) -> Verdict {
        let Some(record) = self.find(request, now) else { return Verdict::Pass };
        self.add_hit(record);
        let id = RuleId(high(self.memory.load(record + RECORD_LIFE)));
        let [reply_len, ..] = unpack16(self.memory.load(record + RECORD_REPLY));
        if reply_len == 0 {
            self.invalidate(record);
            return Verdict::Invalidate { id };
        }
        Verdict::Answer { id, reply: self.reply(record, request) }
    }

    /// The address of the record that decides.
    fn find(&self, request: &[u8], now: Instant) -> Option<usize> {
        if self.memory.load(HEADER_MAGIC) != MAGIC || request.len() > REQUEST_LEN_MAX {
            return None;
        }
        for head in [HEADER_BY_LEN + request.len(), HEADER_ANY_LEN] {
            let mut next = self.memory.load(head) as u16;
            for _ in 0..SHAPES_TRIED_MAX.iter().sum::<usize>() {
                let Some(index) = next.checked_sub(1) else { break };
                let shape = ShapeHead::read(&self.memory, index);
                if let Some(found) = self.try_shape(index, shape, request, now) {
                    return Some(found);
                }
                next = shape.next;
            }
        }
        None
    }

    fn try_shape(&self, index: u16, shape: ShapeHead, request: &[u8], now: Instant) -> Option<usize> {
        if shape.span > request.len() {
            return None;
        }
        let mut regions =
            (0..shape.region_count).map(|region| shape_at(index) + SHAPE_REGIONS + region * REGION_WORDS);
        if !regions.clone().all(|region| self.is_anchored(region, request)) {
            return None;
        }
        let words = |region: usize| {
            let [offset, len, is_folded, _] = unpack16(self.memory.load(region + 2));
            region_words(request, offset.into(), len.into(), is_folded != 0)
        };
        let key: Vec<u64> = regions.clone().flat_map(words).collect();
        let last = regions.next_back().map_or(0, |region| self.memory.load(region + 2));
        let candidate =
            Candidate { shape: index, key: &key, is_folded: unpack16(last)[2] != 0, request, now };
        self.probe(&candidate)
    }

    fn is_anchored(&self, region: usize, request: &[u8]) -> bool {
        let [offset, len, is_folded, _] = unpack16(self.memory.load(region + 2));
        let word = region_words(request, offset.into(), usize::from(len.min(8)), is_folded != 0).next();
        let (anchor, mask) = (self.memory.load(region), self.memory.load(region + 1));
        word.is_some_and(|word| (word ^ anchor) & mask == 0)
    }

    /// Of the records that match the one with the longest rest.
    fn probe(&self, candidate: &Candidate<'_>) -> Option<usize> {
        let header = self.memory.load(HEADER_BUCKETS);
        let buckets = Buckets { first_word: high(header) as usize * PAGE_WORDS, count: low(header) };
        let hash: Hash = hash(self.memory.load(HEADER_SEED), candidate.shape, candidate.key.iter().copied());
        let (mut best, mut rest_len_max) = (None, None);
        for (_, record) in buckets.candidates(&self.memory, hash).take(2 * BUCKET_SLOTS) {
            let rest_len = unpack16(self.memory.load(record + RECORD_PLACE))[3];
            if rest_len_max.is_none_or(|max| rest_len > max) && self.is_match(record, candidate) {
                (best, rest_len_max) = (Some(record), Some(rest_len));
            }
        }
        best
    }

    fn is_match(&self, record: usize, candidate: &Candidate<'_>) -> bool {
        let [group, shape, rest_offset, rest_len] = unpack16(self.memory.load(record + RECORD_PLACE));
        let [reply_len, ..] = unpack16(self.memory.load(record + RECORD_REPLY));
        let generation = low(self.memory.load(record + RECORD_LIFE));
        let expires = self.memory.load(record + RECORD_EXPIRES);
        let is_alive = generation != 0
            && u64::from(generation) == self.memory.load(HEADER_GROUPS + usize::from(group))
            && (expires == 0 || candidate.now.as_nanos() < expires);
        let key_at = record + RECORD_BODY + usize::from(reply_len).div_ceil(8);
        let rest_at = key_at + candidate.key.len();
        let (offset, len) = (usize::from(rest_offset), usize::from(rest_len));
        let rest = candidate.request.get(offset..offset + len).unwrap_or_default();
        is_alive
            && shape == candidate.shape
            && (key_at..).zip(candidate.key).all(|(at, word)| self.memory.load(at) == *word)
            && rest.len() == len
            && (rest_at..)
                .zip(region_words(candidate.request, offset, len, candidate.is_folded))
                .all(|(at, word)| self.memory.load(at) == word)
    }

    fn add_hit(&self, record: usize) {
        loop {
            let hits = self.memory.load(record + RECORD_HITS);
            if self.memory.replace(record + RECORD_HITS, hits, hits.wrapping_add(1)) {
                return;
            }
        }
    }

    fn reply(&self, record: usize, request: &[u8]) -> Vec<u8> {
        let [reply_len, _, counts, _] = unpack16(self.memory.load(record + RECORD_REPLY));
        let len = usize::from(reply_len);
        let words = (record + RECORD_BODY..).take(len.div_ceil(8));
        let mut reply: Vec<u8> = words.flat_map(|at| self.memory.load(at).to_ne_bytes()).collect();
        reply.truncate(len);
        let copies_at = self.behind_rest(record);
        for at in copies_at..copies_at + usize::from(counts & 0xff) {
            let [from, to, len, _] = unpack16(self.memory.load(at)).map(usize::from);
            if let (Some(to), Some(from)) = (reply.get_mut(to..to + len), request.get(from..from + len)) {
                to.copy_from_slice(from);
            }
        }
        reply
    }

    fn invalidate(&self, record: usize) {
        let [_, _, counts, _] = unpack16(self.memory.load(record + RECORD_REPLY));
        let targets_at = self.behind_rest(record);
        for at in targets_at..targets_at + usize::from(counts >> 8) {
            let target = self.memory.load(at);
            match high(target) {
                0 => self.invalidate_rule(low(target)),
                _ => self.memory.store(HEADER_GROUPS + low(target) as usize, 0),
            }
        }
    }

    /// The ticket first: a rule that is just being put is refused from then on, or its home leads to it.
    fn invalidate_rule(&self, id: u32) {
        if id >= low(self.memory.load(HEADER_HOMES)) {
            return;
        }
        let address = low(self.keep(home_at(RuleId(id)), u64::from(u32::MAX))) as usize;
        if address != 0 {
            self.keep(address + RECORD_LIFE, !u64::from(u32::MAX));
        }
    }

    /// Clears what `mask` does not have; what was there.
    fn keep(&self, at: usize, mask: u64) -> u64 {
        loop {
            let word = self.memory.load(at);
            if self.memory.replace(at, word, word & mask) {
                return word;
            }
        }
    }

    /// Behind the rest: copies or, where there is no reply, targets.
    fn behind_rest(&self, record: usize) -> usize {
        let [_, shape, _, rest_len] = unpack16(self.memory.load(record + RECORD_PLACE));
        let [reply_len, ..] = unpack16(self.memory.load(record + RECORD_REPLY));
        let [_, key_words, ..] = unpack16(self.memory.load(shape_at(shape)));
        let words = usize::from(reply_len).div_ceil(8) + usize::from(rest_len).div_ceil(8);
        record + RECORD_BODY + words + usize::from(key_words)
    }
}

/// What a record must be like to match.
struct Candidate<'a> {
    shape: u16,
    key: &'a [u64],
    /// Whether the rest, as the last region, is compared with small letters.
    is_folded: bool,
    request: &'a [u8],
    now: Instant,
}
