//! Who gets a tuple, who is refused, and what is left when a stack goes; and any sequence of claims against a model.

use super::*;
use proptest::prelude::*;
use std::net::IpAddr;

const USER: Applicant = Applicant { uid: 1000, pid: 7, may_bind_low: false, may_send_raw: false };
const OTHER: Applicant = Applicant { uid: 1001, pid: 8, ..USER };
const ROOT: Applicant = Applicant { uid: 0, pid: 9, may_bind_low: true, may_send_raw: true };

fn wanted(grade: Grade) -> Wanted {
    Wanted { device: "eth0".to_owned(), grade, queue: (grade == Grade::Queue).then_some(1) }
}

fn tcp(text: &str) -> Tuple {
    let address: std::net::SocketAddr = text.parse().unwrap();
    Tuple::tcp(address.ip(), address.port())
}

fn with_stack(who: &Applicant) -> (Registry, u32) {
    let mut registry = Registry::new(Limits::default());
    let slot = registry.attach(who, wanted(Grade::Veth), [1; 16]).unwrap();
    (registry, slot)
}

#[test]
fn a_tuple_has_one_owner_and_the_refusal_names_it() {
    let (mut registry, slot) = with_stack(&USER);
    registry.bind(slot, &USER, tcp("10.0.0.5:8080")).unwrap();
    registry.bind(slot, &USER, tcp("10.0.0.5:8080")).expect("it is its own");
    let second = registry.attach(&OTHER, wanted(Grade::Veth), [2; 16]).unwrap();
    let said = registry.bind(second, &OTHER, tcp("10.0.0.5:8080")).unwrap_err().to_string();
    assert!(said.contains("tcp 10.0.0.5:8080") && said.contains("user 1000, process 7"), "{said}");
    let said = registry.bind(second, &OTHER, tcp("0.0.0.0:8080")).unwrap_err().to_string();
    assert!(said.contains("as tcp 10.0.0.5:8080"), "{said}");
    registry.bind(second, &OTHER, tcp("[::]:8080")).expect("another IP version");
    registry.hold("eth0", "web", &[tcp("10.0.0.5:80")]).unwrap();
    let said = registry.bind(second, &ROOT, tcp("10.0.0.5:80")).unwrap_err().to_string();
    assert!(said.contains("service web has it"), "{said}");
}

#[test]
fn an_ended_lease_gives_everything_back() {
    let (mut registry, slot) = with_stack(&USER);
    registry.bind(slot, &USER, tcp("10.0.0.5:8080")).unwrap();
    assert_eq!(registry.detach(slot), [tcp("10.0.0.5:8080")]);
    assert!(registry.bindings().is_empty() && registry.stacks().is_empty());
    assert_eq!(registry.attach(&OTHER, wanted(Grade::Veth), [2; 16]), Ok(slot), "the slot is free again");
}

#[test]
fn low_ports_want_a_right_or_a_reservation() {
    let (mut registry, slot) = with_stack(&USER);
    let low = tcp("10.0.0.5:443");
    assert_eq!(registry.bind(slot, &USER, low), Err(Refusal::LowPort(low)));
    assert_eq!(registry.bind(slot, &ROOT, tcp("10.0.0.5:0")), Err(Refusal::NoPort(tcp("10.0.0.5:0"))));
    registry.reserve("eth0", low, Reservation { uid: USER.uid, grade: None }).unwrap();
    let second = registry.attach(&OTHER, wanted(Grade::Veth), [2; 16]).unwrap();
    let said = registry.bind(second, &ROOT, low).unwrap_err().to_string();
    assert!(said.contains("reserved for user 1000"), "{said}");
    registry.bind(slot, &USER, low).expect("reserved");
    registry.detach(slot);
    assert_eq!(registry.bindings()[&low].owner, Owner::Reserved, "kept for the next one");
    assert!(registry.release(low).is_some());
    assert!(registry.bindings().is_empty());
}

#[test]
fn a_reservation_may_ask_for_a_grade() {
    let (mut registry, slot) = with_stack(&USER);
    let reservation = Reservation { uid: USER.uid, grade: Some(Grade::Memif) };
    registry.reserve("eth0", tcp("10.0.0.5:443"), reservation).unwrap();
    let said = registry.bind(slot, &USER, tcp("10.0.0.5:443")).unwrap_err().to_string();
    assert!(said.contains("grade memif"), "{said}");
}

