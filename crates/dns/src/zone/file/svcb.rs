//! SVCB and HTTPS: a priority, a target, and parameters in any order (RFC 9460 section 2.1, appendix A).
//!
//! Not the crate `domain`'s reader, which stumbles over the letter z and the digit 9 in keys.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::error::Complaint;
use super::fields::Fields;
use super::lexer::{Token, Unescape};

const MANDATORY: u16 = 0;
const ALPN: u16 = 1;
const NO_DEFAULT_ALPN: u16 = 2;
const PORT: u16 = 3;
const IPV4_HINT: u16 = 4;
const ECH: u16 = 5;
const IPV6_HINT: u16 = 6;
const OHTTP: u16 = 8;

/// The registry of RFC 9460 section 14.3.2, with RFC 9461 and 9540.
const KEYS: [(&[u8], u16); 9] = [
    (b"mandatory", MANDATORY),
    (b"alpn", ALPN),
    (b"no-default-alpn", NO_DEFAULT_ALPN),
    (b"port", PORT),
    (b"ipv4hint", IPV4_HINT),
    (b"ech", ECH),
    (b"ipv6hint", IPV6_HINT),
    (b"dohpath", 7),
    (b"ohttp", OHTTP),
];

struct Param {
    key: u16,
    value: Vec<u8>,
}

pub(super) fn parse(fields: &mut Fields<'_>, out: &mut Vec<u8>) -> Result<(), Complaint> {
    let priority: u16 = fields.number(16)?;
    out.extend(priority.to_be_bytes());
    out.extend(fields.name()?.as_wire());
    let line = fields.line();
    let mut params = Vec::new();
    while fields.has_more() {
        params.push(param(fields)?);
    }
    check(priority, &mut params).map_err(|complaint| complaint.at(line))?;
    for param in params {
        let len = u16::try_from(param.value.len())
            .map_err(|_| Complaint::new("a parameter is too long").at(line))?;
        out.extend(param.key.to_be_bytes());
        out.extend(len.to_be_bytes());
        out.extend(param.value);
    }
    Ok(())
}

/// Keys ascend and none comes twice (RFC 9460 section 2.2); what is mandatory is there (section 8).
fn check(priority: u16, params: &mut [Param]) -> Result<(), Complaint> {
    params.sort_by_key(|param| param.key);
    if let Some(twice) = params.windows(2).find(|pair| pair[0].key == pair[1].key) {
        return Err(Complaint::new(format!("key{} stands twice", twice[0].key)));
    }
    if priority == 0 && !params.is_empty() {
        return Err(Complaint::new(
            "priority 0 is an alias and takes no parameters (RFC 9460 section 2.4.2)",
        ));
    }
    let has = |key| params.iter().any(|param| param.key == key);
    if has(NO_DEFAULT_ALPN) && !has(ALPN) {
        return Err(Complaint::new("no-default-alpn needs alpn beside it (RFC 9460 section 7.1.1)"));
    }
    let mandatory = params.iter().find(|param| param.key == MANDATORY);
    let keys = mandatory.map_or(&[][..], |param| param.value.as_chunks::<2>().0);
    match keys.iter().map(|key| u16::from_be_bytes(*key)).find(|key| !has(*key)) {
        Some(key) => Err(Complaint::new(format!("mandatory names key{key}, which is not there"))),
        None => Ok(()),
    }
}

fn param(fields: &mut Fields<'_>) -> Result<Param, Complaint> {
    let token = fields.token()?;
    let word = fields.raw(token);
    let split = word.iter().position(|byte| *byte == b'=');
    let key = key(&word[..split.unwrap_or(word.len())]).map_err(|complaint| complaint.at(token.line))?;
    let value = match split {
        Some(at) if at + 1 < word.len() => Some(&word[at + 1..]),
        Some(_) => quoted_behind(fields).map(|token| fields.raw(token)),
        None => None,
    };
    let value = value.unwrap_or_default();
    let value = value_of(key, value)
        .map_err(|complaint| complaint.within(format_args!("key{key}")).at(token.line))?;
    Ok(Param { key, value })
}

