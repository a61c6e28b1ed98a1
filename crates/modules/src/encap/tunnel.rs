//! What tunnels over IPv4 have in common: the attributes of their ends, the outer headers, UDP.

use crate::attribute::{ETHER_TYPE, IP_DST, IP_PROTO, IP_SRC, TUN_ID, TUN_IP_DST, TUN_IP_SRC, reads, writes};
use crate::flow_hash::{Layer, flow_hash, share_of};
use crate::layers::{PROTOCOL_UDP, Packet};
use crate::steer::emit_unmarked;
use tidegate_base::{DropReason, FlowHasher};
use tidegate_packet::{Batch, Frame};
use tidegate_pipeline::Context;
use tidegate_pipeline::metadata::{Attribute, Place, Slot};

/// Bytes of a UDP header.
pub(super) const UDP_LEN: usize = 8;

/// Ports that stand for a flow: the dynamic ones (RFC 6335).
const FLOW_PORT_MIN: u16 = 49_152;
const FLOW_PORT_COUNT: usize = 16_384;

static ENCAP_ATTRIBUTES: [Attribute; 6] =
    [reads(TUN_IP_SRC), reads(TUN_IP_DST), reads(TUN_ID), writes(IP_SRC), writes(IP_DST), writes(IP_PROTO)];

static DECAP_ATTRIBUTES: [Attribute; 4] =
    [writes(TUN_IP_SRC), writes(TUN_IP_DST), writes(TUN_ID), writes(ETHER_TYPE)];

/// Where a tunnel's way in finds its ends and says what the IP header shall be.
pub(super) struct EncapSlots {
    tunnel_src: Slot<4>,
    tunnel_dst: Slot<4>,
    tunnel_id: Slot<4>,
    ip_src: Slot<4>,
    ip_dst: Slot<4>,
    protocol: Slot<1>,
}

impl EncapSlots {
    pub(super) const NOWHERE: Self = Self {
        tunnel_src: Slot::new(Place::Unwritten),
        tunnel_dst: Slot::new(Place::Unwritten),
        tunnel_id: Slot::new(Place::Unwritten),
        ip_src: Slot::new(Place::Unread),
        ip_dst: Slot::new(Place::Unread),
        protocol: Slot::new(Place::Unread),
    };

    pub(super) fn attributes() -> &'static [Attribute] {
        &ENCAP_ATTRIBUTES
    }

    pub(super) fn bind(&mut self, places: &[Place]) {
        if let [tunnel_src, tunnel_dst, tunnel_id, ip_src, ip_dst, protocol] = *places {
            *self = Self {
                tunnel_src: Slot::new(tunnel_src),
                tunnel_dst: Slot::new(tunnel_dst),
                tunnel_id: Slot::new(tunnel_id),
                ip_src: Slot::new(ip_src),
                ip_dst: Slot::new(ip_dst),
                protocol: Slot::new(protocol),
            };
        }
    }

    /// Puts `header_len` bytes in front of each frame, which `write` fills: it is given the frame with them and the
    /// tunnel's number.
    #[inline]
    pub(super) fn encap(
        &self,
        ctx: &mut Context<'_>,
        batch: &mut Batch,
        protocol: u8,
        header_len: usize,
        write: impl Fn(&mut [u8], u32),
    ) {
        let mut full = 0;
        for (n, frame) in batch.iter_mut().enumerate() {
            let (src, dst) = (self.tunnel_src.read(frame), self.tunnel_dst.read(frame));
            let id = self.tunnel_id.read_number(frame);
            self.ip_src.write(frame, src);
            self.ip_dst.write(frame, dst);
            self.protocol.write_number(frame, protocol);
            match frame.push_front(header_len) {
                Some(_) => write(frame.data_mut(), id),
                None => full |= 1 << n,
            }
        }
        emit_unmarked(ctx, batch, full, DropReason::TooLong);
    }
}

