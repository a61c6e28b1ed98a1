//! Exact matches on bytes and attributes, rules that come and go.

use super::*;
use crate::field::Position;
use crate::rig::{Rig, packet};

fn at(offset: u64, size: u64) -> Field {
    Field { position: Position::Offset(offset), size }
}

fn exact(fields: Vec<Field>, masks: &[u64]) -> ExactMatch {
    ExactMatch::new(ExactMatchParams { fields, masks: masks.to_vec(), seed: 1 }).unwrap()
}

fn rule(values: &[u64], gate: u64) -> ExactMatchRule {
    ExactMatchRule { values: values.to_vec(), gate }
}

fn udp(src: u32, dst_port: u16) -> Vec<u8> {
    packet(17, (src, 9), (0x0a00_0001, dst_port), 0, b"data")
}

#[test]
fn frames_go_where_their_fields_say() {
    let mut module = exact(vec![at(26, 4), at(36, 2)], &[]);
    module.add(&rule(&[0x0102_0304, 53], 1)).unwrap();
    module.add(&rule(&[0x0102_0304, 80], 2)).unwrap();
    let mut rig = Rig::with_gates(module, 1, 4);
    assert_eq!(rig.gate_of(&udp(0x0102_0304, 53)), Some(1));
    assert_eq!(rig.gate_of(&udp(0x0102_0304, 80)), Some(2));
    assert_eq!(rig.gate_of(&udp(0x0102_0305, 80)), None);
    rig.module::<ExactMatch>().set_default_gate(3).unwrap();
    assert_eq!(rig.gate_of(&udp(0x0102_0305, 80)), Some(3));
    assert_eq!(rig.gate_of(&udp(0x0102_0304, 80)[..37]), Some(3), "too short");
    rig.module::<ExactMatch>().delete(&[0x0102_0304, 80]).unwrap();
    assert_eq!(rig.gate_of(&udp(0x0102_0304, 80)), Some(3));
    rig.module::<ExactMatch>().clear();
    assert_eq!(rig.gate_of(&udp(0x0102_0304, 53)), Some(3));
    rig.retire();
}

#[test]
fn masked_bits_do_not_count() {
    let mut module = exact(vec![at(26, 4)], &[0xffff_ff00]);
    module.add(&rule(&[0x0102_0399], 1)).unwrap();
    assert_eq!(module.config().rules, vec![rule(&[0x0102_0300], 1)]);
    let mut rig = Rig::with_gates(module, 1, 2);
    assert_eq!(rig.gate_of(&udp(0x0102_0304, 53)), Some(1));
    assert_eq!(rig.gate_of(&udp(0x0102_0404, 53)), None);
    rig.retire();
}

#[test]
fn attributes_are_fields_too() {
    let tag = Field { position: Position::Attribute("tag".into()), size: 2 };
    let mut module = exact(vec![tag, at(36, 2)], &[]);
    assert_eq!(module.attributes(), [Attribute::read("tag", 2)]);
    module.bind(&[Place::At(4)]);
    module.add(&rule(&[0x0708, 53], 1)).unwrap();
    module.add(&rule(&[0, 53], 0)).unwrap();
    let mut rig = Rig::with_gates(module, 1, 2);
    rig.feed_marked(0, &udp(1, 53), &[1, 2, 3, 4, 7, 8, 9]);
    assert_eq!(rig.round(tidegate_base::Instant::ZERO)[0].0, 1);
    rig.module::<ExactMatch>().bind(&[Place::Unwritten]);
    rig.feed_marked(0, &udp(1, 53), &[1, 2, 3, 4, 7, 8, 9]);
    assert_eq!(rig.round(tidegate_base::Instant::ZERO)[0].0, 0, "unwritten attributes are zero");
    rig.retire();
}

#[test]
fn a_configuration_is_taken_whole_or_not() {
    let mut module = exact(vec![at(26, 4)], &[]);
    let good = ExactMatchConfig { default_gate: 7, rules: vec![rule(&[1], 2), rule(&[3], DROP)] };
    module.set_config(&good).unwrap();
    assert_eq!(module.config(), good);
    let bad = ExactMatchConfig { default_gate: 1, rules: vec![rule(&[1], 2), rule(&[1 << 32], 2)] };
    assert!(module.set_config(&bad).unwrap_err().to_string().contains("wider than its 4 bytes"));
    assert_eq!(module.config(), good);
}

const DROP: u64 = super::super::DROP_GATE;

#[test]
fn wrong_parameters_say_what_is_wrong() {
    let error = |fields: Vec<Field>, masks: &[u64]| {
        let params = ExactMatchParams { fields, masks: masks.to_vec(), seed: 1 };
        ExactMatch::new(params).err().unwrap().to_string()
    };
    assert!(error(vec![], &[]).contains("no fields"));
    assert!(error(vec![at(0, 9)], &[]).contains("give 1 to 8"));
    assert!(error(vec![at(2047, 2)], &[]).contains("ends behind byte 2048"));
    assert!(error(vec![at(0, 2)], &[1, 2]).contains("2 values for 1 fields"));
    assert!(error(vec![at(0, 1)], &[0x100]).contains("wider than its 1 bytes"));
    assert!(error(vec![at(0, 1); 9], &[]).contains("give 1 to 8"));
    let mut module = exact(vec![at(0, 1)], &[]);
    assert!(module.add(&rule(&[1], 8193)).unwrap_err().to_string().contains("0 to 8192"));
    assert!(module.delete(&[1]).unwrap_err().to_string().contains("no such rule"));
}

#[test]
fn garbage_is_survived() {
    let mut module = exact(vec![at(0, 1), at(26, 4), at(36, 2), at(100, 8)], &[]);
    module.add(&rule(&[2, 1, 53, 0], 1)).unwrap();
    Rig::with_gates(module, 1, 2).survives_garbage(1, &udp(1, 53), 11);
}
