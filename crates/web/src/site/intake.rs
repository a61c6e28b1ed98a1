//! What a connection has received and not answered yet. It exists only while there is something: a
//! head that is not whole, a body that is being thrown away, requests that wait their turn.
//!
//! Invariant: `bytes` starts at the first byte of a head, or of the rest of the body; `held` of them
//! are still on the peer's account.

use crate::request::body::BodySkip;
use crate::request::scan::HeadScan;
use std::sync::Arc;
use tidegate_base::Instant;
use tidegate_content::{Document, Encoding, LoadError, Loaded};

/// Why no more requests are taken from `bytes` now.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Waiting {
    /// For more bytes.
    #[default]
    Input,
    /// For answers to be acknowledged: there are as many under way as may be.
    Room,
    /// For a document to be loaded.
    Load,
}

/// A document that was waited for.
#[derive(Clone, Debug)]
pub(crate) struct Awaited {
    pub(crate) document: Arc<Document>,
    pub(crate) encoding: Encoding,
    pub(crate) outcome: Result<Arc<Loaded>, LoadError>,
}

/// A connection's unanswered input.
#[derive(Default)]
pub(crate) struct Intake {
    pub(crate) bytes: Vec<u8>,
    pub(crate) scan: HeadScan,
    pub(crate) body: Option<BodySkip>,
    pub(crate) waiting: Waiting,
    pub(crate) awaited: Option<Awaited>,
    pub(crate) held: u32,
    /// When what is incomplete began.
    pub(crate) since: Option<Instant>,
}

impl Intake {
    /// Whether it need not exist.
    pub(crate) const fn is_blank(&self) -> bool {
        self.bytes.is_empty() && self.body.is_none() && matches!(self.waiting, Waiting::Input)
    }

    /// Whether the peer owes the rest of a request.
    pub(crate) const fn is_partial(&self) -> bool {
        matches!(self.waiting, Waiting::Input) && !self.is_blank()
    }
}
