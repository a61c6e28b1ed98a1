//! The answer engine as a source of sections.
//!
//! What is worth keeping: an answer about a name that is in a zone, for there are only so many of those. An answer
//! about any other name (it does not exist, a wildcard or a DNAME stands for it, it is below a cut) would be asked
//! for once and push out one that is asked for often. What such names have in common is kept: there are only so many
//! families of them.

use super::{Found, Question};
use crate::answer::{self, Family, Policy};
use crate::message::{self, Class, Edns, Flags, HEADER_LEN, Query, Rcode, Rtype, Section, Writer};
use crate::name::{Folded, Name};
use crate::store::Sections;
use crate::udp::glance::OPT_LEN;
use crate::zone::{Catalog, Lookup};

/// The sections that answer `question` from `catalog`, in at most `size_max` octets with header, question and OPT.
/// `None` where the whole message must be made: the answer is cut short, or OPT has more to say than usual.
pub fn find<'a>(
    catalog: &Catalog,
    policy: &Policy,
    question: &Question<'_>,
    size_max: usize,
    out: &'a mut [u8],
) -> Option<Found<'a>> {
    let name = Name::from_wire(question.name).ok()?;
    let query = Query {
        id: 0,
        flags: Flags(0),
        question: message::Question { name, rtype: Rtype(question.qtype), class: Class::IN },
        is_plain: true,
        edns: question.wants_dnssec.then_some(DNSSEC),
        tsig_at: None,
        message: &[],
    };
    let start = HEADER_LEN + query.question.wire_len();
    let mut writer = Writer::answering(&query, out, size_max.checked_sub(OPT_LEN)?)?;
    let rcode = answer::answer(catalog, &query, policy, &mut writer);
    let flags = writer.flags();
    if !matches!(rcode, Rcode::NOERROR | Rcode::NXDOMAIN) || flags.has(Flags::TC) {
        return None;
    }
    let counts =
        [Section::Answer, Section::Authority, Section::Additional].map(|section| writer.count(section));
    let len = writer.finish();
    let sections = Sections { flags: flags.with_rcode(rcode).0, counts, octets: out.get(start..len)? };
    Some(Found { sections, is_lasting: rcode == Rcode::NOERROR && is_in_zone(catalog, name) })
}

/// The family of names whose answers are like that to `question`.
#[inline]
pub fn family(catalog: &Catalog, question: &Question<'_>) -> Option<Family> {
    let Question { name, qtype, wants_dnssec } = *question;
    Family::of(catalog, Name::from_wire(name).ok()?, Rtype(qtype), wants_dnssec)
}

/// The OPT record of a query that wants DNSSEC records and nothing else.
const DNSSEC: Edns<'static> = Edns {
    version: 0,
    udp_size: u16::MAX,
    dnssec_ok: true,
    wants_nsid: false,
    wants_keepalive: false,
    wants_expire: false,
    cookie: None,
    options: &[],
};

fn is_in_zone(catalog: &Catalog, name: &Name) -> bool {
    let name = Folded::of(name);
    let Some(zone) = catalog.find(&name).and_then(|hosting| hosting.zone()) else { return false };
    matches!(zone.find(&name), Lookup::Exact(_) | Lookup::Cut { at_cut: true, .. })
}
