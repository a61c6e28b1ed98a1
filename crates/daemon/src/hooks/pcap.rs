//! Captures: frames that pass a gate become records of pcap, or of pcapng with the frame's attributes beside it.
//!
//! ```text
//!   pcap    head, then a record:  time (s, ns), bytes kept, bytes there were | frame
//!   pcapng  section, interface, then an enhanced packet block:  ... | frame, padded | comment `name=hex` a line
//! ```
//! Sources: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng.

use super::fifo::{Fifo, RECORD_LEN_MAX};
use super::{PCAPNG, TCPDUMP};
use std::fmt::Write;
use std::sync::{Arc, Mutex, TryLockError};
use tidegate_base::Instant;
use tidegate_packet::Frame;
use tidegate_pipeline::GateHook;

/// Bytes of a frame that are written, so that a record is written whole.
const SNAP_LEN: usize = 2048;
/// LINKTYPE_ETHERNET.
const ETHERNET: u32 = 1;
/// Bytes of a comment, so that a record is written whole.
const COMMENT_LEN_MAX: usize = RECORD_LEN_MAX - SNAP_LEN - 64;

/// How a capture is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    Pcap,
    PcapNg,
}

/// Attributes by name: where each lies, and how long it is.
pub(crate) type Attributes = Vec<(String, u16, u8)>;

impl Format {
    /// The class of hooks that write so.
    pub(crate) const fn class(self) -> &'static str {
        match self {
            Self::Pcap => TCPDUMP,
            Self::PcapNg => PCAPNG,
        }
    }

    /// What a reader gets first.
    pub(crate) fn head(self) -> Vec<u8> {
        let words: &[u32] = match self {
            // Nanoseconds, version 2.4.
            Self::Pcap => &[0xa1b2_3c4d, 2 | 4 << 16, 0, 0, SNAP_LEN as u32, ETHERNET],
            // A section of version 1.0 and unknown length; an interface whose times are nanoseconds (if_tsresol 9).
            Self::PcapNg => &[
                0x0a0d_0d0a,
                28,
                0x1a2b_3c4d,
                1,
                u32::MAX,
                u32::MAX,
                28, //
                1,
                32,
                ETHERNET,
                SNAP_LEN as u32,
                9 | 1 << 16,
                9,
                0,
                32,
            ],
        };
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}

/// The hook.
pub(crate) struct CaptureHook {
    format: Format,
    fifo: Arc<Mutex<Fifo>>,
    attributes: Attributes,
    record: Vec<u8>,
    comment: String,
}

impl CaptureHook {
    pub(crate) fn new(format: Format, fifo: Arc<Mutex<Fifo>>, attributes: Attributes) -> Self {
        let record = Vec::with_capacity(RECORD_LEN_MAX);
        Self { format, fifo, attributes, record, comment: String::with_capacity(RECORD_LEN_MAX) }
    }

    fn words(&mut self, words: &[u32]) {
        words.iter().for_each(|word| self.record.extend_from_slice(&word.to_le_bytes()));
    }

    fn compose(&mut self, wall_ns: u64, frame: &Frame) {
        let data = frame.data();
        let kept = &data[..data.len().min(SNAP_LEN)];
        self.record.clear();
        match self.format {
            Format::Pcap => {
                let (s, ns) = (wall_ns / 1_000_000_000, wall_ns % 1_000_000_000);
                self.words(&[s as u32, ns as u32, kept.len() as u32, data.len() as u32]);
                self.record.extend_from_slice(kept);
            }
            Format::PcapNg => self.compose_block(wall_ns, kept, data.len(), frame),
        }
    }

    fn compose_block(&mut self, wall_ns: u64, kept: &[u8], len: usize, frame: &Frame) {
        self.describe(frame);
        // The type, and the length, which is known at the end; interface 0.
        self.words(&[6, 0, 0, (wall_ns >> 32) as u32, wall_ns as u32, kept.len() as u32, len as u32]);
        self.record.extend_from_slice(kept);
        self.pad();
        if !self.comment.is_empty() {
            // opt_comment, then opt_endofopt.
            self.words(&[1 | (self.comment.len() as u32) << 16]);
            self.record.extend_from_slice(self.comment.as_bytes());
            self.pad();
            self.words(&[0]);
        }
        let total = self.record.len() as u32 + 4;
        self.words(&[total]);
        self.record[4..8].copy_from_slice(&total.to_le_bytes());
    }

    /// Each attribute in a line, as far as there is room.
    fn describe(&mut self, frame: &Frame) {
        self.comment.clear();
        let scratch = frame.scratch();
        for (name, offset, size) in &self.attributes {
            let Some(value) = scratch.get(usize::from(*offset)..usize::from(*offset) + usize::from(*size))
            else {
                continue;
            };
            if self.comment.len() + name.len() + 2 * value.len() + 2 > COMMENT_LEN_MAX {
                return;
            }
            if !self.comment.is_empty() {
                self.comment.push('\n');
            }
            self.comment.push_str(name);
            self.comment.push('=');
            for byte in value {
                // Writing to a string cannot fail.
                let _ = write!(self.comment, "{byte:02x}");
            }
        }
    }

    fn pad(&mut self) {
        self.record.resize(self.record.len().next_multiple_of(4), 0);
    }
}

impl GateHook for CaptureHook {
    fn class(&self) -> &'static str {
        self.format.class()
    }

    fn on_frames(&mut self, now: Instant, frames: &[Frame]) {
        let shared = Arc::clone(&self.fifo);
        let mut fifo = match shared.try_lock() {
            Ok(fifo) => fifo,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // Another worker writes: one that runs the same module.
            Err(TryLockError::WouldBlock) => return,
        };
        if !fifo.is_ready(now) {
            return fifo.lose(frames.len());
        }
        let wall_ns = tidegate_sys::clock::wall_ns();
        for frame in frames {
            self.compose(wall_ns, frame);
            fifo.write(now, &self.record);
        }
    }
}
