//! Names and numbers at their limits.

use super::*;

#[test]
fn a_generated_name_is_the_first_that_is_free() {
    assert_eq!(generated_name("queue", |_| false), "queue0");
    assert_eq!(generated_name("queue", |name| name == "queue0" || name == "queue1"), "queue2");
}

#[test]
fn a_huge_name_is_refused_and_quoted_in_part() {
    let fault = required("module", "m".repeat(1 << 20)).unwrap_err();
    assert!(fault.text.len() < 200, "{}", fault.text);
    assert!(fault.text.contains("1048576 bytes"), "{}", fault.text);
}

#[test]
fn control_characters_are_refused_and_shown_escaped() {
    let fault = required("module", "a\nb\u{1b}[2J".into()).unwrap_err();
    assert!(fault.text.starts_with("module `a\\nb\\u{1b}[2J` has control"), "{}", fault.text);
}

#[test]
fn a_name_of_the_greatest_length_is_good() {
    assert_eq!(required("module", "m".repeat(255)).map(|name| name.len()), Ok(255));
}

#[test]
fn numbers_outside_their_range_name_the_range() {
    assert_eq!(worker(63), Ok(63));
    for wid in [-1, 64, i64::MIN, i64::MAX] {
        assert_eq!(worker(wid).unwrap_err().text, format!("worker {wid} does not exist: 0 to 63 do"));
    }
    assert_eq!(gate(8191), Ok(8191));
    assert!(gate(8192).is_err() && gate(u64::MAX).is_err());
}
