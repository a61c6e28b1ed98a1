//! Replays recorded frames in the pace in which they were recorded, or in another.
//!
//! | | |
//! |---|---|
//! | gates | in: none; out: 0, the frames in their order |
//! | tasks | one: emits the frames that are due, at most a batch a turn |
//! | parameters | frames with the times since the first; `speed`: how much faster than recorded (1; 0 for as fast as they are taken); `loops`: how often (1; 0 for ever) |
//! | counters | `packets`, `loops` done, `no_frame` |
//!
//! Late frames are made up for. Between two loops lies the mean time between two frames. A replay without pace from a file
//! that need not fit into memory is a port ([`tidegate_port::PcapPort`]).

use crate::parameter::{FRAME_LEN_MAX, ParameterError, in_range};
use tidegate_base::{Duration, Instant};
use tidegate_packet::{BATCH_LEN_MAX, Batch};
use tidegate_pipeline::{Context, GateCounts, Module, Work};
use tidegate_port::RecordedFrame;

/// Bytes of a frame that every chunk holds.
const DATA_LEN_MAX: usize = FRAME_LEN_MAX - 384;
const SPEED_MAX: f64 = 1e6;

/// How frames are replayed.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayParams {
    /// What, in the order of their times.
    pub frames: Vec<RecordedFrame>,
    /// How much faster than recorded; 0 for without pace.
    pub speed: f64,
    /// How often; 0 for ever.
    pub loops: u64,
}

/// The module.
pub struct Replay {
    params: ReplayParams,
    /// From the first frame of a loop to the first of the next, as recorded.
    span: Duration,
    /// When the loop began.
    start: Option<Instant>,
    next: usize,
    out: Batch,
    loop_count: u64,
    packet_count: u64,
    no_frame_count: u64,
}

impl Replay {
    /// A replay that begins with the first turn.
    pub fn new(params: ReplayParams) -> Result<Self, ParameterError> {
        let frames = &params.frames;
        let last = frames.last().ok_or(ParameterError::Missing("recorded frames"))?;
        if !frames.is_sorted_by_key(|frame| frame.at) {
            return Err(ParameterError::Unsorted("times of recorded frames"));
        }
        let longest = frames.iter().map(|frame| frame.data.len()).max().unwrap_or(0);
        in_range("the length of a recorded frame", longest as u64, 0..=DATA_LEN_MAX as u64)?;
        if !(0.0..=SPEED_MAX).contains(&params.speed) {
            let value = params.speed.to_string();
            return Err(ParameterError::NoRate { what: "the speed", value, max: SPEED_MAX as u64 });
        }
        let span_ns = last.at.as_nanos() + last.at.as_nanos() / (frames.len() as u64 - 1).max(1);
        Ok(Self {
            params,
            span: Duration::from_nanos(span_ns),
            start: None,
            next: 0,
            out: Batch::new(),
            loop_count: 0,
            packet_count: 0,
            no_frame_count: 0,
        })
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
        let frame = self.params.frames.get(self.next)?;
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
            frame.extend(&self.params.frames[self.next].data);
            let _ = self.out.push(frame);
            self.advance();
        }
    }

    fn advance(&mut self) {
        self.next += 1;
        if self.next < self.params.frames.len() {
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
        self.out.set_len_max(BATCH_LEN_MAX);
        self.emit_due(ctx);
        let work = Work { packet_count: self.out.len(), byte_count: self.out.byte_count() };
        self.packet_count += work.packet_count as u64;
        ctx.emit_batch(0, &mut self.out);
        work
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.due()
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("packets", self.packet_count), ("loops", self.loop_count), ("no_frame", self.no_frame_count)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::Rig;

    fn recorded() -> Vec<RecordedFrame> {
        [0, 10, 10, 40]
            .map(|ms| RecordedFrame { at: Duration::from_millis(ms), data: vec![ms as u8; 60] })
            .into()
    }

    /// In which millisecond, from the first, each frame came.
    fn times(speed: f64, loops: u64, until_ms: u64) -> Vec<(u64, u8)> {
        let replay = Replay::new(ReplayParams { frames: recorded(), speed, loops }).unwrap();
        let mut rig = Rig::with_gates(replay, 0, 1);
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
    fn wrong_parameters_say_what_is_wrong() {
        let error =
            |frames, speed| Replay::new(ReplayParams { frames, speed, loops: 1 }).err().unwrap().to_string();
        assert!(error(Vec::new(), 1.0).contains("recorded frames"));
        assert!(error(recorded().into_iter().rev().collect(), 1.0).contains("not in order"));
        assert!(error(recorded(), -1.0).contains("speed is -1"));
        let long = vec![RecordedFrame { at: Duration::ZERO, data: vec![0; 1700] }];
        assert!(error(long, 1.0).contains("length of a recorded frame is 1700"));
    }
}
