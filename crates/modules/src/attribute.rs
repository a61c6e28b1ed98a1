//! Attributes that several modules know, by BESS's names.

use std::borrow::Cow;
use tidegate_pipeline::metadata::{Access, Attribute};

pub(crate) const ETHER_SRC: (&str, u8) = ("ether_src", 6);
pub(crate) const ETHER_DST: (&str, u8) = ("ether_dst", 6);
pub(crate) const ETHER_TYPE: (&str, u8) = ("ether_type", 2);
pub(crate) const IP_SRC: (&str, u8) = ("ip_src", 4);
pub(crate) const IP_DST: (&str, u8) = ("ip_dst", 4);
pub(crate) const IP_PROTO: (&str, u8) = ("ip_proto", 1);
pub(crate) const IP_NEXTHOP: (&str, u8) = ("ip_nexthop", 4);
pub(crate) const TUN_IP_SRC: (&str, u8) = ("tun_ip_src", 4);
pub(crate) const TUN_IP_DST: (&str, u8) = ("tun_ip_dst", 4);
pub(crate) const TUN_ID: (&str, u8) = ("tun_id", 4);

/// An attribute that the module reads.
pub(crate) const fn reads((name, size): (&'static str, u8)) -> Attribute {
    Attribute { name: Cow::Borrowed(name), size, access: Access::Read }
}

/// An attribute that the module writes.
pub(crate) const fn writes((name, size): (&'static str, u8)) -> Attribute {
    Attribute { name: Cow::Borrowed(name), size, access: Access::Write }
}
