//! Throwing a request's body away: GET and HEAD have no use for one, but its bytes must be read to
//! find the next request (RFC 9112 section 9.3).
//!
//! ```text
//!   Length(n) --n bytes--> done
//!
//!   Size --hex digits, extension, LF--> Data(n) --n bytes--> DataEnd --CRLF--> Size
//!     \--0--> TrailerStart --CRLF--> done
//!                 \--a line--> Trailer --LF--> TrailerStart
//! ```
//!
//! Invariant: `budget` only falls; a body that uses it up is refused, however its bytes are split.

use super::framing::Framing;
use crate::status::Status;

/// What became of the bytes that were handed in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Skipped {
    /// All of them belong to the body, and more is to come.
    All,
    /// The body ends after this many.
    Done(usize),
    /// The body is malformed or too long: the connection cannot go on.
    Refused(Status),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Length(u64),
    Size { size: u64, digit_count: u8 },
    Extension { size: u64, after_cr: bool },
    Data(u64),
    DataEnd { after_cr: bool },
    TrailerStart { after_cr: bool },
    Trailer { after_cr: bool },
    Done,
}

/// A body under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BodySkip {
    place: Place,
    budget: u64,
}

impl BodySkip {
    /// A body framed so, of which at most `budget` bytes are read, chunk framing included. `None` if
    /// there is nothing to skip; an error if it is known to be too long already.
    pub fn new(framing: Framing, budget: u64) -> Result<Option<Self>, Status> {
        match framing {
            Framing::Empty => Ok(None),
            Framing::Length(len) if len > budget => Err(Status::ContentTooLarge),
            Framing::Length(len) => Ok(Some(Self { place: Place::Length(len), budget })),
            Framing::Chunked => Ok(Some(Self { place: Place::Size { size: 0, digit_count: 0 }, budget })),
        }
    }

    /// Reads on.
    pub fn advance(&mut self, data: &[u8]) -> Skipped {
        let mut used = 0;
        while let Some(rest) = data.get(used..).filter(|rest| !rest.is_empty()) {
            let step = match self.step(rest) {
                Ok(step) => step,
                Err(status) => return Skipped::Refused(status),
            };
            used += step;
            self.budget = match self.budget.checked_sub(step as u64) {
                Some(left) => left,
                None => return Skipped::Refused(Status::ContentTooLarge),
            };
            if self.place == Place::Done {
                return Skipped::Done(used);
            }
        }
        Skipped::All
    }

    fn step(&mut self, rest: &[u8]) -> Result<usize, Status> {
        let (place, used) = match self.place {
            Place::Length(left) => skip(left, rest, Place::Length, Place::Done),
            Place::Data(left) => skip(left, rest, Place::Data, Place::DataEnd { after_cr: false }),
            other => (on_byte(other, rest[0])?, 1),
        };
        self.place = place;
        Ok(used)
    }
}

fn skip(left: u64, rest: &[u8], more: fn(u64) -> Place, then: Place) -> (Place, usize) {
    let used = left.min(rest.len() as u64);
    (if used == left { then } else { more(left - used) }, used as usize)
}

fn on_byte(place: Place, b: u8) -> Result<Place, Status> {
    match (place, b) {
        (Place::Size { size, digit_count }, _) => on_size_byte(size, digit_count, b),
        (Place::Extension { size: 0, after_cr: true }, b'\n') => Ok(Place::TrailerStart { after_cr: false }),
        (Place::Extension { size, after_cr: true }, b'\n') => Ok(Place::Data(size)),
        (Place::Extension { size, after_cr: false }, b'\r') => Ok(Place::Extension { size, after_cr: true }),
        (Place::Extension { size, after_cr: false }, b) if is_text(b) => {
            Ok(Place::Extension { size, after_cr: false })
        }
        (Place::DataEnd { after_cr: false }, b'\r') => Ok(Place::DataEnd { after_cr: true }),
        (Place::DataEnd { after_cr: true }, b'\n') => Ok(Place::Size { size: 0, digit_count: 0 }),
        (Place::TrailerStart { after_cr: false }, b'\r') => Ok(Place::TrailerStart { after_cr: true }),
        (Place::TrailerStart { after_cr: true }, b'\n') => Ok(Place::Done),
        (Place::TrailerStart { after_cr: false } | Place::Trailer { after_cr: false }, b) if is_text(b) => {
            Ok(Place::Trailer { after_cr: false })
        }
        (Place::Trailer { after_cr: false }, b'\r') => Ok(Place::Trailer { after_cr: true }),
        (Place::Trailer { after_cr: true }, b'\n') => Ok(Place::TrailerStart { after_cr: false }),
        _ => Err(Status::BadRequest),
    }
}

fn on_size_byte(size: u64, digit_count: u8, b: u8) -> Result<Place, Status> {
    match (b, (b as char).to_digit(16)) {
        // Sixteen digits would overflow, and no body of that size is wanted.
        (_, Some(_)) if digit_count >= 15 => Err(Status::ContentTooLarge),
        (_, Some(digit)) => {
            Ok(Place::Size { size: size << 4 | u64::from(digit), digit_count: digit_count + 1 })
        }
        (b';' | b'\r', None) if digit_count > 0 => Ok(Place::Extension { size, after_cr: b == b'\r' }),
        _ => Err(Status::BadRequest),
    }
}

fn is_text(b: u8) -> bool {
    b == b'\t' || (b >= b' ' && b != 0x7f)
}
