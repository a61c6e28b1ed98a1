//! The programs against the reference: random rules, and frames for them that are right, or wrong in one way or another.

use std::cell::RefCell;
use std::ops::Range;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};
use tidegate_base::{Instant, Rng};
use tidegate_bpf::OffloadPlace;
use tidegate_offload::{Action, Condition, GroupId, Processor, Rule, RuleId};

use crate::frames::{Checksum, Datagram, NIC, PEER};
use crate::reference::Outcome;
use crate::rig::Rig;
use crate::support::{PLACE_COUNT, long_rule, request, request_for, rule};

const ETHERNET_AND_IPV6_LEN: usize = 54;

/// One case: rules, and requests made for some of them.
#[derive(Clone, Debug)]
struct Case {
    rules: Vec<(u32, Rule)>,
    frames: Vec<Shot>,
}

/// A frame to be.
#[derive(Clone, Debug)]
struct Shot {
    /// The rule that it is for, if for any.
    rule: Option<Index>,
    bytes: Vec<u8>,
    datagram: Datagram,
    /// A byte of the request that is changed before it has a checksum.
    damage: Option<(Index, u8)>,
    /// Bytes of the frame that are changed.
    changes: Vec<(Index, u8)>,
    cut: Option<Index>,
}

fn datagram() -> impl Strategy<Value = Datagram> {
    let checksum = prop_oneof![
        12 => Just(Checksum::Good), 1 => Just(Checksum::None), 1 => Just(Checksum::Bad)
    ];
    let tag_count = prop_oneof![12 => Just(0_usize), 4 => Just(1), 1 => Just(2), 1 => Just(3)];
    let padding = prop_oneof![2 => Just(0_usize), 1 => 1..30_usize];
    let udp_len_off = prop_oneof![12 => Just(0_i16), 1 => -20..20_i16];
    let port = prop_oneof![12 => Just(53_u16), 1 => Just(54)];
    (any::<bool>(), tag_count, port, checksum, padding, udp_len_off).prop_map(
        |(is_ipv6, tag_count, port, checksum, padding, udp_len_off)| Datagram {
            is_ipv6,
            tag_count,
            port,
            checksum,
            padding,
            udp_len_off,
            ..Datagram::of(b"")
        },
    )
}

fn shot() -> impl Strategy<Value = Shot> {
    let bytes = prop_oneof![request(), vec(any::<u8>(), 0..400)];
    let changes = prop_oneof![8 => Just(Vec::new()), 1 => vec((any::<Index>(), any::<u8>()), 1..4)];
    let cut = prop_oneof![12 => Just(None), 1 => any::<Index>().prop_map(Some)];
    let rule = prop_oneof![1 => Just(None), 5 => any::<Index>().prop_map(Some)];
    let damage = prop_oneof![2 => Just(None), 1 => any::<(Index, u8)>().prop_map(Some)];
    (rule, bytes, datagram(), damage, changes, cut).prop_map(
        |(rule, bytes, datagram, damage, changes, cut)| Shot { rule, bytes, datagram, damage, changes, cut },
    )
}

fn case() -> impl Strategy<Value = Case> {
    let rule = prop_oneof![2 => rule(), 1 => long_rule()];
    (vec((0..PLACE_COUNT, rule), 1..10), vec(shot(), 1..40))
        .prop_map(|(rules, frames)| Case { rules, frames })
}

impl Shot {
    fn frame(&self, rules: &[(u32, Rule)]) -> Vec<u8> {
        let mut payload = match self.rule {
            Some(index) => request_for(&rules[index.index(rules.len())].1, &self.bytes),
            None => self.bytes.clone(),
        };
        if let Some((at, byte)) = self.damage
            && !payload.is_empty()
        {
            let at = at.index(payload.len());
            payload[at] = byte;
        }
        let mut frame = Datagram { payload, ..self.datagram.clone() }.frame();
        for (at, byte) in &self.changes {
            let at = at.index(frame.len());
            frame[at] = *byte;
        }
        if let Some(len) = self.cut {
            frame.truncate(14 + len.index(frame.len() - 13));
        }
        frame
    }
}

