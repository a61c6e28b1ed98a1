//! What differs between two responses made from the same template: the second in which it was sent, and
//! whether the connection stays open after it.
//!
//! A [`Stamp`] is stored with the response, so a head that is sent again, seconds later, has the very bytes
//! it had the first time. The text of a date is formatted once a second, not once a response.
//!
//! Invariant: [`DATE_LEN`] bytes for any second, [`CONNECTION_LEN`] bytes for either fate of the connection.

use std::io::Write as _;
use std::time::{Duration, SystemTime};

/// Bytes of an IMF-fixdate, `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 section 5.6.7).
pub const DATE_LEN: usize = 29;
/// Bytes of the `Connection` value, `close` padded to the length of `keep-alive`: spaces behind a field's
/// value are not part of it (RFC 9110 section 5.5).
pub const CONNECTION_LEN: usize = 10;

const KEEP_ALIVE: &[u8; CONNECTION_LEN] = b"keep-alive";
const CLOSE: &[u8; CONNECTION_LEN] = b"close     ";

/// The values of a head's slots in one response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp {
    unix_secs: u32,
    close: bool,
}

impl Stamp {
    /// The stamp of a response sent at `unix_secs` (clamped to what 32 bits hold: the year 2106), after
    /// which the connection is closed or not.
    pub fn new(unix_secs: u64, close: bool) -> Self {
        Self { unix_secs: clamp_secs(unix_secs), close }
    }

    /// Seconds since 1970-01-01 00:00 UTC.
    pub const fn unix_secs(self) -> u64 {
        self.unix_secs as u64
    }

    /// Whether the connection is closed after this response.
    pub const fn closes(self) -> bool {
        self.close
    }

    pub(crate) const fn connection(self) -> &'static [u8; CONNECTION_LEN] {
        if self.close { CLOSE } else { KEEP_ALIVE }
    }
}

fn clamp_secs(unix_secs: u64) -> u32 {
    u32::try_from(unix_secs).unwrap_or(u32::MAX)
}

/// One second and its text.
#[derive(Clone, Copy)]
struct DateText {
    unix_secs: u32,
    text: [u8; DATE_LEN],
}

impl DateText {
    fn of(unix_secs: u32) -> Self {
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(u64::from(unix_secs));
        let mut text = [b' '; DATE_LEN];
        // Cannot fail: each second that 32 bits hold has exactly DATE_LEN characters.
        let _ = write!(&mut text[..], "{}", httpdate::HttpDate::from(at));
        Self { unix_secs, text }
    }
}

/// The texts of the current second and of the last other one that was asked for.
pub(crate) struct Dates {
    now: DateText,
    other: DateText,
}

impl Dates {
    pub(crate) fn new() -> Self {
        Self { now: DateText::of(0), other: DateText::of(0) }
    }

    /// Makes `unix_secs` the current second. True if it was not.
    pub(crate) fn advance(&mut self, unix_secs: u64) -> bool {
        let unix_secs = clamp_secs(unix_secs);
        let is_new = self.now.unix_secs != unix_secs;
        if is_new {
            self.other = self.now;
            self.now = DateText::of(unix_secs);
        }
        is_new
    }

    /// The text of a stamp's second.
    #[inline]
    pub(crate) fn text(&mut self, stamp: Stamp) -> &[u8; DATE_LEN] {
        if stamp.unix_secs == self.now.unix_secs {
            return &self.now.text;
        }
        if stamp.unix_secs != self.other.unix_secs {
            self.other = DateText::of(stamp.unix_secs);
        }
        &self.other.text
    }
}
