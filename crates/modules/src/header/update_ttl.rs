//! Counts an IPv4 packet's time to live down by one, as a router does, and its checksum with it (RFC 1624).
//!
//! | | |
//! |---|---|
//! | gates | in: 0; out: 0 |
//! | parameters | none |
//! | counters | `expired` |
//! | dropped | packets whose time to live is 0 or 1 (`policy`) |
//! | other frames | not IPv4, or cut off within the header: pass unchanged |
//! | rate | 4.4 ns a frame of 60 bytes on one core, where source and sink take 2.5 (`tidegate-bench pipeline`) |

use crate::layers::{IPV4_LEN, ipv4};
use crate::steer::emit_unmarked;
use tidegate_base::{DropReason, checksum};
use tidegate_packet::Batch;
use tidegate_pipeline::{Context, GateCounts, Module};

/// The module.
#[derive(Default)]
pub struct UpdateTtl {
    expired_count: u64,
}

impl Module for UpdateTtl {
    fn class(&self) -> &'static str {
        "update_ttl"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::THROUGH
    }

    #[inline]
    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        let mut expired = 0;
        for (n, frame) in batch.iter_mut().enumerate() {
            expired |= u32::from(!count_down(frame.data_mut())) << n;
        }
        self.expired_count += u64::from(expired.count_ones());
        emit_unmarked(ctx, batch, expired, DropReason::Policy);
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("expired", self.expired_count)]
    }
}

/// False, with nothing changed, if the packet's time is over.
#[inline]
fn count_down(data: &mut [u8]) -> bool {
    let Some(range) = ipv4(data) else { return true };
    let Some(header) = data[range].first_chunk_mut::<IPV4_LEN>() else { return true };
    if header[8] <= 1 {
        return false;
    }
    let old = u16::from_be_bytes([header[8], header[9]]);
    let check = u16::from_be_bytes([header[10], header[11]]);
    header[8] -= 1;
    header[10..12].copy_from_slice(&checksum::update(check, old, old - 0x100).to_be_bytes());
    true
}
