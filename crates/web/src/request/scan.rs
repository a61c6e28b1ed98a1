//! Where a request's head ends: a scan that goes on where it stopped, so that a head split over any
//! number of segments costs one look at each byte.
//!
//! It also holds the limits, because a head that is too long must be refused before it is whole.
//! It knows lines and nothing of what is in them.
//!
//! Invariant: `pos` never passes the bytes that were handed in, and every line feed before it came
//! after a carriage return.

use crate::status::Status;

/// How much of a head is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeadLimits {
    /// Longest request line, in bytes, without its CRLF (RFC 9112 section 3 asks for 8,000 at least).
    pub line_len_max: usize,
    /// Longest head, in bytes, with its request line and the empty line.
    pub head_len_max: usize,
    /// Most field lines.
    pub field_count_max: usize,
}

/// The most field lines that any configuration can allow.
pub const FIELD_COUNT_MAX: usize = 128;

impl Default for HeadLimits {
    fn default() -> Self {
        Self { line_len_max: 8 << 10, head_len_max: 24 << 10, field_count_max: 100 }
    }
}

/// What the bytes so far are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scanned {
    /// Not a whole head yet.
    Partial,
    /// A whole head: this many bytes, the empty line included.
    Whole(usize),
    /// Never going to be one.
    Refused(Status),
}

/// A scan under way.
#[derive(Clone, Copy, Default, Debug)]
pub struct HeadScan {
    pos: usize,
    line_start: usize,
    line_count: usize,
}

impl HeadScan {
    /// Looks at what came since the last call. `bytes` is the head from its first byte, never shorter
    /// than it was before.
    pub fn advance(&mut self, bytes: &[u8], limits: &HeadLimits) -> Scanned {
        while let Some(found) = bytes.get(self.pos..).and_then(|rest| memchr::memchr(b'\n', rest)) {
            let lf = self.pos + found;
            self.pos = lf + 1;
            match self.on_line(bytes, lf, limits) {
                Scanned::Partial => {}
                outcome => return outcome,
            }
        }
        self.pos = bytes.len();
        self.judge_open_line(self.pos, limits)
    }

    /// How many bytes were looked at.
    pub const fn scanned_len(&self) -> usize {
        self.pos
    }

    fn on_line(&mut self, bytes: &[u8], lf: usize, limits: &HeadLimits) -> Scanned {
        // A line that is too long is refused for that, whether or not its end has come by then.
        let open = self.judge_open_line(lf, limits);
        if open != Scanned::Partial {
            return open;
        }
        // RFC 9112 section 2.2 lets a recipient take a bare LF for a line end. Two readers that
        // differ in this is how requests are smuggled, so it is refused.
        let Some(cr) = lf.checked_sub(1).filter(|&at| at >= self.line_start && bytes[at] == b'\r') else {
            return Scanned::Refused(Status::BadRequest);
        };
        let line_len = cr - self.line_start;
        self.line_start = lf + 1;
        match (line_len, self.line_count) {
            // RFC 9112 section 2.2: empty lines before the request line are ignored.
            (0, 0) => self.judge_open_line(self.pos, limits),
            (0, _) => self.judge_whole(limits),
            _ => self.judge_line(limits),
        }
    }

    fn judge_line(&mut self, limits: &HeadLimits) -> Scanned {
        self.line_count += 1;
        let field_count = self.line_count - 1;
        if field_count > limits.field_count_max.min(FIELD_COUNT_MAX) {
            return Scanned::Refused(Status::FieldsTooLarge);
        }
        self.judge_open_line(self.pos, limits)
    }

    fn judge_whole(&self, limits: &HeadLimits) -> Scanned {
        if self.pos > limits.head_len_max {
            return Scanned::Refused(Status::FieldsTooLarge);
        }
        Scanned::Whole(self.pos)
    }

    /// Judges a head of which the first `len` bytes are known, the last line among them still open: by
    /// the limit that its bytes pass first, so that it is the same wherever they were split.
    fn judge_open_line(&self, len: usize, limits: &HeadLimits) -> Scanned {
        // A CR whose LF is under way is not yet a byte of the line, hence the one more.
        let line_end_max = self.line_start.saturating_add(limits.line_len_max).saturating_add(1);
        if self.line_count == 0 && len > line_end_max && line_end_max <= limits.head_len_max {
            // RFC 9112 section 3: a request target longer than any that is parsed is a 414.
            return Scanned::Refused(Status::UriTooLong);
        }
        if len > limits.head_len_max {
            return Scanned::Refused(Status::FieldsTooLarge);
        }
        Scanned::Partial
    }
}
