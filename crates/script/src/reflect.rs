//! The protocol's messages by name: their fields as this crate and the command line see them.

use prost_reflect::{DescriptorPool, MessageDescriptor};
use prost_types::Any;
use std::sync::LazyLock;
use tidegate_control::proto::DESCRIPTORS;

static POOL: LazyLock<DescriptorPool> = LazyLock::new(|| {
    // The build wrote them, and every test here reads them.
    DescriptorPool::decode(DESCRIPTORS).unwrap_or_default()
});

/// The message of that name with its package: `bess.pb.QueueArg`.
pub fn message(full_name: &str) -> Option<MessageDescriptor> {
    POOL.get_message_by_name(full_name)
}

/// The message that `any` says it holds.
pub fn message_of(any: &Any) -> Option<MessageDescriptor> {
    message(any.type_url.rsplit('/').next().unwrap_or_default())
}
