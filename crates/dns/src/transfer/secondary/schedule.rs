//! When a copied zone is checked against its primary, and how long it may go unchecked (RFC 1034 section
//! 4.3.5).
//!
//! ```text
//!   confirmed --refresh--> check --same or new--> confirmed
//!                            \--failed--retry--> check --...-- expire since confirmed --> not served
//! ```
//! No I/O and no clock: times come in as arguments.

use crate::zone::SoaTimes;
use tidegate_base::{Duration, Instant};

/// The shortest time from one check to the next, whatever the SOA says.
const INTERVAL_MIN: Duration = Duration::from_secs(1);
/// The first wait for a zone that was never had; each further one is twice as long.
const FIRST_RETRY: Duration = Duration::from_secs(2);
/// The longest wait for a zone that was never had.
const FIRST_RETRY_MAX: Duration = Duration::from_secs(600);

/// One zone's timers.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    next_check: Instant,
    /// None: there is no copy that could expire.
    copy: Option<Copy>,
    failed_count: u32,
}

/// What a primary has said of a zone.
#[derive(Clone, Debug)]
pub(crate) struct Confirmed {
    pub(crate) times: SoaTimes,
    /// Seconds that it may be served, if the primary knows better than the SOA.
    pub(crate) expire_s: Option<u32>,
    /// It is a version that was not here.
    pub(crate) is_new: bool,
}

impl Confirmed {
    /// For how long less than the SOA says the zone may be served: when it was confirmed by the first of the
    /// primaries that it came through, that long ago.
    pub(crate) fn age(&self) -> Duration {
        let whole = self.times.expire;
        seconds(whole.saturating_sub(self.expire_s.unwrap_or(whole)))
    }
}

#[derive(Clone, std::marker::Copy, Debug)]
struct Copy {
    retry: Duration,
    expires: Instant,
}

impl Schedule {
    /// A zone that is not there yet: checked at once.
    pub(crate) const fn missing(now: Instant) -> Self {
        Self { next_check: now, copy: None, failed_count: 0 }
    }

    /// A zone that was kept since its primary confirmed it `age` ago: checked at once, for nobody knows what
    /// was missed.
    pub(crate) fn kept(now: Instant, times: &SoaTimes, age: Duration) -> Self {
        let left = seconds(times.expire).saturating_sub(age);
        let copy = Copy { retry: interval(times.retry), expires: now + left };
        Self { next_check: now, copy: Some(copy), failed_count: 0 }
    }

    /// The primary has this version now. `spread`, below 1,000, brings the next check forward by up to a tenth,
    /// so that zones which came together do not stay together.
    pub(crate) fn on_confirmed(&mut self, now: Instant, confirmed: &Confirmed, spread: u64) {
        let times = &confirmed.times;
        let refresh = interval(times.refresh).as_nanos();
        self.next_check = now + Duration::from_nanos(refresh - refresh / 10_000 * (spread % 1000));
        self.copy = Some(Copy { retry: interval(times.retry), expires: self.expiry(now, confirmed) });
        self.failed_count = 0;
    }

    /// RFC 7314 section 4: what the primary says counts, but takes nothing from a copy that was confirmed by a
    /// better one. The SOA's word is the upper bound.
    fn expiry(&self, now: Instant, confirmed: &Confirmed) -> Instant {
        let whole = now + seconds(confirmed.times.expire);
        let Some(said) = confirmed.expire_s.map(|secs| now + seconds(secs)) else { return whole };
        let had = self.copy.filter(|_| !confirmed.is_new).map_or(said, |copy| copy.expires);
        said.max(had).min(whole)
    }

    /// No primary could say what version it has, or hand it over.
    pub(crate) fn on_failed(&mut self, now: Instant) {
        let wait = match self.copy {
            Some(copy) => copy.retry,
            None => {
                let doubled = FIRST_RETRY.as_nanos() << self.failed_count.min(16);
                Duration::from_nanos(doubled).min(FIRST_RETRY_MAX)
            }
        };
        self.failed_count = self.failed_count.saturating_add(1);
        self.next_check = now + wait;
    }

    /// Somebody who should know says that there is a new version (RFC 1996 section 3.11).
    pub(crate) fn on_notify(&mut self, now: Instant) {
        self.next_check = now;
    }

    pub(crate) const fn next_check(&self) -> Instant {
        self.next_check
    }

    /// When the copy may no longer be served; never, if there is none.
    pub(crate) fn expires(&self) -> Instant {
        self.copy.map_or(Instant::FAR_FUTURE, |copy| copy.expires)
    }

    /// For how long less than `whole`, the SOA's EXPIRE in seconds, the copy may be served from `now` on: what a
    /// file's age has to be for the copy to expire in time after a restart.
    pub(crate) fn age(&self, now: Instant, whole: u32) -> Duration {
        seconds(whole).saturating_sub(self.expires().since(now))
    }

    /// Whether the copy is too old to be served.
    pub(crate) fn is_expired(&self, now: Instant) -> bool {
        self.expires() <= now
    }
}

fn interval(secs: u32) -> Duration {
    seconds(secs).max(INTERVAL_MIN)
}

fn seconds(secs: u32) -> Duration {
    Duration::from_secs(u64::from(secs))
}
