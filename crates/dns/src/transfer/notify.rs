//! NOTIFY (RFC 1996): a primary tells its secondaries that a zone has changed.
//!
//! Out: [`Notifier`] keeps what was not answered yet and says what to send and when. In: `desk` answers, and
//! hands the news to the secondary. The messages themselves are here. No I/O: [`sender`] does that.

mod message;
mod notifier;
pub(crate) mod sender;

pub(crate) use message::MESSAGE_LEN_MAX;
pub(crate) use notifier::Notifier;

#[cfg(test)]
mod tests;
