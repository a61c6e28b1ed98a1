//! How requests fail, by cause, and answered connections that then ended badly.

use serde::{Deserialize, Serialize};
use tidegate_stack::Closed;

/// Counts of connections that did not end as they should.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Failures {
    /// The server refused the connection.
    pub(crate) refused_count: u64,
    /// The server reset it before the answer was whole.
    pub(crate) reset_count: u64,
    /// The server did not answer for too long.
    pub(crate) timed_out_count: u64,
    /// The server closed before the answer was whole.
    pub(crate) cut_short_count: u64,
    /// What came was not an answer with status 200 and a length.
    pub(crate) not_an_answer_count: u64,
    /// The answer was whole, but the connection was then reset or timed out. Not a failed request.
    pub(crate) bad_end_count: u64,
}

impl Failures {
    /// Counts the end of a connection; `is_waiting` tells whether an answer was still to come.
    pub(crate) fn count(&mut self, why: Closed, is_waiting: bool) {
        let counter = match why {
            Closed::Finished if !is_waiting => return,
            Closed::Aborted => &mut self.not_an_answer_count,
            _ if !is_waiting => &mut self.bad_end_count,
            Closed::Refused => &mut self.refused_count,
            Closed::Reset => &mut self.reset_count,
            Closed::TimedOut => &mut self.timed_out_count,
            Closed::Finished => &mut self.cut_short_count,
        };
        *counter += 1;
    }

    /// Requests that were not answered.
    pub(crate) const fn request_count(&self) -> u64 {
        self.refused_count
            + self.reset_count
            + self.timed_out_count
            + self.cut_short_count
            + self.not_an_answer_count
    }

    /// Both together.
    pub(crate) const fn and(&self, other: &Self) -> Self {
        Self {
            refused_count: self.refused_count + other.refused_count,
            reset_count: self.reset_count + other.reset_count,
            timed_out_count: self.timed_out_count + other.timed_out_count,
            cut_short_count: self.cut_short_count + other.cut_short_count,
            not_an_answer_count: self.not_an_answer_count + other.not_an_answer_count,
            bad_end_count: self.bad_end_count + other.bad_end_count,
        }
    }
}
