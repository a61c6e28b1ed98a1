//! What the heads of answers look like: the fields of a file, whole or in part.
//!
//! ```text
//!   HTTP/1.1 200 OK                    Content-Type: text/css; charset=utf-8
//!   Server: Tidegate                   Content-Length: 4711
//!   Date: [slot]                       Last-Modified, ETag, Accept-Ranges
//!   Connection: [slot]                 Content-Encoding, Vary, configured fields
//! ```
//!
//! Invariant: the slots come within the first hundred bytes, so that a response's first chunk is the
//! only one that is ever patched.

use crate::config::{FieldName, HeaderRule};
use crate::field::range::ByteRange;
use crate::field::validator::HttpSecond;
use crate::status::Status;
use arc_swap::ArcSwap;
use arrayvec::ArrayString;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;
use tidegate_base::HashKey;
use tidegate_content::{Encoding, FileMeta, HeadTemplate, HeadWriter, Present, Subject};

/// An entity tag's opaque part.
pub type Opaque = ArrayString<TAG_LEN>;

/// Characters in an entity tag: sixty bits. Few, so that a 4 KiB file and its head fill three packets.
const TAG_LEN: usize = 10;
const TAG_ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The opaque part of a file's entity tag: other content, or another coding, another tag
/// (RFC 9110 section 8.8.3.3). It is the same on every server that has the same file.
pub fn opaque_tag(meta: &FileMeta, encoding: Encoding) -> Opaque {
    let key = HashKey::new([0; 16]);
    let hash = key.hash(&(meta.modified_secs, meta.modified_nanos, meta.size, encoding.token()));
    let sixths = (0..TAG_LEN).map(|nth| (hash >> (6 * nth)) as usize & 0x3f);
    sixths.fold(Opaque::new(), |mut tag, sixth| {
        tag.push(char::from(TAG_ALPHABET[sixth]));
        tag
    })
}

/// When a file was last changed, in HTTP's terms.
pub fn modified(meta: &FileMeta) -> HttpSecond {
    HttpSecond(u64::try_from(meta.modified_secs).unwrap_or(0))
}

/// Starts a head: status line, `Server`, and the slots for `Date` and `Connection`.
pub fn begin(status: Status) -> HeadWriter {
    let mut head = HeadWriter::new();
    head.text(format!("HTTP/1.1 {} {}\r\nServer: Tidegate\r\nDate: ", status.code(), status.reason()));
    head.date().text("\r\nConnection: ").connection().text("\r\n");
    head
}

/// The media type of a file, by its name.
pub fn media_type(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    let guess = mime_guess::from_path(Path::new(&*name)).first_or_octet_stream();
    if guess.type_() == mime_guess::mime::TEXT {
        format!("{guess}; charset=utf-8")
    } else {
        guess.to_string()
    }
}

/// Writes the heads of files.
pub struct Heads {
    rules: ArcSwap<Vec<HeaderRule>>,
    clock: fn() -> SystemTime,
    boundary_key: HashKey,
}

/// A multipart answer's head and what goes around its parts (RFC 9110 section 14.6).
pub struct Multipart {
    /// The head of the whole.
    pub head: HeadTemplate,
    /// What goes before each part.
    pub openings: Vec<String>,
    /// What goes behind the last.
    pub closing: String,
}

impl Heads {
    /// Heads with configured fields. `boundary_key` is random: nobody can put into a file what will
    /// part a multipart answer. `clock` tells whether a modification is over.
    pub fn new(rules: Vec<HeaderRule>, boundary_key: HashKey, clock: fn() -> SystemTime) -> Self {
        Self { rules: ArcSwap::from_pointee(rules), clock, boundary_key }
    }

    /// Writes heads with other configured fields from now on; those that are written stay as they are.
    pub fn set_rules(&self, rules: Vec<HeaderRule>) {
        self.rules.store(Arc::new(rules));
    }

    /// The head of one part of a file.
    pub fn part(&self, subject: &Subject<'_>, range: ByteRange) -> HeadTemplate {
        let mut head = begin(Status::PartialContent);
        head.text(format!("Content-Type: {}\r\n", media_type(subject.path)));
        head.text(format!("Content-Range: {}\r\n", content_range(range, subject.meta.size)));
        self.finish(head, subject, range.len())
    }

