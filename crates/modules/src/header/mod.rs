//! Modules that change what stands in a frame's headers, frame by frame, and the order of none.

mod ip_checksum;
mod ip_swap;
mod l4_checksum;
mod mac_swap;
mod mpls_pop;
mod random_update;
mod rewrite;
mod update;
mod update_ttl;
mod vlan_pop;
mod vlan_push;

pub use ip_checksum::IpChecksum;
pub use ip_swap::IpSwap;
pub use l4_checksum::L4Checksum;
pub use mac_swap::MacSwap;
pub use mpls_pop::{MplsPop, MplsPopParams};
pub use random_update::{RandomField, RandomUpdate};
pub use rewrite::Rewrite;
pub use update::{Update, UpdateField};
pub use update_ttl::UpdateTtl;
pub use vlan_pop::VlanPop;
pub(crate) use vlan_pop::pop_tag;
pub use vlan_push::VlanPush;

#[cfg(test)]
mod tests;
