//! Segments of one flow on their way to be one frame.
//!
//! ```text
//!   first  [ headers | payload ]          a chunk, untouched until the frame leaves
//!   buffer           [ payload | payload | payload ...        what followed it in order
//! ```
//! Invariant: all segments of a train have the first's headers but for what [`Masked`] leaves out, the sequence numbers and
//! the identifications follow on, each but the last has the first's length, and each was intact: cut again, the same comes
//! out.

use crate::layers::{Packet, u16_at};
use crate::segment::{ACK, CWR, ECE, FIN, IP_LEN_MAX, PSH, Segment, field, put};
use tidegate_base::Instant;
use tidegate_packet::{Cut, Frame, TailBuffer, TailBuffers};

/// Bytes of headers that are compared; a segment with more is left alone.
const HEADERS_LEN_MAX: usize = 256;
const DONT_FRAGMENT: u8 = 0x40;

/// A segment's headers without what differs from segment to segment: lengths, identifications, checksums, the sequence
/// number, and the flags PSH, FIN and CWR.
#[derive(Clone)]
struct Masked {
    bytes: [u8; HEADERS_LEN_MAX],
    len: usize,
}

impl Masked {
    #[inline]
    fn of(segment: &Segment, data: &[u8]) -> Option<Self> {
        let len = segment.payload_start;
        let mut bytes = [0; HEADERS_LEN_MAX];
        bytes.get_mut(..len)?.copy_from_slice(&data[..len]);
        for packet in segment.packets() {
            let start = packet.start();
            if packet.is_ipv4() {
                bytes[start + field::IPV4_TOTAL_LEN..][..4].fill(0);
                bytes[start + field::IPV4_CHECK..][..2].fill(0);
            } else {
                bytes[start + field::IPV6_PAYLOAD_LEN..][..2].fill(0);
            }
        }
        if let Some(outer) = &segment.outer {
            bytes[outer.payload.start + field::UDP_LEN..][..2].fill(0);
        }
        let tcp = segment.tcp();
        bytes[tcp + field::TCP_SEQ..][..4].fill(0);
        bytes[tcp + field::TCP_FLAGS] &= !(PSH | FIN | CWR);
        bytes[tcp + field::TCP_CHECK..][..2].fill(0);
        Some(Self { bytes, len })
    }

    #[inline]
    fn is(&self, other: &Self) -> bool {
        self.bytes[..self.len] == other.bytes[..other.len]
    }
}

/// A segment that arrived, looked at.
pub(super) struct Arrival {
    pub(super) segment: Segment,
    /// Of its addresses and ports.
    pub(super) flow: u64,
}

/// A segment that may be put together with others, or begin a train.
struct Candidate {
    masked: Masked,
    flags: u8,
    seq: u32,
}

impl Candidate {
    /// Plain data, intact, with nothing to say but its text.
    fn of(segment: &Segment, data: &[u8]) -> Option<Self> {
        let flags = segment.flags(data);
        // ECE may stand in all of them; any other flag is not for many segments at once.
        let is_plain = flags & !(ECE | CWR | PSH | FIN) == ACK;
        if !is_plain || segment.payload_len() == 0 || segment.end() > data.len() {
            return None;
        }
        Some(Self { masked: Masked::of(segment, data)?, flags, seq: segment.seq(data) })
    }
}

/// Segments of one flow, in order.
pub(super) struct Train {
    pub(super) flow: u64,
    /// When the first came.
    pub(super) since: Instant,
    first: Frame,
    segment: Segment,
    masked: Masked,
    next_seq: u32,
    /// PSH and FIN of the last.
    last_flags: u8,
    count: u16,
    buffer: Option<TailBuffer>,
    /// Bytes in the buffer.
    len: usize,
}

/// What became of a segment that came behind a train.
pub(super) enum Behind {
    /// It is in it, and its frame is not needed any more; nothing may follow if the flag says so.
    Joined(Frame, bool),
    /// It is another matter.
    Apart(Frame),
}

