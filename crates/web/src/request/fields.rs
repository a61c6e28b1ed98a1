//! The field lines of one head: found by name, values as bytes.
//!
//! Invariant: names are tokens and values hold no control character but the tab; httparse checked
//! them, with none of its leniencies on.

use super::scan::FIELD_COUNT_MAX;
use crate::status::Status;
use httparse::Header;

/// Where a head's field lines are put while it is looked at.
pub struct FieldStorage<'a>([Header<'a>; FIELD_COUNT_MAX]);

impl FieldStorage<'_> {
    /// Storage with nothing in it.
    pub const fn new() -> Self {
        Self([httparse::EMPTY_HEADER; FIELD_COUNT_MAX])
    }
}

/// The fields of a head.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'h, 'a> {
    lines: &'h [Header<'a>],
}

/// How often a field that stands for one value was there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Single<'a> {
    /// Not at all.
    Absent,
    /// Once.
    Once(&'a [u8]),
    /// More than once, which its definition forbids.
    Repeated,
}

impl<'a> Single<'a> {
    /// The value, if there was exactly one.
    pub const fn once(self) -> Option<&'a [u8]> {
        match self {
            Self::Once(value) => Some(value),
            Self::Absent | Self::Repeated => None,
        }
    }
}

impl<'h, 'a> Fields<'h, 'a> {
    /// Reads field lines up to and with the empty line. Obsolete line folding (RFC 9112 section 5.2),
    /// white space before a colon (section 5.1) and control characters are a 400.
    pub fn parse(bytes: &'a [u8], storage: &'h mut FieldStorage<'a>) -> Result<Self, Status> {
        match httparse::parse_headers(bytes, &mut storage.0) {
            Ok(httparse::Status::Complete((_, lines))) => Ok(Self { lines }),
            Err(httparse::Error::TooManyHeaders) => Err(Status::FieldsTooLarge),
            Ok(httparse::Status::Partial) | Err(_) => Err(Status::BadRequest),
        }
    }

    /// The values of all lines with that name, in order, white space around them removed.
    pub fn values(&self, name: &'static str) -> impl Iterator<Item = &'a [u8]> + Clone + use<'h, 'a> {
        self.lines.iter().filter(move |line| line.name.eq_ignore_ascii_case(name)).map(|line| line.value)
    }

    /// The members of a list field over all its lines (RFC 9110 section 5.6.1), empty ones left out.
    pub fn members(&self, name: &'static str) -> impl Iterator<Item = &'a [u8]> + use<'h, 'a> {
        self.values(name)
            .flat_map(|value| value.split(|&b| b == b','))
            .map(<[u8]>::trim_ascii)
            .filter(|member| !member.is_empty())
    }

    /// A field that must not be repeated.
    pub fn single(&self, name: &'static str) -> Single<'a> {
        let mut values = self.values(name);
        match (values.next(), values.next()) {
            (None, _) => Single::Absent,
            (Some(value), None) => Single::Once(value),
            (Some(_), Some(_)) => Single::Repeated,
        }
    }
}
