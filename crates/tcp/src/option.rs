//! TCP options as modules: what a listener names in its [`Config`](crate::Config) reads an option of its own from segments that
//! arrive, writes it into those that leave, and may turn segments away. The connection knows no option by name here.
//!
//! ```text
//!   SYN ------> on_syn      -> Plain | TakeText | Drop
//!   segment --> on_segment  -> true: goes on to the connection; false: dropped
//!   write <---- SYN, SYN-ACK, data and acknowledgements: as many bytes as there is room for
//! ```
//!
//! A module's state is a box that a connection has only if its listener names one, and only as long as the module
//! wants to stay. A connection that answers a SYN cookie has none: nothing is known of its SYN.

use crate::Config;
use crate::connection::Connection;
use crate::flags::Flags;
use core::fmt;
use std::sync::Arc;
use tidegate_base::{Instant, SeqNumber};
use tidegate_wire::tcp::OPTIONS_LEN_MAX;
use tidegate_wire::{IpRepr, TcpFlags, TcpRepr};

/// Kinds that modules may not write: the connection does.
const KINDS_OF_TCP: [u8; 7] = [0, 1, 2, 3, 4, 5, 8];

/// A segment that arrived, with all that a module may want to know.
#[derive(Clone, Copy, Debug)]
pub struct Arrived<'a> {
    /// When.
    pub now: Instant,
    /// Its IP header: the peer is `ip.src`.
    pub ip: &'a IpRepr,
    /// Its header, with the options that the connection knows.
    pub repr: &'a TcpRepr,
    /// All its options, as they were sent.
    pub options: &'a [u8],
    /// Its data.
    pub payload: &'a [u8],
}

impl<'a> Arrived<'a> {
    /// What the option of that kind holds, if it is there and whole.
    pub fn option(&self, kind: u8) -> Option<&'a [u8]> {
        tidegate_wire::tcp::find_option(self.options, kind)
    }
}

/// What becomes of a SYN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SynVerdict {
    /// The handshake goes on; text in the SYN is left for the peer to send again.
    Plain,
    /// The text in the SYN is taken, and answered before the handshake is complete (RFC 7413).
    TakeText,
    /// No answer.
    Drop,
}

/// One connection's state under a module.
pub trait OptionModule: Send + fmt::Debug {
    /// The peer's SYN, or its SYN-ACK, which cannot bring text.
    fn on_syn(&mut self, syn: &Arrived<'_>) -> SynVerdict {
        let _ = syn;
        SynVerdict::Plain
    }

    /// Any later segment. False: it is dropped, whatever it says.
    fn on_segment(&mut self, segment: &Arrived<'_>) -> bool {
        let _ = segment;
        true
    }

    /// A segment with this header leaves; what the module has to say goes into `out`.
    fn write(&mut self, now: Instant, header: &TcpRepr, out: &mut OptionWriter);

    /// Whether anything is left to do once the handshake is complete. False: the module's state is given back, and its
    /// connection is like any other from then on.
    fn stays(&self) -> bool {
        true
    }
}

/// A module, to be named by listeners.
#[derive(Clone)]
pub struct OptionKind {
    /// The name under which it is shown.
    pub name: &'static str,
    /// Bytes that a segment with data keeps free for it, a multiple of four; so much less data fits.
    pub data_room: u8,
    /// Makes the state of a connection.
    pub start: Arc<dyn Fn() -> Box<dyn OptionModule> + Send + Sync>,
}

impl fmt::Debug for OptionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Where a module writes its option.
#[derive(Clone, Copy, Debug)]
pub struct OptionWriter {
    bytes: [u8; OPTIONS_LEN_MAX],
    len: u8,
    room: u8,
}

impl OptionWriter {
    const fn new(room: usize) -> Self {
        Self { bytes: [0; OPTIONS_LEN_MAX], len: 0, room: room as u8 }
    }

    /// The most bytes that the body of one more option can have.
    pub const fn room(&self) -> usize {
        (self.room as usize - self.len as usize).saturating_sub(2)
    }

