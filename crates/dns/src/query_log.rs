//! The query log: a line for each so-many-th query.
//!
//! ```text
//!   2026-11-21T04:30:00.123Z 192.0.2.7#5353 udp4 QUERY www.example.org. IN AAAA +ED NOERROR 84
//!   when                     client         how  opcode name class type flags rcode octets of the answer
//! ```
//!
//! Flags: `+` or `-` for RD, then `E` with EDNS, `D` with DO, `C` with CD, `K` with a cookie, `S` with TSIG. Rcode and
//! octets are those of the message that was sent, as the rate limit left it; `-` where nothing was. A transfer's
//! octets are `-`: it is many messages.
//!
//! Not every query: at full speed a disk would be the server's limit. The sample is regular, one in N of each
//! worker, and so says nothing of bursts shorter than that.
//!
//! Invariant: a name is written in presentation format, which has no space, quote or control character of the
//! client's choosing; so a client cannot write a line of its own.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tidegate_logfile::Line;

use crate::counters::Transport;
use crate::message::{Class, Flags, Opcode, Query, Rcode, Rtype};
use crate::name::NameBuf;

#[cfg(test)]
mod tests;

/// A worker's end of the file.
pub type LogSender = tidegate_logfile::LogSender<Record>;
/// The writer's end of the file.
pub type LogWriter = tidegate_logfile::LogWriter<Record>;

/// Opens the log at `path` for appending. Setting `reopen` (on SIGHUP) has the writer open the path again: after a
/// rotation that is a new file.
pub fn open(path: &Path, reopen: Arc<AtomicBool>) -> io::Result<(LogSender, LogWriter)> {
    tidegate_logfile::open(path, reopen)
}

/// One query and its answer.
#[derive(Clone, Debug)]
pub struct Record {
    /// When, in milliseconds since 1970-01-01 00:00 UTC.
    pub unix_ms: u64,
    /// Who asked.
    pub client: SocketAddr,
    /// How.
    pub transport: Transport,
    /// What kind of query.
    pub opcode: Opcode,
    /// The question's name.
    pub name: NameBuf,
    /// The question's type.
    pub rtype: Rtype,
    /// The question's class.
    pub class: Class,
    /// What else the query says.
    pub traits: Traits,
    /// The answer's rcode, if there was an answer.
    pub rcode: Option<Rcode>,
    /// Octets of the answer, if it was one message.
    pub answer_len: Option<usize>,
}

/// What a query says beside its question.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Traits {
    /// RD.
    pub recursion_desired: bool,
    /// It has EDNS.
    pub edns: bool,
    /// DO.
    pub dnssec_ok: bool,
    /// CD.
    pub checking_disabled: bool,
    /// It has a cookie.
    pub cookie: bool,
    /// It has TSIG.
    pub tsig: bool,
}

impl Traits {
    /// Those of `query`.
    pub fn of(query: &Query<'_>) -> Self {
        Self {
            recursion_desired: query.flags.has(Flags::RD),
            edns: query.edns.is_some(),
            dnssec_ok: query.dnssec_ok(),
            checking_disabled: query.flags.has(Flags::CD),
            cookie: query.edns.is_some_and(|edns| edns.cookie.is_some()),
            tsig: query.tsig_at.is_some(),
        }
    }

    fn letters(self) -> impl Iterator<Item = u8> {
        let sign = if self.recursion_desired { b'+' } else { b'-' };
        let letters = [
            (self.edns, b'E'),
            (self.dnssec_ok, b'D'),
            (self.checking_disabled, b'C'),
            (self.cookie, b'K'),
            (self.tsig, b'S'),
        ];
        core::iter::once(sign)
            .chain(letters.into_iter().filter_map(|(is_set, letter)| is_set.then_some(letter)))
    }
}

impl Record {
    /// Of `query`, that came from `client` by `transport`.
    pub fn of(query: &Query<'_>, unix_ms: u64, client: SocketAddr, transport: Transport) -> Self {
        Self {
            unix_ms,
            client,
            transport,
            opcode: query.opcode(),
            name: query.question.name.into(),
            rtype: query.question.rtype,
            class: query.question.class,
            traits: Traits::of(query),
            rcode: None,
            answer_len: None,
        }
    }

    /// The same, answered by `message`.
    #[must_use]
    pub fn answered_by(self, message: &[u8]) -> Self {
        let flags = message.first_chunk().map(|[_, _, f0, f1]| Flags(u16::from_be_bytes([*f0, *f1])));
        Self { rcode: flags.map(Flags::rcode), answer_len: Some(message.len()), ..self }
    }

    /// The same, answered by the messages of a transfer.
    #[must_use]
    pub fn answered_by_transfer(self) -> Self {
        Self { rcode: Some(Rcode::NOERROR), answer_len: None, ..self }
    }
}

impl Line for Record {
    fn format(&self, line: &mut Vec<u8>) {
        // Writing into memory cannot fail.
        let _ = write!(
            line,
            "{} {}#{} {} {} {} {} {} ",
            UtcTime(self.unix_ms),
            self.client.ip(),
            self.client.port(),
            self.transport.as_str(),
            self.opcode,
            self.name,
            self.class,
            self.rtype,
        );
        line.extend(self.traits.letters());
        let _ = match self.rcode {
            Some(rcode) => write!(line, " {rcode}"),
            None => write!(line, " -"),
        };
        let _ = match self.answer_len {
            Some(len) => writeln!(line, " {len}"),
            None => writeln!(line, " -"),
        };
    }
}

/// What became of a query at the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Logged {
    /// It was not in the sample.
    Skipped,
    /// It will be written.
    Taken,
    /// It was in the sample, but there was no room.
    Lost,
}

/// A worker's log: one in so many.
#[derive(Clone)]
pub struct QueryLog {
    sender: LogSender,
    every: u32,
    /// Queries to skip until the next line.
    left: u32,
}

impl QueryLog {
    /// Logs each `every`th query, the first one too; 0 counts as 1.
    pub fn new(sender: LogSender, every: u32) -> Self {
        Self { sender, every: every.max(1), left: 0 }
    }

    /// Logs what `record` gives, if it is this one's turn.
    #[inline]
    pub fn log(&mut self, record: impl FnOnce() -> Record) -> Logged {
        match self.is_turn() {
            false => Logged::Skipped,
            true if self.write(record()) => Logged::Taken,
            true => Logged::Lost,
        }
    }

    /// Whether it is the turn of the next query, whose turn is over with that.
    #[inline]
    pub const fn is_turn(&mut self) -> bool {
        let is_turn = self.left == 0;
        self.left = if is_turn { self.every - 1 } else { self.left - 1 };
        is_turn
    }

    /// Logs a query whose turn it was; false if there is no room.
    pub fn write(&self, record: Record) -> bool {
        self.sender.try_log(record)
    }
}

/// A moment as RFC 3339 has it, in UTC to the millisecond; from milliseconds since 1970.
struct UtcTime(u64);

impl core::fmt::Display for UtcTime {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let (seconds, ms) = (self.0 / 1000, self.0 % 1000);
        let (year, month, day) = date(seconds / 86_400);
        let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
    }
}

/// Year, month and day of the Gregorian calendar, `days` after 1970-01-01.
///
/// Years are taken to begin with March, so that the leap day is a year's last; 400 years have 146,097 days.
fn date(days: u64) -> (u64, u64, u64) {
    const DAYS_TO_1970: u64 = 719_468;
    let days = days + DAYS_TO_1970;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // Five months from March on have 153 days, whichever five.
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}
