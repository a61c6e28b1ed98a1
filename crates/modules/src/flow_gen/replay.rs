//! Replays recorded frames in the pace in which they were recorded, or in another.
//!
//! | | |
//! |---|---|
//! | gates | in: none; out: 0, the frames in their order |
//! | tasks | one: emits the frames that are due, at most a batch a turn |
//! | parameters | frames with the times since the first, in parts as they are read; `speed`: how much faster than recorded (1; 0 for as fast as they are taken); `loops`: how often (1; 0 for ever) |
//! | counters | `packets`, `loops` done, `no_frame`, `too_long` (left out) |
//! | rate | 144 M packets/s of one core, 60 bytes: replay of 1,024 frames (`make bench-pipeline`) |
//!
//! It begins when all frames are there, so that no disk sets its pace. Late frames are made up for. Between two loops lies the mean time between two frames. A replay without pace from a file
//! that need not fit into memory is a port ([`tidegate_port::PcapPort`]).

use crate::parameter::{FRAME_LEN_MAX, ParameterError};
use std::sync::mpsc::{Receiver, TryRecvError};
use tidegate_base::{Duration, Instant};
use tidegate_packet::{BATCH_LEN_MAX, Batch};
use tidegate_pipeline::{Context, GateCounts, Module, Work};
use tidegate_port::RecordedFrame;

/// Bytes of a frame that every chunk holds.
const DATA_LEN_MAX: usize = FRAME_LEN_MAX - 384;
const SPEED_MAX: f64 = 1e6;
/// How soon it is looked again for frames that are being read.
const LOOK_PERIOD: Duration = Duration::from_millis(1);

/// How frames are replayed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReplayParams {
    /// How much faster than recorded; 0 for without pace.
    pub speed: f64,
    /// How often; 0 for ever.
    pub loops: u64,
}

/// The module.
pub struct Replay {
    params: ReplayParams,
    /// Where frames come from, while some may.
    source: Option<Receiver<Vec<RecordedFrame>>>,
    /// When it was last looked for some.
    looked_at: Instant,
    /// In the order of their times.
    frames: Vec<RecordedFrame>,
    /// From the first frame of a loop to the first of the next, as recorded.
    span: Duration,
    /// When the loop began.
    start: Option<Instant>,
    next: usize,
    out: Batch,
    loop_count: u64,
    packet_count: u64,
    no_frame_count: u64,
    too_long_count: u64,
}

impl Replay {
    /// A replay of what comes from `source` until its other end is gone, in the order of times. It begins then, with its next
    /// turn.
    pub fn new(params: ReplayParams, source: Receiver<Vec<RecordedFrame>>) -> Result<Self, ParameterError> {
        if !(0.0..=SPEED_MAX).contains(&params.speed) {
            let value = params.speed.to_string();
            return Err(ParameterError::NoRate { what: "the speed", value, max: SPEED_MAX as u64 });
        }
        Ok(Self {
            params,
            source: Some(source),
            looked_at: Instant::ZERO,
            frames: Vec::new(),
            span: Duration::ZERO,
            start: None,
            next: 0,
            out: Batch::new(),
            loop_count: 0,
            packet_count: 0,
            no_frame_count: 0,
            too_long_count: 0,
        })
    }

    /// Takes in frames that were read meanwhile; whether all are there.
    fn has_all(&mut self, now: Instant) -> bool {
        while let Some(source) = &self.source {
            match source.try_recv() {
                Ok(part) => self.take_in(part),
                Err(TryRecvError::Empty) => {
                    self.looked_at = now;
                    return false;
                }
                Err(TryRecvError::Disconnected) => self.source = None,
            }
        }
        true
    }

    fn take_in(&mut self, part: Vec<RecordedFrame>) {
        let count = self.frames.len() + part.len();
        self.frames.extend(part.into_iter().filter(|frame| frame.data.len() <= DATA_LEN_MAX));
        self.too_long_count += (count - self.frames.len()) as u64;
        let last_ns = self.frames.last().map_or(0, |frame| frame.at.as_nanos());
        self.span =
            Duration::from_nanos(last_ns + last_ns / (self.frames.len() as u64).saturating_sub(1).max(1));
    }

    /// As replayed, what took so long as recorded.
    fn paced(&self, span: Duration) -> Duration {
        if self.params.speed == 0.0 {
            return Duration::ZERO;
        }
        Duration::from_nanos((span.as_nanos() as f64 / self.params.speed) as u64)
    }

    /// When the next frame is due.
    fn due(&self) -> Option<Instant> {
        let frame = self.frames.get(self.next)?;
        Some(self.start.unwrap_or(Instant::ZERO) + self.paced(frame.at))
    }

    fn emit_due(&mut self, ctx: &mut Context<'_>) {
        let now = ctx.now();
        self.start.get_or_insert(now);
        while self.out.room() > 0 && self.due().is_some_and(|due| due <= now) {
            let Some(mut frame) = ctx.pool().alloc() else {
                self.no_frame_count += 1;
                return;
            };
            // None is longer than a chunk holds, and there is room.
            frame.extend(&self.frames[self.next].data);
            let _ = self.out.push(frame);
            self.advance();
        }
    }

