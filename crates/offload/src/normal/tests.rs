//! What rules become, and what is refused.

use super::*;
use crate::rule::GroupId;

fn matching(conditions: &[Condition]) -> Rule {
    Rule {
        conditions: conditions.to_vec(),
        request_len: None,
        action: Action::Answer(vec![Processor::Put { at: 0, bytes: vec![1] }]),
        group: GroupId(0),
        expires: None,
    }
}

fn answering(processors: &[Processor]) -> Rule {
    let rule = matching(&[Condition::exact(0, "0123456789")]);
    Rule { action: Action::Answer(processors.to_vec()), ..rule }
}

fn regions(conditions: &[Condition]) -> Vec<(u16, u16, bool)> {
    let rule = Rule { request_len: Some(100), ..matching(conditions) };
    let normal = Normal::of(&rule).expect("a rule");
    normal.layout.regions.iter().map(|region| (region.offset, region.len, region.is_folded)).collect()
}

fn put(at: usize, bytes: &[u8]) -> Processor {
    Processor::Put { at, bytes: bytes.to_vec() }
}

#[test]
fn touching_conditions_are_one_region() {
    assert_eq!(regions(&[Condition::exact(4, "key"), Condition::exact(0, "get ")]), [(0, 7, false)]);
    assert_eq!(
        regions(&[Condition::exact(0, "a"), Condition::exact(2, "b")]),
        [(0, 1, false), (2, 1, false)]
    );
}

#[test]
fn what_is_no_letter_joins_either_kind() {
    let question =
        [Condition::exact(2, [1, 0, 0, 1]), Condition::any_case(6, "\x03wWw"), Condition::exact(10, [0, 1])];
    assert_eq!(regions(&question), [(2, 10, true)]);
    let https = [Condition::any_case(6, "\x03www"), Condition::exact(10, [0, b'A'])];
    assert_eq!(regions(&https), [(6, 5, true), (11, 1, false)]);
}

#[test]
fn conditions_may_overlap_where_they_agree() {
    let both = [Condition::any_case(0, "abc"), Condition::exact(1, "Bc")];
    assert_eq!(regions(&both), [(0, 1, true), (1, 2, false)]);
    let reversed = [Condition::exact(1, "Bc"), Condition::any_case(0, "ABC")];
    assert_eq!(Normal::of(&matching(&both)), Normal::of(&matching(&reversed)));
    let apart = matching(&[Condition::any_case(0, "abc"), Condition::exact(1, "x")]);
    assert_eq!(apart.check(), Err(RuleError::Contradiction { offset: 1 }));
}

#[test]
fn lengths_are_rounded_down_to_few() {
    let rounded: Vec<_> = (1..=30).map(rounded).collect();
    assert_eq!(rounded[..13], [1, 2, 3, 4, 4, 6, 6, 8, 8, 8, 8, 12, 12]);
    assert_eq!(rounded[13..], [12, 12, 16, 16, 16, 16, 16, 16, 16, 16, 24, 24, 24, 24, 24, 24, 24]);
}

#[test]
fn without_a_length_the_last_region_has_a_rest() {
    let normal = Normal::of(&matching(&[Condition::exact(0, "set key 0")])).expect("a rule");
    assert_eq!(normal.layout.span(), 8);
    assert_eq!(normal.rest, Rest { offset: 8, bytes: b"0".to_vec() });
    let exact = Rule { request_len: Some(9), ..matching(&[Condition::exact(0, "set key 0")]) };
    assert_eq!(Normal::of(&exact).expect("a rule").rest, Rest::default());
}

#[test]
fn a_copy_may_lie_in_the_middle_of_a_template() {
    let rule = answering(&[put(0, b"abcdefgh"), Processor::Copy { from: 1, len: 3, to: 2 }, put(8, b"!")]);
    let reply = Normal::of(&rule).expect("a rule").reply.expect("an answer");
    assert_eq!(reply.template, b"ab\0\0\0fgh!");
    assert_eq!(reply.copies, [Copy { from: 1, to: 2, len: 3 }]);
}