#[test]
fn quotas_hold_for_all_but_root() {
    let limits = Limits { stacks_per_uid: 2, tuples_per_uid: 2, ..Limits::default() };
    let mut registry = Registry::new(limits);
    let slots: Vec<u32> =
        (0..2).map(|n| registry.attach(&USER, wanted(Grade::Veth), [n; 16]).unwrap()).collect();
    assert!(
        registry.attach(&USER, wanted(Grade::Veth), [3; 16]).unwrap_err().to_string().contains("2 stacks")
    );
    registry.bind(slots[0], &USER, tcp("10.0.0.5:8080")).unwrap();
    registry.bind(slots[1], &USER, tcp("10.0.0.5:8081")).unwrap();
    let said = registry.bind(slots[1], &USER, tcp("10.0.0.5:8082")).unwrap_err().to_string();
    assert!(said.contains("user 1000 has 2 tuples"), "{said}");
    for n in 0..5 {
        registry.attach(&ROOT, wanted(Grade::Veth), [n; 16]).expect("root's share is everything");
    }
}

#[test]
fn a_queue_has_one_stack_which_may_send_raw() {
    let mut registry = Registry::new(Limits::default());
    assert_eq!(registry.attach(&USER, wanted(Grade::Queue), [1; 16]), Err(Refusal::Raw));
    registry.attach(&ROOT, wanted(Grade::Queue), [1; 16]).unwrap();
    let said = registry.attach(&ROOT, wanted(Grade::Queue), [2; 16]).unwrap_err().to_string();
    assert!(said.contains("queue 1 of eth0 is stack 0's"), "{said}");
}

#[test]
fn slots_run_out() {
    let mut registry = Registry::new(Limits { slot_count: 3, ..Limits::default() });
    let mut attach = || registry.attach(&ROOT, wanted(Grade::Veth), [0; 16]);
    assert_eq!([attach(), attach(), attach()], [Ok(0), Ok(1), Ok(2)]);
    assert_eq!(attach(), Err(Refusal::Full { count: 3, what: "stacks" }));
}

#[test]
fn after_a_restart_leases_wait_for_their_owners() {
    let (mut registry, slot) = with_stack(&USER);
    registry.bind(slot, &USER, tcp("10.0.0.5:8080")).unwrap();
    let late = registry.attach(&OTHER, wanted(Grade::Memif), [2; 16]).unwrap();
    registry.bind(late, &OTHER, tcp("10.0.0.5:8081")).unwrap();
    registry.hold("eth0", "web", &[tcp("10.0.0.5:80")]).unwrap();
    let now = Instant::now();
    let mut after = Registry::restore(Limits::default(), &registry.to_state(), now).unwrap();
    assert_eq!(after.reclaim(&OTHER, &[1; 16]), Err(Refusal::NoLease { uid: 1001 }), "another's token");
    assert_eq!(after.reclaim(&USER, &[1; 16]), Ok(slot));
    assert_eq!(after.reclaim(&USER, &[1; 16]), Err(Refusal::NoLease { uid: 1000 }), "once");
    assert_eq!(after.expire(now), []);
    assert_eq!(after.expire(now + RECLAIM_PATIENCE), [(late, vec![tcp("10.0.0.5:8081")])]);
    assert_eq!(after.tuples_of(&Owner::Stack(slot)), [tcp("10.0.0.5:8080")]);
    assert!(!after.bindings().contains_key(&tcp("10.0.0.5:80")), "the service ended with the daemon");
}

#[test]
fn a_broken_state_names_the_line() {
    let now = Instant::now();
    let line = |text: &str| Registry::restore(Limits::default(), text, now).unwrap_err().line;
    assert_eq!(line(""), 1);
    assert_eq!(line("tidegate-mux 2\n"), 1);
    assert_eq!(line("tidegate-mux 1\nstack 0 1000 eth0 veth - 0\n"), 2);
    assert_eq!(line("tidegate-mux 1\nbind tcp 10.0.0.5:80 eth0 7 - -\n"), 2, "a stack that is not there");
}

/// What may happen to a registry.
#[derive(Clone, Debug)]
enum Step {
    Attach(u32, Grade),
    Detach(u32),
    Bind(u32, u32, Tuple),
    Unbind(u32, Tuple),
    Reserve(u32, Tuple),
    Release(Tuple),
    Hold(bool, Tuple),
    LetGo(Tuple),
    Restart,
}

fn any_tuple() -> impl Strategy<Value = Tuple> {
    let address = prop::sample::select(vec!["0.0.0.0", "10.0.0.5", "10.0.0.6", "::", "fd01::5"]);
    (any::<bool>(), address, prop_oneof![80_u16..83, 8080_u16..8083]).prop_map(|(is_tcp, address, port)| {
        let address: IpAddr = address.parse().unwrap();
        if is_tcp { Tuple::tcp(address, port) } else { Tuple::udp(address, port) }
    })
}

