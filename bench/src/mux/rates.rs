//! Frames a second to and from stacks behind veths, by frame length and number of stacks.
//!
//! ```text
//!   wire ======= nic (demux) ==veth== stack      frames to stacks: from the wire to their AF_XDP sockets
//!   wire ======= nic <-------- check ==veth== stack      frames from stacks: checked, and out
//! ```
//! One thread on one processor sends and takes, and the kernel's work is done on the same one: a figure is of everything
//! together. Beside each stands what the sender alone does, whose frames are dropped at the first device. Frames go to
//! and come from one stack after the other.

use std::fmt::Write;
use std::time::{Duration, Instant};

use serde::Serialize;
use tidegate_bpf::WayOut;

use super::rig::{Rig, Sender};
use crate::statistics;

const STACK_COUNTS: [u32; 5] = [1, 8, 64, 254, 1024];
const FRAME_LENS: [usize; 6] = [64, 128, 256, 512, 1024, 1500];

/// Frames a second, in one way.
#[derive(Clone, Copy, Debug, Serialize)]
struct Line {
    stack_count: u32,
    frame_len: usize,
    /// From the wire to the stacks.
    to_per_s: f64,
    /// From the stacks to the wire, as packets of the kernel.
    from_per_s: f64,
    /// From the stacks to the wire, redirected by XDP.
    from_by_xdp_per_s: f64,
}

/// Frames a second that the senders alone put on a device where they are dropped.
#[derive(Clone, Copy, Debug, Serialize)]
struct Yardstick {
    frame_len: usize,
    per_s: f64,
}

/// All of it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Rates {
    milliseconds: u128,
    runs: u32,
    yardsticks: Vec<Yardstick>,
    lines: Vec<Line>,
}

/// How long and how often.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    pub(super) span: Duration,
    pub(super) runs: u32,
}

/// On the calling thread's processor; of the shortest frames and few stacks only, if it is to be quick.
pub(super) fn measure(turn: Turn, is_quick: bool) -> anyhow::Result<Rates> {
    let frame_lens = if is_quick { &FRAME_LENS[..1] } else { &FRAME_LENS[..] };
    let stack_counts = if is_quick { &STACK_COUNTS[..3] } else { &STACK_COUNTS[..] };
    Ok(Rates {
        milliseconds: turn.span.as_millis(),
        runs: turn.runs,
        yardsticks: frame_lens.iter().map(|len| turn.yardstick(*len)).collect::<anyhow::Result<_>>()?,
        lines: lines(turn, stack_counts, frame_lens)?,
    })
}

fn lines(turn: Turn, stack_counts: &[u32], frame_lens: &[usize]) -> anyhow::Result<Vec<Line>> {
    let mut lines = Vec::new();
    for &stack_count in stack_counts {
        let mut rig = Rig::new(stack_count)?;
        rig.cable.drop_all()?;
        for &frame_len in frame_lens {
            let (to_per_s, from_per_s) =
                (turn.rate_to_stacks(&mut rig, frame_len)?, turn.rate_from_stacks(&mut rig, frame_len)?);
            lines.push(Line { stack_count, frame_len, to_per_s, from_per_s, from_by_xdp_per_s: 0.0 });
        }
        rig.set_way_out(WayOut::Xdp)?;
        for line in lines.iter_mut().filter(|line| line.stack_count == stack_count) {
            line.from_by_xdp_per_s = turn.rate_from_stacks(&mut rig, line.frame_len)?;
        }
    }
    Ok(lines)
}

impl Turn {
    /// The median of what `count` goes up by in a second while `work` is done over and over.
    fn rate<C>(
        self,
        context: &mut C,
        mut work: impl FnMut(&mut C) -> anyhow::Result<()>,
        count: impl Fn(&C) -> anyhow::Result<u64>,
    ) -> anyhow::Result<f64> {
        let mut rates = Vec::new();
        for _ in 0..self.runs {
            let (start, before) = (Instant::now(), count(context)?);
            while start.elapsed() < self.span {
                work(context)?;
            }
            let elapsed = start.elapsed();
            rates.push((count(context)? - before) as f64 / elapsed.as_secs_f64());
        }
        Ok(statistics::median(rates))
    }

    fn yardstick(self, frame_len: usize) -> anyhow::Result<Yardstick> {
        let mut sender = Sender::into_nowhere(frame_len)?;
        let per_s = self.rate(&mut sender, Sender::send, |sender| Ok(sender.sent_count()))?;
        Ok(Yardstick { frame_len, per_s })
    }

    fn rate_to_stacks(self, rig: &mut Rig, frame_len: usize) -> anyhow::Result<f64> {
        rig.load_wire(frame_len);
        self.rate(rig, Rig::send_to_stacks, |rig| Ok(rig.taken_count))
    }

    fn rate_from_stacks(self, rig: &mut Rig, frame_len: usize) -> anyhow::Result<f64> {
        rig.load_stacks(frame_len);
        self.rate(rig, Rig::send_from_stacks, Rig::passed_count)
    }
}

impl Rates {
    pub(super) fn table(&self) -> String {
        let mut text = String::from(
            "| stacks | frame, bytes | to stacks, kframes/s | from stacks | from stacks by XDP | sender alone |\n",
        );
        text += "|---|---|---|---|---|---|\n";
        for line in &self.lines {
            let alone = self.yardsticks.iter().find(|yardstick| yardstick.frame_len == line.frame_len);
            let alone = alone.map_or(0.0, |yardstick| yardstick.per_s);
            let kilo = [line.to_per_s, line.from_per_s, line.from_by_xdp_per_s, alone]
                .map(|rate| format!("{:.0}", rate / 1e3));
            // Writing to a string cannot fail.
            let _ = writeln!(text, "| {} | {} | {} |", line.stack_count, line.frame_len, kilo.join(" | "));
        }
        let Rates { runs, milliseconds, .. } = self;
        text + &format!(
            "\nMedians of {runs} turns of {milliseconds} ms, sender and stacks on one processor.\n"
        )
    }
}
