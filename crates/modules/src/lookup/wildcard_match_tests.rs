//! Masked matches by priority, rules that come and go.

use super::*;
use crate::field::Position;
use crate::rig::{Rig, packet};

fn fields() -> Vec<Field> {
    [(26, 4), (36, 2)].map(|(at, size)| Field { position: Position::Offset(at), size }).to_vec()
}

fn rule(priority: i64, values: [u64; 2], masks: [u64; 2], gate: u64) -> WildcardMatchRule {
    WildcardMatchRule { priority, values: values.to_vec(), masks: masks.to_vec(), gate }
}

fn udp(src: u32, dst_port: u16) -> Vec<u8> {
    packet(17, (src, 9), (0x0a00_0001, dst_port), 0, b"data")
}

const NET: u64 = 0xff00_0000;

#[test]
fn the_highest_rule_wins() {
    let mut module = WildcardMatch::new(fields(), 1).unwrap();
    module.add(&rule(1, [0x0a00_0000, 0], [NET, 0], 1)).unwrap();
    module.add(&rule(5, [0, 53], [0, 0xffff], 2)).unwrap();
    module.add(&rule(9, [0x0a00_0005, 53], [0xffff_ffff, 0xffff], 3)).unwrap();
    let mut rig = Rig::with_gates(module, 1, 5);
    assert_eq!(rig.gate_of(&udp(0x0a00_0005, 80)), Some(1));
    assert_eq!(rig.gate_of(&udp(0x0a00_0006, 53)), Some(2));
    assert_eq!(rig.gate_of(&udp(0x0a00_0005, 53)), Some(3));
    assert_eq!(rig.gate_of(&udp(0x0b00_0005, 80)), None);
    rig.module::<WildcardMatch>().set_default_gate(4).unwrap();
    assert_eq!(rig.gate_of(&udp(0x0b00_0005, 80)), Some(4));
    assert_eq!(rig.gate_of(&udp(0x0a00_0005, 80)[..30]), Some(4), "too short");
    rig.module::<WildcardMatch>().delete(&[0, 53], &[0, 0xffff]).unwrap();
    assert_eq!(rig.gate_of(&udp(0x0a00_0006, 53)), Some(1));
    rig.module::<WildcardMatch>().clear();
    assert_eq!(rig.gate_of(&udp(0x0a00_0006, 53)), Some(4));
    rig.retire();
}

#[test]
fn a_configuration_is_taken_whole_or_not() {
    let mut module = WildcardMatch::new(fields(), 1).unwrap();
    let rules = vec![rule(1, [0, 53], [0, 0xffff], 2), rule(1, [0x0a00_0000, 0], [NET, 0], 1)];
    let good = WildcardMatchConfig { default_gate: 3, rules };
    module.set_config(&good).unwrap();
    assert_eq!(module.config(), good);
    let bad = WildcardMatchConfig { default_gate: 0, rules: vec![rule(1, [1, 0], [0, 0], 0)] };
    assert!(module.set_config(&bad).unwrap_err().to_string().contains("outside the mask"));
    assert_eq!(module.config(), good);
    module.add(&rule(7, [0, 53], [0, 0xffff], 5)).unwrap();
    assert_eq!(module.config().rules[0], rule(7, [0, 53], [0, 0xffff], 5));
}

#[test]
fn garbage_is_survived() {
    let mut module = WildcardMatch::new(fields(), 1).unwrap();
    module.add(&rule(1, [0, 53], [0, 0xffff], 1)).unwrap();
    Rig::with_gates(module, 1, 2).survives_garbage(1, &udp(1, 53), 12);
}
