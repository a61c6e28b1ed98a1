//! What a connection has written: responses laid end to end on the stream of offsets, kept until
//! they are acknowledged.
//!
//! ```text
//!   acked            sent                     end
//!     v               v                        v
//!   --[ response 1 ]--[ response 2 ][ response 3 ]      offsets of the stream, 64 bits
//! ```
//!
//! There are no bytes here: a response can be asked for its bytes again. Two responses are held in
//! place (the one under way, and the next, whose request carries the last acknowledgement), more of
//! them (pipelining) in a box that exists only while there are more.

use std::collections::VecDeque;

/// A response and where it lies on the stream.
pub(crate) struct Entry<R> {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) response: R,
}

/// What an acknowledgement did to the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Acknowledged {
    /// No response is done that was not before.
    Nothing,
    /// At least one is, and others are not.
    Some,
    /// The last ones are.
    All,
}

/// Responses in stream order, without gaps.
pub(crate) struct SendQueue<R> {
    end: u64,
    first: Option<Entry<R>>,
    second: Option<Entry<R>>,
    /// In a box, so that an idle connection keeps eight bytes here and not thirty-two.
    #[allow(clippy::box_collection)]
    rest: Option<Box<VecDeque<Entry<R>>>>,
}

impl<R> SendQueue<R> {
    /// Nothing written yet.
    pub(crate) const fn new() -> Self {
        Self { end: 0, first: None, second: None, rest: None }
    }

    /// How many responses are not wholly acknowledged.
    pub(crate) fn len(&self) -> usize {
        usize::from(self.first.is_some())
            + usize::from(self.second.is_some())
            + self.rest.as_ref().map_or(0, |r| r.len())
    }

    /// How many bytes those are, from the first one's first byte on.
    pub(crate) fn byte_count(&self) -> u64 {
        self.first.as_ref().map_or(0, |first| self.end - first.start)
    }

    /// Lays a response of `len` bytes behind the others.
    pub(crate) fn push(&mut self, response: R, len: u64) {
        let start = self.end;
        self.end += len;
        let entry = Entry { start, end: self.end, response };
        if self.first.is_none() {
            self.first = Some(entry);
        } else if self.second.is_none() {
            self.second = Some(entry);
        } else {
            self.rest.get_or_insert_default().push_back(entry);
        }
    }

    /// The response that holds the byte at `offset`.
    #[inline]
    pub(crate) fn find(&self, offset: u64) -> Option<&Entry<R>> {
        let in_place = [self.first.as_ref()?, self.second.as_ref().or(self.first.as_ref())?];
        if let Some(entry) = in_place.into_iter().find(|e| (e.start..e.end).contains(&offset)) {
            return Some(entry);
        }
        let rest = self.rest.as_deref()?;
        let at = rest.partition_point(|e| e.end <= offset);
        rest.get(at).filter(|e| e.start <= offset)
    }

    /// Forgets what lies wholly before `acked`.
    #[inline]
    pub(crate) fn acknowledge(&mut self, acked: u64) -> Acknowledged {
        let end = self.first.as_ref().map(|e| e.end);
        while self.first.as_ref().is_some_and(|e| e.end <= acked) {
            self.first = self.second.take();
            self.second = self.rest.as_mut().and_then(|r| r.pop_front());
        }
        if self.rest.as_ref().is_some_and(|r| r.is_empty()) {
            self.rest = None;
        }
        match end {
            Some(end) if end > acked => Acknowledged::Nothing,
            None => Acknowledged::Nothing,
            Some(_) if self.first.is_none() => Acknowledged::All,
            Some(_) => Acknowledged::Some,
        }
    }
}

#[cfg(test)]
#[path = "send_queue_tests.rs"]
mod tests;
