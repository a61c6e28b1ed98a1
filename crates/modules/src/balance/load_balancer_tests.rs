//! Load points: who gets a new flow, and that a flow stays where it is.

use super::*;
use crate::rig::{Rig, packet};
use std::collections::HashMap;

fn balancer(gates: &[u64]) -> LoadBalancer {
    LoadBalancer::new(&LoadBalancerParams::new(gates.to_vec())).unwrap()
}

fn udp(flow: u32, len: usize) -> Vec<u8> {
    packet(17, (flow, 9), (2, 53), 0, &vec![0; len])
}

#[test]
fn a_flow_stays_where_it_went() {
    let mut rig = Rig::with_gates(balancer(&[0, 1, 2]), 1, 3);
    let mut seen: HashMap<Vec<u8>, usize> = HashMap::new();
    for turn in 0..20 {
        for flow in 0..50 {
            rig.feed(0, &[&udp(flow, 20)]);
        }
        for (gate, frame) in rig.round(Instant::from_millis(turn)) {
            assert_eq!(*seen.entry(frame).or_insert(gate), gate);
        }
    }
    assert_eq!(seen.len(), 50);
    let mut shares = [0; 3];
    seen.values().for_each(|gate| shares[*gate] += 1);
    assert!(shares.iter().all(|it| (16..=17).contains(it)), "{shares:?}");
    assert_eq!(rig.module::<LoadBalancer>().counters()[1], ("opened", 50));
    rig.retire();
}

#[test]
fn new_flows_avoid_the_loaded_gate() {
    let mut rig = Rig::with_gates(balancer(&[0, 1]), 1, 2);
    let heavy = rig.gate_of(&udp(1, 1000)).unwrap();
    for flow in 2..12 {
        rig.feed(0, &[&udp(1, 1400), &udp(1, 1400), &udp(1, 1400), &udp(1, 1400), &udp(1, 1400)]);
        rig.feed(0, &[&udp(flow, 10)]);
    }
    let seen = rig.round(Instant::from_millis(1));
    let light = seen.iter().filter(|(gate, frame)| *gate != heavy && frame.len() < 100).count();
    assert!(light >= 7, "{light} of 10");
    rig.retire();
}

#[test]
fn points_are_forgotten_after_two_windows() {
    let mut balancer = balancer(&[4, 5]);
    balancer.turn_window(Instant::from_millis(10));
    balancer.loads[0].now = 100;
    assert_eq!(balancer.least(Instant::from_millis(10)), 1);
    balancer.turn_window(Instant::from_millis(11));
    balancer.loads[1].now = 60;
    assert_eq!(balancer.least(Instant::from_nanos(11_100_000)), 1, "nine tenths of 100 are left");
    assert_eq!(balancer.least(Instant::from_nanos(11_800_000)), 0, "a fifth is left");
    balancer.turn_window(Instant::from_millis(20));
    assert_eq!(balancer.least(Instant::from_millis(20)), 0);
}

#[test]
fn a_gate_that_is_taken_away_gives_its_flows_up() {
    let mut rig = Rig::with_gates(balancer(&[0, 1]), 1, 2);
    (0..20).for_each(|flow| rig.feed(0, &[&udp(flow, 10)]));
    rig.round(Instant::from_millis(1));
    rig.module::<LoadBalancer>().set_gates(&[1]).unwrap();
    (0..20).for_each(|flow| rig.feed(0, &[&udp(flow, 10)]));
    assert!(rig.round(Instant::from_millis(2)).iter().all(|(gate, _)| *gate == 1));
    rig.retire();
}

#[test]
fn wrong_parameters_say_what_is_wrong() {
    let error = |params| LoadBalancer::new(&params).err().unwrap().to_string();
    assert!(error(LoadBalancerParams::new(vec![])).contains("at least one"));
    assert!(error(LoadBalancerParams::new(vec![8192])).contains("0 to 8191"));
    let good = LoadBalancerParams::new(vec![1]);
    assert!(error(LoadBalancerParams { window: Duration::ZERO, ..good.clone() }).contains("window"));
    assert!(error(LoadBalancerParams { flow_count_max: 0, ..good }).contains("flows"));
}

#[test]
fn garbage_is_survived() {
    Rig::with_gates(balancer(&[0, 1]), 1, 2).survives_garbage(1, &udp(1, 30), 21);
}
