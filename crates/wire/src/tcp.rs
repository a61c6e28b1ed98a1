//! TCP headers and options (RFC 9293 section 3.1, RFC 7323, RFC 2018).
//!
//! ```text
//!   0                   1                   2                   3
//!  |          source port          |       destination port        |
//!  |                        sequence number                        |
//!  |                    acknowledgement number                     |
//!  | off |  res  |C|E|U|A|P|R|S|F|             window              |
//!  |            checksum           |         urgent pointer        |
//!  |                options, padded to four bytes                  |
//! ```

use crate::ip::IpRepr;
use crate::{WireError, split};
use core::fmt;
use tidegate_base::{SeqNumber, Sum};
use zerocopy::byteorder::network_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bytes in a header without options.
pub const HEADER_LEN: usize = 20;
/// Where in a header the checksum is.
pub const CHECKSUM: core::ops::Range<usize> = 16..18;
/// The most bytes that options take.
pub const OPTIONS_LEN_MAX: usize = 40;
/// Bytes that the timestamps option takes, padded as everybody sends it.
pub const TIMESTAMPS_LEN: usize = 12;

/// The control bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct TcpFlags(pub u8);

impl TcpFlags {
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// Reset the connection.
    pub const RST: Self = Self(0x04);
    /// Push.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgement number counts.
    pub const ACK: Self = Self(0x10);
    /// The urgent pointer counts.
    pub const URG: Self = Self(0x20);
    /// ECN echo (RFC 3168).
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Self = Self(0x80);

    /// Whether all bits of `other` are set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any bit of `other` is set.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// These bits and those of `other`.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// These bits less those of `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl fmt::Debug for TcpFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"];
        let mut first = true;
        for (bit, name) in names.iter().enumerate().filter(|(bit, _)| self.0 >> bit & 1 != 0) {
            let _ = bit;
            write!(f, "{}{name}", if first { "" } else { "|" })?;
            first = false;
        }
        if first { f.write_str("-") } else { Ok(()) }
    }
}

/// The timestamps option (RFC 7323 section 3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timestamps {
    /// TSval: the sender's clock.
    pub value: u32,
    /// TSecr: the last value seen from the other side.
    pub echo: u32,
}

/// A range of sequence numbers that arrived out of order, `end` excluded (RFC 2018).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SackBlock {
    /// First sequence number of the block.
    pub start: SeqNumber,
    /// The sequence number after its last.
    pub end: SeqNumber,
}

/// Up to four blocks, in the order sent: the most recent first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SackBlocks {
    blocks: [SackBlock; 4],
    count: u8,
}

impl SackBlocks {
    /// No blocks.
    pub const NONE: Self =
        Self { blocks: [SackBlock { start: SeqNumber(0), end: SeqNumber(0) }; 4], count: 0 };

    /// Appends a block; false if there are four already.
    pub fn push(&mut self, block: SackBlock) -> bool {
        let Some(slot) = self.blocks.get_mut(usize::from(self.count)) else { return false };
        *slot = block;
        self.count += 1;
        true
    }

    /// The blocks.
    pub fn as_slice(&self) -> &[SackBlock] {
        &self.blocks[..usize::from(self.count)]
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// The options that this stack reads and writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TcpOptions {
    /// Maximum segment size, on SYN.
    pub mss: Option<u16>,
    /// Window scale shift, on SYN.
    pub window_scale: Option<u8>,
    /// SACK permitted, on SYN.
    pub sack_permitted: bool,
    /// Timestamps.
    pub timestamps: Option<Timestamps>,
    /// SACK blocks.
    pub sack: SackBlocks,
}

const KIND_END: u8 = 0;
const KIND_NOP: u8 = 1;
const KIND_MSS: u8 = 2;
const KIND_WINDOW_SCALE: u8 = 3;
const KIND_SACK_PERMITTED: u8 = 4;
const KIND_SACK: u8 = 5;
const KIND_TIMESTAMPS: u8 = 8;

/// The first four bytes of options that hold padded timestamps and nothing before them
/// (RFC 7323 appendix A).
const TIMESTAMPS_PREFIX: [u8; 4] = [KIND_NOP, KIND_NOP, KIND_TIMESTAMPS, 10];

impl TcpOptions {
    /// No options.
    pub const NONE: Self = Self {
        mss: None,
        window_scale: None,
        sack_permitted: false,
        timestamps: None,
        sack: SackBlocks::NONE,
    };

