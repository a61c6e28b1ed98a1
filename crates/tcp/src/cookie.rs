//! SYN cookies (RFC 4987 section 3.6): a SYN-ACK that needs no memory, and the proof in its
//! acknowledgement that it was answered.
//!
//! ```text
//!  initial sequence number  | slot: 5 | mss: 3 |            MAC: 24                |
//!  timestamp value          |              clock: 26             |E|S| shift: 4 |
//! ```
//!
//! A slot is 64 s; a cookie is good in its own slot and the next. Window scale, SACK and ECN ride in
//! the low bits of our timestamp, if the peer offers timestamps; else the connection does without.
//!
//! Invariant: nothing here changes; a cookie is checked from the segment and the key alone.

use crate::Config;
use core::hash::Hash;
use tidegate_base::{HashKey, Instant, SeqNumber};
use tidegate_wire::{TcpFlags, TcpOptions, TcpRepr, Timestamps};

/// The segment sizes that three bits name.
const MSS: [u16; 8] = [216, 536, 1024, 1220, 1360, 1440, 1460, 8960];
const SLOT_SECS: u64 = 64;
const SLOT_MASK: u64 = 0x1f;
const MAC_MASK: u32 = 0x00ff_ffff;
/// Low bits of the timestamp that hold options.
const OPTION_BITS: u32 = 6;
const OPTION_MASK: u32 = (1 << OPTION_BITS) - 1;
const SHIFT_MASK: u32 = 0xf;
/// A window scale above the 14 that RFC 7323 allows: none was offered.
const SHIFT_NONE: u32 = 0xf;
const SACK_BIT: u32 = 1 << 4;
const ECN_BIT: u32 = 1 << 5;

/// What a cookie says about the SYN that it answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CookieOptions {
    /// The peer's MSS, rounded down to one of eight.
    pub mss: u16,
    /// The peer's window scale.
    pub window_scale: Option<u8>,
    /// The peer permits SACK.
    pub sack: bool,
    /// ECN was negotiated.
    pub ecn: bool,
}

/// Makes and checks cookies under a secret.
#[derive(Clone, Copy)]
pub struct CookieJar {
    key: HashKey,
}

impl CookieJar {
    /// A jar under a key that the caller drew at random, other than that of the sequence numbers.
    pub const fn new(key: HashKey) -> Self {
        Self { key }
    }

    /// The SYN-ACK for `syn`, ports swapped. `flow` is both addresses and both ports. `None` if the
    /// peer's MSS is smaller than any that a cookie can name.
    pub fn syn_ack(&self, now: Instant, config: &Config, flow: &impl Hash, syn: &TcpRepr) -> Option<TcpRepr> {
        let index = mss_index(syn.options.mss.unwrap_or(MSS[1]))?;
        let slot = slot(now);
        let ecn = config.ecn && syn.flags.contains(TcpFlags::ECE.with(TcpFlags::CWR));
        let ack_flags = TcpFlags::SYN.with(TcpFlags::ACK);
        Some(TcpRepr {
            src_port: syn.dst_port,
            dst_port: syn.src_port,
            seq: self.isn(flow, syn.seq, slot, index),
            ack: syn.seq + 1,
            flags: if ecn { ack_flags.with(TcpFlags::ECE) } else { ack_flags },
            window: config.receive_window.min(u16::MAX.into()) as u16,
            options: syn_ack_options(now, config, &syn.options, ecn),
        })
    }

    /// What the cookie in `ack` says, if it is one of ours and not too old.
    pub fn check(
        &self,
        now: Instant,
        config: &Config,
        flow: &impl Hash,
        ack: &TcpRepr,
    ) -> Option<CookieOptions> {
        if !ack.flags.contains(TcpFlags::ACK) || ack.flags.intersects(TcpFlags::SYN.with(TcpFlags::RST)) {
            return None;
        }
        let isn = ack.ack - 1u32;
        let age = slot(now).wrapping_sub(u64::from(isn.0 >> 27)) & SLOT_MASK;
        let issued = slot(now).checked_sub(age).filter(|_| age <= 1)?;
        let index = (isn.0 >> 24) as usize & 7;
        if self.isn(flow, ack.seq - 1u32, issued, index) != isn {
            return None;
        }
        Some(options_of(MSS[index], config, ack.options.timestamps))
    }

    fn isn(&self, flow: &impl Hash, peer_isn: SeqNumber, slot: u64, index: usize) -> SeqNumber {
        let mac = self.key.hash(&(flow, peer_isn, slot, index as u8)) as u32 & MAC_MASK;
        SeqNumber(((slot & SLOT_MASK) as u32) << 27 | (index as u32) << 24 | mac)
    }
}

fn slot(now: Instant) -> u64 {
    now.as_nanos() / (SLOT_SECS * 1_000_000_000)
}

/// The largest size that does not exceed `mss`.
fn mss_index(mss: u16) -> Option<usize> {
    MSS.iter().rposition(|size| *size <= mss)
}

fn syn_ack_options(now: Instant, config: &Config, syn: &TcpOptions, ecn: bool) -> TcpOptions {
    let timestamps = syn.timestamps.filter(|_| config.timestamps).map(|theirs| Timestamps {
        value: stamp(config.timestamp_clock(now), config, syn, ecn),
        echo: theirs.value,
    });
    TcpOptions {
        mss: Some(config.mss),
        window_scale: syn
            .window_scale
            .filter(|_| timestamps.is_some() && config.window_scaling)
            .map(|_| config.window_shift()),
        sack_permitted: timestamps.is_some() && config.sack && syn.sack_permitted,
        timestamps,
        ..TcpOptions::NONE
    }
}

/// The clock with the SYN's options in its low bits, never ahead of the clock: the connection's own
/// timestamps must not run behind it (RFC 7323 section 5.3).
fn stamp(clock: u32, config: &Config, syn: &TcpOptions, ecn: bool) -> u32 {
    let shift = syn.window_scale.filter(|_| config.window_scaling).map_or(SHIFT_NONE, u32::from);
    let sack = if syn.sack_permitted && config.sack { SACK_BIT } else { 0 };
    let ecn = if ecn { ECN_BIT } else { 0 };
    let value = clock & !OPTION_MASK | shift | sack | ecn;
    if value > clock { value.wrapping_sub(1 << OPTION_BITS) } else { value }
}

fn options_of(mss: u16, config: &Config, timestamps: Option<Timestamps>) -> CookieOptions {
    let Some(Timestamps { echo, .. }) = timestamps.filter(|_| config.timestamps) else {
        return CookieOptions { mss, window_scale: None, sack: false, ecn: false };
    };
    let shift = echo & SHIFT_MASK;
    CookieOptions {
        mss,
        window_scale: (shift != SHIFT_NONE).then_some(shift.min(14) as u8),
        sack: echo & SACK_BIT != 0,
        ecn: echo & ECN_BIT != 0,
    }
}

#[cfg(test)]
mod tests;
