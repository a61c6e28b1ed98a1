//! Why a zone file cannot be read: the file, the line, what is wrong, and what to do about it.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

use domain::base::scan::ScannerError;

/// A zone file cannot be read, or what it holds is no zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1; 0 if no line is to blame.
    pub line: u32,
    /// What is wrong with it.
    pub what: String,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path.display(), self.what),
            line => write!(f, "{}:{line}: {}", self.path.display(), self.what),
        }
    }
}

impl std::error::Error for FileError {}

/// What is wrong with an entry, before its file is known; the line too may be settled later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Complaint {
    pub(super) what: Cow<'static, str>,
    pub(super) line: Option<u32>,
}

impl Complaint {
    pub(super) fn new(what: impl Into<Cow<'static, str>>) -> Self {
        Complaint { what: what.into(), line: None }
    }

    /// On this line, if none is known yet.
    pub(super) fn at(self, line: u32) -> Self {
        Complaint { line: self.line.or(Some(line)), ..self }
    }

    /// Says before what is wrong where in the entry it is.
    pub(super) fn within(self, part: impl fmt::Display) -> Self {
        Complaint { what: format!("{part}: {}", self.what).into(), ..self }
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Complaint {}

impl ScannerError for Complaint {
    fn custom(what: &'static str) -> Self {
        Complaint::new(what)
    }

    fn end_of_entry() -> Self {
        Complaint::new("the record ends too early; a field is missing")
    }

    fn short_buf() -> Self {
        Complaint::new("the data is longer than a record can hold (65,535 bytes)")
    }

    fn trailing_tokens() -> Self {
        Complaint::new("there is something behind the last field; remove it, or put `;` before a comment")
    }
}
