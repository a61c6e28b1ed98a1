//! Who gets how many answers.

use super::*;

const NAME: u64 = 0x1234_5678_9abc_def0;

fn limits(per_second: u32) -> RateLimits {
    RateLimits {
        bucket_count: 1 << 10,
        ..RateLimits::from(&RrlConfig { responses_per_second: per_second, ..RrlConfig::default() })
    }
}

fn client(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn at_ms(ms: u64) -> Instant {
    Instant::from_millis(1_000_000 + ms)
}

/// How many of `count` answers at `now` are sent, slip and are dropped.
fn outcome(
    limiter: &mut RateLimiter,
    now: Instant,
    from: &str,
    class: ResponseClass,
    name: u64,
    count: usize,
) -> [usize; 3] {
    let mut outcome = [0; 3];
    for _ in 0..count {
        outcome[limiter.on_response(now, client(from), class, name) as usize] += 1;
    }
    outcome
}

fn positive(limiter: &mut RateLimiter, now: Instant, from: &str, count: usize) -> [usize; 3] {
    outcome(limiter, now, from, ResponseClass::Positive, NAME, count)
}

#[test]
fn a_second_of_answers_goes_through_and_then_every_second_one_slips() {
    let mut limiter = RateLimiter::new(&limits(10), 7);
    assert_eq!(positive(&mut limiter, at_ms(0), "192.0.2.1", 30), [10, 10, 10]);
}

#[test]
fn the_bucket_fills_as_time_goes_by() {
    let mut limiter = RateLimiter::new(&limits(10), 7);
    positive(&mut limiter, at_ms(0), "192.0.2.1", 100);
    assert_eq!(positive(&mut limiter, at_ms(99), "192.0.2.1", 1)[0], 0);
    assert_eq!(positive(&mut limiter, at_ms(100), "192.0.2.1", 2)[0], 1);
    assert_eq!(positive(&mut limiter, at_ms(600), "192.0.2.1", 20)[0], 5);
    assert_eq!(positive(&mut limiter, at_ms(60_000), "192.0.2.1", 20)[0], 10, "and no further");
}

#[test]
fn the_rate_holds_over_a_long_flood() {
    let mut limiter = RateLimiter::new(&limits(50), 7);
    let sent: usize = (0..10_000).map(|ms| positive(&mut limiter, at_ms(ms), "192.0.2.1", 3)[0]).sum();
    assert!((500..=551).contains(&sent), "{sent} in ten seconds");
}

#[test]
fn a_network_shares_its_bucket_and_another_has_its_own() {
    let mut limiter = RateLimiter::new(&limits(10), 7);
    assert_eq!(positive(&mut limiter, at_ms(0), "192.0.2.1", 10)[0], 10);
    assert_eq!(positive(&mut limiter, at_ms(0), "192.0.2.254", 10)[0], 0);
    assert_eq!(positive(&mut limiter, at_ms(0), "192.0.3.1", 10)[0], 10);
    assert_eq!(positive(&mut limiter, at_ms(0), "2001:db8:0:ff::1", 10)[0], 10);
    assert_eq!(positive(&mut limiter, at_ms(0), "2001:db8:0:01::2", 10)[0], 0, "one /56");
    assert_eq!(positive(&mut limiter, at_ms(0), "2001:db8:0:100::1", 10)[0], 10);
}

#[test]
fn prefixes_are_as_long_as_one_likes() {
    for (ipv4, ipv6, is_shared) in [(0, 0, true), (32, 128, false), (255, 255, false)] {
        let limits = RateLimits { ipv4_prefix_len: ipv4, ipv6_prefix_len: ipv6, ..limits(1) };
        let mut limiter = RateLimiter::new(&limits, 7);
        for pair in [["192.0.2.1", "192.0.2.2"], ["2001:db8::1", "2001:db8::2"]] {
            assert_eq!(positive(&mut limiter, at_ms(0), pair[0], 1)[0], 1);
            assert_eq!(positive(&mut limiter, at_ms(0), pair[1], 1)[0] == 0, is_shared);
        }
    }
}

#[test]
fn names_and_classes_have_buckets_of_their_own_but_errors_one() {
    let mut limiter = RateLimiter::new(&limits(10), 7);
    let mut sent = |class, name| outcome(&mut limiter, at_ms(0), "192.0.2.1", class, name, 10)[0];
    assert_eq!(sent(ResponseClass::Positive, 1), 10);
    assert_eq!(sent(ResponseClass::Positive, 2), 10);
    assert_eq!(sent(ResponseClass::NxDomain, 1), 10);
    assert_eq!(sent(ResponseClass::NoData, 1), 10);
    assert_eq!(sent(ResponseClass::Referral, 1), 10);
    assert_eq!(sent(ResponseClass::Error, 1), 10);
    assert_eq!(sent(ResponseClass::Error, 2), 0);
}

#[test]
fn what_has_no_limit_is_sent() {
    let config = RrlConfig { errors_per_second: 5, ..RrlConfig::default() };
    let mut limiter = RateLimiter::new(&RateLimits::from(&config), 7);
    assert!(limiter.is_active());
    assert_eq!(positive(&mut limiter, at_ms(0), "192.0.2.1", 1000)[0], 1000);
    assert_eq!(outcome(&mut limiter, at_ms(0), "192.0.2.1", ResponseClass::Error, 0, 1000)[0], 5);
    assert!(!RateLimiter::new(&limits(0), 7).is_active());
}

#[test]
fn the_budget_of_all_bounds_what_a_network_gets() {
    let mut limiter = RateLimiter::new(&RateLimits { all_per_second: 20, ..limits(10) }, 7);
    let mut sent = |name| outcome(&mut limiter, at_ms(0), "192.0.2.1", ResponseClass::Positive, name, 30)[0];
    assert_eq!([sent(1), sent(2), sent(3)], [10, 10, 0]);
}

#[test]
fn slip_says_how_many_come_truncated() {
    for (slip, expected) in [(0, [10, 0, 60]), (1, [10, 60, 0]), (3, [10, 20, 40])] {
        let mut limiter = RateLimiter::new(&RateLimits { slip, ..limits(10) }, 7);
        assert_eq!(positive(&mut limiter, at_ms(0), "192.0.2.1", 70), expected);
    }
}

#[test]
fn who_is_exempt_gets_everything() {
    let exempt = vec!["192.0.2.128/25".parse().unwrap()];
    let mut limiter = RateLimiter::new(&RateLimits { exempt, ..limits(10) }, 7);
    assert_eq!(positive(&mut limiter, at_ms(0), "192.0.2.200", 100)[0], 100);
    assert_eq!(positive(&mut limiter, at_ms(0), "192.0.2.1", 100)[0], 0, "the bucket is the prefix's");
}

#[test]
fn a_crowd_does_not_make_the_limiter_forget_who_is_limited() {
    let mut limiter = RateLimiter::new(&limits(10), 7);
    positive(&mut limiter, at_ms(0), "192.0.2.1", 10);
    for n in 0..100_000_u32 {
        let crowd = IpAddr::from((0x0a00_0000 + (n << 8)).to_be_bytes());
        limiter.on_response(at_ms(1), crowd, ResponseClass::Positive, NAME);
    }
    assert_eq!(positive(&mut limiter, at_ms(1), "192.0.2.1", 10)[0], 0);
}

#[test]
fn workers_share_what_a_network_gets() {
    let mut first = RateLimiter::new(&limits(10), 7);
    let mut second = first.clone();
    assert_eq!(positive(&mut first, at_ms(0), "192.0.2.1", 6)[0], 6);
    assert_eq!(positive(&mut second, at_ms(0), "192.0.2.1", 20), [4, 8, 8]);
    assert_eq!(positive(&mut first, at_ms(0), "192.0.2.1", 2)[0], 0);
}

#[test]
fn a_worker_whose_clock_is_behind_finds_the_bucket_as_empty_as_others_left_it() {
    for behind_ms in [1, 99, 101, 1000, 1999] {
        let mut first = RateLimiter::new(&limits(10), 7);
        let mut second = first.clone();
        assert_eq!(positive(&mut first, at_ms(10_000), "192.0.2.1", 20)[0], 10);
        assert_eq!(positive(&mut second, at_ms(10_000 - behind_ms), "192.0.2.1", 20)[0], 0, "{behind_ms} ms");
        assert_eq!(positive(&mut first, at_ms(10_100), "192.0.2.1", 20)[0], 1, "one came back in 100 ms");
    }
}

#[test]
fn workers_at_once_send_no_more_than_one_would() {
    let limiter = RateLimiter::new(&limits(1000), 7);
    let sent: usize = std::thread::scope(|scope| {
        let flood =
            |mut limiter: RateLimiter| move || positive(&mut limiter, at_ms(0), "192.0.2.1", 10_000)[0];
        let workers = [0; 4].map(|_| scope.spawn(flood(limiter.clone())));
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    assert_eq!(sent, 1000);
}

#[test]
fn a_limit_holds_at_any_rate_and_at_any_time() {
    for per_second in [1, 3, 7, 300, 999, 65_537] {
        let mut limiter = RateLimiter::new(&limits(per_second), 7);
        // Around the moment at which the table's time begins anew.
        for start_ms in [0, 70_368_700, 140_737_400] {
            let now = Instant::from_millis(start_ms);
            let sent = positive(&mut limiter, now, "192.0.2.1", per_second as usize + 10)[0];
            assert_eq!(sent, per_second as usize, "from {start_ms} ms on");
            let later = Instant::from_millis(start_ms + 2000);
            assert_eq!(positive(&mut limiter, later, "192.0.2.1", per_second as usize + 10)[0], sent);
        }
    }
}
