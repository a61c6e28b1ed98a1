//! Datagrams in, gathered; one call of the service for all; answers out.
//!
//! ```text
//!   on_batch:  frame frame frame ... -> burst of up to 32 -> Service::on_datagrams -> headers pushed -> Egress
//! ```
//! A service that answers from a large table meets a cache miss a datagram. Handed all of a batch at once, it
//! can start those misses together before it answers the first (Sandstorm paper, section 3.4.1, has what
//! batching is worth).

use crate::datagram::{BURST_LEN_MAX, Datagram, Reply};
use crate::egress::Egress;
use crate::host::{self, HOP_LIMIT, Host};
use crate::interface::Interface;
use crate::link::{self, Link};
use crate::service::{Payload, Service};
use crate::stack::{Stack, drop_reason};
use std::net::SocketAddr;
use tidegate_base::{DropReason, Instant, Sum};
use tidegate_packet::Frame;
use tidegate_wire::ipv4::Ipv4Header;
use tidegate_wire::ipv6::Ipv6Header;
use tidegate_wire::udp::{self, UdpHeader};
use tidegate_wire::{EtherType, FlowAddr, IpRepr, Protocol};
use zerocopy::IntoBytes;

/// Where in a frame a datagram is that was found good.
#[derive(Clone, Copy)]
pub(crate) struct Arrival {
    link_len: u16,
    data_at: u16,
    data_len: u16,
    answer_len_max: u16,
}

impl Arrival {
    /// Reads the UDP header in `body`, the payload of an IP packet with header `ip` that begins behind
    /// `link_len` bytes and has `ip_header_len` bytes of header.
    #[inline]
    pub(crate) fn read(
        interface: &Interface,
        link_len: usize,
        ip_header_len: usize,
        ip: &IpRepr,
        body: &[u8],
    ) -> Result<Self, DropReason> {
        let (header, data) = UdpHeader::parse(body).map_err(drop_reason)?;
        if !interface.trusts_checksums() && !header.checksum_ok(ip, body) {
            return Err(DropReason::BadChecksum);
        }
        // RFC 768: a source port of zero is none, and nobody can be answered there.
        if header.src_port() == 0 {
            return Err(DropReason::MartianSource);
        }
        Ok(Self {
            link_len: link_len as u16,
            data_at: (link_len + ip_header_len + udp::HEADER_LEN) as u16,
            data_len: data.len() as u16,
            answer_len_max: (interface.mtu() - ip.header_len() - udp::HEADER_LEN) as u16,
        })
    }
}

/// The IP header that a datagram came with.
#[derive(Clone, Copy)]
enum IpHeader {
    V4(Ipv4Header),
    V6(Ipv6Header),
}

/// What the headers of an answer are made from: those of its request, without IP options.
#[derive(Clone, Copy)]
struct Envelope {
    link: Link,
    ip: IpHeader,
    udp: UdpHeader,
}

impl Envelope {
    #[inline]
    fn of(datagram: &Datagram) -> Option<Self> {
        let headers = datagram.headers();
        let link = link::parse(headers).ok()?;
        let (packet, udp) = headers.get(link.len..)?.split_last_chunk::<{ udp::HEADER_LEN }>()?;
        let ip = match link.kind {
            EtherType::Ipv4 => IpHeader::V4(*Ipv4Header::view(packet).ok()?),
            _ => IpHeader::V6(*Ipv6Header::view(packet).ok()?),
        };
        Some(Self { link: link.link, ip, udp: *UdpHeader::view(udp)? })
    }

    /// Pushes the headers of an answer before its payload in `frame`, whose sum this is. False, with the frame
    /// spoilt, if there is no headroom.
    #[inline]
    fn push_headers(&self, interface: &Interface, frame: &mut Frame, sum: Sum) -> bool {
        let len = frame.len();
        match &self.ip {
            IpHeader::V4(ip) => {
                let sum = sum + ip.pseudo_header_sum(udp::HEADER_LEN + len);
                push(frame, &ip.answer(HOP_LIMIT, udp::HEADER_LEN + len), &self.udp.answer(len, sum))
                    && self.link.push_header(frame, interface.mac(), EtherType::Ipv4)
            }
            IpHeader::V6(ip) => {
                let sum = sum + ip.pseudo_header_sum(udp::HEADER_LEN + len);
                push(frame, &ip.answer(HOP_LIMIT, udp::HEADER_LEN + len), &self.udp.answer(len, sum))
                    && self.link.push_header(frame, interface.mac(), EtherType::Ipv6)
            }
        }
    }
}

#[inline]
fn push<H: IntoBytes + zerocopy::Immutable>(frame: &mut Frame, ip: &H, udp: &UdpHeader) -> bool {
    let Some(headers) = frame.push_front(size_of::<H>() + udp::HEADER_LEN) else { return false };
    let (ip_room, udp_room) = headers.split_at_mut(size_of::<H>());
    ip_room.copy_from_slice(ip.as_bytes());
    udp_room.copy_from_slice(udp.as_bytes());
    true
}

