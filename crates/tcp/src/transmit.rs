//! What to send next, and the header it goes under.
//!
//! In this order: what an event made due (RST, SYN, probes), what is lost, what is new, and only if
//! none of these carries it, an acknowledgement.

use crate::connection::Connection;
use crate::flags::Flags;
use crate::scoreboard::Range;
use crate::timer::Wait;
use crate::{Config, Outgoing, State};
use tidegate_base::{Instant, SeqNumber};
use tidegate_wire::{SackBlocks, TcpFlags, TcpOptions, TcpRepr, Timestamps};

/// ECT(0), the ECN-capable codepoint (RFC 3168 section 5).
const ECN_CAPABLE: u8 = 2;
/// SACK blocks that fit beside timestamps, and without them (RFC 2018 section 3).
const SACK_COUNT_WITH_TIMESTAMPS: usize = 3;
const SACK_COUNT_MAX: usize = 4;
/// Bytes of a SACK option without blocks, padded, and of a block.
const SACK_HEADER_LEN: u32 = 4;
const SACK_BLOCK_LEN: u32 = 8;

/// Flags that make something else than text or an acknowledgement due.
const DUE: Flags = Flags::RESET_DUE.with(Flags::SYN_DUE).with(Flags::PROBE_DUE).with(Flags::TAIL_PROBE_DUE);

/// How the owner of the stream wants it cut.
type SegmentLen<'a> = &'a mut dyn FnMut(u64, usize) -> usize;

/// A piece of the stream to send.
#[derive(Clone, Copy)]
struct Piece {
    seq: SeqNumber,
    len: u32,
    fin: bool,
}

impl Piece {
    const fn end(self) -> SeqNumber {
        SeqNumber(self.seq.0.wrapping_add(self.len + self.fin as u32))
    }
}

impl Connection {
    /// The next segment to send, which counts as sent from then on; `None` if there is nothing to send
    /// now. `segment_len(offset, max)` says how long a data segment at that stream offset should be,
    /// 1..=max.
    #[inline]
    pub fn poll_transmit(
        &mut self,
        now: Instant,
        config: &Config,
        segment_len: &mut dyn FnMut(u64, usize) -> usize,
    ) -> Option<Outgoing> {
        let outgoing = self.next_segment(now, config, segment_len);
        if self.option.is_some()
            && let Some(outgoing) = &outgoing
        {
            self.write_options(now, &outgoing.repr);
        }
        outgoing
    }

    #[inline]
    fn next_segment(
        &mut self,
        now: Instant,
        config: &Config,
        segment_len: SegmentLen<'_>,
    ) -> Option<Outgoing> {
        self.flags.clear(Flags::PACED);
        if self.flags.has(DUE)
            && let Some(outgoing) = self.transmit_due(now, config, segment_len)
        {
            return Some(outgoing);
        }
        let may_send = self.state.can_send() || self.is_early();
        if may_send && (self.is_in_flight() || self.unsent() > 0 || self.is_fin_due()) {
            let text = self.transmit_text(now, config, segment_len);
            if text.is_some() {
                return text;
            }
        }
        if self.receive.acks_owed > 0 {
            return Some(self.transmit_ack(now, config));
        }
        None
    }

    /// As much new text as both windows have room for, up to `len_max` bytes, as one segment that somebody behind
    /// the stack cuts at [`Connection::segment_len_max`] ("segmentation offload"). `None` where that is not for now: ask
    /// [`Connection::poll_transmit`] then. `bulk_len(offset, max)` says how many bytes can be had so, 0..=max.
    #[inline]
    pub fn poll_transmit_bulk(
        &mut self,
        now: Instant,
        config: &Config,
        len_max: usize,
        bulk_len: &mut dyn FnMut(u64, usize) -> usize,
    ) -> Option<Outgoing> {
        let mss = self.window.mss;
        if !self.may_send_bulk() {
            return None;
        }
        let len_max = if self.flags.has(Flags::BY_RATE) {
            if self.is_held_back(now) {
                return None;
            }
            self.paced_bulk_len().min(len_max as u64)
        } else {
            len_max as u64
        };
        let unsent = self.unsent();
        let room = self.peer_room().min(self.window.cwnd.saturating_sub(self.pipe()));
        let max = unsent.min(room.into()).min(len_max) as u32;
        let is_rest = u64::from(max) == unsent;
        if max == 0 || !is_rest && max < mss {
            return None;
        }
        let offset = self.offset_of(self.send.nxt);
        let len = (bulk_len(offset, max as usize) as u32).min(max);
        let len = whole_segments(len, unsent, mss);
        if len == 0 {
            return None;
        }
        if !self.is_in_flight() {
            self.restart_if_idle(now, config);
        }
        let fin = self.is_fin_due() && u64::from(len) == unsent && len < self.peer_room();
        let outgoing = self.emit_new(now, config, Piece { seq: self.send.nxt, len, fin });
        self.send.last_start = self.send.nxt - (len % mss + if len.is_multiple_of(mss) { mss } else { 0 });
        Some(outgoing)
    }

