//! Golden frames: each file of `tests/golden/` is a request, what becomes of it, and the reply, byte for byte.
//!
//! ```text
//! # A question, and the name's letters come back as they were.   <- why
//! expect: answered                                               <- outcome, by XDP and at tc
//!
//! # Ethernet, IPv4                                               <- header by header
//! 02 00 00 00 00 01 02 00 00 00 00 02 08 00
//! ...
//! reply:
//! 02 00 00 00 00 02 02 00 00 00 00 01 08 00
//! ```
//! The rules are those of [`rules`]. `UPDATE=1 cargo test -p tidegate-offload --test kernel golden` writes the replies anew, for
//! somebody to read them.

use std::fs;
use std::path::PathBuf;

use tidegate_bpf::{OffloadOutcome, OffloadPlace};
use tidegate_offload::{Action, Condition, GroupId, Processor, Rule, RuleId, Target};

use crate::reference::Outcome;
use crate::rig::Rig;

struct GoldenFrame {
    path: PathBuf,
    name: String,
    frame: Vec<u8>,
    expected: OffloadOutcome,
    reply: Vec<u8>,
}

impl GoldenFrame {
    fn read(path: PathBuf) -> Self {
        let name = path.file_stem().expect("files have names").to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).expect("golden frames are text");
        let (request, reply) = text.split_once("reply:\n").unwrap_or((&text, ""));
        let expectation = request.lines().find_map(|line| line.strip_prefix("expect: "));
        let expected = OffloadOutcome::ALL.into_iter().find(|outcome| Some(outcome.name()) == expectation);
        let expected = expected.unwrap_or_else(|| panic!("{name}: no outcome that is known"));
        Self { frame: bytes(request), reply: bytes(reply), path, name, expected }
    }

    fn write_reply(&self, reply: &[u8]) {
        let text = fs::read_to_string(&self.path).expect("it was read a moment ago");
        let request = text.split_once("reply:\n").map_or(&text[..], |(request, _)| request);
        let lines = reply
            .chunks(16)
            .map(|line| line.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ") + "\n");
        fs::write(&self.path, format!("{request}reply:\n{}", lines.collect::<String>()))
            .expect("it can be written");
    }
}

fn bytes(text: &str) -> Vec<u8> {
    let lines = text.lines().filter(|line| !line.contains(['#', ':']));
    let byte = |text| u8::from_str_radix(text, 16).unwrap_or_else(|_| panic!("`{text}` is no byte"));
    lines.flat_map(str::split_whitespace).map(byte).collect()
}

fn golden_frames() -> Vec<GoldenFrame> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let paths = fs::read_dir(directory).expect("tests/golden exists");
    let mut paths: Vec<_> = paths.map(|entry| entry.expect("an entry of tests/golden").path()).collect();
    paths.sort();
    paths.into_iter().map(GoldenFrame::read).collect()
}

/// A question for the address of `www.example`, as clients without EDNS ask it, and its answer: ID and name are the request's.
fn question() -> Rule {
    let name = b"\x03www\x07example\x00\x00\x01\x00\x01";
    let answer = b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x0e\x10\x00\x04\xc0\x00\x02\x50";
    let end = 12 + name.len();
    Rule {
        conditions: vec![
            Condition::exact(2, b"\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"),
            Condition::any_case(12, name),
        ],
        request_len: Some(end),
        action: Action::Answer(vec![
            Processor::Copy { from: 0, len: 2, to: 0 },
            Processor::Put { at: 2, bytes: b"\x85\x00\x00\x01\x00\x01\x00\x00\x00\x00".to_vec() },
            Processor::Copy { from: 12, len: name.len(), to: 12 },
            Processor::Put { at: end, bytes: answer.to_vec() },
        ]),
        group: GroupId(0),
        expires: None,
    }
}

fn text_rule(request: &str, request_len: Option<usize>, action: Action) -> Rule {
    let conditions = vec![Condition::exact(0, request)];
    Rule { conditions, request_len, action, group: GroupId(0), expires: None }
}

/// `question` in place 0, "short?" with a shorter reply, "long?" with one beyond the MTU, and "write" which drops place 0.
fn rules() -> [Rule; 4] {
    let put = |len: usize| Action::Answer(vec![Processor::Put { at: 0, bytes: vec![b'x'; len] }]);
    [
        question(),
        text_rule("short?", Some(6), put(1)),
        text_rule("long?", None, put(1473 - 20)),
        text_rule("write", None, Action::Invalidate(vec![Target::Rule(RuleId(0))])),
    ]
}

