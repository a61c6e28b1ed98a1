//! Gives each frame that came in to whoever has the end of the flow that it is for.
//!
//! ```text
//!   tcp 10.0.0.5:443 -> gate 1      one or two lookups a frame, whatever the number of entries: the address, then every address
//!   udp 0.0.0.0:53   -> gate 2
//! ```
//! | | |
//! |---|---|
//! | gates | in: 0; out: any, as the table says |
//! | parameters | none |
//! | commands | the daemon sets and removes entries; no class of the control protocol: it stands before services and stacks only |
//! | counters | `entries`, `unclaimed` |
//! | dropped | frames for nobody: of no entry, fragments, other protocols, cut (`policy`) |
//!
//! An ICMP error goes to whom it quotes. The more specific entry wins, as in the XDP program, whose table says the same to the
//! kernel.

use crate::steer::{Gates, NO_GATE, emit_each};
use std::collections::HashMap;
use tidegate_base::FlowHasher;
use tidegate_packet::{BATCH_LEN_MAX, Batch};
use tidegate_pipeline::{Context, GateCounts, Module};
use tidegate_wire::ingress::{Destination, destination};

/// The module.
pub struct Demux {
    gates: HashMap<Destination, u16, FlowHasher>,
    unclaimed_count: u64,
}

impl Demux {
    /// One with no entries. `seed` is that of its table: draw it at random, for peers choose addresses.
    pub fn new(seed: u64) -> Self {
        Self { gates: HashMap::with_hasher(FlowHasher::new(seed)), unclaimed_count: 0 }
    }

    /// Leads frames for `end` out of `gate`; its address is unspecified for every one of its IP version.
    pub fn set(&mut self, end: Destination, gate: u16) {
        self.gates.insert(end, gate);
    }

    /// Drops frames for `end` from now on.
    pub fn remove(&mut self, end: &Destination) {
        self.gates.remove(end);
    }

    fn gate_of(&self, frame: &[u8]) -> Option<u16> {
        let end = destination(frame)?;
        self.gates.get(&end).or_else(|| self.gates.get(&end.any_address())).copied()
    }
}

impl Module for Demux {
    fn class(&self) -> &'static str {
        "demux"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::SPLIT
    }

    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        let mut gates: Gates = [NO_GATE; BATCH_LEN_MAX];
        for (frame, gate) in batch.iter().zip(&mut gates) {
            match self.gate_of(frame.data()) {
                Some(found) => *gate = found,
                None => self.unclaimed_count += 1,
            }
        }
        emit_each(ctx, batch, &gates);
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("entries", self.gates.len() as u64), ("unclaimed", self.unclaimed_count)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::{Rig, survives};
    use std::net::IpAddr;
    use tidegate_base::DropReason;
    use tidegate_wire::egress::Transport;

    const HERE: [u8; 4] = [10, 0, 0, 5];

    fn end(transport: Transport, address: impl Into<IpAddr>, port: u16) -> Destination {
        Destination { transport, address: address.into(), port }
    }

    /// A datagram or the head of a segment to 10.0.0.`host`.
    fn frame(protocol: u8, host: u8, port: u16) -> Vec<u8> {
        let mut frame = vec![2; 12];
        frame.extend([8, 0, 0x45, 0, 0, 40, 0, 0, 0, 0, 64, protocol, 0, 0, 192, 0, 2, 1, 10, 0, 0, host]);
        let [high, low] = port.to_be_bytes();
        frame.extend([0x9c, 0x40, high, low, 0, 20, 0, 0, 0, 0, 0, 0, 0x50, 0x10, 0, 0, 0, 0, 0, 0]);
        frame
    }

    /// TCP 10.0.0.5:443 to gate 1, UDP port 53 of every address to gate 2, but of 10.0.0.5 to gate 3.
    fn demux() -> Demux {
        let mut demux = Demux::new(7);
        demux.set(end(Transport::Tcp, HERE, 443), 1);
        demux.set(end(Transport::Udp, [0; 4], 53), 2);
        demux.set(end(Transport::Udp, HERE, 53), 3);
        demux
    }

    #[test]
    fn frames_go_to_whom_they_are_for_and_nowhere_else() {
        let mut rig = Rig::with_gates(demux(), 1, 4);
        assert_eq!(rig.gate_of(&frame(6, 5, 443)), Some(1));
        assert_eq!(rig.gate_of(&frame(17, 6, 53)), Some(2));
        assert_eq!(rig.gate_of(&frame(17, 5, 53)), Some(3));
        for stranger in [frame(6, 6, 443), frame(17, 5, 443), frame(6, 5, 53), frame(1, 5, 53), vec![2; 60]] {
            assert_eq!(rig.gate_of(&stranger), None, "{stranger:02x?}");
        }
        assert_eq!((rig.counter("unclaimed"), rig.drops(DropReason::Policy)), (5, 5));
        rig.module::<Demux>().remove(&end(Transport::Udp, HERE, 53));
        assert_eq!(rig.gate_of(&frame(17, 5, 53)), Some(2), "every address is left");
        rig.retire();
    }

    #[test]
    fn a_batch_for_several_is_parted_in_order() {
        let mut rig = Rig::with_gates(demux(), 1, 4);
        let frames: Vec<Vec<u8>> =
            (0..32).map(|n| if n % 2 == 0 { frame(6, 5, 443) } else { frame(17, n, 53) }).collect();
        let frames: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
        let seen = rig.pass_into(0, &frames);
        assert_eq!(seen.iter().filter(|(gate, _)| *gate == 1).count(), 16);
        let hosts: Vec<u8> = seen.iter().filter(|(gate, _)| *gate == 2).map(|(_, data)| data[33]).collect();
        assert!(hosts.is_sorted() && hosts.len() == 15, "{hosts:?}");
        rig.retire();
    }

    #[test]
    fn garbage_is_survived() {
        survives(demux(), 0);
    }
}
