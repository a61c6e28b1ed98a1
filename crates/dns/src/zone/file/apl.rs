//! APL: lists of address prefixes (RFC 3123), `[!]family:address/prefix` each.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::error::Complaint;
use super::fields::Fields;

pub(super) fn parse(fields: &mut Fields<'_>, out: &mut Vec<u8>) -> Result<(), Complaint> {
    while fields.has_more() {
        let line = fields.line();
        let text = fields.text()?;
        item(text, out).ok_or_else(|| {
            Complaint::new(format!("`{text}` is not of the form `[!]1:192.0.2.0/24` or `[!]2:2001:db8::/32`"))
                .at(line)
        })?;
    }
    Ok(())
}

fn item(text: &str, out: &mut Vec<u8>) -> Option<()> {
    let (negated, rest) = match text.strip_prefix('!') {
        Some(rest) => (0x80, rest),
        None => (0, text),
    };
    let (family, rest) = rest.split_once(':')?;
    let (address, prefix) = rest.split_once('/')?;
    let prefix: u8 = prefix.parse().ok()?;
    match family {
        "1" if prefix <= 32 => push(1, prefix, negated, &address.parse::<Ipv4Addr>().ok()?.octets(), out),
        "2" if prefix <= 128 => push(2, prefix, negated, &address.parse::<Ipv6Addr>().ok()?.octets(), out),
        _ => return None,
    }
    Some(())
}

/// Zero bytes at the end of an address are left out (RFC 3123 section 4).
fn push(family: u16, prefix: u8, negated: u8, address: &[u8], out: &mut Vec<u8>) {
    let len = address.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    out.extend(family.to_be_bytes());
    out.extend([prefix, negated | len as u8]);
    out.extend(&address[..len]);
}
