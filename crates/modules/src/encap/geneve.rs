//! GENEVE (RFC 8926): `geneve_encap` puts UDP and GENEVE without options in front of Ethernet frames, `geneve_decap` takes
//! them away with the Ethernet and IPv4 headers before them, and options that may be ignored.
//!
//! ```text
//!   |Ver| option words |O|C|  reserved  |     protocol type     |     O: control packet, C: critical options
//!   |       virtual network identifier       |    reserved      |
//!   |                 options, if there are any                 |
//! ```
//! | | geneve_encap | geneve_decap |
//! |---|---|---|
//! | gates | in: 0; out: 0 | in: 0; out: 0 |
//! | parameters | destination port (6081) | none |
//! | attributes | reads `tun_ip_src`, `tun_ip_dst`, `tun_id` (its low 24 bits); writes `ip_src`, `ip_dst`, `ip_proto` | writes `tun_ip_src`, `tun_ip_dst`, `tun_id`, `ether_type` (the protocol type) |
//! | dropped | frames without headroom (`too_long`) | what is not GENEVE version 0, cut off, a control packet, or has critical options (`unknown_protocol`) |
//! | rate | 10.4 ns a frame of 60 bytes on one core (`make bench-pipeline`) | 8.5 ns a frame at most, the making of a longer one among it, on one core (`make bench-pipeline`) |

use super::tunnel::{DecapSlots, EncapSlots, Inner, OVER_UDP, UDP_LEN, emit_udp, id_bytes};
use crate::layers::ETHER_TYPE_BRIDGED;
use crate::parameter::{ParameterError, in_range};
use tidegate_packet::Batch;
use tidegate_pipeline::metadata::{Attribute, Place};
use tidegate_pipeline::{Context, GateCounts, Module};

/// The port that is GENEVE's.
pub const GENEVE_PORT: u64 = 6081;

const HEADER_LEN: usize = 8;
/// In the second byte: a control packet, and options that must not be ignored (section 3.4).
const CONTROL_OR_CRITICAL: u8 = 0xc0;

/// The way in.
pub struct GeneveEncap {
    port: u16,
    slots: EncapSlots,
}

impl GeneveEncap {
    /// A tunnel to this UDP port.
    pub fn new(port: u64) -> Result<Self, ParameterError> {
        let port = in_range("the destination port", port, 1..=0xffff)? as u16;
        Ok(Self { port, slots: EncapSlots::NOWHERE })
    }
}

impl Module for GeneveEncap {
    fn class(&self) -> &'static str {
        "geneve_encap"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::THROUGH
    }

    #[inline]
    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        let port = self.port;
        let [high, low] = ETHER_TYPE_BRIDGED.to_be_bytes();
        self.slots.encap(ctx, batch, OVER_UDP, UDP_LEN + HEADER_LEN, |data, id| {
            emit_udp(data, HEADER_LEN, port);
            data[UDP_LEN..][..4].copy_from_slice(&[0, 0, high, low]);
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
pub struct GeneveDecap {
    slots: DecapSlots,
}

impl GeneveDecap {
    /// A tunnel's end.
    pub const fn new() -> Self {
        Self { slots: DecapSlots::NOWHERE }
    }
}

impl Module for GeneveDecap {
    fn class(&self) -> &'static str {
        "geneve_decap"
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
    let [version_options, flags, high, low, a, b, c, _] = *outer.get(at..)?.first_chunk::<HEADER_LEN>()?;
    let start = at + HEADER_LEN + usize::from(version_options & 0x3f) * 4;
    let is_ours = version_options >> 6 == 0 && flags & CONTROL_OR_CRITICAL == 0 && start <= outer.len();
    let inner =
        Inner { id: u32::from_be_bytes([0, a, b, c]), ether_type: u16::from_be_bytes([high, low]), start };
    is_ours.then_some(inner)
}