#[test]
fn later_processors_write_over_earlier_ones() {
    let rule = answering(&[Processor::Copy { from: 0, len: 5, to: 0 }, put(2, b"x")]);
    let reply = Normal::of(&rule).expect("a rule").reply.expect("an answer");
    assert_eq!(reply.template, b"\0\0x\0\0");
    assert_eq!(reply.copies, [Copy { from: 0, to: 0, len: 2 }, Copy { from: 3, to: 3, len: 2 }]);
}

#[test]
fn copies_that_continue_each_other_are_one() {
    let rule = answering(&[
        Processor::Copy { from: 0, len: 2, to: 0 },
        Processor::Copy { from: 2, len: 3, to: 2 },
        Processor::Copy { from: 0, len: 1, to: 5 },
    ]);
    let reply = Normal::of(&rule).expect("a rule").reply.expect("an answer");
    assert_eq!(reply.copies, [Copy { from: 0, to: 0, len: 5 }, Copy { from: 0, to: 5, len: 1 }]);
}

#[test]
fn what_cannot_match_is_refused() {
    assert_eq!(matching(&[]).check(), Err(RuleError::NoCondition));
    assert_eq!(matching(&[Condition::exact(3, "")]).check(), Err(RuleError::EmptyPattern { offset: 3 }));
    let beyond = matching(&[Condition::exact(1470, "abc")]);
    assert_eq!(beyond.check(), Err(RuleError::ConditionBeyond { offset: 1470, end: 1473 }));
    assert!(matching(&[Condition::exact(usize::MAX, "abc")]).check().is_err());
    for len in [2, 1473] {
        let rule = Rule { request_len: Some(len), ..matching(&[Condition::exact(0, "abc")]) };
        assert_eq!(rule.check(), Err(RuleError::RequestLen { len, end: 3 }));
    }
    let apart: Vec<_> = (0..5).map(|n| Condition::exact(n * 2, "x")).collect();
    assert_eq!(matching(&apart).check(), Err(RuleError::TooManyRegions { count: 5 }));
    let nowhere = Rule { group: GroupId(256), ..matching(&[Condition::exact(0, "abc")]) };
    assert_eq!(nowhere.check(), Err(RuleError::NoGroup { group: GroupId(256) }));
}

#[test]
fn what_cannot_be_answered_is_refused() {
    assert_eq!(answering(&[]).check(), Err(RuleError::NoReply));
    assert_eq!(answering(&[put(3, b"")]).check(), Err(RuleError::EmptyProcessor { at: 3 }));
    assert_eq!(answering(&[put(0, b"a"), put(2, b"b")]).check(), Err(RuleError::Gap { at: 1 }));
    assert_eq!(answering(&[put(1472, b"a")]).check(), Err(RuleError::ReplyTooLong { len: 1473 }));
    assert!(answering(&[put(usize::MAX, b"a")]).check().is_err());
    let beyond = answering(&[Processor::Copy { from: 8, len: 3, to: 0 }]);
    assert_eq!(beyond.check(), Err(RuleError::CopyBeyond { end: 11, len: 10 }));
    assert_eq!(Rule { request_len: Some(11), ..beyond }.check(), Ok(()));
    let pieces: Vec<_> = (0..17).map(|to| Processor::Copy { from: 0, len: 1, to }).collect();
    assert_eq!(answering(&pieces).check(), Err(RuleError::TooManyCopies { count: 17 }));
}

#[test]
fn what_invalidates_nothing_is_refused() {
    let rule = |targets: Vec<Target>| Rule {
        action: Action::Invalidate(targets),
        ..matching(&[Condition::exact(0, "set ")])
    };
    assert_eq!(rule(vec![]).check(), Err(RuleError::TargetCount { count: 0 }));
    let many = (0..9).map(|id| Target::Rule(crate::RuleId(id))).collect();
    assert_eq!(rule(many).check(), Err(RuleError::TargetCount { count: 9 }));
    let nowhere = vec![Target::Group(GroupId(300))];
    assert_eq!(rule(nowhere).check(), Err(RuleError::NoGroup { group: GroupId(300) }));
}
