//! Datagrams in, gathered; one call of the service for all; answers out.
//!
//! ```text
//!   on_batch:  frame frame frame ... -> burst of up to 32 -> Service::on_datagrams -> headers pushed -> Egress
//! ```
//! A service that answers from a large table meets a cache miss a datagram. Handed all of a batch at once, it
//! can start those misses together before it answers the first (Sandstorm paper, section 3.4.1, has what
//! batching is worth).

use crate::datagram::{BURST_LEN_MAX, Datagram, Reply, Route};
use crate::egress::Egress;
use crate::host::{self, Host};
use crate::link::LinkHeader;
use crate::service::{Payload, Service};
use crate::stack::{Stack, drop_reason};
use tidegate_base::{DropReason, Instant};
use tidegate_packet::Frame;
use tidegate_wire::{EtherType, FlowAddr, IpRepr, ipv6, udp};

/// A datagram's headers, read and found good, and where in the frame its payload is.
pub(crate) struct Arrival {
    route: Route,
    data_at: usize,
    data_len: usize,
}

impl Host {
    /// Reads the UDP header in `body`, the payload of the IP packet `packet` with header `ip`.
    #[inline]
    pub(crate) fn on_udp(
        &self,
        link: &LinkHeader,
        ip: &IpRepr,
        packet: &[u8],
        body: &[u8],
    ) -> Result<Arrival, DropReason> {
        let (header, data) = udp::UdpHeader::parse(body).map_err(drop_reason)?;
        if !self.interface.trusts_checksums() && !header.checksum_ok(ip, body) {
            return Err(DropReason::BadChecksum);
        }
        // RFC 768: a source port of zero is none, and nobody can be answered there.
        if header.src_port() == 0 {
            return Err(DropReason::MartianSource);
        }
        let header_len = ip_header_len(ip.dst, packet) + udp::HEADER_LEN;
        let route = Route {
            link: link.link,
            ip: *ip,
            src_port: header.src_port(),
            dst_port: header.dst_port(),
            header_len: header_len as u16,
            answer_len_max: (self.interface.mtu() - ip.header_len() - udp::HEADER_LEN) as u16,
        };
        Ok(Arrival { route, data_at: link.len + header_len, data_len: data.len() })
    }

    /// Sends `payload` back to where a datagram came from.
    #[inline]
    fn answer_datagram(
        &self,
        route: &Route,
        payload: Payload,
        out: &mut dyn Egress,
    ) -> Result<(), DropReason> {
        let Payload { mut frame, sum } = payload;
        let len = frame.len();
        let answer = host::answer_to(&route.ip);
        let kind = if answer.dst.is_ipv4() { EtherType::Ipv4 } else { EtherType::Ipv6 };
        let header_len = answer.header_len() + udp::HEADER_LEN;
        let fits = len <= usize::from(route.answer_len_max);
        let Some(headers) = fits.then(|| frame.push_front(header_len)).flatten() else {
            out.pool().free(frame);
            return Err(DropReason::TooLong);
        };
        let (ip_header, udp_header) = headers.split_at_mut(answer.header_len());
        answer.emit(udp::HEADER_LEN + len, ip_header);
        udp::UdpHeader::emit(&answer, route.dst_port, route.src_port, len, sum, udp_header);
        route.link.push_header(&mut frame, self.interface.mac(), kind);
        out.send(frame);
        Ok(())
    }

    /// Tells the sender of the datagram in `frame` that nobody serves its port.
    fn refuse_datagram(
        &mut self,
        now: Instant,
        route: &Route,
        frame: &mut Frame,
        out: &mut dyn Egress,
    ) -> Result<(), DropReason> {
        frame.push_front(usize::from(route.header_len));
        self.refuse_port(now, route.link, &route.ip, frame.data(), out)
    }
}

impl<S: Service> Stack<S> {
    /// Puts the datagram in `frame` with those that wait for the service, which is called when they make a
    /// whole burst.
    #[inline]
    pub(crate) fn gather(&mut self, now: Instant, mut frame: Frame, arrival: &Arrival, out: &mut dyn Egress) {
        frame.pull_front(arrival.data_at);
        frame.truncate(arrival.data_len);
        self.counters.rx_datagram_count += 1;
        self.burst.push(Datagram { reply: Reply::Silence, frame, route: arrival.route });
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
    fn conclude(&mut self, now: Instant, datagram: Datagram, out: &mut dyn Egress) -> Result<(), DropReason> {
        let Datagram { reply, mut frame, route } = datagram;
        let payload = match reply {
            Reply::InPlace(sum) => Payload { frame, sum },
            Reply::By(payload) => {
                out.pool().free(frame);
                payload
            }
            unanswered => {
                let outcome = match unanswered {
                    Reply::Drop(reason) => Err(reason),
                    Reply::Refuse => self.host.refuse_datagram(now, &route, &mut frame, out),
                    _ => Ok(()),
                };
                out.pool().free(frame);
                return outcome;
            }
        };
        self.host.answer_datagram(&route, payload, out)?;
        self.counters.tx_datagram_count += 1;
        Ok(())
    }
}

fn ip_header_len(dst: FlowAddr, packet: &[u8]) -> usize {
    match packet.first() {
        // RFC 791 section 3.1: the header's length in words, options included.
        Some(version_ihl) if dst.is_ipv4() => usize::from(version_ihl & 0xf) * 4,
        _ => ipv6::HEADER_LEN,
    }
}
