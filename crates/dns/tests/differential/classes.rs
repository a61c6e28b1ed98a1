//! The differences that are known: NSD and Knot go different ways, and it is decided which way is ours.
//!
//! Each class has a section in docs/specs/dns-differences.md under its name, with the RFC that decides it. A difference
//! of no class fails the test as one against both peers does.

use crate::compare::{Part, Stand, Trio, question};
use crate::message::{Message, Record};

/// A kind of difference that is decided.
pub(crate) struct Class {
    /// Its heading in the document.
    pub(crate) name: &'static str,
    holds: fn(&Case<'_>) -> bool,
}

/// One query on which the three do not agree.
struct Case<'a> {
    query: &'a [u8],
    name: &'a [u8],
    rtype: u16,
    class: u16,
    nsd: Option<&'a Message>,
    knot: Option<&'a Message>,
    ours: Option<&'a Message>,
    differences: &'a [(Part, Stand)],
    is_full: bool,
}

const CNAME: u16 = 5;
const NS: u16 = 2;
const DNAME: u16 = 39;
const RRSIG: u16 = 46;
const NSEC: u16 = 47;
const NSEC3: u16 = 50;
const AXFR: u16 = 252;
const ANY: u16 = 255;
/// The option's code, and the RCODE (RFC 7873 8).
const COOKIE: u16 = 10;
const BADCOOKIE: u16 = 23;
const TC: u16 = 0x0200;
const OPCODE: u16 = 0x7800;
/// AA, TC, RA, Z and the RCODE.
const NO_QUERYS: u16 = 0x06cf;
/// NS, MX, SRV, SVCB, HTTPS.
const POINTING: [u16; 5] = [NS, 15, 33, 64, 65];

/// The first that holds is it.
pub(crate) const CLASSES: [Class; 24] = [
    Class { name: "Cookies", holds: |case| case.brings_cookie() && case.is_about_cookies() },
    Class {
        name: "FORMERR or silence",
        holds: |case| {
            let is_with = |stand| case.differences == [(Part::Presence, stand)];
            is_with(Stand::WithNsd) || is_with(Stand::WithKnot) && case.has_opt_cut_short()
        },
    },
    Class {
        name: "What a refusal repeats",
        holds: |case| case.is_refused() && case.is_only(&[Part::Question, Part::Opt]),
    },
    Class { name: "Opcodes other than QUERY", holds: |case| case.word(2) & OPCODE != 0 },
    Class { name: "Flags that a query does not have", holds: |case| case.word(2) & NO_QUERYS != 0 },
    Class { name: "Records that a query does not have", holds: |case| case.has_strange_records() },
    Class {
        name: "OPT out of shape",
        holds: |case| case.differences.iter().any(|(part, _)| *part == Part::Opt),
    },
    Class { name: "Class ANY and CHAOS", holds: |case| matches!(case.class, 3 | 255) },
    Class { name: "AXFR for whom it is not meant", holds: |case| case.rtype == AXFR },
    Class { name: "QTYPE 0", holds: |case| case.rtype == 0 },
    Class {
        name: "What a truncated answer holds",
        holds: |case| case.has(|message| message.flags & TC != 0),
    },
    Class { name: "Names that NSEC3 records have", holds: |case| case.is_at_hashed_owner() },
    Class { name: "Wildcards that own NS", holds: |case| case.knots_authority(is_wildcard_delegation) },
    Class { name: "Long chains of aliases", holds: |case| case.aliases() > 5 },
    Class { name: "RRSIG asked for by itself", holds: |case| case.rtype == RRSIG && case.answers_differ() },
    Class {
        name: "NSEC and NSEC3 asked for by themselves",
        holds: |case| matches!(case.rtype, NSEC | NSEC3),
    },
    Class { name: "ANY", holds: |case| case.rtype == ANY && case.answers_differ() },
    Class {
        name: "Aliases into other zones",
        holds: |case| case.aliases() > 0 && case.is_nsds_but_for_addresses(),
    },
    Class {
        name: "What a parent has below a child zone",
        holds: |case| case.differences == [(Part::Rcode, Stand::WithKnot)] && case.our_rcode() == 3,
    },
    Class {
        name: "NSEC3 for a wildcard asked for by its own name",
        holds: |case| case.is_nsec3_of_wildcard(),
    },
    Class { name: "NSEC behind a DNAME", holds: |case| case.is_denial_behind_dname() },
    Class { name: "NSEC3 under opt-out", holds: |case| case.is_nsec3_of_opt_out() },
    Class {
        name: "Addresses of what an answer points at",
        holds: |case| {
            (POINTING.contains(&case.rtype) || case.rtype == ANY) && case.is_only(&[Part::Additional])
        },
    },
    Class {
        name: "Addresses for which there is no room",
        holds: |case| case.is_full && case.is_only(&[Part::Additional]),
    },
];

