//! Queries out of the ordinary: malformed ones, other opcodes and classes, EDNS in all its corners, CHAOS.

use crate::corpus::name_from_text;
use crate::queries::{header, opt};

const A_IN: [u8; 4] = [0, 1, 0, 1];
const TXT_CH: [u8; 4] = [0, 16, 0, 3];
const OPCODE_SHIFT: u16 = 11;
const DO: u32 = 1 << 15;

/// All of them, for zones that have `name` with an A record, in text.
pub(crate) fn odd_queries(name: &str) -> Vec<Vec<u8>> {
    [whole_queries(name), cut_short(&name_from_text(name, &[0]))].concat()
}

/// Those that are not cut short.
pub(crate) fn whole_queries(name: &str) -> Vec<Vec<u8>> {
    let name = name_from_text(name, &[0]);
    let all = [
        opcodes(&name),
        classes(&name),
        types(&name),
        chaos(),
        edns(&name),
        counts(&name),
        pointers(&name),
        flags(&name),
    ];
    all.concat()
}

fn plain(flags: u16, name: &[u8], type_and_class: [u8; 4]) -> Vec<u8> {
    [&header(flags, [1, 0, 0, 0]), name, &type_and_class].concat()
}

fn with_opt(name: &[u8], type_and_class: [u8; 4], opt: &[u8]) -> Vec<u8> {
    [&header(0, [1, 0, 0, 1]), name, &type_and_class, opt].concat()
}

fn opcodes(name: &[u8]) -> Vec<Vec<u8>> {
    let bare = (1..16).map(|opcode: u16| plain(opcode << OPCODE_SHIFT, name, A_IN));
    let dressed = (1..16).map(|opcode: u16| {
        let mut query = with_opt(name, A_IN, &opt(1232, DO, &[]));
        query[2] = (opcode << OPCODE_SHIFT >> 8) as u8;
        query
    });
    bare.chain(dressed).collect()
}

fn classes(name: &[u8]) -> Vec<Vec<u8>> {
    let outside = name_from_text("www.elsewhere.invalid", &[0]);
    let classes = [0, 2, 3, 4, 5, 254, 255, 256, 65280, 65535_u16];
    let ask = |name: &[u8], rtype: u8, class: u16| {
        let [high, low] = class.to_be_bytes();
        plain(0, name, [0, rtype, high, low])
    };
    classes
        .iter()
        .flat_map(|class| [ask(name, 1, *class), ask(name, 255, *class), ask(&outside, 1, *class)])
        .collect()
}

/// QTYPEs and meta-types over UDP: OPT, TKEY, TSIG, IXFR, AXFR, MAILB, MAILA and their neighbours, 0 and the last.
fn types(name: &[u8]) -> Vec<Vec<u8>> {
    let apex = name_from_text("basic.test", &[0]);
    let types = [0, 41, 128, 200, 248, 249, 250, 252, 253, 254, 32768, 65535_u16];
    let ask = |name: &[u8], rtype: u16| {
        let [high, low] = rtype.to_be_bytes();
        plain(0, name, [high, low, 0, 1])
    };
    types.iter().flat_map(|rtype| [ask(name, *rtype), ask(&apex, *rtype)]).collect()
}

fn chaos() -> Vec<Vec<u8>> {
    let names = [
        "version.bind",
        "VERSION.Bind",
        "version.server",
        "id.server",
        "hostname.bind",
        "authors.bind",
        "bind",
        ".",
    ];
    let types = [16_u8, 255, 1, 6, 2];
    let ask =
        |name: &str, rtype| plain(0, &name_from_text(name.trim_end_matches('.'), &[0]), [0, rtype, 0, 3]);
    let mut queries: Vec<_> = names.iter().flat_map(|name| types.map(|rtype| ask(name, rtype))).collect();
    queries.push(with_opt(&name_from_text("id.server", &[0]), TXT_CH, &opt(1232, DO, &[0, 3, 0, 0])));
    queries
}

