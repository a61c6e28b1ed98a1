//! The access log: a line for each request, in the combined format.
//!
//! A worker copies the request's head into a record and goes on; what the line needs of it is found by
//! the log's writer.
//!
//! Not the file and its rotation: those are `logfile`'s.
//!
//! Invariant: a line holds no control character but its line feed, and no quote that a client sent
//! ends a quoted part; so a client cannot write a line of its own.

use arrayvec::ArrayVec;
use std::io::{self, Write};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tidegate_logfile::Line;

#[cfg(test)]
mod tests;

/// Of a longer head the rest is not logged.
pub const HEAD_LEN_MAX: usize = 640;

/// One request and its answer.
#[derive(Clone, Debug)]
pub struct Record {
    /// The client.
    pub peer: IpAddr,
    /// When it was answered, in seconds since 1970-01-01 00:00 UTC.
    pub unix_secs: u64,
    /// The status code.
    pub code: u16,
    /// Bytes of the body, as the answer announced it.
    pub body_len: u64,
    /// The request's head, or its beginning; empty for what was none.
    pub head: ArrayVec<u8, HEAD_LEN_MAX>,
}

/// As much of a head as is logged.
#[inline]
pub fn beginning_of(head: &[u8]) -> ArrayVec<u8, HEAD_LEN_MAX> {
    let mut beginning = ArrayVec::new();
    // Cannot fail: it is cut to the capacity.
    let _ = beginning.try_extend_from_slice(&head[..head.len().min(HEAD_LEN_MAX)]);
    beginning
}

/// A worker's end.
pub type LogSender = tidegate_logfile::LogSender<Record>;
/// The writer's end.
pub type LogWriter = tidegate_logfile::LogWriter<Record>;

/// Opens the log at `path` for appending. Setting `reopen` (on SIGHUP) has the writer open the path
/// again: after a rotation that is a new file.
pub fn open(path: &Path, reopen: Arc<AtomicBool>) -> io::Result<(LogSender, LogWriter)> {
    tidegate_logfile::open(path, reopen)
}

impl Line for Record {
    fn format(&self, line: &mut Vec<u8>) {
        format_line(self, line);
    }
}

/// Appends one line: `peer - - [time] "request" status bytes "referer" "user agent"`.
pub fn format_line(record: &Record, line: &mut Vec<u8>) {
    let head = trim_empty_lines(&record.head);
    let request = head.split(|&b| b == b'\r').next().unwrap_or_default();
    // Writing into memory cannot fail.
    let _ = write!(line, "{} - - [{}] \"", record.peer, LogTime::of(record.unix_secs));
    push_escaped(request, line);
    let _ = write!(line, "\" {} {} \"", record.code, record.body_len);
    push_escaped(field(head, b"referer").unwrap_or(b"-"), line);
    line.extend_from_slice(b"\" \"");
    push_escaped(field(head, b"user-agent").unwrap_or(b"-"), line);
    line.extend_from_slice(b"\"\n");
}

fn trim_empty_lines(mut head: &[u8]) -> &[u8] {
    while let Some(rest) = head.strip_prefix(b"\r\n") {
        head = rest;
    }
    head
}

/// A field's value; the head may be cut off anywhere.
fn field<'a>(head: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    head.split(|&b| b == b'\n').skip(1).find_map(|line| {
        let (candidate, rest) = line.split_at_checked(name.len())?;
        let value = rest.strip_prefix(b":")?;
        candidate.eq_ignore_ascii_case(name).then_some(value.trim_ascii())
    })
}

fn push_escaped(text: &[u8], line: &mut Vec<u8>) {
    for &b in text {
        match b {
            b'"' | b'\\' => line.extend_from_slice(&[b'\\', b]),
            b' '..=b'~' => line.push(b),
            _ => _ = write!(line, "\\x{b:02x}"),
        }
    }
}

/// A moment as `06/Nov/1994:08:49:37 +0000`.
struct LogTime {
    imf: String,
}

impl LogTime {
    fn of(unix_secs: u64) -> Self {
        Self { imf: crate::field::validator::HttpSecond(unix_secs).to_imf_fixdate() }
    }
}

impl std::fmt::Display for LogTime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // "Sun, 06 Nov 1994 08:49:37 GMT"
        let part = |range: std::ops::Range<usize>| self.imf.get(range).unwrap_or_default();
        write!(f, "{}/{}/{}:{} +0000", part(5..7), part(8..11), part(12..16), part(17..25))
    }
}