    /// Reads options. A malformed or unknown one ends or is skipped as RFC 9293 section 3.1 says; it
    /// never makes the segment invalid.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Self {
        if bytes.len() == TIMESTAMPS_LEN && bytes.starts_with(&TIMESTAMPS_PREFIX) {
            return Self { timestamps: read_timestamps(&bytes[4..]), ..Self::NONE };
        }
        Self::parse_any(bytes)
    }

    fn parse_any(mut bytes: &[u8]) -> Self {
        let mut options = Self::NONE;
        while let [kind, rest @ ..] = bytes {
            match *kind {
                KIND_END => break,
                KIND_NOP => bytes = rest,
                kind => {
                    let Some((body, after)) = option_body(rest) else { break };
                    options.read_one(kind, body);
                    bytes = after;
                }
            }
        }
        options
    }

    fn read_one(&mut self, kind: u8, body: &[u8]) {
        match (kind, body) {
            (KIND_MSS, [hi, lo]) => self.mss = Some(u16::from_be_bytes([*hi, *lo])),
            // RFC 7323 section 2.3: a shift above 14 counts as 14.
            (KIND_WINDOW_SCALE, [shift]) => self.window_scale = Some((*shift).min(14)),
            (KIND_SACK_PERMITTED, []) => self.sack_permitted = true,
            (KIND_TIMESTAMPS, body) if body.len() == 8 => self.timestamps = read_timestamps(body),
            (KIND_SACK, body) if body.len() % 8 == 0 => self.read_sack(body),
            _ => {}
        }
    }

    fn read_sack(&mut self, body: &[u8]) {
        for block in body.chunks_exact(8) {
            let (Some(start), Some(end)) = (read_u32(block), read_u32(&block[4..])) else { return };
            self.sack.push(SackBlock { start: SeqNumber(start), end: SeqNumber(end) });
        }
    }

    /// Bytes that [`TcpOptions::emit`] writes; a multiple of four.
    #[inline]
    pub fn len(&self) -> usize {
        let mut len = 0;
        len += if self.mss.is_some() { 4 } else { 0 };
        len += if self.window_scale.is_some() { 4 } else { 0 };
        len += if self.timestamps.is_some() { TIMESTAMPS_LEN } else { 0 };
        len += if self.sack_permitted { 4 } else { 0 };
        len += match self.sack.count {
            0 => 0,
            n => 4 + 8 * usize::from(n),
        };
        len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes the options, each aligned by NOPs to four bytes, into the first `len()` bytes.
    #[inline]
    pub fn emit(&self, out: &mut [u8]) {
        let mut out = out;
        if let Some(mss) = self.mss {
            let [hi, lo] = mss.to_be_bytes();
            put(&mut out, &[KIND_MSS, 4, hi, lo]);
        }
        if self.sack_permitted {
            put(&mut out, &[KIND_NOP, KIND_NOP, KIND_SACK_PERMITTED, 2]);
        }
        if let Some(Timestamps { value, echo }) = self.timestamps {
            put(&mut out, &TIMESTAMPS_PREFIX);
            put(&mut out, &value.to_be_bytes());
            put(&mut out, &echo.to_be_bytes());
        }
        if let Some(shift) = self.window_scale {
            put(&mut out, &[KIND_NOP, KIND_WINDOW_SCALE, 3, shift]);
        }
        if !self.sack.is_empty() {
            put(&mut out, &[KIND_NOP, KIND_NOP, KIND_SACK, 2 + 8 * self.sack.count]);
            for block in self.sack.as_slice() {
                put(&mut out, &block.start.0.to_be_bytes());
                put(&mut out, &block.end.0.to_be_bytes());
            }
        }
    }
}

/// Copies `bytes` to the front of `out` and moves `out` behind them.
#[inline]
fn put(out: &mut &mut [u8], bytes: &[u8]) {
    let (head, tail) = core::mem::take(out).split_at_mut(bytes.len());
    head.copy_from_slice(bytes);
    *out = tail;
}

/// The body of the first option of that kind among `bytes`, if it is there and whole.
pub fn find_option(mut bytes: &[u8], wanted: u8) -> Option<&[u8]> {
    while let [kind, rest @ ..] = bytes {
        bytes = match *kind {
            KIND_END => return None,
            KIND_NOP => rest,
            kind => {
                let (body, after) = option_body(rest)?;
                if kind == wanted {
                    return Some(body);
                }
                after
            }
        };
    }
    None
}

fn read_u32(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().map(|b| u32::from_be_bytes(*b))
}

fn read_timestamps(body: &[u8]) -> Option<Timestamps> {
    Some(Timestamps { value: read_u32(body)?, echo: read_u32(body.get(4..)?)? })
}

/// The body of an option whose length byte comes first, and what follows the option.
fn option_body(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = rest.split_first()?;
    rest.split_at_checked(usize::from(*len).checked_sub(2)?)
}

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Header {
    src_port: U16,
    dst_port: U16,
    seq: U32,
    ack: U32,
    offset: u8,
    flags: u8,
    window: U16,
    checksum: U16,
    urgent: U16,
}

/// A TCP segment laid over bytes.
#[derive(Clone, Copy)]
pub struct TcpPacket<'a> {
    header: &'a Header,
    options: &'a [u8],
    payload: &'a [u8],
    bytes: &'a [u8],
}

