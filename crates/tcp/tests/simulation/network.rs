//! The path between the hosts: a queue of packets by arrival, and what goes wrong on it.

use crate::scenario::NetworkFaults;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tidegate_base::{Duration, Instant, Rng, Sum};
use tidegate_wire::{FlowAddr, IpRepr, Protocol, TcpFlags, TcpPacket, TcpRepr};

/// A packet on its way: the TCP segment's bytes and the ECN field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Packet {
    pub(crate) to: usize,
    pub(crate) ecn: u8,
    pub(crate) bytes: Vec<u8>,
}

/// What a host learns when a segment did not pass.
pub(crate) struct TooBig {
    pub(crate) mss: u16,
}

pub(crate) struct Network {
    faults: NetworkFaults,
    packets: BinaryHeap<Reverse<(Instant, u64, Packet)>>,
    count: u64,
}

/// The pseudo header of packets to host `to`.
pub(crate) fn ip_to(to: usize) -> IpRepr {
    let address = |host: usize| FlowAddr::from(std::net::IpAddr::from([10, 0, 0, 1 + host as u8]));
    IpRepr { src: address(1 - to), dst: address(to), protocol: Protocol::Tcp, hop_limit: 64, ecn: 0 }
}

/// A segment as bytes, checksum included.
pub(crate) fn emit(to: usize, repr: &TcpRepr, payload: &[u8]) -> Vec<u8> {
    let header_len = repr.header_len();
    let covered = ip_to(to).pseudo_header_sum(header_len + payload.len()) + Sum::of(payload);
    let mut bytes = vec![0; header_len];
    repr.emit(covered, &mut bytes);
    bytes.extend_from_slice(payload);
    bytes
}

impl Network {
    pub(crate) fn new(faults: NetworkFaults) -> Self {
        Self { faults, packets: BinaryHeap::new(), count: 0 }
    }

    pub(crate) fn next_arrival(&self) -> Option<Instant> {
        self.packets.peek().map(|Reverse((at, ..))| *at)
    }

    pub(crate) fn arrive(&mut self, now: Instant) -> Option<Packet> {
        if self.next_arrival()? > now {
            return None;
        }
        self.packets.pop().map(|Reverse((.., packet))| packet)
    }

    /// Takes a packet from a host; tells it if the packet was too big.
    pub(crate) fn send(
        &mut self,
        now: Instant,
        rng: &mut Rng,
        mut packet: Packet,
        is_ack: bool,
    ) -> Option<TooBig> {
        let faults = self.faults.clone();
        if faults.dead_from.is_some_and(|from| now >= from) {
            return None;
        }
        if let Some(mss) = faults.path_mss
            && packet.bytes.len() > usize::from(mss) + 20
        {
            return (!faults.is_black_hole).then_some(TooBig { mss });
        }
        let is_full = faults.queue_len > 0 && self.packets.len() >= faults.queue_len;
        if is_full || rng.chance(faults.loss) || is_ack && rng.chance(faults.ack_loss) {
            return None;
        }
        if rng.chance(faults.corrupt) {
            // A single bit: the checksum finds every such change.
            let bit = rng.below(packet.bytes.len() as u64 * 8) as usize;
            packet.bytes[bit / 8] ^= 1 << (bit % 8);
        }
        if packet.ecn != 0 && rng.chance(faults.mark) {
            packet.ecn = 3;
        }
        for _ in 0..1 + u32::from(rng.chance(faults.duplicate)) {
            let at = self.arrival(now, rng);
            self.inject(at, packet.clone());
        }
        None
    }

    /// Puts a packet onto the path as it is.
    pub(crate) fn inject(&mut self, at: Instant, packet: Packet) {
        self.count += 1;
        self.packets.push(Reverse((at, self.count, packet)));
    }

    fn arrival(&self, now: Instant, rng: &mut Rng) -> Instant {
        let faults = &self.faults;
        let mut delay_us = faults.delay_us + rng.below(faults.jitter_us + 1);
        if rng.chance(faults.reorder) {
            delay_us += rng.below(faults.delay_us + 1000);
        }
        if rng.chance(faults.spike) {
            delay_us += 200_000 + rng.below(2_000_000);
        }
        let at = now + Duration::from_micros(delay_us);
        if faults.batch_us == 0 {
            return at;
        }
        let step = faults.batch_us * 1000;
        Instant::from_nanos(at.as_nanos().div_ceil(step) * step)
    }
}

/// A line for the trace.
pub(crate) fn describe(packet: &Packet) -> String {
    let Ok(tcp) = TcpPacket::parse(&packet.bytes) else { return "unreadable".into() };
    let repr = tcp.repr();
    format!(
        "-> {} {:?} seq {} ack {} len {} win {} {:?}{}",
        packet.to,
        repr.flags,
        repr.seq.0,
        repr.ack.0,
        tcp.payload().len(),
        repr.window,
        repr.options.sack.as_slice(),
        if tcp.checksum_ok(&ip_to(packet.to)) { "" } else { " corrupt" }
    )
}

/// Whether a segment is nothing but an acknowledgement.
pub(crate) fn is_bare_ack(repr: &TcpRepr, payload_len: usize) -> bool {
    repr.flags == TcpFlags::ACK && payload_len == 0
}