    /// Appends an option, padded to four bytes. False if there is no room, or the kind is one of TCP's own.
    pub fn push(&mut self, kind: u8, body: &[u8]) -> bool {
        const NOP: u8 = 1;
        let option_len = 2 + body.len();
        let padding = option_len.next_multiple_of(4) - option_len;
        let start = usize::from(self.len);
        if start + padding + option_len > usize::from(self.room) || KINDS_OF_TCP.contains(&kind) {
            return false;
        }
        let out = &mut self.bytes[start..start + padding + option_len];
        out[..padding].fill(NOP);
        out[padding] = kind;
        out[padding + 1] = option_len as u8;
        out[padding + 2..].copy_from_slice(body);
        self.len += (padding + option_len) as u8;
        true
    }

    fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// A connection's module, and what it said last.
#[derive(Debug)]
pub(crate) struct OptionSlot {
    module: Box<dyn OptionModule>,
    written: OptionWriter,
    pub(crate) data_room: u8,
}

impl OptionSlot {
    pub(crate) fn new(kind: &OptionKind) -> Box<Self> {
        Box::new(Self {
            module: (kind.start)(),
            written: OptionWriter::new(0),
            data_room: kind.data_room.next_multiple_of(4),
        })
    }
}

impl Connection {
    /// [`Connection::accept`] where the listener names a module; `None` if that turns the SYN away. Text of the SYN that
    /// may be taken waits for [`Connection::take_early`].
    pub fn accept_by_module(
        config: &Config,
        kind: &OptionKind,
        syn: &Arrived<'_>,
        isn: SeqNumber,
    ) -> Option<Self> {
        let mut slot = OptionSlot::new(kind);
        let verdict = slot.module.on_syn(syn);
        if verdict == SynVerdict::Drop {
            return None;
        }
        let mut connection = Self::accept_with(syn.now, config, syn.repr, isn, Some(slot));
        if verdict == SynVerdict::TakeText && !syn.payload.is_empty() {
            connection.flags.set(Flags::EARLY);
            connection.window.cwnd = connection.initial_window(config);
        }
        Some(connection)
    }

    /// Delivers the text of the SYN, if the module took it.
    pub fn take_early(&mut self, syn: &Arrived<'_>, deliver: &mut dyn FnMut(&[u8])) {
        if self.flags.has(Flags::EARLY) {
            let room = self.receive.edge.since(self.receive.nxt) as usize;
            self.deliver_in_order(&syn.payload[..syn.payload.len().min(room)], deliver);
        }
    }

    /// Whether a module wants to see segments before the connection does.
    #[inline]
    pub const fn has_module(&self) -> bool {
        self.option.is_some()
    }

    /// Shows a segment to the module. False: drop it.
    pub fn is_admitted(&mut self, segment: &Arrived<'_>) -> bool {
        let Some(slot) = &mut self.option else { return true };
        let is_syn = segment.repr.flags.contains(TcpFlags::SYN);
        if is_syn { slot.module.on_syn(segment) != SynVerdict::Drop } else { slot.module.on_segment(segment) }
    }

    /// What the module adds to the options of the segment that `poll_transmit` gave last: whole words, to be emitted
    /// behind them.
    #[inline]
    pub fn extra_options(&self) -> &[u8] {
        self.option.as_ref().map_or(&[], |slot| slot.written.as_slice())
    }

    /// Asks the module for what it has to say in a segment.
    #[cold]
    pub(crate) fn write_options(&mut self, now: Instant, header: &TcpRepr) {
        let Some(slot) = &mut self.option else { return };
        slot.written = OptionWriter::new(OPTIONS_LEN_MAX - header.options.len());
        if !header.flags.contains(TcpFlags::RST) {
            slot.module.write(now, header, &mut slot.written);
        }
    }

    /// The handshake is complete: a module that was for it only goes.
    pub(crate) fn release_module(&mut self) {
        if self.option.as_ref().is_some_and(|slot| !slot.module.stays()) {
            self.option = None;
        }
    }

    /// Text of the peer's SYN was taken, and answers to it may leave before the handshake is complete.
    #[inline]
    pub(crate) fn is_early(&self) -> bool {
        self.flags.has(Flags::EARLY) && self.is_in_flight()
    }
}

#[cfg(test)]
#[path = "option_tests.rs"]
mod tests;
