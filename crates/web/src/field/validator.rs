//! Entity tags and modification dates (RFC 9110 section 8.8).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// An entity tag as it came in a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EntityTag<'a> {
    /// Whether it is marked `W/`.
    pub is_weak: bool,
    /// What is between the quotes.
    pub opaque: &'a [u8],
}

impl<'a> EntityTag<'a> {
    /// Reads a whole value as one tag.
    pub fn parse(value: &'a [u8]) -> Option<Self> {
        let (tag, rest) = Self::take(value)?;
        rest.is_empty().then_some(tag)
    }

    /// Reads a tag at the start of `value` and returns what follows it. A comma may stand inside the
    /// quotes, so a list of tags cannot be split at commas first.
    fn take(value: &'a [u8]) -> Option<(Self, &'a [u8])> {
        // RFC 9110 section 8.8.3: the W is case-sensitive.
        let (is_weak, quoted) = match value.strip_prefix(b"W/") {
            Some(rest) => (true, rest),
            None => (false, value),
        };
        let body = quoted.strip_prefix(b"\"")?;
        let len = body.iter().position(|&b| b == b'"')?;
        let opaque = &body[..len];
        opaque.iter().all(|&b| b > b' ' && b != 0x7f).then_some((Self { is_weak, opaque }, &body[len + 1..]))
    }

    /// Strong comparison (RFC 9110 section 8.8.3.2).
    pub fn matches_strongly(&self, other: &EntityTag<'_>) -> bool {
        !self.is_weak && !other.is_weak && self.opaque == other.opaque
    }

    /// Weak comparison (RFC 9110 section 8.8.3.2).
    pub fn matches_weakly(&self, other: &EntityTag<'_>) -> bool {
        self.opaque == other.opaque
    }
}

/// The tags of one `If-Match` or `If-None-Match` line.
#[derive(Clone, Copy, Debug)]
pub struct EntityTags<'a> {
    rest: &'a [u8],
}

impl<'a> EntityTags<'a> {
    /// The tags in `value`, up to the first thing that is none.
    pub const fn of(value: &'a [u8]) -> Self {
        Self { rest: value }
    }
}

impl<'a> Iterator for EntityTags<'a> {
    type Item = EntityTag<'a>;

    fn next(&mut self) -> Option<EntityTag<'a>> {
        let start = self.rest.iter().position(|b| !matches!(b, b' ' | b'\t' | b','))?;
        match EntityTag::take(&self.rest[start..]) {
            Some((tag, rest)) => {
                self.rest = rest;
                Some(tag)
            }
            None => {
                self.rest = &[];
                None
            }
        }
    }
}

/// A moment in whole seconds, as HTTP dates have them (RFC 9110 section 5.6.7).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HttpSecond(pub u64);

impl HttpSecond {
    /// The second in which `time` lies; the epoch for anything before it.
    pub fn of(time: SystemTime) -> Self {
        Self(time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
    }

    /// Reads any of the three forms that a recipient must take.
    pub fn parse(value: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(value).ok()?;
        httpdate::parse_http_date(text).ok().map(Self::of)
    }

    /// The form that a sender must use.
    pub fn to_imf_fixdate(self) -> String {
        // The last second of the year 9999 is the last that the format can name.
        let secs = self.0.min(253_402_300_799);
        httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(secs))
    }
}
