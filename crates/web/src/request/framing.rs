//! How long a request's body is (RFC 9112 section 6), decided so that no other reader of the same
//! bytes can decide otherwise.
//!
//! Every shape that RFC 9112 sections 6.1, 6.3 and 11.2 name as a way to smuggle is refused: both
//! framings, a repeated or listed Content-Length (even with equal values, which a recipient may take),
//! codings that do not end in `chunked`, and any transfer coding in HTTP/1.0.

use super::fields::{Fields, Single};
use super::line::Version;
use crate::status::Status;

/// The body that follows a head.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Framing {
    /// None.
    Empty,
    /// That many bytes, not zero.
    Length(u64),
    /// Chunks (RFC 9112 section 7.1).
    Chunked,
}

/// Decides it. An error also means that the connection cannot be used any more.
pub fn decide(fields: &Fields<'_, '_>, version: Version) -> Result<Framing, Status> {
    let has_coding = fields.values("transfer-encoding").next().is_some();
    match (has_coding, fields.single("content-length")) {
        (false, Single::Absent) => Ok(Framing::Empty),
        (false, Single::Once(value)) => by_length(value),
        (true, Single::Absent) => by_coding(fields, version),
        (_, _) => Err(Status::BadRequest),
    }
}

fn by_length(value: &[u8]) -> Result<Framing, Status> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return Err(Status::BadRequest);
    }
    let add = |len: u64, &digit: &u8| len.checked_mul(10)?.checked_add(u64::from(digit - b'0'));
    match value.iter().try_fold(0, add) {
        Some(0) => Ok(Framing::Empty),
        Some(len) => Ok(Framing::Length(len)),
        // RFC 9110 section 8.6: a recipient must be ready for numerals too large for it.
        None => Err(Status::ContentTooLarge),
    }
}

fn by_coding(fields: &Fields<'_, '_>, version: Version) -> Result<Framing, Status> {
    // RFC 9112 section 6.1: Transfer-Encoding in an HTTP/1.0 message is faulty framing.
    if version == Version::Http10 {
        return Err(Status::BadRequest);
    }
    let is_chunked = |coding: &[u8]| coding.eq_ignore_ascii_case(b"chunked");
    let (mut coding_count, mut chunked_count, mut last_is_chunked) = (0, 0, false);
    for coding in fields.members("transfer-encoding") {
        last_is_chunked = is_chunked(coding);
        coding_count += 1;
        chunked_count += usize::from(last_is_chunked);
    }
    match (last_is_chunked, coding_count, chunked_count) {
        (true, 1, 1) => Ok(Framing::Chunked),
        // RFC 9112 section 6.1: a coding that is not understood is a 501.
        (true, _, 1) => Err(Status::NotImplemented),
        _ => Err(Status::BadRequest),
    }
}
