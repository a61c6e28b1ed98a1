//! Queries and answers, against the sections of the RFCs and against the crate `domain`.

mod agreement;
mod reading;
mod writing;
