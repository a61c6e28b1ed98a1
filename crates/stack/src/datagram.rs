//! A UDP datagram in the frame it came in, and what a service answers to it.
//!
//! ```text
//!   arrived    | scratch | ... link ip udp | payload = data() ................ tailroom |
//!   in place   | scratch | ... link ip udp | the answer, written over the request       |
//!   by frame   a fresh frame, or a ready one that a store lent: the payload, headroom before it
//! ```
//! The headers were checked once, by the stack, and stay before the payload: whoever asks for an address reads
//! it there, and the stack makes the answer's from them. So a service sees payloads only, and moves none that
//! it need not move.
//!
//! Invariant: the headers end where the payload begins, which never moves; a datagram's frame is of the pool
//! that the service is handed with it, and goes back there unless it becomes the answer.

use crate::link::{self, Link};
use crate::service::Payload;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use tidegate_base::{DropReason, Sum};
use tidegate_packet::Frame;
use tidegate_wire::udp::{self, UdpHeader};
use tidegate_wire::{FlowAddr, IpRepr};

/// The most datagrams a service is handed at a time.
pub const BURST_LEN_MAX: usize = tidegate_packet::BATCH_LEN_MAX;

/// What goes back to the peer.
#[derive(Default)]
pub enum Reply {
    /// Nothing; the service knows why, and has counted it if it was a loss.
    #[default]
    Silence,
    /// Nothing, and the stack counts it under this reason.
    Drop(DropReason),
    /// Nobody serves this port: an ICMP error that quotes the datagram, which must not have been changed.
    Refuse,
    /// The datagram's own frame, whose data the service has made the answer; its sum as though it began at an
    /// even offset.
    InPlace(Sum),
    /// Another frame: a fresh one or one lent by a store, with headroom for all headers.
    By(Payload),
}

/// A datagram that arrived, and the answer to it.
pub struct Datagram {
    /// What is sent back when the service returns. Whoever replaces a [`Reply::By`] owes the pool its frame.
    pub reply: Reply,
    pub(crate) frame: Frame,
    /// Bytes of the link header, and of all headers up to the payload.
    pub(crate) link_len: u16,
    pub(crate) header_len: u16,
    pub(crate) answer_len_max: u16,
}

impl Datagram {
    /// The payload.
    #[inline]
    pub fn data(&self) -> &[u8] {
        self.frame.data()
    }

    /// The payload, to be rewritten into the answer.
    #[inline]
    pub fn data_mut(&mut self) -> &mut [u8] {
        self.frame.data_mut()
    }

    /// Cuts the payload to `len` bytes; a longer `len` changes nothing.
    #[inline]
    pub fn truncate(&mut self, len: usize) {
        self.frame.truncate(len);
    }

    /// Makes the payload `n` bytes longer and returns those, to be written. `None`, with nothing changed, if
    /// the frame has not so much room.
    #[inline]
    pub fn push_back(&mut self, n: usize) -> Option<&mut [u8]> {
        self.frame.push_back(n)
    }

    /// Appends `bytes` to the payload. False, with nothing changed, if they do not fit.
    #[inline]
    pub fn extend(&mut self, bytes: &[u8]) -> bool {
        self.frame.extend(bytes)
    }

    /// Where it came from.
    pub fn peer(&self) -> SocketAddr {
        self.ends().0
    }

    /// Where it was sent to.
    pub fn local(&self) -> SocketAddr {
        self.ends().1
    }

    /// The port it was sent to.
    #[inline]
    pub fn local_port(&self) -> u16 {
        self.udp().map_or(0, UdpHeader::dst_port)
    }

    /// The ECN bits it arrived with (RFC 3168). An answer is never sent as ECN-capable: nothing here would
    /// slow down for a mark (RFC 8085 section 3.1.7).
    pub fn ecn(&self) -> u8 {
        self.ip().map_or(0, |ip| ip.ecn)
    }

    /// The neighbour and VLAN it came by; the answer goes back there.
    pub fn link(&self) -> Option<Link> {
        link::parse(self.headers()).ok().map(|header| header.link)
    }

    /// The longest payload that an answer may have without being fragmented, which this stack never does.
    #[inline]
    pub const fn answer_len_max(&self) -> usize {
        self.answer_len_max as usize
    }

    /// All headers, as they arrived.
    #[inline]
    pub(crate) fn headers(&self) -> &[u8] {
        self.frame.before(self.header_len.into()).unwrap_or_default()
    }

    /// The packet's header, read again.
    pub(crate) fn ip(&self) -> Option<IpRepr> {
        let packet = self.headers().get(self.link_len.into()..)?;
        IpRepr::parse_header(packet).ok()
    }

    #[inline]
    fn udp(&self) -> Option<&UdpHeader> {
        UdpHeader::view(self.frame.before(udp::HEADER_LEN)?)
    }

    fn ends(&self) -> (SocketAddr, SocketAddr) {
        let none = FlowAddr::from(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        let (src, dst) = self.ip().map_or((none, none), |ip| (ip.src, ip.dst));
        let (src_port, dst_port) = self.udp().map_or((0, 0), |udp| (udp.src_port(), udp.dst_port()));
        (SocketAddr::new(src.into(), src_port), SocketAddr::new(dst.into(), dst_port))
    }
}
