//! Congestion control: how much may be in flight (RFC 5681), and how fast it goes out, behind one trait.
//!
//! A connection carries the two numbers every algorithm shares, [`Window`]. An algorithm's own state is
//! a box that is made when first needed: for the built-in ones that is the first loss, since until
//! then they all slow-start alike. What is lost and what is retransmitted is not decided here.
//!
//! There are two kinds. A control by window hears of acknowledgements and losses and moves the window. A control by
//! rate owns a [`Rate`], which the connection keeps up to date, gets a [`RateSample`] for each acknowledgement, and
//! sets both the window and the rate at which segments leave. The second kind costs memory and time only where it
//! is chosen.

mod cubic;
mod delivery;
mod new_reno;
mod pacer;
mod registry;

pub use cubic::Cubic;
pub(crate) use delivery::AfterAck;
pub use delivery::{Delivery, RateSample};
pub use new_reno::NewReno;
pub use pacer::Pacer;
pub use registry::{NameTaken, by_name, names, register};

use core::fmt;
use tidegate_base::{Duration, Instant};

/// The largest window that a peer can offer (RFC 7323 section 2.3): more is never in flight.
pub(crate) const CWND_MAX: u32 = 1 << 30;

/// What may be in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// The congestion window in bytes.
    pub cwnd: u32,
    /// The slow start threshold in bytes.
    pub ssthresh: u32,
    /// The sender's maximum segment size in bytes.
    pub mss: u32,
}

impl Window {
    /// Whether the window is still below the threshold (RFC 5681 section 3.1).
    pub const fn is_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Slow start: one segment more for each that was acknowledged (RFC 5681 equation 2). Returns the
    /// acknowledged bytes that are left when the threshold is reached.
    pub fn slow_start(&mut self, acked: u32) -> u32 {
        let grow = acked.min(self.ssthresh.saturating_sub(self.cwnd));
        self.cwnd = self.cwnd.saturating_add(grow);
        acked - grow
    }
}

/// An acknowledgement of new data, outside of loss recovery.
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// When it arrived.
    pub now: Instant,
    /// Bytes that it acknowledged.
    pub acked: u32,
    /// The smoothed round-trip time.
    pub rtt: Duration,
}

/// How far loss recovery is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LossPhase {
    /// Hints perhaps, but nothing counts as lost.
    Open,
    /// Fast recovery, until all that was in flight when it began is acknowledged (RFC 6675).
    Fast,
    /// The retransmission timer fired: slow start from one segment.
    Timeout,
}

/// What a control by rate owns and the connection keeps up to date: the record of what was sent and arrived, and
/// the schedule of what leaves.
#[derive(Debug, Default)]
pub struct Rate {
    /// What the path delivers.
    pub delivery: Delivery,
    /// When segments leave.
    pub pacer: Pacer,
}

/// The state of one connection under an algorithm.
pub trait Congestion: Send + fmt::Debug {
    /// New data was acknowledged while the window was what limited us. Only a control by window is told so.
    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        let _ = (window, ack);
    }

    /// Loss or a congestion mark, once a window of data: sets `ssthresh`; the caller sets `cwnd` to it,
    /// or to one segment if it was the retransmission timer that found out. `flight` is what was in
    /// flight, in bytes.
    fn on_congestion(&mut self, window: &mut Window, now: Instant, flight: u32);

    /// The last `on_congestion` was a mistake (RFC 4015): nothing was lost.
    fn on_undo(&mut self) {}

    /// What makes this a control by rate.
    fn rate(&self) -> Option<&Rate> {
        None
    }

    /// The same, to be kept up to date.
    fn rate_mut(&mut self) -> Option<&mut Rate> {
        None
    }

    /// An acknowledgement was taken, in recovery or not: sets `cwnd` and the pacer's rate. Only a control by rate
    /// is told so.
    fn on_sample(&mut self, window: &mut Window, sample: &RateSample) {
        let _ = (window, sample);
    }
}

/// A named algorithm, chosen for a listener. Other crates add their own by writing such a value.
#[derive(Clone, Copy)]
pub struct Algorithm {
    /// The name under which it is configured and shown.
    pub name: &'static str,
    /// Makes the state of a connection.
    pub start: fn() -> Box<dyn Congestion>,
    /// Start with the connection rather than with its first loss. A control by rate must.
    pub from_start: bool,
}

impl fmt::Debug for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// RFC 5681 and RFC 6582.
pub const NEW_RENO: Algorithm =
    Algorithm { name: "newreno", start: || Box::new(NewReno::default()), from_start: false };

/// RFC 9438.
pub const CUBIC: Algorithm =
    Algorithm { name: "cubic", start: || Box::new(Cubic::default()), from_start: false };

#[cfg(test)]
mod tests;
