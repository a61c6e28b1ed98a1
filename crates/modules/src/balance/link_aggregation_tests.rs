//! Members of an aggregate: who carries a flow, and what happens when one goes.

use super::*;
use crate::rig::{Rig, packet};

fn aggregate(mode: LinkMode) -> LinkAggregation {
    LinkAggregation::new(3, mode, 1).unwrap()
}

fn udp(flow: u32) -> Vec<u8> {
    packet(17, (flow, 9), (2, 53), 0, b"data")
}

fn links(rig: &mut Rig) -> Vec<usize> {
    (0..300).map(|flow| rig.gate_of(&udp(flow)).unwrap()).collect()
}

#[test]
fn only_the_flows_of_a_link_that_goes_move_and_they_return() {
    let mut rig = Rig::with_gates(aggregate(LinkMode::Spread), 4, 4);
    let before = links(&mut rig);
    for link in 1..=3 {
        let share = before.iter().filter(|it| **it == link).count();
        assert!((70..=130).contains(&share), "{share} of 300");
    }
    rig.module::<LinkAggregation>().set_link(2, false).unwrap();
    let without = links(&mut rig);
    for (before, without) in before.iter().zip(&without) {
        assert!(*without != 2 && (*before == 2 || before == without));
    }
    rig.module::<LinkAggregation>().set_link(2, true).unwrap();
    assert_eq!(links(&mut rig), before);
    rig.retire();
}

#[test]
fn the_backup_is_used_when_the_first_is_down() {
    let mut rig = Rig::with_gates(aggregate(LinkMode::ActiveBackup), 4, 4);
    assert!(links(&mut rig).iter().all(|link| *link == 1));
    rig.module::<LinkAggregation>().set_link(1, false).unwrap();
    assert!(links(&mut rig).iter().all(|link| *link == 2));
    rig.module::<LinkAggregation>().set_link(2, false).unwrap();
    rig.module::<LinkAggregation>().set_link(3, false).unwrap();
    assert_eq!(rig.gate_of(&udp(1)), None);
    assert_eq!(rig.module::<LinkAggregation>().counters()[3], ("no_link", 1));
    rig.retire();
}

#[test]
fn what_comes_from_any_link_comes_from_one() {
    let mut rig = Rig::with_gates(aggregate(LinkMode::Spread), 4, 4);
    for link in 1..=3 {
        assert_eq!(rig.pass_into(link, &[&udp(5)]), [(0, udp(5))]);
    }
    rig.survives_garbage(4, &udp(1), 22);
}

#[test]
fn wrong_numbers_say_which_are_right() {
    assert!(LinkAggregation::new(0, LinkMode::Spread, 1).err().unwrap().to_string().contains("1 to 64"));
    assert!(aggregate(LinkMode::Spread).set_link(4, true).unwrap_err().to_string().contains("1 to 3"));
}
