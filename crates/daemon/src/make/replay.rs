//! The replay of a capture.

use super::recipe::Sharing::Alone;
use super::recipe::{Class, refused, row};
use crate::files;
use std::sync::mpsc::{SyncSender, sync_channel};
use tidegate_control::proto::bess;
use tidegate_control::{Errno, Fault};
use tidegate_modules::flow_gen::{Replay, ReplayParams};
use tidegate_port::{RecordedFrame, Replay as Capture};

/// Bytes of a capture that is held in memory.
const CAPTURE_LEN_MAX: u64 = 1 << 30;
/// Frames that are handed over at once.
const PART_LEN: usize = 1024;

pub(super) const CLASSES: &[&dyn Class] =
    &[&row("Replay", Alone, |arg: bess::ReplayArg, _| replay(&arg), &[])];

fn replay(arg: &bess::ReplayArg) -> Result<Replay, Fault> {
    let len = files::check_capture(&arg.path)?;
    if len > CAPTURE_LEN_MAX {
        let text = format!(
            "{} has {len} bytes, {CAPTURE_LEN_MAX} at most are held in memory: replay it by a PMDPort with \
             vdev=net_pcap0,rx_pcap=FILE",
            arg.path.escape_debug()
        );
        return Err(Fault::new(Errno::ENOSPC, text));
    }
    let capture = Capture::open(&arg.path).map_err(|error| Fault::invalid(error.to_string()))?;
    let speed = match (arg.flat_out, arg.speed) {
        (true, _) => 0.0,
        (false, 0.0) => 1.0,
        (false, speed) => speed,
    };
    let (parts, source) = sync_channel(1);
    let replay = Replay::new(ReplayParams { speed, loops: arg.loops }, source).map_err(refused)?;
    let mut frames = capture.recorded().peekable();
    if frames.peek().is_none() {
        return Err(Fault::invalid(format!("{} has no frames: record some first", arg.path.escape_debug())));
    }
    let reader = std::thread::Builder::new().name("replay".to_owned());
    reader.spawn(move || read(frames, &parts)).map_err(|error| Fault::new(Errno::EIO, error.to_string()))?;
    Ok(replay)
}

/// Hands all frames over, as long as somebody wants them. A large file takes its time, which the control thread has not.
fn read(mut frames: impl Iterator<Item = RecordedFrame>, parts: &SyncSender<Vec<RecordedFrame>>) {
    loop {
        let part: Vec<_> = frames.by_ref().take(PART_LEN).collect();
        if part.is_empty() || parts.send(part).is_err() {
            return;
        }
    }
}