    /// The most payload that one segment has.
    pub const fn segment_len_max(&self) -> u32 {
        self.window.mss
    }

    /// Bulk is for an undisturbed flow: what is due otherwise, what is lost, and what a segment has to say
    /// besides (SACK blocks, CWR) go by themselves.
    #[inline]
    fn may_send_bulk(&self) -> bool {
        !self.flags.has(DUE)
            && !self.flags.has(Flags::CWR_DUE)
            && self.state.can_send()
            && self.recovery.as_ref().is_none_or(|recovery| !recovery.has_to_send_again(self.send.una))
            && self.reassembly.is_none()
            && self.option.is_none()
    }

    #[cold]
    fn transmit_due(
        &mut self,
        now: Instant,
        config: &Config,
        segment_len: SegmentLen<'_>,
    ) -> Option<Outgoing> {
        if self.flags.take(Flags::RESET_DUE) {
            return Some(self.transmit_reset());
        }
        if self.flags.take(Flags::SYN_DUE) && matches!(self.state, State::SynSent | State::SynReceived) {
            return Some(self.transmit_syn(now, config));
        }
        if self.flags.take(Flags::TAIL_PROBE_DUE) && self.is_in_flight() && self.may_probe() {
            return Some(self.transmit_tail_probe(now, config, segment_len));
        }
        if self.flags.take(Flags::PROBE_DUE) && self.state.is_synchronized() {
            // An old sequence number asks for an acknowledgement (RFC 9293 section 3.8.4).
            let repr = self.header(now, config, self.send.una - 1u32, TcpFlags::ACK, 0);
            self.on_ack_sent(&repr);
            return Some(Outgoing { repr, offset: 0, payload_len: 0, ecn: 0 });
        }
        None
    }

    /// <SEQ=SND.NXT><ACK=RCV.NXT><CTL=RST,ACK> (RFC 9293 section 3.10.5).
    fn transmit_reset(&mut self) -> Outgoing {
        let repr = TcpRepr {
            src_port: 0,
            dst_port: 0,
            seq: self.send.nxt,
            ack: self.receive.nxt,
            flags: TcpFlags::RST.with(TcpFlags::ACK),
            window: 0,
            options: TcpOptions::NONE,
        };
        Outgoing { repr, offset: 0, payload_len: 0, ecn: 0 }
    }

    fn transmit_syn(&mut self, now: Instant, config: &Config) -> Outgoing {
        let flags = self.syn_flags(config);
        let has_ack = flags.contains(TcpFlags::ACK);
        let repr = TcpRepr {
            src_port: 0,
            dst_port: 0,
            seq: self.send.una,
            ack: if has_ack { self.receive.nxt } else { SeqNumber(0) },
            flags,
            window: config.receive_window.min(u16::MAX.into()) as u16,
            options: self.syn_options(now, config),
        };
        if self.flags.has(Flags::EARLY) {
            self.receive.edge = self.receive.edge.max(self.receive.nxt + u32::from(repr.window));
        }
        if self.send.nxt == self.send.una {
            self.send.nxt = self.send.una + 1;
            self.timed_at = now;
            self.flags.set(Flags::TIMING);
            self.arm_retransmission(now, config);
        } else {
            self.sent_again_count = self.sent_again_count.wrapping_add(1);
            // Karn: which of the two is acknowledged cannot be told (RFC 6298 section 3).
            self.flags.clear(Flags::TIMING);
        }
        self.on_ack_sent(&repr);
        Outgoing { repr, offset: 0, payload_len: 0, ecn: 0 }
    }

    /// A bare acknowledgement.
    fn transmit_ack(&mut self, now: Instant, config: &Config) -> Outgoing {
        let owed = self.receive.acks_owed;
        let repr = self.header(now, config, self.send.nxt, TcpFlags::ACK, 0);
        self.on_ack_sent(&repr);
        self.receive.acks_owed = self.receive.acks_owed.max(owed - 1);
        Outgoing { repr, offset: 0, payload_len: 0, ecn: 0 }
    }

