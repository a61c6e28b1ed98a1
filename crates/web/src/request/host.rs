//! The authority of a request: the `Host` field and that of an absolute-form target
//! (RFC 9110 section 7.2, RFC 3986 section 3.2).
//!
//! This server has one site, so an authority selects nothing; it is checked because what a front end
//! and this server read differently is a way around the front end.

/// Whether `value` is `uri-host [ ":" port ]`. Empty is allowed: a target without authority is sent
/// with an empty Host.
pub fn is_authority(value: &[u8]) -> bool {
    let (host, port) = split_port(value);
    is_host(host) && port.iter().all(u8::is_ascii_digit)
}

fn split_port(value: &[u8]) -> (&[u8], &[u8]) {
    let host_len = match value.first() {
        Some(b'[') => value.iter().position(|&b| b == b']').map_or(value.len(), |at| at + 1),
        _ => value.iter().position(|&b| b == b':').unwrap_or(value.len()),
    };
    let (host, rest) = value.split_at(host_len);
    match rest {
        [b':', port @ ..] => (host, port),
        // Something else after the bracket: no digits, so refused.
        other => (host, other),
    }
}

fn is_host(host: &[u8]) -> bool {
    match host {
        [b'[', address @ .., b']'] => is_ip_literal(address),
        name => is_reg_name(name),
    }
}

fn is_ip_literal(address: &[u8]) -> bool {
    !address.is_empty() && address.iter().all(|&b| b.is_ascii_hexdigit() || matches!(b, b':' | b'.'))
}

fn is_reg_name(name: &[u8]) -> bool {
    name.iter().enumerate().all(|(at, &b)| match b {
        b'%' => name.get(at + 1..at + 3).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)),
        b => is_unreserved(b) || is_sub_delim(b),
    })
}

/// RFC 3986 section 2.3.
pub const fn is_unreserved(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~')
}

/// RFC 3986 section 2.2.
pub const fn is_sub_delim(b: u8) -> bool {
    matches!(b, b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=')
}
