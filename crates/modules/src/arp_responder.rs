//! Answers ARP requests (RFC 826) for the addresses it is given, and learns who sends ARP.
//!
//! ```text
//!   request: who has 10.0.0.1? tell 10.0.0.9 ---> 10.0.0.1 is ours ---> the same frame, as the reply
//! ```
//! | | |
//! |---|---|
//! | gates | in: 0; out: 0, replies |
//! | parameters | whether it answers for what it has learned, too |
//! | commands | `add`; `neighbour` and `neighbours` show what it has learned |
//! | counters | `answered`, `learned` |
//! | dropped | what is not ARP, or cut off (`malformed`); requests for others, and replies (`policy`) |
//! | rate | 20.0 ns a frame of 60 bytes on one core (`make bench-pipeline`) |
//!
//! It learns from senders of requests and replies, up to 4,096 of them; who sends again with another link address has
//! moved.

use crate::layers::ETHER_LEN;
use std::collections::HashMap;
use std::net::Ipv4Addr;
use tidegate_base::{DropReason, FlowHasher};
use tidegate_packet::{Batch, Frame};
use tidegate_pipeline::{Context, GateCounts, Module};
use tidegate_wire::arp::{ArpRepr, Operation};
use tidegate_wire::{EtherType, EthernetHeader, MacAddr};

use crate::parameter::ParameterError;

/// Neighbours that are learned, at most.
const NEIGHBOUR_COUNT_MAX: usize = 4096;

/// The module.
pub struct ArpResponder {
    ours: HashMap<Ipv4Addr, MacAddr, FlowHasher>,
    neighbours: HashMap<Ipv4Addr, MacAddr, FlowHasher>,
    answers_for_neighbours: bool,
    answered_count: u64,
}

impl ArpResponder {
    /// Answers for nobody yet. `seed` is that of its tables: draw it at random, for peers choose addresses.
    pub fn new(answers_for_neighbours: bool, seed: u64) -> Self {
        let hasher = FlowHasher::new(seed);
        Self {
            ours: HashMap::with_hasher(hasher),
            neighbours: HashMap::with_capacity_and_hasher(NEIGHBOUR_COUNT_MAX, hasher),
            answers_for_neighbours,
            answered_count: 0,
        }
    }

    /// Answers for `ip` with `mac` from now on.
    pub fn add(&mut self, ip: Ipv4Addr, mac: MacAddr) -> Result<(), ParameterError> {
        if mac.is_group() {
            let given = mac.to_string();
            return Err(ParameterError::Unknown {
                what: "address of one station",
                given,
                known: "addresses whose first byte is even",
            });
        }
        self.ours.insert(ip, mac);
        Ok(())
    }

    /// The link address that was last seen with `ip`.
    pub fn neighbour(&self, ip: Ipv4Addr) -> Option<MacAddr> {
        self.neighbours.get(&ip).copied()
    }

    /// All that it has learned, in no order.
    pub fn neighbours(&self) -> impl Iterator<Item = (Ipv4Addr, MacAddr)> {
        self.neighbours.iter().map(|(ip, mac)| (*ip, *mac))
    }

    /// Makes a request the reply to it, or says why there is none.
    fn answer(&mut self, frame: &mut Frame) -> Result<(), DropReason> {
        let request = parse(frame.data()).ok_or(DropReason::Malformed)?;
        self.learn(&request);
        let mac = self.mac_of(request.target_ip).filter(|_| request.operation == Operation::Request);
        let mac = mac.ok_or(DropReason::Policy)?;
        let reply = ArpRepr {
            operation: Operation::Reply,
            sender_mac: mac,
            sender_ip: request.target_ip,
            target_mac: request.sender_mac,
            target_ip: request.sender_ip,
        };
        let data = frame.data_mut();
        data[..6].copy_from_slice(&request.sender_mac.0);
        data[6..12].copy_from_slice(&mac.0);
        reply.emit(&mut data[ETHER_LEN..]);
        self.answered_count += 1;
        Ok(())
    }

    fn mac_of(&self, ip: Ipv4Addr) -> Option<MacAddr> {
        let learned = || self.neighbours.get(&ip).filter(|_| self.answers_for_neighbours);
        self.ours.get(&ip).or_else(learned).copied()
    }

    /// Not of probes, whose sender has no address yet (RFC 5227), nor of who claims ours.
    fn learn(&mut self, packet: &ArpRepr) {
        let (ip, mac) = (packet.sender_ip, packet.sender_mac);
        let is_known = self.neighbours.contains_key(&ip);
        let is_welcome = !ip.is_unspecified() && !mac.is_group() && !self.ours.contains_key(&ip);
        if is_welcome && (is_known || self.neighbours.len() < NEIGHBOUR_COUNT_MAX) {
            self.neighbours.insert(ip, mac);
        }
    }
}

fn parse(data: &[u8]) -> Option<ArpRepr> {
    let (header, packet) = EthernetHeader::parse(data).ok()?;
    if header.ether_type() != EtherType::Arp {
        return None;
    }
    ArpRepr::parse(packet).ok()
}

impl Module for ArpResponder {
    fn class(&self) -> &'static str {
        "arp_responder"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::THROUGH
    }

    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        for mut frame in batch.drain() {
            match self.answer(&mut frame) {
                Ok(()) => ctx.emit(0, frame),
                Err(why) => ctx.drop(frame, why),
            }
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("answered", self.answered_count), ("learned", self.neighbours.len() as u64)]
    }
}
