//! A record's data from its presentation format: a list of fields a type, and the few types that are no list.
//!
//! ```text
//!   \# 4 C0000201      generic form, any type (RFC 3597 section 5)
//!   192.0.2.1          our lists: common types, and those that `domain` does not know
//!   issue "ca.example" the rest: `domain`, see the scanner
//! ```

use std::net::{Ipv4Addr, Ipv6Addr};

use domain::base::iana::Rtype;

use super::error::Complaint;
use super::fields::Fields;
use super::{apl, loc, scanner, svcb};

/// One field, or all that are left.
#[derive(Clone, Copy, Debug)]
enum Field {
    U8,
    U16,
    U32,
    Ttl,
    /// Seconds since 1970, or a date of 14 digits (RFC 4034 section 3.2).
    Time,
    Ipv4,
    Ipv6,
    Name,
    /// Names up to the end, or none.
    Names,
    /// A character string.
    Text,
    /// One that may be absent.
    OptionalText,
    /// Character strings up to the end, one at least.
    Texts,
    /// A string without a length, to the end of the data.
    Uri,
    Hex,
    Base64,
    /// A length (1 byte), an algorithm, a length (2 bytes), then what those count: RFC 8005 section 5.
    HostIdentity,
    /// `0x` and digits, with dots for the eye (RFC 1706 section 7).
    Nsap,
    /// Types as a bitmap (RFC 4034 section 4.1.2).
    Types,
    /// One type.
    Type,
    /// Six or eight bytes as `00-00-5e-...` (RFC 7043).
    Eui(usize),
    /// Four groups of hexadecimal digits with colons between (RFC 6742 section 2.1.2).
    Locator,
    /// A certificate's type (RFC 4398 section 2.1).
    CertType,
    Algorithm,
    /// Precedence, D bit and type, and a relay of that type (RFC 8777 section 4.3).
    Relay,
}

use Field::{
    Algorithm, Base64, CertType, Eui, Hex, HostIdentity, Ipv4, Ipv6, Locator, Name, Names, Nsap,
    OptionalText, Relay, Text, Texts, Time, Ttl, Type, Types, U8, U16, U32, Uri,
};

/// The fields of a type that is a plain list of them.
fn fields_of(rtype: Rtype) -> Option<&'static [Field]> {
    Some(match rtype {
        Rtype::A => &[Ipv4],
        Rtype::AAAA => &[Ipv6],
        Rtype::NS | Rtype::CNAME | Rtype::PTR | Rtype::DNAME => &[Name],
        Rtype::MB | Rtype::MD | Rtype::MF | Rtype::MG | Rtype::MR | Rtype::NSAPPTR => &[Name],
        Rtype::SOA => &[Name, Name, U32, Ttl, Ttl, Ttl, Ttl],
        Rtype::MINFO | Rtype::RP | Rtype::TALINK => &[Name, Name],
        Rtype::MX | Rtype::AFSDB | Rtype::RT | Rtype::KX | Rtype::LP => &[U16, Name],
        Rtype::PX => &[U16, Name, Name],
        Rtype::SRV => &[U16, U16, U16, Name],
        Rtype::TXT | Rtype::SPF | Rtype::AVC | Rtype::NINFO | Rtype::RESINFO | Rtype::WALLET | Rtype::CLA => {
            &[Texts]
        }
        Rtype::HINFO => &[Text, Text],
        Rtype::X25 => &[Text],
        Rtype::ISDN => &[Text, OptionalText],
        Rtype::GPOS => &[Text, Text, Text],
        Rtype::NSAP => &[Nsap],
        Rtype::URI => &[U16, U16, Uri],
        Rtype::CERT => &[CertType, U16, Algorithm, Base64],
        Rtype::DHCID => &[Base64],
        Rtype::SMIMEA => &[U8, U8, U8, Hex],
        Rtype::HIP => &[HostIdentity, Names],
        Rtype::CSYNC => &[U32, U16, Types],
        Rtype::NID | Rtype::L64 => &[U16, Locator],
        Rtype::L32 => &[U16, Ipv4],
        Rtype::EUI48 => &[Eui(6)],
        Rtype::EUI64 => &[Eui(8)],
        Rtype::EID | Rtype::NIMLOC => &[Hex],
        Rtype::DSYNC => &[Type, U8, U16, Name],
        Rtype::AMTRELAY => &[Relay],
        Rtype::DNSKEY | Rtype::CDNSKEY | Rtype::KEY | Rtype::RKEY => &[U16, U8, Algorithm, Base64],
        Rtype::DS | Rtype::CDS | Rtype::DLV | Rtype::TA => &[U16, Algorithm, U8, Hex],
        Rtype::RRSIG | Rtype::SIG => &[Type, Algorithm, U8, U32, Time, Time, U16, Name, Base64],
        Rtype::NSEC => &[Name, Types],
        _ => return None,
    })
}