fn any_step() -> impl Strategy<Value = Step> {
    let (slot, uid) = (0_u32..6, 0_u32..3);
    prop_oneof![
        (uid.clone(), 0_usize..3).prop_map(|(uid, grade)| Step::Attach(uid, Grade::ALL[grade])),
        slot.clone().prop_map(Step::Detach),
        (slot.clone(), uid.clone(), any_tuple()).prop_map(|(slot, uid, tuple)| Step::Bind(slot, uid, tuple)),
        (slot, any_tuple()).prop_map(|(slot, tuple)| Step::Unbind(slot, tuple)),
        (uid, any_tuple()).prop_map(|(uid, tuple)| Step::Reserve(uid, tuple)),
        any_tuple().prop_map(Step::Release),
        (any::<bool>(), any_tuple()).prop_map(|(first, tuple)| Step::Hold(first, tuple)),
        any_tuple().prop_map(Step::LetGo),
        Just(Step::Restart),
    ]
}

const TIGHT: Limits = Limits { slot_count: 5, tuple_count_max: 12, stacks_per_uid: 2, tuples_per_uid: 4 };

fn take(registry: &mut Registry, step: Step, number: u8) -> Result<()> {
    let who = |uid: u32| Applicant { uid, pid: 1, may_bind_low: uid == 0, may_send_raw: uid == 0 };
    match step {
        Step::Attach(uid, grade) => registry.attach(&who(uid), wanted(grade), [number; 16]).map(drop),
        Step::Detach(slot) => {
            registry.detach(slot);
            Ok(())
        }
        Step::Bind(slot, uid, tuple) => registry.bind(slot, &who(uid), tuple),
        Step::Unbind(slot, tuple) => registry.unbind(slot, tuple),
        Step::Reserve(uid, tuple) => registry.reserve("eth0", tuple, Reservation { uid, grade: None }),
        Step::Release(tuple) => {
            registry.release(tuple);
            Ok(())
        }
        Step::Hold(first, tuple) => registry.hold("eth0", if first { "web" } else { "dns" }, &[tuple]),
        Step::LetGo(tuple) => {
            let is_service = |binding: &Binding| matches!(binding.owner, Owner::Service(_));
            if registry.bindings().get(&tuple).is_some_and(is_service) {
                registry.let_go(&[tuple]);
            }
            Ok(())
        }
        Step::Restart => {
            let now = Instant::now();
            *registry = Registry::restore(TIGHT, &registry.to_state(), now).unwrap();
            Ok(())
        }
    }
}

fn check(registry: &Registry) {
    let all: Vec<_> = registry.bindings().iter().collect();
    for (at, (one, first)) in all.iter().enumerate() {
        for (other, second) in &all[at + 1..] {
            let same = first.owner == second.owner && first.owner != Owner::Reserved;
            let in_line = first.reservation.is_some() && first.reservation == second.reservation;
            assert!(!clashes(**one, **other) || same || in_line, "{one} and {other}");
        }
        if let Owner::Stack(slot) = first.owner {
            assert!(registry.stacks().contains_key(&slot), "{one} is of a stack that is gone");
        }
    }
    for uid in 1..3 {
        let of_uid = |stack: &&Stack| stack.uid == uid;
        let slots: Vec<u32> =
            registry.stacks().iter().filter(|(_, stack)| of_uid(stack)).map(|(slot, _)| *slot).collect();
        assert!(slots.len() <= TIGHT.stacks_per_uid as usize);
        let tuples: usize = slots.iter().map(|slot| registry.tuples_of(&Owner::Stack(*slot)).len()).sum();
        assert!(tuples <= TIGHT.tuples_per_uid as usize);
    }
    assert!(registry.stacks().keys().all(|slot| *slot < TIGHT.slot_count));
}

proptest! {
    #[test]
    fn whatever_happens_no_frame_has_two_owners(steps in prop::collection::vec(any_step(), 1..60)) {
        let mut registry = Registry::new(TIGHT);
        for (number, step) in steps.into_iter().enumerate() {
            let before = registry.clone();
            if take(&mut registry, step, number as u8).is_err() {
                prop_assert_eq!(&registry.bindings, &before.bindings);
                prop_assert_eq!(&registry.stacks, &before.stacks);
            }
            check(&registry);
        }
    }

    #[test]
    fn no_text_is_read_that_would_panic(text in "(tidegate-mux 1\n)?((stack|bind)( [-a-z0-9.:]{1,8}){0,7}\n){0,4}") {
        let _ = Registry::restore(Limits::default(), &text, Instant::now());
    }
}
