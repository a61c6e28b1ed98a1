//! The queries: every name of the zones and its neighbourhood, by every type, in every dress.
//!
//! Which dress (EDNS, DO, size, flags, case of the letters) a name and type wear is drawn from a seed, unless all are
//! asked for. What is malformed, or rare, is listed by hand in `odd`.

use std::collections::BTreeSet;

use tidegate_dns::message::Rtype;

use crate::corpus::{Set, Wire, child, name_from_text, parent};

/// The types that every name is asked for: RFC 1035, 3596, 2782, 4034, 5155, 6672, 9460, then meta and unknown ones.
const TYPES: [u16; 29] = [
    1, 2, 5, 6, 12, 15, 16, 28, 33, 35, 39, 43, 46, 47, 48, 50, 51, 52, 64, 65, 255, 257, 99, 44, 29, 36,
    65280, 65282, 12345,
];

/// The types that names made up around the zones' own are asked for.
const TYPES_FEW: [u16; 8] = [1, 5, 2, 43, 255, 16, 6, 47];

/// The dress of a query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dress {
    /// Requestor's UDP payload size, if there is an OPT at all (RFC 6891 6.2.3).
    edns_size: Option<u16>,
    dnssec_ok: bool,
    /// RD, CD and AD, as bits of the header's second word.
    flags: u16,
    with_nsid: bool,
}

const RD: u16 = 0x0100;
const AD: u16 = 0x0020;
const CD: u16 = 0x0010;

/// All dresses that a name and type can wear.
const DRESSES: [Dress; 12] = [
    Dress { edns_size: None, dnssec_ok: false, flags: 0, with_nsid: false },
    Dress { edns_size: None, dnssec_ok: false, flags: RD | CD, with_nsid: false },
    Dress { edns_size: Some(512), dnssec_ok: false, flags: 0, with_nsid: false },
    Dress { edns_size: Some(512), dnssec_ok: true, flags: RD, with_nsid: false },
    Dress { edns_size: Some(1232), dnssec_ok: false, flags: RD, with_nsid: true },
    Dress { edns_size: Some(1232), dnssec_ok: true, flags: 0, with_nsid: false },
    Dress { edns_size: Some(4096), dnssec_ok: false, flags: AD, with_nsid: false },
    Dress { edns_size: Some(4096), dnssec_ok: true, flags: RD | CD, with_nsid: true },
    Dress { edns_size: Some(0), dnssec_ok: true, flags: 0, with_nsid: false },
    Dress { edns_size: Some(700), dnssec_ok: false, flags: 0, with_nsid: false },
    Dress { edns_size: Some(700), dnssec_ok: true, flags: 0, with_nsid: false },
    Dress { edns_size: Some(65535), dnssec_ok: true, flags: AD | CD, with_nsid: false },
];

/// A small generator of numbers; the same seed gives the same queries (SplitMix64).
pub(crate) struct Draw(pub u64);

impl Draw {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.next() as usize % choices.len()]
    }
}

/// How many of the dresses each name and type wears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// This many, drawn.
    Drawn(usize),
    /// All of them.
    All,
}

/// The queries for a set, each a whole message with ID 0.
pub(crate) fn queries(set: &Set, extent: Extent, draw: &mut Draw) -> Vec<Vec<u8>> {
    let mut queries = Vec::new();
    for name in own_names(set) {
        TYPES.iter().for_each(|rtype| dress(&name, *rtype, extent, draw, &mut queries));
    }
    for name in names_around(set, draw) {
        TYPES_FEW.iter().for_each(|rtype| dress(&name, *rtype, extent, draw, &mut queries));
    }
    queries
}

/// One query for each line "NAME TYPE", in every dress.
pub(crate) fn listed_queries(lines: &str, draw: &mut Draw) -> Vec<Vec<u8>> {
    let mut queries = Vec::new();
    for line in lines.lines() {
        let Some((name, rtype)) = line.split_once(' ') else { continue };
        let rtype: Rtype = rtype.trim().parse().unwrap();
        dress(&name_from_text(name, &[0]), rtype.0, Extent::All, draw, &mut queries);
    }
    queries
}