    fn transmit_text(
        &mut self,
        now: Instant,
        config: &Config,
        segment_len: SegmentLen<'_>,
    ) -> Option<Outgoing> {
        if self.flags.has(Flags::BY_RATE) && self.is_held_back(now) {
            return None;
        }
        if self.recovery.is_some()
            && let Some(again) = self.transmit_again(now, config, segment_len)
        {
            return Some(again);
        }
        let outgoing = self.transmit_new(now, config, segment_len);
        let is_stuck = outgoing.is_none() && !self.is_in_flight() && self.wait == Wait::None;
        if is_stuck && (self.unsent() > 0 || self.is_fin_due()) {
            // The window is closed or too small, and nothing in flight will bring an answer.
            self.timers.progress = now;
            self.start_timer(Wait::Persist, now + self.rtt.rto(config, self.backoff));
        }
        outgoing
    }

    /// The first lost range again, if the congestion window has room (RFC 6675 section 5, step C).
    fn transmit_again(
        &mut self,
        now: Instant,
        config: &Config,
        segment_len: SegmentLen<'_>,
    ) -> Option<Outgoing> {
        let recovery = self.recovery.as_ref()?;
        let hole = recovery.scoreboard.next_hole(self.send.una)?;
        let max = hole.len().min(self.window.mss);
        if !recovery.send_one && self.pipe() + max > self.window.cwnd {
            return None;
        }
        let piece = self.cut_again(hole, segment_len);
        let range = Range { start: piece.seq, end: piece.end() };
        let (snd_nxt, stamp) = (self.send.nxt, config.timestamp_clock(now));
        if let Some(recovery) = &mut self.recovery {
            recovery.on_send_again(range, now, snd_nxt, stamp);
        }
        Some(self.emit_again(now, config, piece))
    }

    /// Cuts the beginning of what was sent before anew: data as the owner wants it, or the FIN.
    fn cut_again(&mut self, range: Range, segment_len: SegmentLen<'_>) -> Piece {
        let offset = self.offset_of(range.start);
        let left = self.send.offered.saturating_sub(offset);
        let max = u64::from(range.len().min(self.window.mss)).min(left) as u32;
        let len = cut(offset, max, segment_len);
        let is_last = u64::from(len) == left && self.flags.has(Flags::FIN_SENT);
        Piece { seq: range.start, len, fin: is_last && (range.start + len).before(range.end) }
    }

    /// Sends a piece again. Never marked as ECN-capable (RFC 3168 section 6.1.5).
    fn emit_again(&mut self, now: Instant, config: &Config, piece: Piece) -> Outgoing {
        self.sent_again_count = self.sent_again_count.wrapping_add(1);
        self.flags.clear(Flags::TIMING);
        // The timer runs anew for the oldest segment, which now has a round trip to be acknowledged.
        if piece.seq == self.send.una || matches!(self.wait, Wait::None | Wait::TailProbe) {
            self.arm_retransmission(now, config);
        }
        let offset = self.offset_of(piece.seq);
        let flags = self.text_flags(offset, piece);
        let repr = self.header(now, config, piece.seq, flags, piece.len);
        self.timers.sent = now;
        self.on_ack_sent(&repr);
        if self.flags.has(Flags::BY_RATE) {
            self.note_sent(now, piece.seq, piece.end(), true);
        }
        Outgoing { repr, offset, payload_len: piece.len as usize, ecn: 0 }
    }

    /// New text or the FIN, if both windows have room.
    fn transmit_new(
        &mut self,
        now: Instant,
        config: &Config,
        segment_len: SegmentLen<'_>,
    ) -> Option<Outgoing> {
        let unsent = self.unsent();
        if unsent == 0 && !self.is_fin_due() {
            self.flags.clear(Flags::CWND_LIMITED);
            if self.flags.has(Flags::BY_RATE) {
                self.note_all_sent();
            }
            return None;
        }
        let room = self.peer_room();
        let max = unsent.min(self.window.mss.into()) as u32;
        if !self.is_worth_sending(config, room, max, unsent) {
            return None;
        }
        if !self.is_in_flight() {
            self.restart_if_idle(now, config);
        }
        let max = max.min(room);
        if self.pipe() + max > self.window.cwnd {
            self.flags.set(Flags::CWND_LIMITED);
            return None;
        }
        let offset = self.offset_of(self.send.nxt);
        let len = cut(offset, max, segment_len);
        let fin = self.is_fin_due() && u64::from(len) == unsent && len < room;
        Some(self.emit_new(now, config, Piece { seq: self.send.nxt, len, fin }))
    }