/// Where a tunnel's way out says who sent what, and what came out.
pub(super) struct DecapSlots {
    tunnel_src: Slot<4>,
    tunnel_dst: Slot<4>,
    tunnel_id: Slot<4>,
    ether_type: Slot<2>,
}

/// What a tunnel's own header says.
pub struct Inner {
    /// The tunnel's number.
    pub id: u32,
    /// EtherType of what is inside.
    pub ether_type: u16,
    /// Where it starts in the frame.
    pub start: usize,
}

impl DecapSlots {
    pub(super) const NOWHERE: Self = Self {
        tunnel_src: Slot::new(Place::Unread),
        tunnel_dst: Slot::new(Place::Unread),
        tunnel_id: Slot::new(Place::Unread),
        ether_type: Slot::new(Place::Unread),
    };

    pub(super) fn attributes() -> &'static [Attribute] {
        &DECAP_ATTRIBUTES
    }

    pub(super) fn bind(&mut self, places: &[Place]) {
        if let [tunnel_src, tunnel_dst, tunnel_id, ether_type] = *places {
            *self = Self {
                tunnel_src: Slot::new(tunnel_src),
                tunnel_dst: Slot::new(tunnel_dst),
                tunnel_id: Slot::new(tunnel_id),
                ether_type: Slot::new(ether_type),
            };
        }
    }

    /// Takes the outer headers of each frame away, and what is behind the outer packet. `read` is given the frame, and
    /// where the outer packet's payload starts and ends; what it does not know is dropped.
    #[inline]
    pub(super) fn decap(
        &self,
        ctx: &mut Context<'_>,
        batch: &mut Batch,
        protocol: u8,
        read: impl Fn(&[u8], usize) -> Option<Inner>,
    ) {
        let mut others = 0;
        for (n, frame) in batch.iter_mut().enumerate() {
            others |= u32::from(self.strip(frame, protocol, &read).is_none()) << n;
        }
        emit_unmarked(ctx, batch, others, DropReason::UnknownProtocol);
    }

    #[inline]
    fn strip(
        &self,
        frame: &mut Frame,
        protocol: u8,
        read: &impl Fn(&[u8], usize) -> Option<Inner>,
    ) -> Option<()> {
        let data = frame.data();
        let packet =
            Packet::find(data).filter(|packet| packet.protocol == protocol && !packet.is_fragment)?;
        let [a, b, c, d, e, f, g, h] = *data.get(packet.addresses)?.as_array()?;
        let outer = data.get(..packet.payload.end)?;
        let Inner { id, ether_type, start } = read(outer, packet.payload.start)?;
        frame.truncate(packet.payload.end);
        self.tunnel_src.write(frame, [a, b, c, d]);
        self.tunnel_dst.write(frame, [e, f, g, h]);
        self.tunnel_id.write_number(frame, id);
        self.ether_type.write_number(frame, ether_type);
        frame.pull_front(start).then_some(())
    }
}

/// Writes a UDP header to `port` in front of a tunnel's header of `header_len` bytes, without a checksum, as tunnels may
/// (RFC 6936). The source port is that of the flow inside, so that routers spread flows (RFC 7348 section 5).
#[inline]
pub(super) fn emit_udp(data: &mut [u8], header_len: usize, port: u16) {
    let hash = flow_hash(FlowHasher::new(0), Layer::L4, &data[UDP_LEN + header_len..]);
    let src_port = FLOW_PORT_MIN + share_of(hash, FLOW_PORT_COUNT) as u16;
    let len = data.len() as u16;
    data[..2].copy_from_slice(&src_port.to_be_bytes());
    data[2..4].copy_from_slice(&port.to_be_bytes());
    data[4..6].copy_from_slice(&len.to_be_bytes());
    data[6..8].fill(0);
}

/// The protocol under VXLAN and GENEVE.
pub(super) const OVER_UDP: u8 = PROTOCOL_UDP;
