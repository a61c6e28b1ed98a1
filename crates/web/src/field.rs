//! Field values that decide what is sent: validators, ranges, content codings.
//!
//! Each module reads one family of values and answers one question about them; none knows a document.

pub mod coding;
pub mod precondition;
pub mod range;
pub mod validator;

#[cfg(test)]
mod tests;