    /// The head of several parts of a file, and what goes between them.
    pub fn multipart(&self, subject: &Subject<'_>, ranges: &[ByteRange]) -> Multipart {
        let boundary = self.boundary(subject, ranges);
        let media_type = media_type(subject.path);
        let opening = |(at, range): (usize, &ByteRange)| {
            let line_end = if at == 0 { "" } else { "\r\n" };
            let range = content_range(*range, subject.meta.size);
            format!("{line_end}--{boundary}\r\nContent-Type: {media_type}\r\nContent-Range: {range}\r\n\r\n")
        };
        let openings: Vec<String> = ranges.iter().enumerate().map(opening).collect();
        let closing = format!("\r\n--{boundary}--\r\n");
        let text_len = openings.iter().map(String::len).sum::<usize>() + closing.len();
        let len = ranges.iter().map(ByteRange::len).sum::<u64>() + text_len as u64;
        let mut head = begin(Status::PartialContent);
        head.text(format!("Content-Type: multipart/byteranges; boundary={boundary}\r\n"));
        Multipart { head: self.finish(head, subject, len), openings, closing }
    }

    fn boundary(&self, subject: &Subject<'_>, ranges: &[ByteRange]) -> String {
        let tag = opaque_tag(subject.meta, subject.encoding);
        let spans: Vec<(u64, u64)> = ranges.iter().map(|range| (range.start, range.end)).collect();
        let half = |n: u8| self.boundary_key.hash(&(n, tag.as_str(), &spans));
        format!("{:016x}{:016x}", half(0), half(1))
    }

    fn finish(&self, mut head: HeadWriter, subject: &Subject<'_>, len: u64) -> HeadTemplate {
        head.text(format!("Content-Length: {len}\r\nAccept-Ranges: bytes\r\n"));
        if subject.encoding != Encoding::Identity {
            head.text(format!("Content-Encoding: {}\r\n", subject.encoding.token()));
        }
        if self.is_over(modified(subject.meta)) {
            head.text(format!("Last-Modified: {}\r\n", modified(subject.meta).to_imf_fixdate()));
        }
        self.finish_metadata(&mut head, subject, |_| true)
    }

    /// The fields that a 304 has as well (RFC 9110 section 15.4.5), and the empty line.
    fn finish_metadata(
        &self,
        head: &mut HeadWriter,
        subject: &Subject<'_>,
        is_sent: fn(&FieldName) -> bool,
    ) -> HeadTemplate {
        head.text(format!("ETag: \"{}\"\r\n", opaque_tag(subject.meta, subject.encoding)));
        if subject.is_negotiated {
            head.text("Vary: Accept-Encoding\r\n");
        }
        for rule in self.rules.load().iter().filter(|rule| rule.files.is_match(subject.path)) {
            for (name, value) in rule.set.iter().filter(|(name, _)| is_sent(name)) {
                head.text(format!("{}: {}\r\n", name.as_str(), value.as_str()));
            }
        }
        head.text("\r\n").finish()
    }

    /// Whether a second is over. A date in the future must not be told (RFC 9110 section 8.8.2.1), and
    /// one of this very second would not be a strong validator.
    fn is_over(&self, second: HttpSecond) -> bool {
        second < HttpSecond::of((self.clock)())
    }
}

impl Present for Heads {
    fn head(&self, subject: &Subject<'_>) -> HeadTemplate {
        let mut head = begin(Status::Ok);
        head.text(format!("Content-Type: {}\r\n", media_type(subject.path)));
        self.finish(head, subject, subject.meta.size)
    }

    fn not_modified(&self, subject: &Subject<'_>) -> HeadTemplate {
        self.finish_metadata(&mut begin(Status::NotModified), subject, |name| {
            !name.as_str().to_ascii_lowercase().starts_with("content-")
        })
    }
}

fn content_range(range: ByteRange, len: u64) -> String {
    format!("bytes {}-{}/{len}", range.start, range.end - 1)
}
