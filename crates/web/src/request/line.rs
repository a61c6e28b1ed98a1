//! The request line: method, target, version (RFC 9112 section 3).
//!
//! Stricter than the RFC's leave to be lenient: exactly one space on each side of the target, and no
//! control character anywhere.

use crate::status::Status;

/// What a request wants done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Method {
    /// The representation.
    Get,
    /// What GET would answer, without the content.
    Head,
    /// What may be done.
    Options,
    /// A method of RFC 9110 or RFC 5789 that files do not have.
    Refused,
    /// A token that is no method this server has heard of.
    Unknown,
}

impl Method {
    // RFC 9110 section 9.1: the method is case-sensitive.
    fn of(token: &[u8]) -> Self {
        match token {
            b"GET" => Self::Get,
            b"HEAD" => Self::Head,
            b"OPTIONS" => Self::Options,
            b"POST" | b"PUT" | b"DELETE" | b"PATCH" | b"TRACE" | b"CONNECT" => Self::Refused,
            _ => Self::Unknown,
        }
    }
}

/// The protocol version, as far as it changes what is answered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Version {
    /// HTTP/1.0.
    Http10,
    /// HTTP/1.1, or a later minor version (RFC 9110 section 2.5: treated as the highest one known).
    Http11,
}

/// A request line, its target still raw.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestLine<'a> {
    /// The method.
    pub method: Method,
    /// The target as it came: printable bytes, not empty.
    pub target: &'a [u8],
    /// The version.
    pub version: Version,
    /// The line itself, for the access log.
    pub raw: &'a [u8],
}

impl<'a> RequestLine<'a> {
    /// Reads a line without its CRLF.
    pub fn parse(raw: &'a [u8]) -> Result<Self, Status> {
        let mut words = raw.split(|&b| b == b' ');
        let (Some(method), Some(target), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(Status::BadRequest);
        };
        if method.is_empty() || !method.iter().all(|&b| is_tchar(b)) || !is_printable(target) {
            return Err(Status::BadRequest);
        }
        Ok(Self { method: Method::of(method), target, version: parse_version(version)?, raw })
    }
}

fn is_printable(target: &[u8]) -> bool {
    // Bytes above 0x7f are no URI characters, but clients send them unencoded, and as bytes of a file
    // name they harm nobody.
    !target.is_empty() && target.iter().all(|&b| b > b' ' && b != 0x7f)
}

// RFC 9112 section 2.3: "HTTP" in capitals, one digit, a point, one digit.
fn parse_version(bytes: &[u8]) -> Result<Version, Status> {
    match bytes {
        b"HTTP/1.1" => Ok(Version::Http11),
        b"HTTP/1.0" => Ok(Version::Http10),
        [b'H', b'T', b'T', b'P', b'/', b'1', b'.', minor] if minor.is_ascii_digit() => Ok(Version::Http11),
        [b'H', b'T', b'T', b'P', b'/', major, b'.', minor]
            if major.is_ascii_digit() && minor.is_ascii_digit() =>
        {
            Err(Status::VersionNotSupported)
        }
        _ => Err(Status::BadRequest),
    }
}

/// Whether a byte may stand in a token (RFC 9110 section 5.6.2).
pub const fn is_tchar(b: u8) -> bool {
    b.is_ascii_alphanumeric()
        || matches!(
            b,
            b'!' | b'#'
                | b'$'
                | b'%'
                | b'&'
                | b'\''
                | b'*'
                | b'+'
                | b'-'
                | b'.'
                | b'^'
                | b'_'
                | b'`'
                | b'|'
                | b'~'
        )
}