fn rig() -> Option<Rig> {
    let mut rig = Rig::new()?;
    for (place, rule) in rules().iter().enumerate() {
        assert_eq!(rig.table.reserve(), Ok(RuleId(place as u32)));
        rig.put(RuleId(place as u32), rule);
    }
    Some(rig)
}

fn expected(golden: &GoldenFrame) -> Outcome {
    match golden.expected {
        OffloadOutcome::Answered => Outcome::Answered(golden.reply.clone()),
        other => Outcome::Passed(other),
    }
}

#[test]
fn golden_frames_get_their_replies() {
    let Some(mut rig) = rig() else { return };
    let updates = std::env::var_os("UPDATE").is_some();
    let mut wrong = Vec::new();
    for golden in golden_frames() {
        // A write drops a rule that the other frames need.
        rig.put(RuleId(0), &rules()[0]);
        if updates && let Outcome::Answered(reply) = rig.expected(&golden.frame) {
            golden.write_reply(&reply);
            continue;
        }
        for place in OffloadPlace::ALL {
            let outcome = rig.run(place, &golden.frame);
            if outcome != expected(&golden) {
                wrong.push(format!("{} by {}: {outcome:02x?}", golden.name, place.name()));
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn golden_frames_are_what_the_reference_says() {
    let Some(mut rig) = rig() else { return };
    for golden in golden_frames() {
        rig.put(RuleId(0), &rules()[0]);
        assert_eq!(rig.expected(&golden.frame), expected(&golden), "{}", golden.name);
    }
}

/// What a test run cannot show: a frame without room, and a table that is gone.
#[test]
fn golden_frames_cover_every_other_outcome() {
    let frames = golden_frames();
    let elsewhere = [OffloadOutcome::NoRoom, OffloadOutcome::NoTable];
    for outcome in OffloadOutcome::ALL.into_iter().filter(|outcome| !elsewhere.contains(outcome)) {
        assert!(frames.iter().any(|golden| golden.expected == outcome), "no frame for {}", outcome.name());
    }
}

#[test]
fn what_is_not_set_up_completely_answers_nothing() {
    let Some(rig) = rig() else { return };
    let frames = golden_frames();
    let question = frames.iter().find(|golden| golden.name == "ipv4").expect("a golden frame");
    rig.program.unset_table(crate::rig::SLOT).expect("a slot has a place");
    assert_eq!(rig.run(OffloadPlace::Xdp, &question.frame), Outcome::Passed(OffloadOutcome::NoTable));
    rig.program.set_table(rig.table.memory()).expect("a slot has a place");
    assert_eq!(rig.run(OffloadPlace::Xdp, &question.frame), expected(question));

    rig.program.answer_nothing().expect("the setting can be written");
    assert_eq!(rig.run(OffloadPlace::Xdp, &question.frame), Outcome::Foreign);
    assert_eq!(rig.run(OffloadPlace::Tc, &question.frame), Outcome::Foreign);
    rig.program.answer_as(tidegate_wire::MacAddr(rig.nic.mac), 1500).expect("the setting can be written");
    assert!(rig.program.unserve(rig.nic.services[0]).expect("a service can go"));
    assert_eq!(rig.run(OffloadPlace::Xdp, &question.frame), Outcome::Foreign);
    assert!(!rig.program.unserve(rig.nic.services[0]).expect("a service can go twice"));
    rig.program.serve("0.0.0.0:53".parse().expect("an address"), 0).expect_err("no service of all addresses");
}

#[test]
fn hits_and_invalidations_of_the_kernel_are_seen() {
    let Some(rig) = rig() else { return };
    let frames = golden_frames();
    let run = |name: &str| {
        let golden = frames.iter().find(|golden| golden.name == name).expect("a golden frame");
        rig.run(OffloadPlace::Xdp, &golden.frame)
    };
    for _ in 0..3 {
        run("ipv4");
    }
    assert_eq!(rig.table.status(RuleId(0)).expect("a rule").hits, 3);
    run("invalidates");
    let status = rig.table.status(RuleId(0)).expect("a rule");
    assert!(!status.is_alive && status.hits == 3);
    assert_eq!(run("ipv4"), Outcome::Passed(OffloadOutcome::Miss));
}