impl<'a> TcpPacket<'a> {
    /// The segment that fills `bytes`, an IP packet's payload.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Self, WireError> {
        let (header, _) = Header::ref_from_prefix(bytes).map_err(|_| WireError::Truncated)?;
        let header_len = usize::from(header.offset >> 4) * 4;
        if header_len < HEADER_LEN {
            return Err(WireError::Malformed);
        }
        let (head, payload) = split(bytes, header_len)?;
        Ok(Self { header, options: &head[HEADER_LEN..], payload, bytes })
    }

    /// Source port.
    pub fn src_port(&self) -> u16 {
        self.header.src_port.get()
    }

    /// Destination port.
    pub fn dst_port(&self) -> u16 {
        self.header.dst_port.get()
    }

    /// The options as they were sent.
    pub const fn options(&self) -> &'a [u8] {
        self.options
    }

    /// The segment's data.
    pub const fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Whether the checksum over pseudo header, header and data holds.
    #[inline]
    pub fn checksum_ok(&self, ip: &IpRepr) -> bool {
        (ip.pseudo_header_sum(self.bytes.len()) + Sum::of(self.bytes)).is_valid()
    }

    /// The header as a value.
    #[inline]
    pub fn repr(&self) -> TcpRepr {
        TcpRepr {
            src_port: self.src_port(),
            dst_port: self.dst_port(),
            seq: SeqNumber(self.header.seq.get()),
            ack: SeqNumber(self.header.ack.get()),
            flags: TcpFlags(self.header.flags),
            window: self.header.window.get(),
            options: TcpOptions::parse(self.options),
        }
    }
}

/// A TCP header as a value. The urgent pointer is neither read nor written: urgent data is data
/// (RFC 6093).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpRepr {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// SEG.SEQ: the sequence number of the first byte, or of SYN.
    pub seq: SeqNumber,
    /// SEG.ACK: meaningful if the ACK bit is set.
    pub ack: SeqNumber,
    /// The control bits.
    pub flags: TcpFlags,
    /// SEG.WND: the window as it stands in the header, not scaled.
    pub window: u16,
    /// The options.
    pub options: TcpOptions,
}

impl TcpRepr {
    /// Bytes in the header, options included.
    #[inline]
    pub fn header_len(&self) -> usize {
        HEADER_LEN + self.options.len()
    }

    /// SEG.LEN: the sequence numbers that a segment with this header and `payload_len` bytes takes.
    pub const fn segment_len(&self, payload_len: usize) -> u32 {
        payload_len as u32
            + self.flags.contains(TcpFlags::SYN) as u32
            + self.flags.contains(TcpFlags::FIN) as u32
    }

    /// Writes the header into the first `header_len()` bytes. `covered` is the sum of what the
    /// checksum covers beside the header: pseudo header and payload.
    #[inline]
    pub fn emit(&self, covered: Sum, out: &mut [u8]) {
        self.emit_with(&[], covered, out);
    }

    /// The same with `extra` options, whole words, behind those that are known here; the header is so much longer.
    #[inline]
    pub fn emit_with(&self, extra: &[u8], covered: Sum, out: &mut [u8]) {
        let known_len = self.header_len();
        let len = known_len + extra.len();
        let header = Header {
            src_port: U16::new(self.src_port),
            dst_port: U16::new(self.dst_port),
            seq: U32::new(self.seq.0),
            ack: U32::new(self.ack.0),
            offset: ((len / 4) << 4) as u8,
            flags: self.flags.0,
            window: U16::new(self.window),
            checksum: U16::ZERO,
            urgent: U16::ZERO,
        };
        let out = &mut out[..len];
        out[..HEADER_LEN].copy_from_slice(header.as_bytes());
        self.options.emit(&mut out[HEADER_LEN..known_len]);
        out[known_len..].copy_from_slice(extra);
        let checksum = (covered + Sum::of(out)).finish();
        out[16..18].copy_from_slice(&checksum.to_be_bytes());
    }
}
