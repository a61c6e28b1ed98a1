//! Sending the frames of one batch to several gates. As long as all go one way the batch goes whole.

use tidegate_base::DropReason;
use tidegate_packet::{BATCH_LEN_MAX, Batch};
use tidegate_pipeline::Context;

/// One bit a frame of a batch, the first in bit 0.
pub(crate) type Marks = u32;

const _: () = assert!(Marks::BITS as usize == BATCH_LEN_MAX);

/// The gate of each frame of a batch; [`NO_GATE`] drops it, by policy.
pub(crate) type Gates = [u16; BATCH_LEN_MAX];

/// For a frame that goes nowhere: no module has so many gates.
pub(crate) const NO_GATE: u16 = u16::MAX;

/// Sends marked frames out of gate 1, the others of gate 0.
#[inline]
pub(crate) fn emit_two_ways(ctx: &mut Context<'_>, batch: &mut Batch, marks: Marks) {
    if marks == 0 {
        return ctx.emit_batch(0, batch);
    }
    for (n, frame) in batch.drain().enumerate() {
        ctx.emit((marks >> n & 1) as usize, frame);
    }
}

/// Drops marked frames, and sends the others out of gate 0.
#[inline]
pub(crate) fn emit_unmarked(ctx: &mut Context<'_>, batch: &mut Batch, marks: Marks, why: DropReason) {
    if marks == 0 {
        return ctx.emit_batch(0, batch);
    }
    for (n, frame) in batch.drain().enumerate() {
        if marks >> n & 1 == 0 { ctx.emit(0, frame) } else { ctx.drop(frame, why) }
    }
}

/// Sends each frame out of its own gate, those of one gate together: for gates that a frame's headers decide, so that
/// the order within a flow stays.
#[inline]
pub(crate) fn emit_each(ctx: &mut Context<'_>, batch: &mut Batch, gates: &Gates) {
    if is_one_way(&gates[..batch.len()]) {
        ctx.emit_batch(usize::from(gates[0]), batch);
    } else {
        ctx.emit_each(batch, gates);
    }
}

/// Sends each frame out of its own gate, in order of arrival, even where gates lead to one module.
#[inline]
pub(crate) fn emit_in_order(ctx: &mut Context<'_>, batch: &mut Batch, gates: &Gates) {
    if is_one_way(&gates[..batch.len()]) {
        return ctx.emit_batch(usize::from(gates[0]), batch);
    }
    for (frame, gate) in batch.drain().zip(gates) {
        ctx.emit(usize::from(*gate), frame);
    }
}

#[inline]
fn is_one_way(gates: &[u16]) -> bool {
    gates.iter().all(|gate| Some(gate) == gates.first())
}
