//! Rules and requests for tests: few letters and short pieces, so that what is made at random meets.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tidegate_base::Instant;
use tidegate_offload::{Action, Case, Condition, GroupId, Processor, Rule, RuleId, Target};

/// Places that random rules go to and name.
pub(crate) const PLACE_COUNT: u32 = 8;
/// Groups that random rules are in and name.
pub(crate) const GROUPS: u16 = 3;

/// Bytes that differ in their case, and one that has none.
fn byte() -> impl Strategy<Value = u8> {
    select(&b"aAb0"[..])
}

fn condition(offset_max: usize, len_max: usize) -> impl Strategy<Value = Condition> {
    let case = prop_oneof![Just(Case::Exact), Just(Case::Ignored)];
    (0..=offset_max, vec(byte(), 1..=len_max), case).prop_map(|(offset, pattern, case)| Condition {
        offset,
        pattern,
        case,
    })
}

fn processor() -> impl Strategy<Value = Processor> {
    prop_oneof![
        (0..6_usize, vec(any::<u8>(), 1..12)).prop_map(|(at, bytes)| Processor::Put { at, bytes }),
        (0..4_usize, 1..4_usize, 0..8_usize).prop_map(|(from, len, to)| Processor::Copy { from, len, to }),
    ]
}

fn target() -> impl Strategy<Value = Target> {
    prop_oneof![
        4 => (0..PLACE_COUNT).prop_map(|id| Target::Rule(RuleId(id))),
        1 => (0..GROUPS).prop_map(|group| Target::Group(GroupId(group))),
    ]
}

fn action() -> impl Strategy<Value = Action> {
    let answer = vec(processor(), 0..4).prop_map(|more| {
        let mut processors = vec![Processor::Put { at: 0, bytes: vec![b'.'; 8] }];
        processors.extend(more);
        Action::Answer(processors)
    });
    prop_oneof![4 => answer, 1 => vec(target(), 1..3).prop_map(Action::Invalidate)]
}

/// Rules, most of them sound: short ones that overlap.
pub(crate) fn rule() -> impl Strategy<Value = Rule> {
    let request_len = prop_oneof![Just(None), (3..9_usize).prop_map(Some)];
    let expires = prop_oneof![3 => Just(None), 1 => (1..60_u64).prop_map(|ns| Some(Instant::from_nanos(ns)))];
    (vec(condition(4, 3), 1..4), request_len, action(), 0..GROUPS, expires).prop_map(
        |(conditions, request_len, action, group, expires)| Rule {
            conditions,
            request_len,
            action,
            group: GroupId(group),
            expires,
        },
    )
}

/// Rules with patterns of many words and pieces all over a datagram.
pub(crate) fn long_rule() -> impl Strategy<Value = Rule> {
    let slack = prop_oneof![Just(None), (0..40_usize).prop_map(Some)];
    (vec(condition(300, 90), 1..4), slack, action()).prop_map(|(conditions, slack, action)| {
        let end = conditions.iter().map(|condition| condition.offset + condition.pattern.len()).max();
        let request_len = slack.map(|slack| end.unwrap_or(0) + slack);
        Rule { conditions, request_len, action, group: GroupId(0), expires: None }
    })
}

/// Short requests of the same letters.
pub(crate) fn request() -> impl Strategy<Value = Vec<u8>> {
    vec(byte(), 0..10)
}

/// A request that a rule matches, but for some noise: its patterns over `noise`, cut to its length.
pub(crate) fn request_for(rule: &Rule, noise: &[u8]) -> Vec<u8> {
    let end = rule.conditions.iter().map(|condition| condition.offset + condition.pattern.len()).max();
    let end = end.unwrap_or(0);
    let len = rule.request_len.unwrap_or(end.max(noise.len()));
    let mut request: Vec<u8> =
        noise.iter().copied().chain(std::iter::repeat(b'0')).take(len.max(end)).collect();
    for condition in &rule.conditions {
        request[condition.offset..][..condition.pattern.len()].copy_from_slice(&condition.pattern);
    }
    request.truncate(len);
    request
}
