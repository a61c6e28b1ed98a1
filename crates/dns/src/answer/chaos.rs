//! Class CHAOS: what the server calls itself (RFC 4892). Nothing else is in that class.

use super::Policy;
use crate::message::{Class, Flags, Query, Rcode, Rtype, Section, Writer};
use crate::name::{Folded, Name};

/// The longest text of one character string (RFC 1035 section 3.3).
const TEXT_LEN_MAX: usize = 255;

pub(super) fn answer(query: &Query<'_>, policy: &Policy, writer: &mut Writer<'_>) -> Rcode {
    let (name, rtype) = (query.question.name, query.question.rtype);
    let Some(text) = text_for(name, policy).filter(|_| matches!(rtype, Rtype::TXT | Rtype::ANY)) else {
        return Rcode::REFUSED;
    };
    let text = &text.as_bytes()[..text.len().min(TEXT_LEN_MAX)];
    let mut rdata = [0; 1 + TEXT_LEN_MAX];
    rdata[0] = text.len() as u8;
    rdata[1..=text.len()].copy_from_slice(text);
    writer.begin(Section::Answer);
    if writer.record(name, Rtype::TXT, Class::CH, 0, &rdata[..=text.len()]).is_err() {
        writer.set_flags(Flags::TC);
    }
    Rcode::NOERROR
}

/// RFC 4892 section 3 and, before it, BIND's custom.
fn text_for<'p>(name: &Name, policy: &'p Policy) -> Option<&'p str> {
    match Folded::of(name).name().as_wire() {
        b"\x07version\x04bind\x00" | b"\x07version\x06server\x00" => policy.version.as_deref(),
        b"\x02id\x06server\x00" | b"\x08hostname\x04bind\x00" => policy.identity.as_deref(),
        _ => None,
    }
}