    /// Sends a piece for the first time.
    fn emit_new(&mut self, now: Instant, config: &Config, piece: Piece) -> Outgoing {
        let was_idle = !self.is_in_flight();
        let offset = self.offset_of(piece.seq);
        let mut flags = self.text_flags(offset, piece);
        if piece.len > 0 && self.flags.take(Flags::CWR_DUE) {
            flags = flags.with(TcpFlags::CWR);
        }
        let repr = self.header(now, config, piece.seq, flags, piece.len);
        self.send.last_start = piece.seq;
        if piece.len < self.window.mss {
            self.send.small_end = piece.seq + piece.len;
        }
        self.send.nxt = piece.end();
        if piece.fin {
            self.on_fin_sent();
        }
        if !self.flags.has(Flags::TIMING) {
            self.flags.set(Flags::TIMING);
            self.timed_at = now;
            self.timed_end = self.send.nxt;
        }
        if was_idle {
            self.timers.progress = now;
            self.backoff = 0;
        }
        self.flags.clear(Flags::OVERRIDE);
        self.arm_on_new_text(now, config);
        self.timers.sent = now;
        self.on_ack_sent(&repr);
        if self.flags.has(Flags::BY_RATE) {
            self.note_sent(now, piece.seq, piece.end(), false);
        }
        let ecn = if piece.len > 0 && self.flags.has(Flags::ECN) { ECN_CAPABLE } else { 0 };
        Outgoing { repr, offset, payload_len: piece.len as usize, ecn }
    }

    /// A tail loss probe: in recovery the oldest segment once more, else the last one (RFC 8985
    /// section 7.3). The RFC would rather send new text; but a peer that got everything delays its answer
    /// to one new segment by many round trips of a short path, and answers a repetition at once.
    fn transmit_tail_probe(
        &mut self,
        now: Instant,
        config: &Config,
        segment_len: SegmentLen<'_>,
    ) -> Outgoing {
        self.on_tail_probe();
        if let Some(oldest) = self.transmit_again(now, config, segment_len) {
            return oldest;
        }
        let start = self.send.last_start.max(self.send.una);
        let piece = self.cut_again(Range { start, end: self.send.nxt }, segment_len);
        self.emit_again(now, config, piece)
    }

    fn on_fin_sent(&mut self) {
        self.flags.set(Flags::FIN_SENT);
        match self.state {
            State::Established => self.state = State::FinWait1,
            State::CloseWait => self.state = State::LastAck,
            _ => {}
        }
    }

    /// Bytes that the peer's window has room for.
    #[inline]
    pub(crate) fn peer_room(&self) -> u32 {
        let edge = self.send.una + self.send.wnd;
        if edge.after(self.send.nxt) { edge.since(self.send.nxt) } else { 0 }
    }

    /// Whether `max` bytes, of which the peer's window has `room` for some, make a segment worth
    /// sending (RFC 9293 section 3.8.6.2.1), and Nagle's algorithm agrees (section 3.7.4).
    #[inline]
    fn is_worth_sending(&self, config: &Config, room: u32, max: u32, unsent: u64) -> bool {
        if room == 0 {
            return false;
        }
        if room < max {
            return room >= self.send.wnd_max / 2 || self.flags.has(Flags::OVERRIDE);
        }
        let is_small = unsent < u64::from(self.window.mss);
        !(config.nagle && is_small && self.has_small_in_flight() && !self.is_fin_due())
    }

    /// Whether a small segment is in flight. Full ones do not hold a small one back: the end of a long answer would wait for
    /// a delayed acknowledgement (docs/specs/tcp.md).
    fn has_small_in_flight(&self) -> bool {
        let end = self.send.small_end;
        end.after(self.send.una) && end.at_or_before(self.send.nxt)
    }

    /// After an idle time the window says nothing about the path (RFC 5681 section 4.1).
    #[inline]
    fn restart_if_idle(&mut self, now: Instant, config: &Config) {
        if now.since(self.timers.sent) > self.rtt.rto(config, 0) && !self.flags.has(Flags::BY_RATE) {
            let initial = self.initial_window(config);
            self.window.cwnd = self.window.cwnd.min(initial).max(self.window.mss);
        }
    }

