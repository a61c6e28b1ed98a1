//! Swaps the Ethernet addresses: the frame goes back to the station that it came from.
//!
//! | | |
//! |---|---|
//! | gates | in: 0; out: 0 |
//! | parameters | none |
//! | short frames | of fewer than 12 bytes pass unchanged |
//! | rate | 2.6 ns a frame of 60 bytes on one core, where source and sink take 2.5 (`tidegate-bench pipeline`) |

use tidegate_packet::Batch;
use tidegate_pipeline::{Context, GateCounts, Module};

/// The module.
#[derive(Default)]
pub struct MacSwap;

impl Module for MacSwap {
    fn class(&self) -> &'static str {
        "mac_swap"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::THROUGH
    }

    #[inline]
    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        for frame in batch.iter_mut() {
            if let Some(addresses) = frame.data_mut().first_chunk_mut() {
                swap(addresses);
            }
        }
        ctx.emit_batch(0, batch);
    }
}

/// Swaps two addresses as one word of eight bytes and one of four.
#[inline]
fn swap(addresses: &mut [u8; 12]) {
    const ADDRESS: u64 = 0xffff_ffff_ffff;
    let [a, b, c, d, e, f, g, h, i, j, k, l] = *addresses;
    let head = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
    let tail = u32::from_le_bytes([i, j, k, l]);
    let second = head >> 48 | u64::from(tail) << 16;
    let first = head & ADDRESS;
    addresses[..8].copy_from_slice(&(second | first << 48).to_le_bytes());
    addresses[8..].copy_from_slice(&((first >> 16) as u32).to_le_bytes());
}
