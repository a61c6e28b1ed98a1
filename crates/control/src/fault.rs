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
    /// A failure of this kind. Control characters in what a client gave do not reach other lines.
    pub fn new(errno: Errno, text: impl Into<String>) -> Self {
        let text = text.into();
        let is_plain = !text.contains(char::is_control);
        Self { errno, text: if is_plain { text } else { text.replace(char::is_control, " ") } }
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
        Self { text: format!("{whose}: {}", self.text), ..self }
    }

    pub(crate) fn record(self) -> ErrorRecord {
        ErrorRecord { code: self.errno.0, errmsg: self.text }
    }
}

/// The outcome that an answer tells: none, or code 0, is success.
impl From<&ErrorRecord> for Fault {
    fn from(record: &ErrorRecord) -> Self {
        Self::new(Errno(record.code), record.errmsg.clone())
    }
}