fn dress(name: &[u8], rtype: u16, extent: Extent, draw: &mut Draw, queries: &mut Vec<Vec<u8>>) {
    match extent {
        Extent::All => queries.extend(DRESSES.iter().map(|dress| query(name, rtype, *dress, draw))),
        Extent::Drawn(count) => {
            let drawn = (0..count).map(|_| draw.of(&DRESSES)).collect::<Vec<_>>();
            queries.extend(drawn.into_iter().map(|dress| query(name, rtype, dress, draw)));
        }
    }
}

/// Every owner and everything above it.
fn own_names(set: &Set) -> BTreeSet<Wire> {
    let above = |name: &Wire| {
        std::iter::successors(Some(name.clone()), |name| parent(name).map(<[u8]>::to_vec)).collect::<Vec<_>>()
    };
    set.owners.iter().flat_map(above).collect()
}

/// Children, grandchildren and siblings of every name, so that what is asked for is absent, covered by a wildcard,
/// below a cut, below a DNAME, or nobody's.
fn names_around(set: &Set, draw: &mut Draw) -> BTreeSet<Wire> {
    let own = own_names(set);
    let mut around = BTreeSet::new();
    for name in &own {
        let random = draw.next().to_string();
        let below = [b"x".as_slice(), b"*", b"www", random.as_bytes()].map(|label| child(label, name));
        let further = child(b"q", name).and_then(|name| child(b"p", &name));
        around.extend(below.into_iter().chain([further, sibling(name)]).flatten());
    }
    around.retain(|name| !own.contains(name));
    around
}

/// The name with one octet more in its first label: next to it in canonical order.
fn sibling(name: &[u8]) -> Option<Wire> {
    let above = parent(name)?;
    let label = [&name[1..name.len() - above.len()], b"-"].concat();
    if label.len() > 63 { None } else { child(&label, above) }
}

/// A query in that dress, its letters in random case (0x20).
fn query(name: &[u8], rtype: u16, dress: Dress, draw: &mut Draw) -> Vec<u8> {
    let mut message = header(dress.flags, [1, 0, 0, u16::from(dress.edns_size.is_some())]);
    message.extend(shuffled_case(name, draw));
    message.extend([rtype.to_be_bytes(), [0, 1]].concat());
    if let Some(size) = dress.edns_size {
        let options: &[u8] = if dress.with_nsid { &[0, 3, 0, 0] } else { &[] };
        message.extend(opt(size, u32::from(dress.dnssec_ok) << 15, options));
    }
    message
}

/// A header with ID 0 (RFC 1035 4.1.1).
pub(crate) fn header(flags: u16, counts: [u16; 4]) -> Vec<u8> {
    [[0, 0], flags.to_be_bytes()].into_iter().chain(counts.map(u16::to_be_bytes)).flatten().collect()
}

/// An OPT record: RFC 6891 6.1.2. `ttl` carries the extended RCODE, the version and the flags.
pub(crate) fn opt(size: u16, ttl: u32, options: &[u8]) -> Vec<u8> {
    let fixed =
        [&[0, 0, 41], &size.to_be_bytes()[..], &ttl.to_be_bytes(), &(options.len() as u16).to_be_bytes()]
            .concat();
    [&fixed, options].concat()
}

fn shuffled_case(name: &[u8], draw: &mut Draw) -> Wire {
    let mut bits = if draw.next().is_multiple_of(2) { draw.next() } else { 0 };
    let mut flip = |octet: &u8| {
        bits = bits.rotate_right(1);
        if octet.is_ascii_alphabetic() && bits & 1 == 1 { octet ^ 0x20 } else { *octet }
    };
    // Length octets are below 64, where no letter is.
    name.iter().map(&mut flip).collect()
}