/// The class of a difference, if it has one.
pub(crate) fn class_of(trio: &Trio<'_>, differences: &[(Part, Stand)]) -> Option<&'static str> {
    let (name, rtype, class) = question(trio.query).unwrap_or((&[], 0, 0));
    let [nsd, knot, ours] = [&trio.nsd, &trio.knot, &trio.ours].map(Option::as_ref);
    let (query, is_full) = (trio.query, trio.is_full());
    let case = Case { query, name, rtype, class, nsd, knot, ours, differences, is_full };
    CLASSES.iter().find(|class| (class.holds)(&case)).map(|class| class.name)
}

impl Case<'_> {
    fn has(&self, holds: impl Fn(&Message) -> bool) -> bool {
        [self.nsd, self.knot, self.ours].into_iter().flatten().any(holds)
    }

    fn is_nsds_but_for_addresses(&self) -> bool {
        self.differences.iter().all(|(part, stand)| *part == Part::Additional || *stand == Stand::WithNsd)
    }

    fn answers_differ(&self) -> bool {
        self.differences.iter().any(|(part, _)| *part == Part::Answer)
    }

    fn is_only(&self, parts: &[Part]) -> bool {
        self.differences.iter().all(|(part, _)| parts.contains(part))
    }

    fn our_rcode(&self) -> u16 {
        self.ours.map_or(0, |ours| ours.rcode)
    }

    /// FORMERR, NOTIMP, REFUSED, NOTAUTH, BADVERS.
    fn is_refused(&self) -> bool {
        matches!(self.our_rcode(), 1 | 4 | 5 | 9 | 16)
    }

    fn brings_cookie(&self) -> bool {
        let opt = Message::parse_leniently(self.query).and_then(|query| query.opt);
        opt.is_some_and(|opt| opt.options.contains_key(&COOKIE))
    }

    /// Knot's BADCOOKIE, or what was put into the OPT alone.
    fn is_about_cookies(&self) -> bool {
        self.knot.is_some_and(|knot| knot.rcode == BADCOOKIE) || self.is_only(&[Part::Opt])
    }

    /// The sixteen bits at `at` of the query's header.
    fn word(&self, at: usize) -> u16 {
        self.query.get(at..at + 2).map_or(0, |word| u16::from_be_bytes([word[0], word[1]]))
    }

    /// Records in the answer and authority sections, or more than one in the additional section, or octets that are
    /// no record.
    fn has_strange_records(&self) -> bool {
        let end = 12 + self.name.len() + 4;
        let is_opt = self.query.get(end..end + 3) == Some(&[0, 0, 41]);
        self.word(6) + self.word(8) > 0 || self.query.len() > end && !(self.word(10) == 1 && is_opt)
    }

    /// An OPT record that ends with the message before it is whole.
    fn has_opt_cut_short(&self) -> bool {
        let opt = self.query.get(12 + self.name.len() + 4..).filter(|opt| opt.starts_with(&[0, 0, 41]));
        opt.is_some_and(|opt| {
            let len = opt.get(9..11).map(|len| usize::from(u16::from_be_bytes([len[0], len[1]])));
            len.is_none_or(|len| opt.len() < 11 + len)
        })
    }

    /// Aliases in our answer.
    fn aliases(&self) -> usize {
        self.ours.iter().flat_map(|ours| &ours.answer).filter(|record| record.rtype == CNAME).count()
    }

    fn knots_authority(&self, holds: impl Fn(&Record) -> bool) -> bool {
        self.knot.iter().flat_map(|knot| &knot.authority).any(holds)
    }

    /// A label that spells a hash (RFC 5155 section 3).
    fn is_at_hashed_owner(&self) -> bool {
        let is_hash = |label: &[u8]| {
            label.len() == 32
                && label.iter().all(|octet| matches!(octet.to_ascii_lowercase(), b'0'..=b'9' | b'a'..=b'v'))
        };
        labels(self.name).any(is_hash)
    }

    fn is_about_nsec3(&self) -> bool {
        let denies = |record: &Record| record.rtype == NSEC3;
        self.differences == [(Part::Authority, Stand::WithKnot)]
            && self.has(|message| message.authority.iter().any(denies))
    }

    fn is_denial_behind_dname(&self) -> bool {
        let has_dname = |message: &Message| message.answer.iter().any(|record| record.rtype == DNAME);
        self.differences == [(Part::Authority, Stand::WithKnot)] && self.has(has_dname)
    }

    fn is_nsec3_of_wildcard(&self) -> bool {
        self.is_about_nsec3() && self.name.starts_with(b"\x01*")
    }

    /// The flag is the second octet of the data (RFC 5155 section 3.2).
    fn is_nsec3_of_opt_out(&self) -> bool {
        let opts_out = |record: &Record| record.rtype == NSEC3 && record.data.get(1) == Some(&1);
        self.is_about_nsec3() && self.knots_authority(opts_out)
    }
}

fn is_wildcard_delegation(record: &Record) -> bool {
    record.rtype == NS && record.owner.starts_with(b"\x01*")
}

fn labels(name: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = name;
    std::iter::from_fn(move || {
        let (len, after) = rest.split_first().filter(|(len, _)| **len > 0)?;
        let (label, after) = after.split_at_checked(usize::from(*len))?;
        rest = after;
        Some(label)
    })
}

#[test]
fn every_class_is_in_the_document() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/specs/dns-differences.md");
    let document = std::fs::read_to_string(path).unwrap();
    let missing =
        CLASSES.iter().map(|class| class.name).filter(|name| !document.contains(&format!("| {name} |")));
    assert_eq!(missing.collect::<Vec<_>>(), [""; 0]);
}
