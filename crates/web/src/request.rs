//! A request's head: from bytes to a value that was checked, or to the status that refuses it.
//!
//! It reads one head that lies whole in a slice, and copies nothing. What the path names and which
//! conditions hold is decided later; a body is not read here.
//!
//! Invariant: two HTTP readers that follow RFC 9112 agree on where a request that comes out of
//! [`Request::parse`] ends and what its target is. Whatever they might disagree on is refused.

pub mod body;
pub mod fields;
pub mod framing;
pub mod host;
pub mod line;
pub mod scan;

#[cfg(test)]
mod tests;

use crate::status::Status;
use fields::{FieldStorage, Fields, Single};
use framing::Framing;
use line::{Method, RequestLine, Version};

/// One request's head.
#[derive(Clone, Copy, Debug)]
pub struct Request<'h, 'a> {
    /// The request line.
    pub line: RequestLine<'a>,
    /// The fields.
    pub fields: Fields<'h, 'a>,
    /// What the target names.
    pub target: Target<'a>,
    /// The body to come.
    pub framing: Framing,
    /// Whether the connection goes on after the answer.
    pub keep_alive: bool,
}

/// A target, told apart by form (RFC 9112 section 3.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target<'a> {
    /// A path, not yet decoded, and its query: empty, or with its question mark.
    Path {
        /// Starts with a slash.
        path: &'a [u8],
        /// Looked at by nobody here; a redirect carries it on.
        query: &'a [u8],
    },
    /// The server as a whole: `OPTIONS *`.
    Server,
}

impl<'h, 'a> Request<'h, 'a> {
    /// Reads a whole head, from its first byte to its empty line. Empty lines before it are skipped.
    /// After an error the connection must not be used any more, because where the request ends is
    /// not known.
    pub fn parse(head: &'a [u8], storage: &'h mut FieldStorage<'a>) -> Result<Self, Status> {
        let head = skip_empty_lines(head);
        let line_end = memchr::memchr(b'\r', head).ok_or(Status::BadRequest)?;
        let rest = head[line_end..].strip_prefix(b"\r\n").ok_or(Status::BadRequest)?;
        let line = RequestLine::parse(&head[..line_end])?;
        let fields = Fields::parse(rest, storage)?;
        check_host(&fields, line.version)?;
        let target = parse_target(&line)?;
        let framing = framing::decide(&fields, line.version)?;
        let keep_alive = keep_alive(&fields, line.version) && !leaves_body_open(&fields, framing);
        Ok(Self { line, fields, target, framing, keep_alive })
    }

    /// Whether the method may be answered at all: 501 for one that is unknown, 405 for one that files
    /// do not have (RFC 9110 section 9.1), 417 for an expectation that is not known (section 10.1.1).
    pub fn refusal(&self) -> Option<Status> {
        match self.line.method {
            Method::Unknown => Some(Status::NotImplemented),
            Method::Refused => Some(Status::MethodNotAllowed),
            Method::Get | Method::Head | Method::Options => {
                let meets = |e: &[u8]| e.eq_ignore_ascii_case(b"100-continue");
                let met = self.line.version == Version::Http10 || self.fields.members("expect").all(meets);
                (!met).then_some(Status::ExpectationFailed)
            }
        }
    }
}

/// Whether the beginning of a head is that of a HEAD request: there is no content in the answer to one,
/// whatever else is wrong with it (RFC 9110 section 9.3.2).
pub fn is_head(head: &[u8]) -> bool {
    skip_empty_lines(head).starts_with(b"HEAD ")
}

fn skip_empty_lines(mut head: &[u8]) -> &[u8] {
    while let Some(rest) = head.strip_prefix(b"\r\n") {
        head = rest;
    }
    head
}

// RFC 9112 section 3.2: exactly one valid Host in 1.1; in 1.0 none is fine, two are not.
fn check_host(fields: &Fields<'_, '_>, version: Version) -> Result<(), Status> {
    match (fields.single("host"), version) {
        (Single::Once(value), _) if host::is_authority(value) => Ok(()),
        (Single::Absent, Version::Http10) => Ok(()),
        _ => Err(Status::BadRequest),
    }
}

fn parse_target<'a>(line: &RequestLine<'a>) -> Result<Target<'a>, Status> {
    if line.target.contains(&b'#') {
        return Err(Status::BadRequest);
    }
    match (line.target, line.method) {
        ([b'/', ..], _) => Ok(split_query(line.target)),
        // RFC 9112 section 3.2.4: the asterisk is for OPTIONS only.
        (b"*", Method::Options) => Ok(Target::Server),
        // Whatever its target, a method that is not served is answered by its own status.
        (_, Method::Refused | Method::Unknown) => Ok(Target::Server),
        (target, _) => parse_absolute(target),
    }
}

// RFC 9112 section 3.2.2: the absolute form must be accepted, also from clients that use no proxy.
fn parse_absolute(target: &[u8]) -> Result<Target<'_>, Status> {
    let Some(rest) = strip_scheme(target, b"http://") else {
        // RFC 9110 section 7.4: an https URI over an unsecured connection must be rejected.
        let is_https = strip_scheme(target, b"https://").is_some();
        return Err(if is_https { Status::MisdirectedRequest } else { Status::BadRequest });
    };
    let authority_len = rest.iter().position(|b| matches!(b, b'/' | b'?')).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(authority_len);
    // RFC 9110 section 4.2.1: an empty host identifier is invalid; section 4.2.4: so is userinfo.
    if authority.is_empty() || authority[0] == b':' || !host::is_authority(authority) {
        return Err(Status::BadRequest);
    }
    // RFC 9110 section 4.2.3: an empty path is the same as "/".
    Ok(match split_query(path) {
        Target::Path { path: b"", query } => Target::Path { path: b"/", query },
        target => target,
    })
}

fn strip_scheme<'a>(target: &'a [u8], scheme: &[u8]) -> Option<&'a [u8]> {
    let (head, rest) = target.split_at_checked(scheme.len())?;
    head.eq_ignore_ascii_case(scheme).then_some(rest)
}

fn split_query(target: &[u8]) -> Target<'_> {
    let (path, query) = target.split_at(memchr::memchr(b'?', target).unwrap_or(target.len()));
    Target::Path { path, query }
}

// RFC 9112 section 9.3.
fn keep_alive(fields: &Fields<'_, '_>, version: Version) -> bool {
    let mut asks_to_keep = false;
    for option in fields.members("connection") {
        if option.eq_ignore_ascii_case(b"close") {
            return false;
        }
        asks_to_keep |= option.eq_ignore_ascii_case(b"keep-alive");
    }
    asks_to_keep || version == Version::Http11
}

// RFC 9110 section 10.1.1: a client that waits for 100 and gets a final answer may or may not send
// its body, so nobody knows where its next request starts.
fn leaves_body_open(fields: &Fields<'_, '_>, framing: Framing) -> bool {
    framing != Framing::Empty && fields.values("expect").next().is_some()
}
