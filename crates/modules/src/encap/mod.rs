//! Modules that put headers in front of frames and take them away: plain ones, and tunnels.
//!
//! ```text
//!   vxlan_encap ------> ip_encap ------> ether_encap           a tunnel's way in: each writes what the next reads
//!   reads tun_*         reads ip_*       reads ether_*
//!   writes ip_*         writes ether_type, ip_nexthop
//!                                                              its way out
//!   vxlan_decap         takes Ethernet, IP, UDP and VXLAN away, writes tun_*
//! ```

mod ether_encap;
mod generic_decap;
mod generic_encap;
mod geneve;
mod gre;
mod ip_encap;
mod over_udp;
mod tunnel;
mod vxlan;

pub use ether_encap::EtherEncap;
pub use generic_decap::GenericDecap;
pub use generic_encap::{EncapField, GenericEncap, Insertion};
pub use geneve::{GENEVE_PORT, GeneveDecap, GeneveEncap};
pub use gre::{GreDecap, GreEncap, GreParams};
pub use ip_encap::IpEncap;
pub use vxlan::{VXLAN_PORT, VxlanDecap, VxlanEncap};

#[cfg(test)]
mod tests;