fn run(rig: &mut Rig, place: OffloadPlace, case: &Case) -> Result<u64, TestCaseError> {
    let mut answered = 0;
    for (id, rule) in &case.rules {
        // The kernel's clock is far behind the ends of such rules, and so is the model's.
        let expires = rule.expires.map(|end| if end.as_nanos() % 2 == 0 { Instant::FAR_FUTURE } else { end });
        rig.put(RuleId(*id), &Rule { expires, ..rule.clone() });
    }
    for shot in &case.frames {
        let frame = shot.frame(&case.rules);
        // The kernel makes no packet for a test of a frame that ends within its network header.
        if place == OffloadPlace::Tc && frame.len() < ETHERNET_AND_IPV6_LEN {
            continue;
        }
        let expected = rig.expected(&frame);
        answered += u64::from(matches!(expected, Outcome::Answered(_)));
        prop_assert_eq!(rig.run(place, &frame), expected, "frame {:02x?}", frame);
    }
    Ok(answered)
}

fn compare(place: OffloadPlace, cases: u32) {
    let Some(mut rig) = Rig::new() else { return };
    for id in 0..PLACE_COUNT {
        assert_eq!(rig.table.reserve(), Ok(RuleId(id)));
    }
    let (rig, answered) = (RefCell::new(rig), RefCell::new(0));
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 0, ..Config::default() };
    let same = |case: Case| {
        *answered.borrow_mut() += run(&mut rig.borrow_mut(), place, &case)?;
        Ok(())
    };
    TestRunner::new(config).run(&case(), same).unwrap_or_else(|failure| panic!("{failure}"));
    let answered = answered.into_inner();
    eprintln!("{}: {cases} sets of rules, {answered} requests were answered", place.name());
    assert!(
        answered > u64::from(cases),
        "most frames found no rule: {answered} of {cases} sets' were answered"
    );
}

#[test]
fn xdp_does_what_the_rules_say() {
    compare(OffloadPlace::Xdp, 1500);
}

#[test]
fn tc_does_what_the_rules_say() {
    compare(OffloadPlace::Tc, 1500);
}

/// Words of a small table that readers look at: header, groups, lengths, shapes, places, buckets and records.
const USED_WORDS: [Range<usize>; 7] =
    [0..8, 512..516, 1024..1100, 8192..8256, 24_576..24_584, 32_768..34_104, 40_960..41_200];

/// Whatever a table's writer does to it, the program stays within it, and what it sends is a frame.
#[test]
fn a_table_of_garbage_harms_nobody() {
    let Some(mut rig) = Rig::new() else { return };
    let text = |n: u32| Rule {
        conditions: vec![Condition::any_case(0, format!("question {n}"))],
        request_len: n.is_multiple_of(2).then_some(20),
        action: Action::Answer(vec![
            Processor::Put { at: 0, bytes: vec![b'.'; 60] },
            Processor::Copy { from: 0, len: 9, to: 7 },
        ]),
        group: GroupId(0),
        expires: None,
    };
    for n in 0..8 {
        rig.table.insert(&text(n)).expect("room");
    }
    let mut rng = Rng::new(0x6761_7262);
    let mut answered = 0;
    for n in 0..20_000 {
        let memory = rig.table.memory();
        let words = &USED_WORDS[rng.below(USED_WORDS.len() as u64) as usize];
        let at = words.start + rng.below(words.len() as u64) as usize;
        let good = memory.load(at);
        let bit = 1 << rng.below(64);
        let word = [rng.next_u64(), good ^ bit, good.wrapping_add(1), u64::MAX, 0][rng.below(5) as usize];
        memory.store(at, word);
        let frame = Datagram::of(format!("question {}          ", n % 8).as_bytes()).frame();
        for place in OffloadPlace::ALL {
            if let Outcome::Answered(reply) = rig.run(place, &frame) {
                answered += 1;
                assert!(reply.len() <= 1514 && reply[..6] == PEER && reply[6..12] == NIC, "{reply:02x?}");
            }
        }
        // Some of it stays broken for a while.
        if rng.below(4) > 0 {
            memory.store(at, good);
        }
        if n % 500 == 0 {
            rig = Rig::new().expect("loading worked a moment ago");
            for n in 0..8 {
                rig.table.insert(&text(n)).expect("room");
            }
        }
    }
    eprintln!("{answered} of 40000 requests were answered by tables of garbage");
    assert!(answered > 1000);
}
