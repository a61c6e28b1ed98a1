//! What the kernel has of a rule: its record, and how it is written.

use crate::layout::{RECORD_BODY, RECORD_WORDS_MAX, pack16, pack32, words_of};
use crate::memory::Memory;
use crate::normal::Normal;
use crate::rule::{Rule, RuleId, Target};

/// What a record is written from.
pub(crate) struct Record<'a> {
    pub(crate) id: RuleId,
    pub(crate) rule: &'a Rule,
    pub(crate) normal: &'a Normal,
    pub(crate) shape: u16,
    pub(crate) generation: u32,
}

impl Record<'_> {
    /// At `address`, where no reader is led yet.
    pub(crate) fn write(&self, memory: &impl Memory, address: usize, hits: u64) {
        let Self { id, rule, normal, shape, generation } = *self;
        let (rest_len, words) = (normal.rest.bytes.len() as u16, record_words(normal) as u16);
        let reply = normal.reply.as_ref();
        let (reply_len, copy_count) =
            reply.map_or((0, 0), |r| (r.template.len() as u16, r.copies.len() as u16));
        let counts = copy_count | (normal.targets.len() as u16) << 8;
        let header = [
            hits,
            // An instant of 0 would be none: the clock's first nanosecond ends with its second.
            rule.expires.map_or(0, |end| end.as_nanos().max(1)),
            pack32(generation, id.0),
            pack16([rule.group.0, shape, normal.rest.offset, rest_len]),
            pack16([reply_len, reply.map_or(0, |reply| reply.sum()), counts, words]),
        ];
        let template = words_of(reply.map_or(&[][..], |reply| &reply.template[..]));
        let copies = reply.map_or(&[][..], |reply| &reply.copies[..]);
        let copies = copies.iter().map(|copy| pack16([copy.from, copy.to, copy.len, 0]));
        let targets = normal.targets.iter().map(|target| match target {
            Target::Rule(id) => pack32(id.0, 0),
            Target::Group(group) => pack32(group.0.into(), 1),
        });
        let body = template.chain(normal.key.iter().copied()).chain(normal.rest_words()).chain(copies);
        for (at, word) in (address..).zip(header.into_iter().chain(body).chain(targets)) {
            memory.store(at, word);
        }
    }
}

/// Its length.
pub(crate) fn record_words(normal: &Normal) -> usize {
    let reply = normal.reply.as_ref();
    let reply_words = reply.map_or(0, |reply| reply.template.len().div_ceil(8) + reply.copies.len());
    let words = RECORD_BODY
        + reply_words
        + normal.key.len()
        + normal.rest.bytes.len().div_ceil(8)
        + normal.targets.len();
    debug_assert!(words <= RECORD_WORDS_MAX, "a checked rule fits a record");
    words
}
