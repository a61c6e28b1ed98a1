//! Modules that give frames something to carry: times and attributes.

mod metadata_test;
mod set_metadata;
mod timestamp;

pub use metadata_test::{MetadataTest, MetadataTestParams};
pub use set_metadata::{MetadataSource, MetadataValue, SetMetadata};
pub use timestamp::{TIMESTAMP_OFFSET_DEFAULT, Timestamp, TimestampPlace};

#[cfg(test)]
mod tests;