/// Reads all that is left of an entry as the data of a record.
pub(super) fn parse(rtype: Rtype, fields: &mut Fields<'_>, out: &mut Vec<u8>) -> Result<(), Complaint> {
    out.clear();
    if fields.peek().is_some_and(|token| fields.raw(token) == b"\\#" && !token.quoted) {
        fields.skip();
        return generic(fields, out);
    }
    match (rtype, fields_of(rtype)) {
        (_, Some(list)) => list.iter().try_for_each(|field| field.parse(fields, out))?,
        (Rtype::SVCB | Rtype::HTTPS, _) => svcb::parse(fields, out)?,
        (Rtype::LOC, _) => loc::parse(fields, out)?,
        (Rtype::APL, _) => apl::parse(fields, out)?,
        _ if scanner::knows(rtype) => scanner::parse(rtype, fields, out)?,
        _ => return Err(no_format(rtype).at(fields.line())),
    }
    fields.end()
}

fn no_format(rtype: Rtype) -> Complaint {
    Complaint::new(format!(
        "{rtype} has no format of its own here; write its data as `\\# LENGTH HEXADECIMAL` (RFC 3597)"
    ))
}

/// RFC 3597 section 5: a length, then so many bytes in hexadecimal.
fn generic(fields: &mut Fields<'_>, out: &mut Vec<u8>) -> Result<(), Complaint> {
    let line = fields.line();
    let len: u16 = fields.number(16)?;
    fields.hex(out)?;
    if out.len() != usize::from(len) {
        let what = format!("`\\# {len}` is followed by {} bytes; make the two agree", out.len());
        return Err(Complaint::new(what).at(line));
    }
    Ok(())
}

impl Field {
    fn parse(self, fields: &mut Fields<'_>, out: &mut Vec<u8>) -> Result<(), Complaint> {
        match self {
            U8 => out.push(fields.number(8)?),
            U16 => out.extend(fields.number::<u16>(16)?.to_be_bytes()),
            U32 => out.extend(fields.number::<u32>(32)?.to_be_bytes()),
            Ttl => out.extend(fields.ttl()?.to_be_bytes()),
            Time => out.extend(time(fields)?.to_be_bytes()),
            Ipv4 => out.extend(fields.parse::<Ipv4Addr>("an IPv4 address")?.octets()),
            Ipv6 => out.extend(fields.parse::<Ipv6Addr>("an IPv6 address")?.octets()),
            Name => out.extend(fields.name()?.as_wire()),
            Text => fields.string(out)?,
            Uri => fields.octets(out)?,
            Hex => fields.hex(out)?,
            Base64 => fields.base64(out)?,
            Names => self.until_end(Name, fields, out)?,
            OptionalText if !fields.has_more() => {}
            OptionalText => fields.string(out)?,
            Texts => {
                fields.string(out)?;
                self.until_end(Text, fields, out)?;
            }
            HostIdentity => host_identity(fields, out)?,
            Nsap => nsap(fields, out)?,
            Types => types(fields, out)?,
            Type => out.extend(fields.rtype()?.to_int().to_be_bytes()),
            Eui(len) => eui(fields, out, len)?,
            Locator => locator(fields, out)?,
            CertType => out.extend(mnemonic(fields, &CERT_TYPES, 16)?.to_be_bytes()),
            Algorithm => out.push(mnemonic(fields, &ALGORITHMS, 8)? as u8),
            Relay => relay(fields, out)?,
        }
        Ok(())
    }

