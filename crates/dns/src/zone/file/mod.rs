//! Zones from master files (RFC 1035 section 5), with the directives that operators use.
//!
//! ```text
//!   bytes --lexer--> entries --reader--> owner, TTL, type + fields --rdata--> wire form --> ZoneBuilder
//!                                            $ORIGIN $TTL $INCLUDE $GENERATE
//! ```
//!
//! Files are read whole and only here; everything else of the zone is sans-I/O. A file that cannot be read as
//! a zone is refused as a whole, with the file, the line, what is wrong and what to do: whoever serves an
//! older version goes on serving it.

mod apex;
mod apl;
mod error;
mod fields;
mod generate;
mod lexer;
mod loc;
mod rdata;
mod reader;
mod scanner;
mod source;
mod svcb;
#[cfg(test)]
mod tests;
mod ttl;

use std::path::{Path, PathBuf};

pub use apex::apex;
pub use error::FileError;
pub use source::ZoneSource;

use self::reader::Reader;
use super::{Warning, Zone, ZoneError};
use crate::name::Name;

/// What a reader puts up with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Records in all, those of `$GENERATE` included.
    pub records: u64,
    /// How deep files may include each other; 0 forbids `$INCLUDE`.
    pub include_depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { records: u64::from(u32::MAX), include_depth: 32 }
    }
}

/// A zone and what its keeper should look at.
#[derive(Debug)]
pub struct Loaded {
    /// The zone.
    pub zone: Zone,
    /// One line each: file, line, and what is odd.
    pub warnings: Vec<FileError>,
    /// The files that it was read from: its own, then those that are included.
    pub files: Vec<PathBuf>,
}

/// Reads the zone `apex` from the file at `path`.
pub fn read(path: &Path, apex: &Name) -> Result<Loaded, FileError> {
    let mut reader = Reader::new(apex, Limits::default());
    reader.read_file(path)?;
    finish(reader)
}

/// Reads the zone `apex` from a text; errors call it `label`. It cannot include files.
pub fn read_text(label: &str, text: &[u8], apex: &Name) -> Result<Loaded, FileError> {
    read_text_within(label, text, apex, Limits { include_depth: 0, ..Limits::default() })
}

/// As [`read_text`], within limits of the caller's.
pub fn read_text_within(label: &str, text: &[u8], apex: &Name, limits: Limits) -> Result<Loaded, FileError> {
    let mut reader = Reader::new(apex, limits);
    reader.read_text(Path::new(label), text)?;
    finish(reader)
}

fn finish(mut reader: Reader) -> Result<Loaded, FileError> {
    let builder = std::mem::replace(&mut reader.builder, super::ZoneBuilder::new(Name::ROOT));
    let (zone, warnings) =
        builder.finish_with_warnings().map_err(|error: ZoneError| reader.locate(&error))?;
    let place =
        |warning: Warning| reader.finding(warning.place.file, warning.place.line, warning.to_string());
    let warnings = warnings.into_iter().map(place).collect();
    Ok(Loaded { zone, warnings, files: reader.into_paths() })
}
