//! Queries that look right and have something wrong: pieces put together at random, a few octets of them changed.

use crate::driver::ZONES;
use tidegate_base::Rng;
use tidegate_dns::name::NameBuf;

const TYPES: [u16; 22] =
    [1, 2, 5, 6, 12, 15, 16, 28, 33, 35, 39, 43, 46, 47, 48, 50, 51, 64, 65, 252, 255, 65_280];

/// What stands behind a question, and how many records of the additional section it is.
const ENDINGS: [(&[u8], u8); 9] = [
    (b"", 0),
    (b"\x00\x00\x29\x04\xd0\x00\x00\x80\x00\x00\x00", 1),
    (b"\x00\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x00", 1),
    (b"\x00\x00\x29\x02\x00\x00\x00\x80\x00\x00\x00", 1),
    (b"\x00\x00\x29\xff\xff\x00\x00\x80\x00\x00\x10\x00\x0a\x00\x08clientcc\x00\x03\x00\x00", 1),
    (b"\x00\x00\x29\x04\xd0\x00\x01\x80\x00\x00\x00", 1),
    (b"\x00\x00\x29\x04\xd0\x00\x00\x80\x00\x00\x04\xff\xff\x00\x00", 1),
    (b"\x03key\x00\x00\xfa\x00\xff\x00\x00\x00\x00\x00\x00", 1),
    (b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x29\x04\xd0\x00\x00\x80\x00\x00\x00", 2),
];

/// The first word of each line of the zones, below the zone's apex.
pub(crate) fn owners() -> Vec<NameBuf> {
    let mut owners = Vec::new();
    for (apex, text) in ZONES {
        let text = String::from_utf8_lossy(text);
        let words = text.lines().filter_map(|line| line.split_whitespace().next());
        let absolute =
            |word: &str| if word.ends_with('.') { word.to_owned() } else { format!("{word}.{apex}.") };
        owners.extend(words.filter_map(|word| absolute(word).parse::<NameBuf>().ok()));
    }
    owners
}

/// A query, for one of `names` or a name near it.
pub(crate) fn message(rng: &mut Rng, names: &[NameBuf]) -> Vec<u8> {
    let flags = if rng.chance(0.9) { 0x01 } else { rng.below(256) as u8 };
    let (ending, record_count) = ENDINGS[rng.below(ENDINGS.len() as u64) as usize];
    let mut message = vec![rng.below(256) as u8, 1, flags, 0, 0, 1, 0, 0, 0, 0, 0, record_count];
    let name = &names[rng.below(names.len() as u64) as usize];
    push_name(rng, name, &mut message);
    message.extend(TYPES[rng.below(TYPES.len() as u64) as usize].to_be_bytes());
    message.extend(if rng.chance(0.95) { [0, 1] } else { [0, rng.below(256) as u8] });
    message.extend(ending);
    spoil(rng, &mut message);
    message
}

/// `name`, often with labels before it or without its first, its letters in either case.
fn push_name(rng: &mut Rng, name: &NameBuf, message: &mut Vec<u8>) {
    let mut near = if rng.chance(0.2) { name.parent().unwrap_or(name).into() } else { *name };
    while rng.chance(0.3) {
        let label = [b"a", b"*", b"z", b"-"][rng.below(4) as usize];
        near = NameBuf::child(label, &near).unwrap_or(near);
    }
    let mixed =
        near.as_wire().iter().map(|octet| if rng.chance(0.2) { octet.to_ascii_uppercase() } else { *octet });
    message.extend(mixed);
}

fn spoil(rng: &mut Rng, message: &mut Vec<u8>) {
    while rng.chance(0.25) {
        let at = rng.below(message.len() as u64) as usize;
        message[at] = rng.below(256) as u8;
    }
    if rng.chance(0.05) {
        message.truncate(rng.below(message.len() as u64) as usize);
    }
}
