//! How long a peer may take, and what happens then.
//!
//! A connection has one timer, set for what may come first and looked at when it fires: what happened
//! meanwhile costs a stored time, not a timer moved.

use super::intake::{Intake, Waiting};
use super::{Phase, Site, SiteConn};
use crate::status::Status;
use tidegate_base::Duration;

/// How often it is looked whether the peer has taken everything.
const SENDING_INTERVAL: Duration = Duration::from_secs(1);

impl Site {
    /// What the connection's timer is for.
    pub(super) fn look_at_time(&mut self, conn: &mut SiteConn<'_>) {
        // TCP sees to the end of what was closed in order.
        if conn.state().phase == Phase::Ending {
            return;
        }
        let left = self.time_left(conn);
        if is_only_sending(conn) {
            conn.arm_timer(SENDING_INTERVAL);
        } else if left > Duration::ZERO {
            conn.arm_timer(left);
        } else {
            self.expire(conn);
        }
    }

    /// A request that is not whole, and a load, have their time from their first moment on.
    pub(super) fn start_timer(&self, conn: &mut SiteConn<'_>, intake: &mut Intake) {
        if intake.waiting != Waiting::Room && intake.since.is_none() {
            intake.since = Some(conn.now());
            conn.arm_timer(self.patience(intake.waiting));
        }
    }

    fn patience(&self, waiting: Waiting) -> Duration {
        match waiting {
            Waiting::Input => self.shared.bounds.header,
            Waiting::Load => self.shared.bounds.load,
            Waiting::Room => self.shared.bounds.idle,
        }
    }

    /// How long until something is late; zero if it is.
    fn time_left(&self, conn: &mut SiteConn<'_>) -> Duration {
        let (now, bounds) = (conn.now(), &self.shared.bounds);
        let state = conn.state();
        let quiet_ms = now.as_millis_wrapping().wrapping_sub(state.active_ms);
        let quiet_since = now - Duration::from_millis(u64::from(quiet_ms));
        let (since, patience) = match (state.intake.as_deref(), state.phase) {
            (_, Phase::Lingering) => (quiet_since, bounds.linger),
            (Some(Intake { since: Some(since), waiting, .. }), _) => (*since, self.patience(*waiting)),
            (Some(_), _) => (quiet_since, bounds.idle),
            (None, _) if state.request_count == 0 => (quiet_since, bounds.header),
            (None, _) => (quiet_since, bounds.idle),
        };
        patience.saturating_sub(now - since)
    }

    /// A connection whose time is over.
    fn expire(&mut self, conn: &mut SiteConn<'_>) {
        let intake = conn.state().intake.take();
        match intake {
            _ if conn.state().phase == Phase::Lingering => conn.abort(),
            Some(intake) if intake.is_partial() => {
                self.tally.header_timeout_count.add(1);
                conn.take(intake.held);
                // Behind an answer, the rest of its request's body is only waited for, never answered.
                match intake.body {
                    Some(_) => self.end(conn),
                    None => self.refuse(conn, Status::RequestTimeout, &intake.bytes),
                }
            }
            Some(intake) if intake.waiting == Waiting::Load => {
                self.refuse(conn, Status::ServiceUnavailable, &intake.bytes);
                conn.take(intake.held);
            }
            _ => {
                self.tally.idle_timeout_count.add(1);
                self.end(conn);
            }
        }
    }
}

/// Whether the peer owes nothing but acknowledgements. TCP gives up a peer that takes nothing; until
/// then its connection is not idle.
fn is_only_sending(conn: &mut SiteConn<'_>) -> bool {
    let intake = conn.state().intake.as_deref();
    let is_quiet = intake.is_none_or(|intake| intake.waiting == Waiting::Room);
    is_quiet && conn.unsent_count() > 0
}
