//! Where a connection's service puts its responses: into the connection's queue, or, where it is one of
//! several services, into the queue of the whole, each wrapped as the whole's.
//!
//! ```text
//!   Conn<Whole>  --Outlet::Own-------------------------> SendQueue<Whole::Response>
//!   Conn<Part>   --Outlet::Part--> Wrapping --wrap-->----^
//! ```

use crate::send_queue::SendQueue;

/// A way into a queue of responses.
pub(crate) enum Outlet<'a, R> {
    /// The queue itself.
    Own(&'a mut SendQueue<R>),
    /// One whose entries are of another type.
    Part(&'a mut dyn Intake<R>),
}

/// What takes responses of type `R`, whatever becomes of them.
pub(crate) trait Intake<R> {
    fn push(&mut self, response: R, len: u64);
    fn len(&self) -> usize;
    fn byte_count(&self) -> u64;
}

impl<R> Outlet<'_, R> {
    #[inline]
    pub(crate) fn push(&mut self, response: R, len: u64) {
        match self {
            Self::Own(queue) => queue.push(response, len),
            Self::Part(intake) => intake.push(response, len),
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Own(queue) => queue.len(),
            Self::Part(intake) => intake.len(),
        }
    }

    #[inline]
    pub(crate) fn byte_count(&self) -> u64 {
        match self {
            Self::Own(queue) => queue.byte_count(),
            Self::Part(intake) => intake.byte_count(),
        }
    }
}

/// An outlet of the whole, as one of its parts sees it.
pub(crate) struct Wrapping<'w, 'a, P, R> {
    pub(crate) outlet: &'w mut Outlet<'a, R>,
    pub(crate) wrap: fn(P) -> R,
}

impl<P, R> Intake<P> for Wrapping<'_, '_, P, R> {
    fn push(&mut self, response: P, len: u64) {
        self.outlet.push((self.wrap)(response), len);
    }

    fn len(&self) -> usize {
        self.outlet.len()
    }

    fn byte_count(&self) -> u64 {
        self.outlet.byte_count()
    }
}
