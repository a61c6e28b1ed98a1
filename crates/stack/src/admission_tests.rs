//! Limits that several workers keep together.
use super::*;

const LIMITS: AdmissionLimits = AdmissionLimits { count_max: 10, count_max_per_peer: 2 };

fn id(index: u32) -> ConnId {
    ConnId { index, generation: 0 }
}

fn workers() -> (Arc<Gate>, [Admission; 2]) {
    let gate = Arc::new(Gate::default());
    let worker = || Admission::new(Arc::clone(&gate));
    (Arc::clone(&gate), [worker(), worker()])
}

fn enter(worker: &mut Admission, index: u32, peer: &str) -> bool {
    let entered = worker.try_enter(peer.parse().unwrap(), LIMITS);
    if entered {
        worker.on_open(id(index));
    }
    entered
}

#[test]
fn an_address_is_counted_over_all_workers() {
    let (gate, [mut a, mut b]) = workers();
    assert!(enter(&mut a, 0, "10.0.0.1") && enter(&mut b, 0, "10.0.0.1"));
    assert!(!enter(&mut a, 1, "10.0.0.1") && !enter(&mut b, 1, "::ffff:10.0.0.1"));
    assert!(enter(&mut a, 1, "10.0.0.2"));
    b.on_closed(id(0));
    assert!(enter(&mut a, 2, "10.0.0.1"));
    (0..3).for_each(|index| a.on_closed(id(index)));
    assert_eq!(gate.count.load(Ordering::Relaxed), 0);
    assert!(gate.by_peer.iter().all(|shard| shard.lock().unwrap().is_empty()));
}

#[test]
fn an_ipv6_site_is_one_address() {
    let (_, [mut a, mut b]) = workers();
    assert!(enter(&mut a, 0, "fd00::1") && enter(&mut b, 0, "fd00::2"));
    assert!(!enter(&mut a, 1, "fd00::3") && enter(&mut a, 1, "fd00:0:0:1::3"));
}

#[test]
fn who_is_refused_for_one_limit_is_not_counted_for_the_other() {
    let (gate, [mut a, _]) = workers();
    for index in 0..10 {
        assert!(enter(&mut a, index, &format!("10.0.0.{index}")));
    }
    assert!(!enter(&mut a, 10, "10.0.1.1"));
    a.on_closed(id(0));
    assert!(!a.try_enter("10.0.0.1".parse().unwrap(), AdmissionLimits { count_max_per_peer: 1, ..LIMITS }));
    assert_eq!(gate.count.load(Ordering::Relaxed), 9);
    assert!(enter(&mut a, 10, "10.0.1.1"));
}

#[test]
fn a_limit_that_comes_later_counts_from_then_on() {
    let (_, [mut a, _]) = workers();
    let peer = "10.0.0.1".parse().unwrap();
    assert!(a.try_enter(peer, AdmissionLimits { count_max_per_peer: 0, ..LIMITS }));
    a.on_open(id(0));
    assert!(enter(&mut a, 1, "10.0.0.1") && enter(&mut a, 2, "10.0.0.1") && !enter(&mut a, 3, "10.0.0.1"));
    a.on_closed(id(0));
    assert!(!enter(&mut a, 3, "10.0.0.1"));
}

#[test]
fn workers_that_race_never_let_too_many_in() {
    let gate = Arc::new(Gate::default());
    let limits = AdmissionLimits { count_max: u32::MAX, count_max_per_peer: 100 };
    let entered: u32 = std::thread::scope(|scope| {
        let race = || {
            let mut worker = Admission::new(Arc::clone(&gate));
            (0..1000).map(|_| u32::from(worker.try_enter([10, 0, 0, 1].into(), limits))).sum::<u32>()
        };
        let workers: Vec<_> = (0..4).map(|_| scope.spawn(race)).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    assert_eq!(entered, 100);
}
