//! TIME-WAIT (RFC 9293 section 3.6.1) in 24 bytes: what remains of a connection that both sides have
//! finished, until no segment of it can be under way any more.
//!
//! It acknowledges a FIN that is sent again, ignores RSTs (RFC 1337) and tells a new incarnation from
//! an old duplicate (RFC 6191).

use crate::{Arrival, Config};
use tidegate_base::{Instant, SeqNumber};
use tidegate_wire::{TcpFlags, TcpOptions, TcpRepr, Timestamps};

/// A finished connection.
#[derive(Clone, Copy, Debug)]
pub struct TimeWait {
    pub(crate) expires: Instant,
    pub(crate) snd_nxt: SeqNumber,
    pub(crate) rcv_nxt: SeqNumber,
    pub(crate) ts_recent: u32,
    /// The window field as last sent.
    pub(crate) window: u16,
    pub(crate) has_timestamps: bool,
}

const _: () = assert!(size_of::<TimeWait>() <= 48);

/// What to do with a segment for a connection in TIME-WAIT.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeWaitVerdict {
    /// Nothing.
    Ignore,
    /// Send this; ports are swapped already.
    Answer(TcpRepr),
    /// A new incarnation: forget this entry and accept the SYN with an initial sequence number after
    /// this one (RFC 9293 section 3.6.1, MAY-2).
    Reuse {
        /// The old connection's SND.NXT.
        snd_nxt: SeqNumber,
    },
}

impl TimeWait {
    /// When the entry may be forgotten.
    pub const fn deadline(&self) -> Instant {
        self.expires
    }

    /// Judges a segment that arrived.
    pub fn on_segment(&mut self, now: Instant, config: &Config, arrival: &Arrival<'_>) -> TimeWaitVerdict {
        let repr = arrival.repr;
        if repr.flags.contains(TcpFlags::RST) {
            return TimeWaitVerdict::Ignore; // RFC 1337 section 3, fix F1.
        }
        if repr.flags.contains(TcpFlags::SYN) && !repr.flags.contains(TcpFlags::ACK) && self.is_newer(repr) {
            return TimeWaitVerdict::Reuse { snd_nxt: self.snd_nxt };
        }
        if repr.flags.contains(TcpFlags::FIN) {
            // RFC 9293 section 3.10.7.4, eighth: restart the 2 MSL time-out.
            self.expires = now + config.time_wait;
        }
        // A bare acknowledgement where we expect it answers ours; answering back would never end.
        if repr.segment_len(arrival.payload.len()) == 0 && repr.seq == self.rcv_nxt {
            return TimeWaitVerdict::Ignore;
        }
        TimeWaitVerdict::Answer(self.acknowledgement(now, config, repr))
    }

    /// Whether a SYN begins a new incarnation rather than being an old duplicate (RFC 6191 section 2).
    fn is_newer(&self, syn: &TcpRepr) -> bool {
        let is_above = syn.seq.after(self.rcv_nxt);
        match (self.has_timestamps, syn.options.timestamps) {
            (true, Some(ts)) if ts.value != self.ts_recent => {
                SeqNumber(ts.value).after(SeqNumber(self.ts_recent))
            }
            (false, Some(_)) => true,
            _ => is_above,
        }
    }

    fn acknowledgement(&self, now: Instant, config: &Config, repr: &TcpRepr) -> TcpRepr {
        let timestamps = self
            .has_timestamps
            .then(|| Timestamps { value: config.timestamp_clock(now), echo: self.ts_recent });
        TcpRepr {
            src_port: repr.dst_port,
            dst_port: repr.src_port,
            seq: self.snd_nxt,
            ack: self.rcv_nxt,
            flags: TcpFlags::ACK,
            window: self.window,
            options: TcpOptions { timestamps, ..TcpOptions::NONE },
        }
    }
}

#[cfg(test)]
mod tests;