impl Train {
    /// A train of one. The frame back if it cannot begin one.
    pub(super) fn begin(frame: Frame, arrival: &Arrival, now: Instant) -> Result<Self, Frame> {
        let segment = &arrival.segment;
        let candidate = Candidate::of(segment, frame.data())
            .filter(|it| it.flags & (PSH | FIN) == 0 && segment.is_intact(frame.data()));
        let Some(Candidate { masked, seq, .. }) = candidate else { return Err(frame) };
        Ok(Self {
            flow: arrival.flow,
            since: now,
            next_seq: seq.wrapping_add(segment.payload_len() as u32),
            first: frame,
            segment: segment.clone(),
            masked,
            last_flags: 0,
            count: 1,
            buffer: None,
            len: 0,
        })
    }

    /// The first segment's frame, to have its attributes moved.
    pub(super) const fn first_mut(&mut self) -> &mut Frame {
        &mut self.first
    }

    /// Joins a segment of the same flow, if it follows on and all payload stays within `len_max`.
    pub(super) fn join(
        &mut self,
        frame: Frame,
        segment: &Segment,
        len_max: usize,
        buffers: &mut TailBuffers,
    ) -> Behind {
        let Some(flags) = self.follows(segment, frame.data(), len_max) else { return Behind::Apart(frame) };
        let Some(payload) = frame.data().get(segment.payload_start..segment.end()) else {
            return Behind::Apart(frame);
        };
        let buffer = self.buffer.get_or_insert_with(|| buffers.take());
        let Some(place) = buffer.bytes_mut().get_mut(self.len..self.len + payload.len()) else {
            return Behind::Apart(frame);
        };
        place.copy_from_slice(payload);
        self.len += payload.len();
        self.next_seq = self.next_seq.wrapping_add(payload.len() as u32);
        self.count += 1;
        self.last_flags = flags & (PSH | FIN);
        let is_over = self.last_flags != 0 || payload.len() < self.segment.payload_len();
        Behind::Joined(frame, is_over)
    }

    /// The flags of a segment that continues the train.
    #[inline]
    fn follows(&self, segment: &Segment, data: &[u8], len_max: usize) -> Option<u8> {
        let candidate = Candidate::of(segment, data)?;
        let payload_len = self.segment.payload_len() + self.len + segment.payload_len();
        let packet_len = self.segment.payload_start - self.segment.packet_start() + payload_len;
        let follows = candidate.seq == self.next_seq
            && candidate.flags & CWR == 0
            && segment.payload_len() <= self.segment.payload_len()
            && payload_len <= len_max
            && packet_len <= IP_LEN_MAX
            && candidate.masked.is(&self.masked)
            && self.segment.packets().zip(segment.packets()).all(|(a, b)| self.is_next(data, a, b));
        (follows && segment.is_intact(data)).then_some(candidate.flags)
    }

    /// Whether a packet's identification is the one that cutting gives it. Packets that are never fragmented need none
    /// (RFC 6864 section 4.1): where all are zero, zero is right as well.
    #[inline]
    fn is_next(&self, data: &[u8], first: &Packet, packet: &Packet) -> bool {
        if !packet.is_ipv4() {
            return true;
        }
        let ident = |data: &[u8], packet: &Packet| u16_at(data, packet.start() + field::IPV4_IDENT);
        let (began, ident) = (ident(self.first.data(), first), ident(data, packet));
        let is_atomic = data[packet.start() + field::IPV4_FLAGS] & DONT_FRAGMENT != 0;
        ident == began.map(|began| began.wrapping_add(self.count)) || (is_atomic && ident == began)
    }

    /// The frame that the train is: the first segment's, untouched, if nothing joined it.
    pub(super) fn couple(self, buffers: &mut TailBuffers) -> Frame {
        let Self { mut first, segment, last_flags, len, .. } = self;
        let Some(buffer) = self.buffer else { return first };
        let payload_len = segment.payload_len() + len;
        first.truncate(segment.end());
        let data = first.data_mut();
        segment.set_len(data, payload_len, 0);
        let tcp = segment.tcp();
        data[tcp + field::TCP_FLAGS] |= last_flags;
        let pseudo_sum = segment.pseudo_sum(data, payload_len).fold();
        put(data, tcp + field::TCP_CHECK, pseudo_sum);
        let mut tail = buffers.tail(buffer, len);
        tail.cut = Cut {
            is_ipv4: segment.ip.is_ipv4(),
            transport_start: tcp as u16,
            header_len: segment.payload_start as u16,
            segment_len: segment.payload_len() as u16,
        };
        first.append(tail);
        first
    }
}
