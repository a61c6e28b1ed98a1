//! VXLAN (RFC 7348): `vxlan_encap` puts UDP and VXLAN in front of Ethernet frames, `vxlan_decap` takes them away with the
//! Ethernet and IPv4 headers before them.
//!
//! ```text
//!   |0|0|0|0|1|0|0|0|      reserved       |     I: there is a network identifier
//!   |   network identifier     | reserved |
//! ```
//! | | vxlan_encap | vxlan_decap |
//! |---|---|---|
//! | gates | in: 0; out: 0 | in: 0; out: 0 |
//! | parameters | destination port (4789) | none |
//! | attributes | reads `tun_ip_src`, `tun_ip_dst`, `tun_id` (its low 24 bits); writes `ip_src`, `ip_dst`, `ip_proto` | writes `tun_ip_src`, `tun_ip_dst`, `tun_id`, `ether_type` (0x6558) |
//! | rate | 10.9 ns a frame of 60 bytes on one core (`make bench-pipeline`) | 8.0 ns a frame at most, the making of a longer one among it, on one core (`make bench-pipeline`) |
//! | dropped | frames without headroom (`too_long`) | what is not VXLAN, or cut off (`unknown_protocol`) |

use super::tunnel::{DecapSlots, EncapSlots, Inner, OVER_UDP, UDP_LEN, emit_udp, id_bytes};
use crate::layers::ETHER_TYPE_BRIDGED;
use crate::parameter::{ParameterError, in_range};
use tidegate_packet::Batch;
use tidegate_pipeline::metadata::{Attribute, Place};
use tidegate_pipeline::{Context, GateCounts, Module};

/// The port that is VXLAN's.
pub const VXLAN_PORT: u64 = 4789;

const HEADER_LEN: usize = 8;
/// The flag I, as the first byte.
const HAS_ID: u8 = 0x08;

/// The way in.
pub struct VxlanEncap {
    port: u16,
    slots: EncapSlots,
}

impl VxlanEncap {
    /// A tunnel to this UDP port.
    pub fn new(port: u64) -> Result<Self, ParameterError> {
        let port = in_range("the destination port", port, 1..=0xffff)? as u16;
        Ok(Self { port, slots: EncapSlots::NOWHERE })
    }
}

impl Module for VxlanEncap {
    fn class(&self) -> &'static str {
        "vxlan_encap"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::THROUGH
    }

    #[inline]
    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        let port = self.port;
        self.slots.encap(ctx, batch, OVER_UDP, UDP_LEN + HEADER_LEN, |data, id| {
            emit_udp(data, HEADER_LEN, port);
            data[UDP_LEN..][..4].copy_from_slice(&[HAS_ID, 0, 0, 0]);
            data[UDP_LEN + 4..][..4].copy_from_slice(&id_bytes(id));
        });
    }

    fn attributes(&self) -> &[Attribute] {
        EncapSlots::attributes()
    }

    fn bind(&mut self, places: &[Place]) {
        self.slots.bind(places);
    }
}

/// The way out.
pub struct VxlanDecap {
    slots: DecapSlots,
}

impl VxlanDecap {
    /// A tunnel's end.
    pub const fn new() -> Self {
        Self { slots: DecapSlots::NOWHERE }
    }
}

impl Module for VxlanDecap {
    fn class(&self) -> &'static str {
        "vxlan_decap"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::THROUGH
    }

    #[inline]
    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        self.slots.decap(ctx, batch, OVER_UDP, |outer, udp| read(outer, udp + UDP_LEN));
    }

    fn attributes(&self) -> &[Attribute] {
        DecapSlots::attributes()
    }

    fn bind(&mut self, places: &[Place]) {
        self.slots.bind(places);
    }
}

#[inline]
fn read(outer: &[u8], at: usize) -> Option<Inner> {
    let [flags, _, _, _, a, b, c, _] = *outer.get(at..)?.first_chunk::<HEADER_LEN>()?;
    let inner = Inner {
        id: u32::from_be_bytes([0, a, b, c]),
        ether_type: ETHER_TYPE_BRIDGED,
        start: at + HEADER_LEN,
    };
    (flags & HAS_ID != 0).then_some(inner)
}
