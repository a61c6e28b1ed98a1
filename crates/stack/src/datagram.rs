//! A UDP datagram in the frame it came in, and what a service answers to it.
//!
//! ```text
//!   arrived    | scratch | ... link ip udp | payload = data() ................ tailroom |
//!   in place   | scratch | ... link ip udp | the answer, written over the request       |
//!   by frame   a fresh frame, or a ready one that a store lent: the payload, headroom before it
//! ```
//! The headers were read once, by the stack; the stack also pushes those of the answer, in front of whatever
//! the frame then holds. So a service sees payloads only, and moves none that it need not move.
//!
//! Invariant: a datagram's frame is of the pool that the service is handed with it, and goes back there unless
//! it becomes the answer.

use crate::link::Link;
use crate::service::Payload;
use std::net::SocketAddr;
use tidegate_base::{DropReason, Sum};
use tidegate_packet::Frame;
use tidegate_wire::IpRepr;

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
    /// What is sent back when the service returns. Whoever replaces an [`Reply::By`] owes the pool its frame.
    pub reply: Reply,
    pub(crate) frame: Frame,
    pub(crate) route: Route,
}

/// A datagram's headers, as far as the answer depends on them.
#[derive(Clone, Copy)]
pub(crate) struct Route {
    pub(crate) link: Link,
    pub(crate) ip: IpRepr,
    pub(crate) src_port: u16,
    pub(crate) dst_port: u16,
    /// Bytes before the payload, from the IP header on.
    pub(crate) header_len: u16,
    pub(crate) answer_len_max: u16,
}

impl Datagram {
    /// The payload.
    #[inline]
    pub fn data(&self) -> &[u8] {
        self.frame.data()
    }

    /// The frame, its data the payload, to be rewritten into the answer.
    #[inline]
    pub fn frame_mut(&mut self) -> &mut Frame {
        &mut self.frame
    }

    /// Where it came from.
    pub fn peer(&self) -> SocketAddr {
        SocketAddr::new(self.route.ip.src.into(), self.route.src_port)
    }

    /// Where it was sent to.
    pub fn local(&self) -> SocketAddr {
        SocketAddr::new(self.route.ip.dst.into(), self.route.dst_port)
    }

    /// The port it was sent to.
    #[inline]
    pub const fn local_port(&self) -> u16 {
        self.route.dst_port
    }

    /// The ECN bits it arrived with (RFC 3168). An answer is never sent as ECN-capable: nothing here would
    /// slow down for a mark (RFC 8085 section 3.1.7).
    pub const fn ecn(&self) -> u8 {
        self.route.ip.ecn
    }

    /// The neighbour and VLAN it came by; the answer goes back there.
    pub const fn link(&self) -> Link {
        self.route.link
    }

    /// The longest payload that an answer may have without being fragmented, which this stack never does.
    #[inline]
    pub const fn answer_len_max(&self) -> usize {
        self.route.answer_len_max as usize
    }

    /// Makes the frame's data, as it is now, the answer.
    #[inline]
    pub fn answer_in_place(&mut self) {
        self.reply = Reply::InPlace(Sum::of(self.frame.data()));
    }
}
