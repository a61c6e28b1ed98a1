//! `vlan_split`: steers each frame to the output gate that has its VLAN's number, and takes the outer tag away.
//!
//! | | |
//! |---|---|
//! | gates | in: 0; out: 0 to 4,095; 0 has what is without a tag, or cut off within it, too |
//! | parameters | none |
//! | rate | 1.5 ns a frame of 60 bytes on one core (`make bench-pipeline`) |

use crate::header::pop_tag;
use crate::steer::{Gates, emit_each};
use tidegate_packet::{BATCH_LEN_MAX, Batch};
use tidegate_pipeline::{Context, GateCounts, Module};

/// VLANs that there are (802.1Q), and the bits that number them.
const VLAN_COUNT: usize = 4096;
const VLAN_MASK: u16 = 0xfff;

/// The module.
#[derive(Default)]
pub struct VlanSplit;

impl Module for VlanSplit {
    fn class(&self) -> &'static str {
        "vlan_split"
    }

    fn gates(&self) -> GateCounts {
        GateCounts { inputs: 1, outputs: VLAN_COUNT }
    }

    #[inline]
    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        let mut gates: Gates = [0; BATCH_LEN_MAX];
        for (gate, frame) in gates.iter_mut().zip(batch.iter_mut()) {
            *gate = pop_tag(frame).unwrap_or(0) & VLAN_MASK;
        }
        emit_each(ctx, batch, &gates);
    }
}
