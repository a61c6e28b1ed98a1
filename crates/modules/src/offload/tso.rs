//! Cuts large TCP frames into segments (TSO), bare or inside VXLAN, over IPv4 and IPv6.
//!
//! | | |
//! |---|---|
//! | gates | in: 0, also frames with a tail; out: 0, frames of at most the MTU |
//! | parameters | `mtu`: the longest packet that leaves, the tunnel's if there is one (1,500) |
//! | attributes | those of a large frame go to each of its segments |
//! | counters | `cut` large frames, `segments` made of them |
//! | dropped | long frames that are not TCP (`too_long`); lengths that contradict the frame, and SYN, RST or URG with more than a segment (`malformed`); no room in the pool for all segments (`no_frame`) |
//! | rate | 138 ns a segment of 1,500 bytes on one core (`make bench-pipeline`) |
//!
//! A frame that says how it is to be cut ([`tidegate_packet::Cut`]) is cut so, where that is no longer than the MTU allows.
//! Sequence numbers and IPv4 identifications (RFC 6864: of both packets, in a tunnel) rise from segment to segment. FIN and
//! PSH go to the last, CWR to the first (RFC 3168 section 6.1.2: it tells of one reduction); ECE and the options go to all.
//! Checksums are computed; a tunnel's UDP without one stays so. Whoever makes a large frame need not sum it.

use crate::layers::{ETHER_LEN, network};
use crate::parameter::{ParameterError, in_range};
use crate::segment::{ACK, CWR, FIN, IP_LEN_MAX, PSH, RST, SYN, Segment, URG, field};
use tidegate_base::DropReason;
use tidegate_packet::{BATCH_LEN_MAX, Batch, Frame};
use tidegate_pipeline::{Context, GateCounts, Module};

/// The MTU unless told: Ethernet's.
pub const TSO_MTU_DEFAULT: u64 = 1500;
/// The least MTU that IPv4 hosts must take (RFC 791): the longest headers leave room in it for payload.
const MTU_MIN: u64 = 576;
const MTU_MAX: u64 = 65_535;
/// The least that a frame may ask its segments to be, so that a hostile one is not cut into thousands: what Linux takes.
const SEGMENT_LEN_MIN: usize = 48;
/// The most bytes of headers that a packet has in front of its payload: IPv4 with all options, UDP, VXLAN, Ethernet with
/// two tags, IPv4 and TCP with all options.
const HEADERS_LEN_MAX: usize = 60 + 8 + 8 + 22 + 60 + 60;

/// How frames are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TsoParams {
    /// The longest IP packet that leaves, 576 bytes to 65,535.
    pub mtu: u64,
}

impl Default for TsoParams {
    fn default() -> Self {
        Self { mtu: TSO_MTU_DEFAULT }
    }
}

/// The module.
pub struct Tso {
    mtu: usize,
    out: Batch,
    cut_count: u64,
    segment_count: u64,
}

impl Tso {
    /// Cuts to that MTU.
    pub fn new(params: TsoParams) -> Result<Self, ParameterError> {
        let mtu = in_range("the MTU", params.mtu, MTU_MIN..=MTU_MAX)? as usize;
        Ok(Self { mtu, out: Batch::new(), cut_count: 0, segment_count: 0 })
    }

    /// Whether a frame may leave as it is.
    #[inline]
    fn fits(&self, frame: &Frame) -> bool {
        frame.tail().is_none()
            && (frame.len() <= ETHER_LEN + self.mtu
                || network(frame.data()).is_some_and(|(_, start)| frame.len() <= start + self.mtu))
    }

    #[inline]
    fn send(&mut self, ctx: &mut Context<'_>, frame: Frame) {
        if self.out.room() == 0 {
            self.flush(ctx);
        }
        if let Err(frame) = self.out.push(frame) {
            // Not reached: there is room in an empty batch.
            ctx.drop(frame, DropReason::NoFrame);
        }
    }

    #[inline]
    fn flush(&mut self, ctx: &mut Context<'_>) {
        ctx.emit_batch(0, &mut self.out);
        self.out.set_len_max(BATCH_LEN_MAX);
    }

    fn cut(&mut self, ctx: &mut Context<'_>, frame: Frame) {
        match Plan::of(&frame, self.mtu) {
            Ok(plan) if plan.count <= ctx.pool().free_count() => {
                for number in 0..plan.count {
                    self.send_segment(ctx, &plan, &frame, number);
                }
                self.cut_count += 1;
                ctx.pool().free(frame);
            }
            Ok(_) => ctx.drop(frame, DropReason::NoFrame),
            Err(reason) => ctx.drop(frame, reason),
        }
    }

