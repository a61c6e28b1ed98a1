//! GRE (RFC 2784) with keys (RFC 2890): `gre_encap` puts GRE in front of frames, `gre_decap` takes it away with the
//! Ethernet and IPv4 headers before it.
//!
//! ```text
//!   |C| |K|S|   reserved   | Ver |       protocol type        |
//!   |  checksum, if C is set     |          reserved          |
//!   |                    key, if K is set                     |
//!   |              sequence number, if S is set               |
//! ```
//! | | gre_encap | gre_decap |
//! |---|---|---|
//! | gates | in: 0; out: 0 | in: 0; out: 0 |
//! | parameters | whether there is a key and a checksum; protocol type (0x6558: Ethernet frames) | none |
//! | attributes | reads `tun_ip_src`, `tun_ip_dst`, `tun_id` (the key); writes `ip_src`, `ip_dst`, `ip_proto` | writes `tun_ip_src`, `tun_ip_dst`, `tun_id` (0 without a key), `ether_type` (the protocol type) |
//! | dropped | frames without headroom (`too_long`) | what is not GRE version 0, cut off, or does not fit its checksum (`unknown_protocol`) |
//! | rate | 3.5 ns a frame of 60 bytes on one core (`make bench-pipeline`) | 11.6 ns a frame at most, the making of a longer one among it, on one core (`make bench-pipeline`) |
//!
//! Sequence numbers are skipped: packets leave in the order in which they came.

use super::tunnel::{DecapSlots, EncapSlots, Inner};
use crate::layers::{ETHER_TYPE_BRIDGED, PROTOCOL_GRE, u16_at};
use tidegate_base::Sum;
use tidegate_packet::Batch;
use tidegate_pipeline::metadata::{Attribute, Place};
use tidegate_pipeline::{Context, GateCounts, Module};

const HAS_CHECKSUM: u16 = 0x8000;
const HAS_KEY: u16 = 0x2000;
const HAS_SEQUENCE: u16 = 0x1000;
/// Bits of RFC 1701 that a receiver must refuse (RFC 2784 section 2.3), and the version.
const REFUSED: u16 = 0x4c07;
/// Bytes of the fixed part, and of each optional one.
const WORD_LEN: usize = 4;

/// What a tunnel's header has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GreParams {
    /// A key: the tunnel's number.
    pub key: bool,
    /// A checksum over header and payload.
    pub checksum: bool,
    /// EtherType of what is inside.
    pub protocol: u16,
}

impl Default for GreParams {
    /// Ethernet frames, with a key.
    fn default() -> Self {
        Self { key: true, checksum: false, protocol: ETHER_TYPE_BRIDGED }
    }
}

/// The way in.
pub struct GreEncap {
    params: GreParams,
    slots: EncapSlots,
}

impl GreEncap {
    /// A tunnel with such headers.
    pub const fn new(params: GreParams) -> Self {
        Self { params, slots: EncapSlots::NOWHERE }
    }
}

impl Module for GreEncap {
    fn class(&self) -> &'static str {
        "gre_encap"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::THROUGH
    }

    #[inline]
    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        let params = self.params;
        let header_len = WORD_LEN * (1 + usize::from(params.checksum) + usize::from(params.key));
        self.slots.encap(ctx, batch, PROTOCOL_GRE, header_len, |data, id| emit(params, data, id));
    }

    fn attributes(&self) -> &[Attribute] {
        EncapSlots::attributes()
    }

    fn bind(&mut self, places: &[Place]) {
        self.slots.bind(places);
    }
}

#[inline]
fn emit(params: GreParams, data: &mut [u8], id: u32) {
    let flags = if params.checksum { HAS_CHECKSUM } else { 0 } | if params.key { HAS_KEY } else { 0 };
    data[..2].copy_from_slice(&flags.to_be_bytes());
    data[2..4].copy_from_slice(&params.protocol.to_be_bytes());
    let key_at = if params.checksum { 2 * WORD_LEN } else { WORD_LEN };
    if params.key {
        data[key_at..][..4].copy_from_slice(&id.to_be_bytes());
    }
    if params.checksum {
        data[4..8].fill(0);
        let check = Sum::of(data).finish();
        data[4..6].copy_from_slice(&check.to_be_bytes());
    }
}

/// The way out.
pub struct GreDecap {
    slots: DecapSlots,
}

impl GreDecap {
    /// A tunnel's end.
    pub const fn new() -> Self {
        Self { slots: DecapSlots::NOWHERE }
    }
}

impl Module for GreDecap {
    fn class(&self) -> &'static str {
        "gre_decap"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::THROUGH
    }

    #[inline]
    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        self.slots.decap(ctx, batch, PROTOCOL_GRE, read);
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
    let (flags, ether_type) = (u16_at(outer, at)?, u16_at(outer, at + 2)?);
    let is_set = |flag: u16| usize::from(flags & flag != 0);
    if flags & REFUSED != 0 {
        return None;
    }
    if flags & HAS_CHECKSUM != 0 && !Sum::of(outer.get(at..)?).is_valid() {
        return None;
    }
    let key_at = at + WORD_LEN * (1 + is_set(HAS_CHECKSUM));
    let id = match is_set(HAS_KEY) {
        0 => 0,
        _ => u32::from_be_bytes(*outer.get(key_at..)?.first_chunk()?),
    };
    let start = key_at + WORD_LEN * (is_set(HAS_KEY) + is_set(HAS_SEQUENCE));
    (start <= outer.len()).then_some(Inner { id, ether_type, start })
}
