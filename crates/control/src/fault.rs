//! Why a call failed, in the protocol's terms: an errno and one line of text.

use std::fmt;

use thiserror::Error;

use crate::proto::bess::Error as ErrorRecord;

/// An error number of Linux (errno(3)), as the protocol carries it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Errno(pub i32);

impl Errno {
    /// Not permitted.
    pub const EPERM: Errno = Errno(1);
    /// No such thing.
    pub const ENOENT: Errno = Errno(2);
    /// Something went wrong that the caller cannot mend.
    pub const EIO: Errno = Errno(5);
    /// Not enough memory.
    pub const ENOMEM: Errno = Errno(12);
    /// In use.
    pub const EBUSY: Errno = Errno(16);
    /// There is one already.
    pub const EEXIST: Errno = Errno(17);
    /// No such device.
    pub const ENODEV: Errno = Errno(19);
    /// A request that makes no sense.
    pub const EINVAL: Errno = Errno(22);
    /// No room.
    pub const ENOSPC: Errno = Errno(28);
    /// Not something that this daemon does.
    pub const ENOTSUP: Errno = Errno(95);
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match *self {
            Errno::EPERM => "EPERM",
            Errno::ENOENT => "ENOENT",
            Errno::EIO => "EIO",
            Errno::ENOMEM => "ENOMEM",
            Errno::EBUSY => "EBUSY",
            Errno::EEXIST => "EEXIST",
            Errno::ENODEV => "ENODEV",
            Errno::EINVAL => "EINVAL",
            Errno::ENOSPC => "ENOSPC",
            Errno::ENOTSUP => "ENOTSUP",
            Errno(other) => return write!(f, "errno {other}"),
        };
        f.write_str(name)
    }
}

/// Characters of a text that is shown whole.
const TEXT_LEN_MAX: usize = 400;

/// A call that was refused or failed.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{text}")]
pub struct Fault {
    /// What kind of failure it is.
    pub errno: Errno,
    /// What failed, on what, and what to change: one line.
    pub text: String,
}

impl Fault {
    /// A failure of this kind. What a client gave reaches no other lines, and does not make the text long: the middle is left
    /// out then, for what to change stands at the end.
    pub fn new(errno: Errno, text: impl Into<String>) -> Self {
        Self { errno, text: shortened(plain(text.into())) }
    }

    /// A request that makes no sense: `EINVAL`.
    pub fn invalid(text: impl Into<String>) -> Self {
        Self::new(Errno::EINVAL, text)
    }

    /// Something that is not there: `ENOENT`.
    pub fn missing(text: impl Into<String>) -> Self {
        Self::new(Errno::ENOENT, text)
    }

    /// Something that this daemon does not do: `ENOTSUP`.
    pub fn unsupported(text: impl Into<String>) -> Self {
        Self::new(Errno::ENOTSUP, text)
    }

    /// The same failure, said to be of `whose`.
    #[must_use]
    pub fn of(self, whose: impl fmt::Display) -> Self {
        Self::new(self.errno, format!("{whose}: {}", self.text))
    }

    pub(crate) fn record(self) -> ErrorRecord {
        ErrorRecord { code: self.errno.0, errmsg: self.text }
    }
}

/// The text in one line: control characters are spaces, and what nobody sees is told by its number.
fn plain(text: String) -> String {
    let is_seen = |c: char| c.is_ascii() && !c.is_control();
    if text.chars().all(is_seen) {
        return text;
    }
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if is_seen(c) => line.push(c),
            c if c.is_control() => line.push(' '),
            c => line.extend(c.escape_debug()),
        }
    }
    line
}

fn shortened(text: String) -> String {
    let count = text.chars().count();
    if count <= TEXT_LEN_MAX {
        return text;
    }
    let half = TEXT_LEN_MAX / 2;
    let (begin, end) = (text.chars().take(half), text.chars().skip(count - half));
    begin.chain(" ... ".chars()).chain(end).collect()
}

/// The outcome that an answer tells: none, or code 0, is success.
impl From<&ErrorRecord> for Fault {
    fn from(record: &ErrorRecord) -> Self {
        Self::new(Errno(record.code), record.errmsg.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_gave_stays_in_one_short_line() {
        let fault = Fault::invalid(format!("`a\n\u{202e}b{}` is no mode: give l2", "x".repeat(10_000)));
        assert!(
            fault.text.starts_with("`a \\u{202e}bxx") && fault.text.ends_with("xx` is no mode: give l2"),
            "{fault}"
        );
        assert!(fault.text.contains("xx ... xx"), "{fault}");
        assert!(fault.clone().of("w".repeat(10_000)).text.len() < 420);
        assert_eq!(Fault::invalid("gate 9 of `ä` does not exist").text, "gate 9 of `ä` does not exist");
    }
}
