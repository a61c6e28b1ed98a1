//! Mistakes: the place, what is wrong, and what to write instead.

use super::*;

fn mistake(text: &str) -> String {
    parse(text).err().map(|mistakes| mistakes.line()).unwrap_or_else(|| panic!("taken: {text}"))
}

#[test]
fn every_mistake_names_its_place_and_its_remedy() {
    for (text, says) in [
        ("a -> ", "1:6: a module was expected, not the end of the text"),
        ("a::Source() b", "1:13: the end of the statement was expected, not `b`: put `->` between"),
        ("a:1 -> b", "1:2: the end of the statement was expected, not `:`: a gate is written in brackets"),
        ("a::Source -> b", "1:11: `(` was expected, not `->`: write a::Source()"),
        ("q::Queue(64)", "1:12: `=` was expected, not `)`: arguments are given by name: size=64"),
        ("q::Queue(size=)", "1:15: a value was expected, not `)`"),
        ("q::Queue(size=1\n\n\nSink()", "4:1: `,` or `)` was expected, not `Sink`"),
        ("q::Queue(size=\"64)", "1:15: a value was expected, not a text in quotes: put a `\""),
        ("q::Queue(size=12ab)", "1:15: `12ab` is no number"),
        ("a % b", "1:3: the end of the statement was expected, not `%`, which means nothing"),
        ("a[x] -> b", "1:3: the number of a gate was expected, not `x`"),
        ("a[-1] -> b", "1:3: `-1` is not the number of a gate: write 0, 1, 2"),
        ("q::Quueue()", "1:4: there is no class `Quueue`: did you mean `Queue`?"),
        ("q::Queue(sise=64)", "1:10: there is no argument `sise` here: did you mean `size`?"),
        (
            "q::Queue(colour=1)",
            "1:10: there is no argument `colour` here: there are size, prefetch, backpressure",
        ),
        ("s::Sink(x=1)", "1:9: there is no argument `x` here: nothing stands between these brackets"),
        ("q::Queue(size=1, size=2)", "1:18: `size` is given twice"),
        ("q::Queue(size=big)", "1:15: `size` is an integer, not a word"),
        ("q::Queue(size=-1)", "1:15: `size` is -1: it may be 0 to 18446744073709551615"),
        ("q::Queue(prefetch=1)", "1:19: `prefetch` is true or false, not an integer"),
        ("s::Split(size=1, attribute=a, offset=3)", "1:31: `attribute` and `offset` exclude each other"),
        ("s::Split(size=1)", "1:9: one of attribute and offset must be given"),
        (
            "r::Rewrite(templates=x\"00\")",
            "1:22: `templates` is a list, not bytes: put it in square brackets",
        ),
        ("r::Rewrite(templates=[x\"0\"])", "1:23: bytes are written as pairs of hexadecimal digits"),
        ("e::ExactMatch(fields=[7])", "1:23: `fields` is a record, not an integer: write {...} with some of"),
        ("w::WorkerSplit(worker_gates={a=1})", "1:30: `a` cannot be a key here"),
        ("s::Source(pkt_size=9999)", "1:10: pkt_size is 9999: it may be 0 to 2048"),
        ("a::Source()\na::Sink()", "2:1: there are two modules `a`: give one of them another name"),
        ("a::Source() -> b", "1:16: there is no module `b`: make it: b::Bypass()"),
        ("queue::Queue()\nqueu", "2:1: there is no module `queu`: did you mean `queue`?"),
        ("Source() -> Sink", "1:13: there is no module `Sink`: it is a class: write Sink()"),
        ("a::Source()[1] -> Sink()", "1:13: `a` has no output gate 1: it has gate 0 alone"),
        ("Sink() -> b::Bypass()", "1:1: `sink0` has no output gate 0: it has no output gate at all"),
        (
            "a::Source() -> Sink()\na -> Sink()",
            "2:1: output gate 0 of `a` leads to `sink0` already: use another",
        ),
        ("a::Bypass() -> b::Sink()[1]", "1:26: nothing leaves by this gate: put `->`"),
        ("[1]a::Bypass()", "1:2: nothing comes in by this gate: put a module"),
        (
            "p::PMDPort(vdev=net_null0) -> Sink()",
            "1:4: `p` is no module: packets do not pass it: write PortInc(",
        ),
        ("PortInc(port=p0)", "1:1: there is no port `p0`: make it: p0::PMDPort("),
        ("worker 64", "1:8: there is no worker 64: there may be 0 to 63"),
        ("worker 0; worker 0", "1:18: worker 0 is given twice"),
        ("c::rate_limit(limit=5)", "1:21: `limit` of which resource?: add resource="),
        ("c::round_robin(parent=d)", "1:1: there is no traffic class `d`: make it: d::round_robin()"),
        ("a::round_robin(parent=b); b::round_robin(parent=a)", "1:1: traffic class `a` hangs below itself"),
        ("c::round_robin(shard=1)", "1:16: there is no argument `shard` here: did you mean `share`?"),
        ("q::Queue()\nq.set_sise(size=1)", "2:3: Queue has no command `set_sise`: did you mean `set_size`?"),
        ("include \"absent.tg\"", "1:9: could not read absent.tg: no absent.tg"),
        ("\"\"::Sink()", "1:1: the name is missing"),
        ("q::Queue(size=\"\\q\")", "1:15: `\\q` means nothing: write one of"),
    ] {
        let line = mistake(text);
        assert!(line.starts_with(&format!("test.tg:{says}")), "{text:?}:\n{line}\n{says}");
    }
}

#[test]
fn a_mistake_is_shown_with_its_line_and_a_caret() {
    let mistakes = parse("src::Source()\nsrc -> q::Quueue(size=64)\nsrc::Sink()").unwrap_err();
    assert_eq!(mistakes.count(), 2);
    let expected = "\
error: there is no class `Quueue`
 --> test.tg:2:11
  |
2 | src -> q::Quueue(size=64)
  |           ^^^^^^
  |
  = help: did you mean `Queue`?

error: there are two modules `src`
 --> test.tg:3:1
  |
1 | src::Source()
  | --- the first one
2 | src -> q::Quueue(size=64)
3 | src::Sink()
  | ^^^
  |
  = help: give one of them another name";
    assert_eq!(mistakes.to_string(), expected);
}

#[test]
fn what_a_daemon_refuses_is_shown_where_its_name_was_given() {
    let script = parse("src::Source() -> out::Sink()").unwrap();
    assert_eq!(script.refused("module `out` is not ready").line(), "test.tg:1:18: module `out` is not ready");
    assert_eq!(script.refused("nothing to do with it").line(), "nothing to do with it");
}

#[test]
fn brackets_within_brackets_have_an_end() {
    let text = format!("q::Queue(size={}", "[".repeat(100_000));
    assert!(mistake(&text).contains("brackets within brackets"));
}
