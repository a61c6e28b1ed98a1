//! Tunnels over UDP that carry Ethernet frames behind a header of eight bytes, the second half of which is a number of 24 bits:
//! what VXLAN and GENEVE have in common.
//!
//! ```text
//!   | UDP, 8 bytes | the tunnel's own word, 4 bytes | tunnel's number (24 bits), 0 | frame
//! ```

use super::tunnel::{DecapSlots, EncapSlots, Inner, OVER_UDP, UDP_LEN, emit_udp};
use crate::parameter::{ParameterError, in_range};
use std::marker::PhantomData;
use tidegate_packet::Batch;
use tidegate_pipeline::metadata::{Attribute, Place};
use tidegate_pipeline::{Context, GateCounts, Module};

/// Bytes of such a header, without options.
pub(super) const HEADER_LEN: usize = 8;

/// A tunnel's header.
pub trait Header: Send + 'static {
    /// The class of the module that puts it on.
    const ENCAP: &'static str;
    /// The class of the module that takes it off.
    const DECAP: &'static str;
    /// Its first word.
    const WORD: [u8; 4];

    /// What the header at `at` says; nothing if it is not one, or ends behind the packet.
    fn read(outer: &[u8], at: usize) -> Option<Inner>;
}

/// A tunnel's way in.
pub struct UdpEncap<H> {
    port: u16,
    slots: EncapSlots,
    header: PhantomData<fn() -> H>,
}

impl<H: Header> UdpEncap<H> {
    /// A tunnel to this UDP port.
    pub fn new(port: u64) -> Result<Self, ParameterError> {
        let port = in_range("the destination port", port, 1..=0xffff)? as u16;
        Ok(Self { port, slots: EncapSlots::NOWHERE, header: PhantomData })
    }
}

impl<H: Header> Module for UdpEncap<H> {
    fn class(&self) -> &'static str {
        H::ENCAP
    }

    fn gates(&self) -> GateCounts {
        GateCounts::THROUGH
    }

    #[inline]
    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        let port = self.port;
        self.slots.encap(ctx, batch, OVER_UDP, UDP_LEN + HEADER_LEN, |data, id| {
            emit_udp(data, HEADER_LEN, port);
            data[UDP_LEN..][..4].copy_from_slice(&H::WORD);
            data[UDP_LEN + 4..][..4].copy_from_slice(&(id << 8).to_be_bytes());
        });
    }

    fn attributes(&self) -> &[Attribute] {
        EncapSlots::attributes()
    }

    fn bind(&mut self, places: &[Place]) {
        self.slots.bind(places);
    }
}

/// A tunnel's way out.
pub struct UdpDecap<H> {
    slots: DecapSlots,
    header: PhantomData<fn() -> H>,
}

impl<H: Header> UdpDecap<H> {
    /// A tunnel's end.
    pub const fn new() -> Self {
        Self { slots: DecapSlots::NOWHERE, header: PhantomData }
    }
}

impl<H: Header> Module for UdpDecap<H> {
    fn class(&self) -> &'static str {
        H::DECAP
    }

    fn gates(&self) -> GateCounts {
        GateCounts::THROUGH
    }

    #[inline]
    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        self.slots.decap(ctx, batch, OVER_UDP, |outer, udp| H::read(outer, udp + UDP_LEN));
    }

    fn attributes(&self) -> &[Attribute] {
        DecapSlots::attributes()
    }

    fn bind(&mut self, places: &[Place]) {
        self.slots.bind(places);
    }
}
