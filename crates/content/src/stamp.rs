//! What differs between two responses made from the same template: the second in which it was sent, and
//! whether the connection stays open after it.
//!
//! A [`Stamp`] is stored with the response, so a head that is sent again, seconds later, has the very bytes
//! it had the first time. The text of a date is formatted once a second, not once a response.
//!
//! Invariant: [`DATE_LEN`] bytes for any second, [`CONNECTION_LEN`] bytes for either fate of the connection.

use std::io::Write as _;
use std::time::{Duration, SystemTime};
use tidegate_base::Sum;

/// Bytes of an IMF-fixdate, `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 section 5.6.7).
pub const DATE_LEN: usize = 29;
/// Bytes of the `Connection` value, `close` padded to the length of `keep-alive`: spaces behind a field's
/// value are not part of it (RFC 9110 section 5.5).
pub const CONNECTION_LEN: usize = 10;

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
}

fn clamp_secs(unix_secs: u64) -> u32 {
    u32::try_from(unix_secs).unwrap_or(u32::MAX)
}

/// A slot's value and its sum.
#[derive(Clone, Copy)]
pub(crate) struct Text<const LEN: usize> {
    pub(crate) bytes: [u8; LEN],
    pub(crate) sum: Sum,
}

impl<const LEN: usize> Text<LEN> {
    fn of(bytes: [u8; LEN]) -> Self {
        Self { sum: Sum::of(&bytes), bytes }
    }
}

/// What the slots of one response are filled with.
pub(crate) struct Fill<'a> {
    pub(crate) date: &'a Text<DATE_LEN>,
    pub(crate) connection: &'a Text<CONNECTION_LEN>,
}

/// One second and its text.
#[derive(Clone, Copy)]
struct Second {
    unix_secs: u32,
    text: Text<DATE_LEN>,
}

impl Second {
    fn of(unix_secs: u32) -> Self {
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(u64::from(unix_secs));
        let mut bytes = [b' '; DATE_LEN];
        // Cannot fail: each second that 32 bits hold has exactly DATE_LEN characters.
        let _ = write!(&mut bytes[..], "{}", httpdate::HttpDate::from(at));
        Self { unix_secs, text: Text::of(bytes) }
    }
}

/// The texts of the current second, of the last other one that was asked for, and of both fates.
pub(crate) struct SlotTexts {
    now: Second,
    other: Second,
    keep_alive: Text<CONNECTION_LEN>,
    close: Text<CONNECTION_LEN>,
}

impl SlotTexts {
    pub(crate) fn new() -> Self {
        Self {
            now: Second::of(0),
            other: Second::of(0),
            keep_alive: Text::of(*b"keep-alive"),
            close: Text::of(*b"close     "),
        }
    }

    /// Makes `unix_secs` the current second. True if it was not.
    pub(crate) fn advance(&mut self, unix_secs: u64) -> bool {
        let unix_secs = clamp_secs(unix_secs);
        let is_new = self.now.unix_secs != unix_secs;
        if is_new {
            self.other = self.now;
            self.now = Second::of(unix_secs);
        }
        is_new
    }

    /// What a stamp stands for.
    #[inline]
    pub(crate) fn fill(&mut self, stamp: Stamp) -> Fill<'_> {
        let is_now = stamp.unix_secs == self.now.unix_secs;
        if !is_now && stamp.unix_secs != self.other.unix_secs {
            self.other = Second::of(stamp.unix_secs);
        }
        let second = if is_now { &self.now } else { &self.other };
        let connection = if stamp.close { &self.close } else { &self.keep_alive };
        Fill { date: &second.text, connection }
    }
}