    fn until_end(self, field: Field, fields: &mut Fields<'_>, out: &mut Vec<u8>) -> Result<(), Complaint> {
        while fields.has_more() {
            field.parse(fields, out)?;
        }
        Ok(())
    }
}

/// RFC 4398 section 2.1.
const CERT_TYPES: [(&str, u16); 10] = [
    ("PKIX", 1),
    ("SPKI", 2),
    ("PGP", 3),
    ("IPKIX", 4),
    ("ISPKI", 5),
    ("IPGP", 6),
    ("ACPKIX", 7),
    ("IACPKIX", 8),
    ("URI", 253),
    ("OID", 254),
];

/// RFC 4034 appendix A.1 and the registry that grew out of it.
const ALGORITHMS: [(&str, u16); 15] = [
    ("RSAMD5", 1),
    ("DH", 2),
    ("DSA", 3),
    ("ECC", 4),
    ("RSASHA1", 5),
    ("DSA-NSEC3-SHA1", 6),
    ("RSASHA1-NSEC3-SHA1", 7),
    ("RSASHA256", 8),
    ("RSASHA512", 10),
    ("ECC-GOST", 12),
    ("ECDSAP256SHA256", 13),
    ("ECDSAP384SHA384", 14),
    ("ED25519", 15),
    ("ED448", 16),
    ("INDIRECT", 252),
];

fn mnemonic(fields: &mut Fields<'_>, known: &[(&str, u16)], bits: u32) -> Result<u16, Complaint> {
    let named = fields.peek().and_then(|token| {
        let word = fields.raw(token);
        known.iter().find(|(name, _)| name.as_bytes().eq_ignore_ascii_case(word))
    });
    match named {
        Some((_, number)) => {
            fields.skip();
            Ok(*number)
        }
        None if bits == 8 => fields.number::<u8>(8).map(u16::from),
        None => fields.number(bits),
    }
}

/// RFC 4034 section 3.2: `YYYYMMDDHHmmSS` in UTC, or seconds since 1970; modulo 2^32 either way.
fn time(fields: &mut Fields<'_>) -> Result<u32, Complaint> {
    let line = fields.line();
    let text = fields.text()?;
    let wrong =
        || Complaint::new(format!("`{text}` is not a time; write YYYYMMDDHHmmSS or seconds since 1970"));
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number: u64 = text.parse().ok().filter(|_| digits).ok_or_else(|| wrong().at(line))?;
    match text.len() {
        14 => date(number).ok_or_else(|| wrong().at(line)),
        _ => u32::try_from(number).map_err(|_| wrong().at(line)),
    }
}