    #[inline]
    fn send_segment(&mut self, ctx: &mut Context<'_>, plan: &Plan, frame: &Frame, number: usize) {
        // There are as many free as the plan asks for.
        let Some(mut piece) = ctx.pool().alloc() else { return };
        if plan.write(frame, number, &mut piece) {
            self.segment_count += 1;
            self.send(ctx, piece);
        } else {
            ctx.drop(piece, DropReason::TooLong);
        }
    }
}

/// How one frame is cut.
struct Plan {
    segment: Segment,
    payload_len: usize,
    segment_len: usize,
    count: usize,
}

impl Plan {
    fn of(frame: &Frame, mtu: usize) -> Result<Self, DropReason> {
        let data = frame.data();
        let segment = Segment::find(data).ok_or(DropReason::TooLong)?;
        let len = frame.len_with_tail();
        let is_whole = segment.end() == len || (segment.end() < len && frame.tail().is_none());
        let payload_len = segment.payload_len();
        let flags = segment.flags(data);
        if !is_whole || payload_len == 0 || flags & (SYN | RST | URG) != 0 || flags & ACK == 0 {
            return Err(DropReason::Malformed);
        }
        let room = (segment.packet_start() + mtu).saturating_sub(segment.payload_start);
        let asked = frame.tail().map_or(0, |tail| usize::from(tail.cut.segment_len));
        let segment_len = match asked {
            0 => room,
            asked => asked.max(SEGMENT_LEN_MIN).min(room),
        };
        let count = payload_len.div_ceil(segment_len.max(1));
        Ok(Self { segment, payload_len, segment_len, count })
    }

    /// Makes `piece` the segment of that number. False if it does not fit into a chunk.
    #[inline]
    fn write(&self, frame: &Frame, number: usize, piece: &mut Frame) -> bool {
        let Self { segment, payload_len, segment_len, count } = self;
        let offset = number * segment_len;
        let len = (*segment_len).min(payload_len - offset);
        *piece.scratch_mut() = *frame.scratch();
        let headers = &frame.data()[..segment.payload_start];
        if !piece.extend(headers) || !extend_by_payload(frame, segment.payload_start + offset, len, piece) {
            return false;
        }
        let data = piece.data_mut();
        segment.set_len(data, len, number as u16);
        let seq = segment.seq(data).wrapping_add(offset as u32).to_be_bytes();
        let tcp = segment.tcp();
        data[tcp + field::TCP_SEQ..][..4].copy_from_slice(&seq);
        let is_last = number + 1 == *count;
        let kept = if is_last { u8::MAX } else { !(FIN | PSH) } & if number == 0 { u8::MAX } else { !CWR };
        data[tcp + field::TCP_FLAGS] &= kept;
        segment.seal(data);
        true
    }
}

/// Appends `len` bytes that begin at `offset` of a frame and its tail.
#[inline]
fn extend_by_payload(frame: &Frame, offset: usize, len: usize, piece: &mut Frame) -> bool {
    let data = frame.data();
    let tail = frame.tail().map_or(&[][..], |tail| tail.bytes());
    let end = offset + len;
    if offset >= data.len() {
        return tail.get(offset - data.len()..end - data.len()).is_some_and(|bytes| piece.extend(bytes));
    }
    let (first, second) = (data.get(offset..end.min(data.len())), tail.get(..end.saturating_sub(data.len())));
    first.zip(second).is_some_and(|(first, second)| piece.extend(first) && piece.extend(second))
}

impl Module for Tso {
    fn class(&self) -> &'static str {
        "tso"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::THROUGH
    }

    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        if batch.iter().all(|frame| self.fits(frame)) {
            return ctx.emit_batch(0, batch);
        }
        for frame in batch.drain() {
            if self.fits(&frame) { self.send(ctx, frame) } else { self.cut(ctx, frame) }
        }
        self.flush(ctx);
    }

    /// As many frames as can be sent on if all are as large as can be.
    fn room(&mut self, _: &mut Context<'_>, downstream: usize) -> usize {
        let payload_len = self.mtu - HEADERS_LEN_MAX;
        downstream / IP_LEN_MAX.div_ceil(payload_len)
    }

    fn bulk_len_max(&self, _: &Context<'_>) -> usize {
        IP_LEN_MAX - HEADERS_LEN_MAX
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("cut", self.cut_count), ("segments", self.segment_count)]
    }

    fn fork(&self) -> Option<Box<dyn Module>> {
        Some(Box::new(Self { mtu: self.mtu, out: Batch::new(), cut_count: 0, segment_count: 0 }))
    }
}
