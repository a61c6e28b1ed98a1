//! Congestion control: how much may be in flight (RFC 5681), behind one trait.
//!
//! A connection carries the two numbers every algorithm shares, [`Window`]. An algorithm's own state is
//! a box that is made when first needed: for the built-in ones that is the first loss, since until
//! then they all slow-start alike. What is lost and what is retransmitted is not decided here.

mod cubic;
mod new_reno;

pub use cubic::Cubic;
pub use new_reno::NewReno;

use core::fmt;
use tidegate_base::{Duration, Instant};

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

/// The state of one connection under an algorithm.
pub trait Congestion: Send + fmt::Debug {
    /// New data was acknowledged while the window was what limited us.
    fn on_ack(&mut self, window: &mut Window, ack: &AckSample);

    /// Loss or a congestion mark, once a window of data: sets `ssthresh`; the caller sets `cwnd` to it,
    /// or to one segment if it was the retransmission timer that found out. `flight` is what was in
    /// flight, in bytes.
    fn on_congestion(&mut self, window: &mut Window, now: Instant, flight: u32);

    /// The last `on_congestion` was a mistake (RFC 4015): nothing was lost.
    fn on_undo(&mut self) {}
}

/// A named algorithm, chosen for a listener. Other crates add their own by writing such a value.
#[derive(Clone, Copy)]
pub struct Algorithm {
    /// The name under which it is configured and shown.
    pub name: &'static str,
    /// Makes the state of a connection.
    pub start: fn() -> Box<dyn Congestion>,
    /// Start with the connection rather than with its first loss.
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

/// The built-in algorithm of that name.
pub fn by_name(name: &str) -> Option<Algorithm> {
    [NEW_RENO, CUBIC].into_iter().find(|algorithm| algorithm.name == name)
}

#[cfg(test)]
mod tests;