/// Seconds from 1970 to a date written as one number, modulo 2^32.
fn date(digits: u64) -> Option<u32> {
    let part = |divisor: u64, modulus: u64| digits / divisor % modulus;
    let (year, month, day) = (digits / 10_000_000_000, part(100_000_000, 100), part(1_000_000, 100));
    let (hour, minute, second) = (part(10_000, 100), part(100, 100), part(1, 100));
    let valid = year >= 1970 && (1..=12).contains(&month) && (1..=31).contains(&day);
    if !valid || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    Some((((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second) as u32)
}

/// Days from 1970 to a date of the Gregorian calendar; years are counted from March, so that the leap day is
/// the last of its year.
fn days(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - DAYS_TO_1970
}

/// From 1 March of the year 0 to 1 January 1970.
const DAYS_TO_1970: u64 = 719_468;

fn host_identity(fields: &mut Fields<'_>, out: &mut Vec<u8>) -> Result<(), Complaint> {
    let algorithm = fields.number(8)?;
    let (mut tag, mut key) = (Vec::new(), Vec::new());
    let line = fields.line();
    fields.hex_word(&mut tag)?;
    fields.base64_word(&mut key)?;
    let too_long = |_| Complaint::new("the tag is longer than 255 bytes or the key than 65,535").at(line);
    out.extend([u8::try_from(tag.len()).map_err(too_long)?, algorithm]);
    out.extend(u16::try_from(key.len()).map_err(too_long)?.to_be_bytes());
    out.extend(tag);
    out.extend(key);
    Ok(())
}

fn nsap(fields: &mut Fields<'_>, out: &mut Vec<u8>) -> Result<(), Complaint> {
    let line = fields.line();
    let text = fields.text()?;
    let wrong = || Complaint::new(format!("`{text}` is not `0x` and pairs of hexadecimal digits")).at(line);
    let digits = text.strip_prefix("0x").or(text.strip_prefix("0X")).ok_or_else(wrong)?.replace('.', "");
    if digits.is_empty() || !digits.len().is_multiple_of(2) {
        return Err(wrong());
    }
    for pair in digits.as_bytes().chunks_exact(2) {
        let pair = std::str::from_utf8(pair).map_err(|_| wrong())?;
        out.push(u8::from_str_radix(pair, 16).map_err(|_| wrong())?);
    }
    Ok(())
}

fn types(fields: &mut Fields<'_>, out: &mut Vec<u8>) -> Result<(), Complaint> {
    let mut types = Vec::new();
    while fields.has_more() {
        types.push(fields.rtype()?.to_int());
    }
    types.sort_unstable();
    for window in types.chunk_by(|left, right| left >> 8 == right >> 8) {
        let mut bits = [0u8; 32];
        for rtype in window {
            bits[usize::from(rtype & 255) / 8] |= 0x80 >> (rtype & 7);
        }
        let len = usize::from(window[window.len() - 1] & 255) / 8 + 1;
        out.extend([(window[0] >> 8) as u8, len as u8]);
        out.extend(&bits[..len]);
    }
    Ok(())
}

fn eui(fields: &mut Fields<'_>, out: &mut Vec<u8>, len: usize) -> Result<(), Complaint> {
    let line = fields.line();
    let text = fields.text()?;
    let wrong = || {
        Complaint::new(format!("`{text}` is not {len} pairs of hexadecimal digits with `-` between")).at(line)
    };
    let start = out.len();
    for pair in text.split('-') {
        let digits = pair.len() == 2 && pair.bytes().all(|byte| byte.is_ascii_hexdigit());
        out.push(u8::from_str_radix(pair, 16).ok().filter(|_| digits).ok_or_else(wrong)?);
    }
    if out.len() - start == len { Ok(()) } else { Err(wrong()) }
}

fn locator(fields: &mut Fields<'_>, out: &mut Vec<u8>) -> Result<(), Complaint> {
    let line = fields.line();
    let text = fields.text()?;
    let wrong = || {
        Complaint::new(format!("`{text}` is not four groups of hexadecimal digits with `:` between")).at(line)
    };
    let start = out.len();
    for group in text.split(':') {
        let digits = (1..=4).contains(&group.len()) && group.bytes().all(|byte| byte.is_ascii_hexdigit());
        let group = u16::from_str_radix(group, 16).ok().filter(|_| digits).ok_or_else(wrong)?;
        out.extend(group.to_be_bytes());
    }
    if out.len() - start == 8 { Ok(()) } else { Err(wrong()) }
}

fn relay(fields: &mut Fields<'_>, out: &mut Vec<u8>) -> Result<(), Complaint> {
    let line = fields.line();
    out.push(fields.number(8)?);
    let discovery: u8 = fields.number(8)?;
    let kind: u8 = fields.number(8)?;
    if discovery > 1 {
        return Err(Complaint::new("the discovery bit is 0 or 1").at(line));
    }
    out.push(discovery << 7 | kind);
    match kind {
        0 if fields.peek().is_none_or(|token| fields.raw(token) == b".") => {
            fields.skip();
            Ok(())
        }
        1 => Ipv4.parse(fields, out),
        2 => Ipv6.parse(fields, out),
        3 => Name.parse(fields, out),
        _ => Err(Complaint::new("a relay is of type 0 (`.`), 1 (IPv4), 2 (IPv6) or 3 (name)").at(line)),
    }
}
