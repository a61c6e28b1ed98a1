//! Computes the IPv4 header's checksum, or verifies it. Behind up to two VLAN tags.
//!
//! | | |
//! |---|---|
//! | gates | in: 0; out: 0, and 1 what does not verify |
//! | parameters | `verify`: verify instead of compute |
//! | counters | `bad` |
//! | rate | 2.8 ns a frame of 60 bytes on one core (`make bench-pipeline`) |
//! | other frames | not IPv4, or cut off within the header: leave at gate 0, unchanged |

use crate::layers::{IPV4_LEN, PLAIN_LEN, ipv4, is_plain_ipv4};
use crate::steer::emit_two_ways;
use tidegate_base::Sum;
use tidegate_packet::Batch;
use tidegate_pipeline::{Context, GateCounts, Module};

/// The module.
pub struct IpChecksum {
    verify: bool,
    bad_count: u64,
}

impl IpChecksum {
    /// Verifies checksums, or computes them.
    pub const fn new(verify: bool) -> Self {
        Self { verify, bad_count: 0 }
    }

    fn verify(&mut self, ctx: &mut Context<'_>, batch: &mut Batch) {
        let mut bad = 0;
        for (n, frame) in batch.iter().enumerate() {
            let data = frame.data();
            let is_bad = ipv4(data).is_some_and(|header| !sum_of(&data[header]).is_valid());
            bad |= u32::from(is_bad) << n;
        }
        self.bad_count += u64::from(bad.count_ones());
        emit_two_ways(ctx, batch, bad);
    }
}

impl Module for IpChecksum {
    fn class(&self) -> &'static str {
        "ip_checksum"
    }

    fn gates(&self) -> GateCounts {
        GateCounts { inputs: 1, outputs: 2 }
    }

    #[inline]
    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        if self.verify {
            return self.verify(ctx, batch);
        }
        for frame in batch.iter_mut() {
            let data = frame.data_mut();
            match data.first_chunk_mut::<PLAIN_LEN>() {
                Some(headers) if is_plain_ipv4(headers) => {
                    headers.last_chunk_mut().into_iter().for_each(seal)
                }
                _ => seal_anywhere(data),
            }
        }
        ctx.emit_batch(0, batch);
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("bad", self.bad_count)]
    }
}

/// The sum of a header, checksum included. Nearly all have no options.
#[inline]
fn sum_of(header: &[u8]) -> Sum {
    match header.first_chunk::<IPV4_LEN>() {
        Some(fixed) if header.len() == IPV4_LEN => Sum::of(fixed),
        _ => Sum::of(header),
    }
}

/// Behind tags, with options, or no IPv4 at all.
#[inline(never)]
fn seal_anywhere(data: &mut [u8]) {
    let Some(range) = ipv4(data) else { return };
    let header = &mut data[range];
    if let Ok(fixed) = <&mut [u8; IPV4_LEN]>::try_from(&mut *header) {
        return seal(fixed);
    }
    let old = u16::from_be_bytes([header[10], header[11]]);
    let check = sum_of(header).without(Sum::of_u16(old)).finish();
    header[10..12].copy_from_slice(&check.to_be_bytes());
}

/// Writes the checksum of a header without options. The old one is left out of the sum rather than cleared in the header
/// first: a load right behind a smaller store would wait for it.
///
/// The sum is that of two words of 64 bits and the half between them, carries added, in memory's byte order, which it does
/// not mind (RFC 1071 section 2).
#[inline]
fn seal(header: &mut [u8; IPV4_LEN]) {
    let (Some(head), Some(tail)) = (header.first_chunk(), header.last_chunk()) else { return };
    let (sum, carry) = u64::from_ne_bytes(*head).overflowing_add(u64::from_ne_bytes(*tail));
    let between = u64::from(u16::from_ne_bytes([header[8], header[9]])) + u64::from(carry);
    let sum = (sum >> 32) + (sum & 0xffff_ffff) + between;
    let sum = (sum >> 16) + (sum & 0xffff);
    let sum = (sum >> 16) + (sum & 0xffff);
    let sum = (sum >> 16) + (sum & 0xffff);
    header[10..12].copy_from_slice(&(!(sum as u16)).to_ne_bytes());
}
