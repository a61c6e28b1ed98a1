//! The replay of a capture.

use super::recipe::Sharing::Alone;
use super::recipe::{Class, refused, row};
use crate::files;
use tidegate_control::proto::bess;
use tidegate_control::{Errno, Fault};
use tidegate_modules::flow_gen::{Replay, ReplayParams};
use tidegate_port::read_capture;

/// Bytes of a capture that is held in memory.
const CAPTURE_LEN_MAX: u64 = 1 << 30;

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
    let frames = read_capture(&arg.path).map_err(|error| Fault::invalid(error.to_string()))?;
    let speed = match (arg.flat_out, arg.speed) {
        (true, _) => 0.0,
        (false, 0.0) => 1.0,
        (false, speed) => speed,
    };
    Replay::new(ReplayParams { frames, speed, loops: arg.loops }).map_err(refused)
}