    fn advance(&mut self) {
        self.next += 1;
        if self.next < self.frames.len() {
            return;
        }
        self.loop_count += 1;
        if self.params.loops == 0 || self.loop_count < self.params.loops {
            self.next = 0;
            self.start = self.start.map(|start| start + self.paced(self.span));
        }
    }
}

impl Module for Replay {
    fn class(&self) -> &'static str {
        "replay"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::SOURCE
    }

    fn process(&mut self, _: &mut Context<'_>, _: usize, _: &mut Batch) {}

    fn task_count(&self) -> usize {
        1
    }

    fn run(&mut self, ctx: &mut Context<'_>, _: usize) -> Work {
        if !self.has_all(ctx.now()) {
            return Work::NONE;
        }
        self.out.set_len_max(BATCH_LEN_MAX);
        self.emit_due(ctx);
        let work = Work { packet_count: self.out.len(), byte_count: self.out.byte_count() };
        self.packet_count += work.packet_count as u64;
        ctx.emit_batch(0, &mut self.out);
        work
    }

    fn next_deadline(&self) -> Option<Instant> {
        if self.source.is_some() { Some(self.looked_at + LOOK_PERIOD) } else { self.due() }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("packets", self.packet_count),
            ("loops", self.loop_count),
            ("no_frame", self.no_frame_count),
            ("too_long", self.too_long_count),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::Rig;
    use std::sync::mpsc::channel;

    fn recorded() -> Vec<RecordedFrame> {
        [0, 10, 10, 40]
            .map(|ms| RecordedFrame { at: Duration::from_millis(ms), data: vec![ms as u8; 60] })
            .into()
    }

    fn replay(parts: Vec<Vec<RecordedFrame>>, speed: f64, loops: u64) -> Replay {
        let (parts_in, source) = channel();
        parts.into_iter().for_each(|part| parts_in.send(part).unwrap());
        Replay::new(ReplayParams { speed, loops }, source).unwrap()
    }

    /// In which millisecond, from the first, each frame came.
    fn times(speed: f64, loops: u64, until_ms: u64) -> Vec<(u64, u8)> {
        let (first, second) = (recorded()[..1].to_vec(), recorded()[1..].to_vec());
        let mut rig = Rig::with_gates(replay(vec![first, second], speed, loops), 0, 1);
        let mut seen = Vec::new();
        for ms in 0..until_ms {
            let out = rig.round(Instant::from_millis(1000 + ms));
            seen.extend(out.into_iter().map(|(_, frame)| (ms, frame[0])));
        }
        rig.retire();
        seen
    }

    #[test]
    fn frames_come_in_the_pace_of_the_record() {
        assert_eq!(times(1.0, 1, 100), [(0, 0), (10, 10), (10, 10), (40, 40)]);
        assert_eq!(times(2.0, 1, 100), [(0, 0), (5, 10), (5, 10), (20, 40)]);
    }

    #[test]
    fn loops_follow_one_another() {
        // 40 ms, and the mean gap of 13.3 ms.
        assert_eq!(times(1.0, 2, 200)[4..], [(54, 0), (64, 10), (64, 10), (94, 40)]);
        assert_eq!(times(0.0, 3, 2).len(), 12);
        assert!(times(0.0, 0, 3).len() >= 96);
    }

    #[test]
    fn nothing_comes_before_all_is_read() {
        let (parts, source) = channel();
        let replay = Replay::new(ReplayParams { speed: 0.0, loops: 1 }, source).unwrap();
        let mut rig = Rig::with_gates(replay, 0, 1);
        parts.send(recorded()).unwrap();
        assert!(rig.round(Instant::from_millis(1)).is_empty());
        assert_eq!(rig.module::<Replay>().next_deadline(), Some(Instant::from_millis(2)));
        drop(parts);
        assert_eq!(rig.round(Instant::from_millis(2)).len(), 4);
        rig.retire();
    }

    #[test]
    fn nothing_at_all_and_frames_that_no_chunk_holds_are_left_out() {
        let long = RecordedFrame { at: Duration::ZERO, data: vec![0; 1700] };
        let mut rig = Rig::with_gates(replay(vec![vec![long], recorded()], 0.0, 1), 0, 1);
        assert_eq!(rig.round(Instant::from_millis(1)).len(), 4);
        assert_eq!(rig.counter("too_long"), 1);
        rig.retire();
        let mut rig = Rig::with_gates(replay(Vec::new(), 1.0, 0), 0, 1);
        assert!(rig.round(Instant::from_millis(1)).is_empty());
        assert_eq!(rig.module::<Replay>().next_deadline(), None);
        rig.retire();
    }

    #[test]
    fn a_wrong_speed_is_told() {
        let error =
            Replay::new(ReplayParams { speed: -1.0, loops: 1 }, channel().1).err().unwrap().to_string();
        assert!(error.contains("speed is -1"));
    }
}
