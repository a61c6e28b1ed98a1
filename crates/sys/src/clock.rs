//! The clocks: monotonic for timers, wall-clock for dates.
//!
//! Both go through the vDSO and enter the kernel only where its clock source cannot be read from user space
//! (a machine without a stable TSC).

use std::mem::MaybeUninit;

use tidegate_base::Instant;

/// Time since boot, without the time asleep; never goes back, is never set.
///
/// Some 20 ns a call with a TSC clock source. Source: clock_gettime(2), vdso(7).
#[inline]
pub fn now() -> Instant {
    Instant::from_nanos(nanoseconds(read(libc::CLOCK_MONOTONIC)))
}

/// As [`now`], in the steps of the kernel's tick (1 to 10 ms) and at a third of the price.
#[inline]
pub fn now_coarse() -> Instant {
    Instant::from_nanos(nanoseconds(read(libc::CLOCK_MONOTONIC_COARSE)))
}

/// Seconds since 1970-01-01 00:00 UTC, without leap seconds, as HTTP dates want them.
#[inline]
pub fn wall_s() -> u64 {
    read(libc::CLOCK_REALTIME_COARSE).tv_sec.unsigned_abs()
}

/// Nanoseconds since 1970-01-01 00:00 UTC, as capture files want them.
#[inline]
pub fn wall_ns() -> u64 {
    nanoseconds(read(libc::CLOCK_REALTIME))
}

#[inline]
fn nanoseconds(time: libc::timespec) -> u64 {
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

#[inline]
fn read(clock: libc::clockid_t) -> libc::timespec {
    let mut time = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: `time` is valid for writes of a timespec. The four clocks exist on every Linux: the call
    // cannot fail, and if it did the time would read as zero.
    unsafe { libc::clock_gettime(clock, time.as_mut_ptr()) };
    // SAFETY: zeroed, hence initialised.
    unsafe { time.assume_init() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_never_goes_back() {
        let mut last = now();
        for _ in 0..1000 {
            let now = now();
            assert!(now >= last);
            last = now;
        }
        assert!(now_coarse() <= now());
    }

    #[test]
    fn the_wall_clock_is_this_century() {
        assert!(wall_s() > 1_600_000_000);
        assert!(wall_ns() / 1_000_000_000 >= wall_s());
    }
}