    /// The SACK blocks for a segment with `payload_len` bytes of data: as many as it has room for.
    /// Data is not cut smaller for them, since its owner has cut it already.
    fn sack_blocks(&self, payload_len: u32) -> SackBlocks {
        let count_max =
            if self.flags.has(Flags::TIMESTAMPS) { SACK_COUNT_WITH_TIMESTAMPS } else { SACK_COUNT_MAX };
        let room = self.window.mss.saturating_sub(payload_len + SACK_HEADER_LEN) / SACK_BLOCK_LEN;
        match &self.reassembly {
            Some(reassembly) if self.flags.has(Flags::SACK) => {
                reassembly.blocks(count_max.min(room as usize))
            }
            _ => SackBlocks::NONE,
        }
    }

    /// PSH with the last byte offered (RFC 9293 section 3.9.1.2), FIN with the last byte at all.
    #[inline]
    fn text_flags(&self, offset: u64, piece: Piece) -> TcpFlags {
        let mut flags = TcpFlags::ACK;
        if piece.len > 0 && offset + u64::from(piece.len) == self.send.offered {
            flags = flags.with(TcpFlags::PSH);
        }
        if piece.fin { flags.with(TcpFlags::FIN) } else { flags }
    }

    /// A header with acknowledgement, window and options as they are now.
    #[inline]
    fn header(
        &mut self,
        now: Instant,
        config: &Config,
        seq: SeqNumber,
        flags: TcpFlags,
        payload_len: u32,
    ) -> TcpRepr {
        let echo = if self.flags.has(Flags::ECHO_MARK) { TcpFlags::ECE } else { TcpFlags(0) };
        let timestamps = self
            .flags
            .has(Flags::TIMESTAMPS)
            .then(|| Timestamps { value: config.timestamp_clock(now), echo: self.receive.ts_recent });
        let sack = if self.reassembly.is_some() { self.sack_blocks(payload_len) } else { SackBlocks::NONE };
        TcpRepr {
            src_port: 0,
            dst_port: 0,
            seq,
            ack: self.receive.nxt,
            flags: flags.with(echo),
            window: self.open_window(config),
            options: TcpOptions { timestamps, sack, ..TcpOptions::NONE },
        }
    }

    /// The window field. The right edge never moves left, and right only by a worthwhile amount
    /// (RFC 9293 section 3.8.6.2.2).
    #[inline]
    fn open_window(&mut self, config: &Config) -> u16 {
        let receive = &mut self.receive;
        let open = receive.edge.since(receive.nxt);
        let free = config.receive_window.saturating_sub(receive.unread);
        let worth = (config.receive_window / 2).min(self.window.mss);
        let unit = (1u32 << receive.shift) - 1;
        let field_max = u32::from(u16::MAX);
        let field = if free >= open.saturating_add(worth) {
            (free >> receive.shift).min(field_max)
        } else {
            // Rounded up: what was offered stays offered.
            ((open + unit) >> receive.shift).min(field_max)
        };
        receive.edge = receive.edge.max(receive.nxt + (field << receive.shift));
        field as u16
    }

    /// What an acknowledgement tells has been told; but one stays owed for text beyond a gap that it
    /// had no room to report.
    #[inline]
    fn on_ack_sent(&mut self, repr: &TcpRepr) {
        self.receive.last_ack = self.receive.nxt;
        self.receive.segment_count = 0;
        self.timers.ack = Instant::FAR_FUTURE;
        self.receive.acks_owed = 0;
        if let Some(reassembly) = self.reassembly.as_mut().filter(|_| self.flags.has(Flags::SACK)) {
            self.receive.acks_owed = reassembly.on_reported(&repr.options.sack).into();
            self.release_reassembly();
        }
    }
}

/// The part of `len` bytes of bulk to send now, of `unsent` in all: whole segments, so that what is sent again is cut
/// as it was; and not so many that less than two segments stay behind, because a receiver's offload holds the last
/// segment of a bulk back and lets a short one that comes alone overtake what it holds.
#[inline]
fn whole_segments(len: u32, unsent: u64, mss: u32) -> u32 {
    if u64::from(len) == unsent {
        return len;
    }
    let whole = len - len % mss;
    let leaves_one = unsent - u64::from(whole) <= mss.into();
    if leaves_one && whole > mss { whole - mss } else { whole }
}

/// How many of at most `max` bytes at `offset` make a segment.
#[inline]
fn cut(offset: u64, max: u32, segment_len: SegmentLen<'_>) -> u32 {
    if max == 0 { 0 } else { (segment_len(offset, max as usize) as u32).clamp(1, max) }
}
