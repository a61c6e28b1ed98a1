//! Swaps the IP addresses, and the ports of TCP and UDP: the packet goes back to whom it came from. No checksum changes,
//! for the sums are over the same words. IPv4 and IPv6, behind up to two VLAN tags.
//!
//! | | |
//! |---|---|
//! | gates | in: 0; out: 0 |
//! | parameters | none |
//! | other frames | not IP, or cut off within the IP header: pass unchanged; fragments keep what is not their ports |
//! | rate | 4.2 ns a frame of 60 bytes on one core (`make bench-pipeline`) |

use crate::layers::Packet;
use tidegate_packet::Batch;
use tidegate_pipeline::{Context, GateCounts, Module};

const IPV6_ADDRESS_LEN: usize = 16;

/// The module.
#[derive(Default)]
pub struct IpSwap;

impl Module for IpSwap {
    fn class(&self) -> &'static str {
        "ip_swap"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::THROUGH
    }

    #[inline]
    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        for frame in batch.iter_mut() {
            swap(frame.data_mut());
        }
        ctx.emit_batch(0, batch);
    }
}

#[inline]
fn swap(data: &mut [u8]) {
    let Some(packet) = Packet::find(data) else { return };
    let addresses = &mut data[packet.addresses.clone()];
    match <&mut [u8; 8]>::try_from(&mut *addresses).ok() {
        Some(addresses) => *addresses = u64::from_ne_bytes(*addresses).rotate_left(32).to_ne_bytes(),
        None => addresses.rotate_left(IPV6_ADDRESS_LEN),
    }
    if let Some(ports) = packet.ports(data).and_then(|ports| data[ports].first_chunk_mut()) {
        *ports = u32::from_ne_bytes(*ports).rotate_left(16).to_ne_bytes();
    }
}