impl Host {
    /// Sends `payload` back to where the datagram with `envelope` came from.
    #[inline]
    fn answer_datagram(
        &self,
        envelope: Option<Envelope>,
        len_max: usize,
        payload: Payload,
        out: &mut dyn Egress,
    ) -> Result<(), DropReason> {
        let Payload { mut frame, sum } = payload;
        let fits = frame.len() <= len_max;
        if !fits || !envelope.is_some_and(|e| e.push_headers(&self.interface, &mut frame, sum)) {
            out.pool().free(frame);
            return Err(DropReason::TooLong);
        }
        out.send(frame);
        Ok(())
    }

    /// Tells the sender of `datagram` that nobody serves its port.
    #[cold]
    fn refuse_datagram(
        &mut self,
        now: Instant,
        datagram: &mut Datagram,
        out: &mut dyn Egress,
    ) -> Result<(), DropReason> {
        let (Some(link), Some(ip)) = (datagram.link(), datagram.ip()) else {
            return Err(DropReason::Malformed);
        };
        datagram.frame.push_front((datagram.header_len - datagram.link_len).into());
        self.refuse_port(now, link, &ip, datagram.frame.data(), out)
    }
}

impl<S: Service> Stack<S> {
    /// Sends a datagram that answers none, by `link` if the caller knows where its receiver is. [`DropReason::NoNeighbour`]:
    /// the link was asked for the receiver, so try again; any other reason is final, or [`DropReason::RingFull`] and
    /// [`DropReason::NoFrame`] for now.
    pub fn send_datagram(
        &mut self,
        local: SocketAddr,
        remote: SocketAddr,
        link: Option<Link>,
        data: &[u8],
        out: &mut dyn Egress,
    ) -> Result<(), DropReason> {
        let (src, dst) = (FlowAddr::from(local.ip()), FlowAddr::from(remote.ip()));
        if !self.host.interface.has(src) || src.is_ipv4() != dst.is_ipv4() {
            return Err(DropReason::NotOurAddress);
        }
        let known = link.or_else(|| self.host.neighbours.find(dst).map(|peer| Link { peer, vlan: None }));
        let Some(link) = known else {
            self.host.neighbours.expect(dst);
            self.host.solicit(src, dst, out)?;
            return Err(DropReason::NoNeighbour);
        };
        let ip = IpRepr { src, dst, protocol: Protocol::Udp, hop_limit: HOP_LIMIT, ecn: 0 };
        let len = udp::HEADER_LEN + data.len();
        host::send_ip(&self.host.interface, link, &ip, len, out, |datagram| {
            datagram[udp::HEADER_LEN..].copy_from_slice(data);
            UdpHeader::emit(&ip, local.port(), remote.port(), data.len(), Sum::of(data), datagram);
        })?;
        self.counters.tx_datagram_count += 1;
        Ok(())
    }

    /// Puts the datagram in `frame` with those that wait for the service, which is called when they make a
    /// whole burst.
    #[inline]
    pub(crate) fn gather(&mut self, now: Instant, mut frame: Frame, arrival: Arrival, out: &mut dyn Egress) {
        let Arrival { link_len, data_at, data_len, answer_len_max } = arrival;
        frame.pull_front(data_at.into());
        frame.truncate(data_len.into());
        self.counters.rx_datagram_count += 1;
        self.burst.push(Datagram {
            reply: Reply::Silence,
            frame,
            link_len,
            header_len: data_at,
            answer_len_max,
        });
        if self.burst.len() >= BURST_LEN_MAX {
            self.answer_burst(now, out);
        }
    }

    /// Has the service answer the datagrams gathered so far.
    pub(crate) fn answer_burst(&mut self, now: Instant, out: &mut dyn Egress) {
        if self.burst.is_empty() {
            return;
        }
        let mut burst = std::mem::take(&mut self.burst);
        let room = out.room().min(burst.len());
        // No answer is built that the transmit ring has no room for.
        for late in burst.drain(room..) {
            self.drops.count(DropReason::RingFull);
            out.pool().free(late.frame);
        }
        self.service.on_datagrams(now, &mut burst, out.pool());
        for datagram in burst.drain(..) {
            if let Err(reason) = self.conclude(now, datagram, out) {
                self.drops.count(reason);
            }
        }
        // Emptied, it keeps its capacity for the next burst.
        self.burst = burst;
    }

    #[inline]
    fn conclude(
        &mut self,
        now: Instant,
        mut datagram: Datagram,
        out: &mut dyn Egress,
    ) -> Result<(), DropReason> {
        let (envelope, len_max) = (Envelope::of(&datagram), datagram.answer_len_max());
        let payload = match std::mem::take(&mut datagram.reply) {
            Reply::InPlace(sum) => Payload { frame: datagram.frame, sum },
            Reply::By(payload) => {
                out.pool().free(datagram.frame);
                payload
            }
            unanswered => {
                let outcome = match unanswered {
                    Reply::Drop(reason) => Err(reason),
                    Reply::Refuse => self.host.refuse_datagram(now, &mut datagram, out),
                    _ => Ok(()),
                };
                out.pool().free(datagram.frame);
                return outcome;
            }
        };
        self.host.answer_datagram(envelope, len_max, payload, out)?;
        self.counters.tx_datagram_count += 1;
        Ok(())
    }
}
