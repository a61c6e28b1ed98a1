//! Shows one of the frames that pass, once in a while.
//!
//! | | |
//! |---|---|
//! | gates | in: 0; out: 0 |
//! | parameters | the shortest time between two frames shown (1 s); who is shown them |
//! | commands | `set_interval` |
//! | counters | `shown` |
//! | rate | 0.1 ns a frame of 60 bytes on one core (`make bench-pipeline`) |

use crate::parameter::{ParameterError, in_range};
use std::fmt::{self, Display};
use tidegate_base::{Duration, Instant};
use tidegate_packet::Batch;
use tidegate_pipeline::{Context, GateCounts, Module};

/// Between two frames unless told.
pub const DUMP_INTERVAL_DEFAULT: Duration = Duration::from_secs(1);
/// The longest interval: a day.
const INTERVAL_S_MAX: u64 = 86_400;

/// Who is shown a frame's bytes. It is called by the worker, so it must not wait for anybody.
pub type Viewer = Box<dyn FnMut(Instant, &[u8]) + Send>;

/// The module.
pub struct Dump {
    interval: Duration,
    due: Instant,
    viewer: Viewer,
    shown_count: u64,
}

impl Dump {
    /// Shows `viewer` the first frame, and another whenever `interval` has passed.
    pub fn new(interval: Duration, viewer: Viewer) -> Result<Self, ParameterError> {
        let mut module = Self { interval, due: Instant::ZERO, viewer, shown_count: 0 };
        module.set_interval(interval)?;
        Ok(module)
    }

    /// Has so much time pass between frames from now on; the next is due at once.
    pub fn set_interval(&mut self, interval: Duration) -> Result<(), ParameterError> {
        in_range("the interval in seconds", interval.as_nanos().div_ceil(1_000_000_000), 0..=INTERVAL_S_MAX)?;
        self.interval = interval;
        self.due = Instant::ZERO;
        Ok(())
    }
}

impl Module for Dump {
    fn class(&self) -> &'static str {
        "dump"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::THROUGH
    }

    #[inline]
    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        let now = ctx.now();
        if now >= self.due
            && let Some(frame) = batch.iter().next()
        {
            (self.viewer)(now, frame.data());
            self.due = now + self.interval;
            self.shown_count += 1;
        }
        ctx.emit_batch(0, batch);
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("shown", self.shown_count)]
    }
}

/// Bytes as people read them: offset, sixteen bytes in hexadecimal, and what of them is text; a line each.
pub struct Hex<'a>(pub &'a [u8]);

impl Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, line) in self.0.chunks(16).enumerate() {
            write!(f, "{:04x} ", n * 16)?;
            line.iter().try_for_each(|byte| write!(f, " {byte:02x}"))?;
            let blank = (16 - line.len()) * 3 + 2;
            write!(f, "{:blank$}", "")?;
            let shown =
                |byte: u8| if byte == b' ' || byte.is_ascii_graphic() { char::from(byte) } else { '.' };
            line.iter().try_for_each(|byte| write!(f, "{}", shown(*byte)))?;
            writeln!(f)?;
        }
        Ok(())
    }
}
