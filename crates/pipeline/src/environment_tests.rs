//! Sleeps that end, and why.
use super::*;
use tidegate_base::Duration;

#[test]
fn a_wake_up_before_the_sleep_ends_it() {
    let waker = Waker::new().expect("an event counter");
    let mut environment = KernelEnvironment::new(waker.clone());
    let start = environment.now();
    waker.wake();
    environment.sleep(&[], Some(start + Duration::from_secs(5)));
    assert!(environment.now().since(start) < Duration::from_secs(5));
}

#[test]
fn a_deadline_ends_the_sleep_and_old_wake_ups_do_not() {
    let waker = Waker::new().expect("an event counter");
    let mut environment = KernelEnvironment::new(waker.clone());
    waker.wake();
    environment.sleep(&[], None);
    let deadline = environment.now() + Duration::from_millis(20);
    environment.sleep(&[], Some(deadline));
    assert!(environment.now() >= deadline);
}
