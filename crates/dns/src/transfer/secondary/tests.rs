//! Timers of copied zones.
use super::schedule::{Confirmed, Schedule};
use crate::zone::SoaTimes;
use tidegate_base::{Duration, Instant};

const TIMES: SoaTimes = SoaTimes { serial: 1, refresh: 3600, retry: 600, expire: 86_400, negative_ttl: 300 };

/// What a primary says that is no copy.
const SAME: Confirmed = Confirmed { times: TIMES, expire_s: None, is_new: false };

fn at(secs: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(secs)
}

#[test]
fn a_missing_zone_is_asked_for_at_once_and_then_ever_more_rarely() {
    let mut schedule = Schedule::missing(at(100));
    assert_eq!(schedule.next_check(), at(100));
    let mut waits = Vec::new();
    for _ in 0..12 {
        let now = schedule.next_check();
        schedule.on_failed(now);
        waits.push(schedule.next_check().since(now).as_millis() / 1000);
    }
    assert_eq!(waits, [2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600, 600]);
    assert!(!schedule.is_expired(Instant::from_millis(u64::MAX / 2_000_000)), "there is nothing to expire");
}

#[test]
fn a_confirmed_zone_is_checked_after_refresh_or_a_little_before() {
    let mut schedule = Schedule::missing(at(0));
    schedule.on_confirmed(at(0), &SAME, 0);
    assert_eq!(schedule.next_check(), at(3600));
    schedule.on_confirmed(at(0), &SAME, 999);
    assert!(schedule.next_check() < at(3600) && schedule.next_check() > at(3240));
}

#[test]
fn a_failed_check_is_tried_again_after_retry_until_the_zone_expires() {
    let mut schedule = Schedule::missing(at(0));
    schedule.on_confirmed(at(0), &SAME, 0);
    schedule.on_failed(at(3600));
    assert_eq!(schedule.next_check(), at(4200));
    assert!(!schedule.is_expired(at(86_399)));
    assert!(schedule.is_expired(at(86_400)));
    schedule.on_confirmed(at(90_000), &SAME, 0);
    assert!(!schedule.is_expired(at(90_000)));
}

#[test]
fn a_kept_zone_has_what_is_left_of_its_life() {
    let schedule = Schedule::kept(at(10), &TIMES, Duration::from_secs(86_000));
    assert_eq!(schedule.next_check(), at(10));
    assert_eq!(schedule.expires(), at(410));
    assert!(Schedule::kept(at(10), &TIMES, Duration::from_secs(90_000)).is_expired(at(10)));
}

#[test]
fn a_notify_has_it_checked_now() {
    let mut schedule = Schedule::missing(at(0));
    schedule.on_confirmed(at(0), &SAME, 0);
    schedule.on_notify(at(50));
    assert_eq!(schedule.next_check(), at(50));
}

#[test]
fn a_refresh_of_zero_does_not_spin() {
    let mut schedule = Schedule::missing(at(0));
    schedule.on_confirmed(at(0), &Confirmed { times: SoaTimes { refresh: 0, retry: 0, ..TIMES }, ..SAME }, 0);
    assert_eq!(schedule.next_check(), at(1));
    schedule.on_failed(at(1));
    assert_eq!(schedule.next_check(), at(2));
}

#[test]
fn a_copy_of_a_copy_lives_as_long_as_that_one() {
    let said = |expire_s| Confirmed { expire_s: Some(expire_s), ..SAME };
    let new = |expire_s| Confirmed { is_new: true, ..said(expire_s) };
    let mut schedule = Schedule::missing(at(0));
    schedule.on_confirmed(at(0), &new(5000), 0);
    assert_eq!(schedule.expires(), at(5000));
    schedule.on_confirmed(at(1000), &said(7000), 0);
    assert_eq!(schedule.expires(), at(8000));
    schedule.on_confirmed(at(2000), &said(10), 0);
    assert_eq!(schedule.expires(), at(8000), "a worse copy of the same takes nothing away");
    schedule.on_confirmed(at(3000), &new(10), 0);
    assert_eq!(schedule.expires(), at(3010), "a new version's life is its own");
    schedule.on_confirmed(at(3000), &said(1_000_000), 0);
    assert_eq!(schedule.expires(), at(89_400), "the SOA is the upper bound");
    assert_eq!(new(400).age(), Duration::from_secs(86_000));
}