fn edns(name: &[u8]) -> Vec<Vec<u8>> {
    let option =
        |code: u16, data: &[u8]| [&code.to_be_bytes(), &(data.len() as u16).to_be_bytes()[..], data].concat();
    let mut opts = vec![
        // Other versions, with DO and without; extended RCODE and Z bits that mean nothing in a query.
        opt(1232, 1 << 16, &[]),
        opt(1232, 1 << 16 | DO, &[]),
        opt(1232, 255 << 16 | DO, &[]),
        opt(1232, 1 << 24, &[]),
        opt(1232, 0x7fff, &[]),
        opt(1232, 1 << 16, &[0, 3]),
        // Sizes.
        opt(1, 0, &[]),
        opt(511, DO, &[]),
        opt(513, 0, &[]),
        opt(1233, 0, &[]),
        // Options: unknown, empty, NSID with data, client subnet, padding, keepalive, expire, several at once.
        opt(1232, 0, &option(65001, b"hello")),
        opt(1232, 0, &option(0, &[])),
        opt(1232, 0, &option(3, b"data")),
        opt(1232, DO, &option(8, &[0, 1, 24, 0, 192, 0, 2])),
        opt(1232, 0, &option(12, &[0; 40])),
        opt(1232, 0, &[option(3, &[]), option(65002, &[1; 100])].concat()),
        opt(1232, 0, &[option(3, &[]), option(3, &[])].concat()),
        // LLQ, UL, DAU, DHU, N3U, expire, chain, key tag, extended error, report channel, zone version.
        opt(1232, 0, &option(1, &[0; 18])),
        opt(1232, 0, &option(2, &[0, 0, 0, 60])),
        opt(1232, DO, &[option(5, &[8, 13]), option(6, &[2]), option(7, &[1])].concat()),
        opt(1232, 0, &option(9, &[])),
        opt(1232, 0, &option(9, &[0, 0, 0, 60])),
        opt(1232, DO, &option(13, &[0])),
        opt(1232, 0, &option(14, &[0x4f, 0x66])),
        opt(1232, 0, &option(15, &[0, 0])),
        opt(1232, 0, &option(18, &[0])),
        opt(1232, 0, &option(19, &[])),
        // Keepalive has no place in a datagram (RFC 7828 3.2.1); client subnets of no known form.
        opt(1232, 0, &option(11, &[])),
        opt(1232, 0, &option(11, &[0, 100])),
        opt(1232, 0, &option(11, &[0])),
        opt(1232, 0, &option(8, &[])),
        opt(1232, 0, &option(8, &[0, 1, 33, 0, 192, 0, 2, 1, 1])),
        opt(1232, 0, &option(8, &[0, 9, 0, 0])),
        opt(1232, 0, &option(8, &[0, 2, 56, 0, 32, 1, 13, 184, 0, 0, 0])),
        opt(1232, DO, &[option(8, &[0, 1, 0, 0]), option(12, &[0; 200]), option(3, &[])].concat()),
        // Cut short: the option's header, the option's data.
        opt(1232, 0, &[0]),
        opt(1232, 0, &[0, 3, 0]),
        opt(1232, 0, &[0, 3, 0, 4, 1]),
    ];
    let mut below_root = opt(1232, 0, &[]);
    below_root.splice(0..1, [1, b'x', 0]);
    opts.push(below_root);
    let mut queries: Vec<_> = opts.iter().map(|opt| with_opt(name, A_IN, opt)).collect();
    // Two OPTs; one in the answer section, one in the authority section.
    let twice = [opt(1232, 0, &[]), opt(4096, 0, &[])].concat();
    queries.push([&header(0, [1, 0, 0, 2]), name, &A_IN, &twice].concat());
    queries.push([&header(0, [1, 1, 0, 0]), name, &A_IN, &opt(1232, 0, &[])].concat());
    queries.push([&header(0, [1, 0, 1, 0]), name, &A_IN, &opt(1232, 0, &[])].concat());
    queries
}

/// Counts that do not fit, and records where a query has none.
fn counts(name: &[u8]) -> Vec<Vec<u8>> {
    let body = [name, &A_IN].concat();
    let record = [name, &A_IN, &[0, 0, 0, 60, 0, 4, 192, 0, 2, 1]].concat();
    let with = |counts, records: &[u8]| [&header(0, counts), &body[..], records].concat();
    vec![
        with([0, 0, 0, 0], &[]),
        with([2, 0, 0, 0], &[]),
        with([2, 0, 0, 0], &body),
        with([65535, 0, 0, 0], &body),
        with([1, 1, 0, 0], &[]),
        with([1, 0, 1, 0], &[]),
        with([1, 0, 0, 1], &[]),
        with([1, 0, 0, 65535], &[]),
        with([1, 1, 0, 0], &record),
        with([1, 0, 1, 0], &record),
        with([1, 0, 0, 1], &record),
        with([1, 0, 0, 2], &record.repeat(2)),
        with([1, 0, 0, 0], &record),
        with([1, 0, 0, 0], &[0]),
        header(0, [0, 0, 0, 0]),
        header(0, [1, 0, 0, 0]),
        [header(0, [0, 0, 0, 1]), opt(1232, 0, &[])].concat(),
    ]
}

/// Every prefix of a query, from its ID on.
fn cut_short(name: &[u8]) -> Vec<Vec<u8>> {
    let whole = with_opt(name, A_IN, &opt(1232, DO, &[0, 3, 0, 0]));
    (2..whole.len()).map(|len| whole[..len].to_vec()).collect()
}

/// Compression in the question, right and wrong; labels of reserved kinds, names too long.
fn pointers(name: &[u8]) -> Vec<Vec<u8>> {
    let ask = |name: &[u8]| plain(0, name, A_IN);
    let label = [&[63][..], &[b'a'; 63]].concat();
    vec![
        ask(&[192, 12]),
        ask(&[192, 0]),
        ask(&[192, 255]),
        ask(&[255, 255]),
        ask(&[1, b'a', 192, 12]),
        ask(&[192, 4]),
        ask(&[0x40, 0]),
        ask(&[0x80, 0]),
        ask(&[0x41, 1, 0]),
        ask(&[&label.repeat(4)[..], &[0]].concat()),
        ask(&[&[1, b'a'].repeat(127)[..], &[0]].concat()),
        ask(&[&[1, b'a'].repeat(128)[..], &[0]].concat()),
        ask(&[64, b'a', 0]),
        ask(&[&[5][..], b"a\0b.c", name].concat()),
    ]
}

fn flags(name: &[u8]) -> Vec<Vec<u8>> {
    let each = (0..16).map(|bit| plain(1 << bit, name, A_IN));
    let outside = name_from_text("www.elsewhere.invalid", &[0]);
    let refused = (0..10).map(|bit| plain(1 << bit, &outside, A_IN));
    each.chain(refused).chain([plain(0x07ff, name, A_IN), plain(0x000f, name, A_IN)]).collect()
}