/// The quotes of `key="value"` make the value a token of its own.
fn quoted_behind(fields: &mut Fields<'_>) -> Option<Token> {
    let token = fields.peek().filter(|token| token.quoted && token.glued)?;
    fields.skip();
    Some(token)
}

fn key(name: &[u8]) -> Result<u16, Complaint> {
    if let Some((_, number)) = KEYS.iter().find(|(known, _)| *known == name) {
        return Ok(*number);
    }
    let digits = name.strip_prefix(b"key").and_then(|digits| std::str::from_utf8(digits).ok());
    let digits = digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    digits.and_then(|digits| digits.parse().ok()).ok_or_else(|| {
        Complaint::new(format!(
            "`{}` is no parameter known here; write it as keyNUMBER",
            String::from_utf8_lossy(name)
        ))
    })
}

fn value_of(key: u16, raw: &[u8]) -> Result<Vec<u8>, Complaint> {
    let text = unescape(raw)?;
    match key {
        NO_DEFAULT_ALPN | OHTTP if text.is_empty() => Ok(text),
        NO_DEFAULT_ALPN | OHTTP => Err(Complaint::new("this parameter takes no value")),
        0..=6 if text.is_empty() => Err(Complaint::new("this parameter needs a value")),
        MANDATORY => mandatory(&text),
        ALPN => alpn(&text),
        PORT => Ok(parse_text::<u16>(&text, "a port")?.to_be_bytes().to_vec()),
        IPV4_HINT => list(&text, |item| Ok(parse_text::<Ipv4Addr>(item, "an IPv4 address")?.octets())),
        IPV6_HINT => list(&text, |item| Ok(parse_text::<Ipv6Addr>(item, "an IPv6 address")?.octets())),
        ECH => base64(&text),
        _ => Ok(text),
    }
}

fn unescape(raw: &[u8]) -> Result<Vec<u8>, Complaint> {
    Unescape::new(raw).map(|octet| octet.map(|octet| octet.byte)).collect()
}

fn parse_text<T: std::str::FromStr>(text: &[u8], wanted: &str) -> Result<T, Complaint> {
    let shown = || Complaint::new(format!("`{}` is not {wanted}", String::from_utf8_lossy(text)));
    std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or_else(shown)
}

fn list<const N: usize>(
    text: &[u8],
    item: impl Fn(&[u8]) -> Result<[u8; N], Complaint>,
) -> Result<Vec<u8>, Complaint> {
    let items: Result<Vec<_>, _> = text.split(|byte| *byte == b',').map(item).collect();
    Ok(items?.concat())
}

/// Keys in ascending order, none twice and not itself (RFC 9460 section 8).
fn mandatory(text: &[u8]) -> Result<Vec<u8>, Complaint> {
    let keys: Result<Vec<u16>, _> = text.split(|byte| *byte == b',').map(key).collect();
    let mut keys = keys?;
    keys.sort_unstable();
    let given = keys.len();
    keys.dedup();
    if keys.len() < given || keys.first() == Some(&MANDATORY) {
        return Err(Complaint::new("mandatory names a key twice, or itself"));
    }
    Ok(keys.into_iter().flat_map(u16::to_be_bytes).collect())
}

/// Protocols with commas between; `\,` and `\\` stand for a comma and a backslash in one (RFC 9460 appendix
/// A.1, a second layer of escapes above the file's).
fn alpn(text: &[u8]) -> Result<Vec<u8>, Complaint> {
    let mut ids: Vec<Vec<u8>> = vec![Vec::new()];
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        let byte = match byte {
            b',' => {
                ids.push(Vec::new());
                continue;
            }
            b'\\' => bytes.next().ok_or_else(|| Complaint::new("`\\` with nothing behind it"))?,
            byte => byte,
        };
        ids.last_mut().unwrap_or(&mut Vec::new()).push(*byte);
    }
    let mut value = Vec::new();
    for id in ids {
        let len = u8::try_from(id.len()).ok().filter(|len| *len > 0);
        value.push(len.ok_or_else(|| Complaint::new("a protocol has 1 to 255 bytes"))?);
        value.extend(id);
    }
    Ok(value)
}

fn base64(text: &[u8]) -> Result<Vec<u8>, Complaint> {
    let mut out = Vec::new();
    super::fields::base64_of(text, &mut out)?;
    Ok(out)
}
