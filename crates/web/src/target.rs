//! From a target's path to the name of a document: decoded, dot segments removed, never above the
//! root.
//!
//! Names are bytes, not text: what is not UTF-8 is a name like any other. Whether the name exists is
//! the library's to say, and that symbolic links stay inside the root is the loader's.
//!
//! Invariant: a [`DocumentName`] holds no empty segment, no `.` or `..`, no NUL, and neither starts
//! nor ends with a slash.

use crate::request::host::{is_sub_delim, is_unreserved};
use crate::status::Status;
use std::borrow::Cow;

#[cfg(test)]
mod tests;

/// A document's place below the root.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DocumentName<'a> {
    /// Segments joined by `/`; empty for the root itself.
    pub bytes: Cow<'a, [u8]>,
    /// Whether the path asked for a directory, by ending in a slash or a dot segment.
    pub is_directory: bool,
}

impl<'a> DocumentName<'a> {
    /// Reads the path of a target; it starts with a slash.
    pub fn parse(path: &'a [u8]) -> Result<Self, Status> {
        let is_directory = ends_as_directory(path);
        if let Some(name) = path.strip_prefix(b"/").filter(|name| is_plain(name)) {
            let bytes = Cow::Borrowed(name.strip_suffix(b"/").unwrap_or(name));
            return Ok(Self { bytes, is_directory });
        }
        let mut segments: Vec<Cow<'_, [u8]>> = Vec::new();
        let mut last_is_dots = false;
        for raw in path.split(|&b| b == b'/').filter(|raw| !raw.is_empty()) {
            let segment = decode(raw)?;
            last_is_dots = matches!(&*segment, b"." | b"..");
            // RFC 3986 section 5.2.4; decoded first (section 6.2.2.2), so that %2e is a dot as well.
            match &*segment {
                b"." => {}
                b".." => drop(segments.pop()),
                _ => segments.push(segment),
            }
        }
        let is_directory = is_directory || last_is_dots || segments.is_empty();
        Ok(Self { bytes: Cow::Owned(segments.join(&b'/')), is_directory })
    }

    /// Whether a segment starts with a dot. `.well-known` is not hidden (RFC 8615).
    pub fn is_hidden(&self) -> bool {
        let mut segments = self.bytes.split(|&b| b == b'/');
        segments.any(|segment| segment.first() == Some(&b'.') && segment != b".well-known")
    }

    /// The name of `file` in this directory.
    pub fn join(&self, file: &str) -> Vec<u8> {
        let mut name = self.bytes.to_vec();
        if !name.is_empty() {
            name.push(b'/');
        }
        name.extend_from_slice(file.as_bytes());
        name
    }
}

/// The path of a directory, as a `Location` (RFC 9110 section 10.2.2): encoded again, so that nothing
/// the client sent ends a field line, and with one leading slash, so that it names no other host.
/// `query` is as it came: printable, its question mark in front.
pub fn directory_location(name: &[u8], query: &[u8]) -> Vec<u8> {
    let mut location = vec![b'/'];
    encode(name, |b| is_pchar(b) || b == b'/', &mut location);
    location.push(b'/');
    encode(query, |b| b.is_ascii_graphic(), &mut location);
    location
}

fn encode(bytes: &[u8], is_plain: impl Fn(u8) -> bool, out: &mut Vec<u8>) {
    for &b in bytes {
        if is_plain(b) {
            out.push(b);
        } else {
            out.extend_from_slice(format!("%{b:02X}").as_bytes());
        }
    }
}

// RFC 3986 section 3.3, without the percent sign.
fn is_pchar(b: u8) -> bool {
    is_unreserved(b) || is_sub_delim(b) || matches!(b, b':' | b'@')
}

fn ends_as_directory(path: &[u8]) -> bool {
    path.last() == Some(&b'/')
}

// One pass over a name that needs no decoding and no removal: the usual case.
fn is_plain(name: &[u8]) -> bool {
    let mut before = b'/';
    for &b in name {
        if b == b'%' || (before == b'/' && matches!(b, b'/' | b'.')) {
            return false;
        }
        before = b;
    }
    name != b"/"
}

fn decode(raw: &[u8]) -> Result<Cow<'_, [u8]>, Status> {
    if !raw.contains(&b'%') {
        return Ok(Cow::Borrowed(raw));
    }
    let mut bytes = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let [first, tail @ ..] = rest {
        let (byte, after) = if *first == b'%' { decode_triplet(tail)? } else { (*first, tail) };
        bytes.push(byte);
        rest = after;
    }
    Ok(Cow::Owned(bytes))
}

fn decode_triplet(after_percent: &[u8]) -> Result<(u8, &[u8]), Status> {
    let [high, low, rest @ ..] = after_percent else { return Err(Status::BadRequest) };
    let digit = |b: u8| (b as char).to_digit(16).ok_or(Status::BadRequest);
    match (digit(*high)? << 4 | digit(*low)?) as u8 {
        0 => Err(Status::BadRequest),
        // No file name holds a slash, so an encoded one names nothing; to take it for a separator
        // would let it past a front end that guards a path.
        b'/' => Err(Status::NotFound),
        byte => Ok((byte, rest)),
    }
}
