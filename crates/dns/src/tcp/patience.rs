//! How long a peer may take (RFC 7766 section 6.2.3, RFC 9210 section 4.4), and what happens then.
//!
//! A connection has one timer, set for what may come first and looked at when it fires: what happened
//! meanwhile costs a stored time, not a timer moved.

use super::stream::Stream;
use super::{Answerer, Carrier, Phase, Tcp};
use tidegate_base::Duration;
use tidegate_stack::Conn;

impl<A: Answerer> Tcp<A> {
    /// What the connection's timer is for.
    pub(super) fn look_at_time<S: Carrier<A::Transfer>>(&mut self, conn: &mut Conn<'_, S>) {
        let left = self.time_left(conn);
        if left > Duration::ZERO {
            conn.arm_timer(left);
        } else if conn.unsent_count() > 0 {
            // Answers that nobody takes must not be kept for ever, nor may the FIN wait behind them.
            self.tally.stalled_count.add(1);
            conn.abort();
        } else if conn.state().phase != Phase::Ending {
            self.tally.idle_timeout_count.add(1);
            self.end(conn);
        }
    }

    /// A message that is not whole has its time from its first byte on.
    pub(super) fn start_timer<S: Carrier<A::Transfer>>(
        &self,
        conn: &mut Conn<'_, S>,
        stream: &mut Stream<A::Transfer>,
    ) {
        if !stream.is_waiting() && stream.since.is_none() {
            stream.since = Some(conn.now());
            conn.arm_timer(self.shared.bounds.query);
        }
    }

    /// How long until something is late; zero if it is.
    fn time_left<S: Carrier<A::Transfer>>(&self, conn: &mut Conn<'_, S>) -> Duration {
        let (now, bounds) = (conn.now(), &self.shared.bounds);
        let is_sending = conn.unsent_count() > 0;
        let state = conn.state();
        let quiet = Duration::from_millis(now.as_millis_wrapping().wrapping_sub(state.active_ms).into());
        let since = state.stream.as_ref().and_then(|stream| stream.since);
        match since {
            _ if is_sending => bounds.sending.saturating_sub(quiet),
            Some(since) => bounds.query.saturating_sub(now - since),
            None => bounds.idle.saturating_sub(quiet),
        }
    }
}
