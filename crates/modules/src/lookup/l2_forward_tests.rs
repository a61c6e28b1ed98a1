//! MAC addresses to gates, added, deleted, looked up, populated.

use super::*;
use crate::rig::Rig;

fn mac(last: u8) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, last])
}

fn frame(to: MacAddr) -> Vec<u8> {
    [&to.0[..], &[0; 54]].concat()
}

fn forward() -> L2Forward {
    L2Forward::new(L2ForwardParams::default()).unwrap()
}

#[test]
fn frames_go_where_their_destination_is() {
    let mut module = forward();
    module.add(&[(mac(1), 1), (mac(2), 2)]).unwrap();
    let mut rig = Rig::with_gates(module, 1, 4);
    assert_eq!(rig.gate_of(&frame(mac(1))), Some(1));
    assert_eq!(rig.gate_of(&frame(mac(2))), Some(2));
    assert_eq!(rig.gate_of(&frame(mac(3))), None);
    rig.module::<L2Forward>().set_default_gate(3).unwrap();
    assert_eq!(rig.gate_of(&frame(mac(3))), Some(3));
    rig.module::<L2Forward>().delete(&[mac(2)]).unwrap();
    let (one, short, two) = (frame(mac(1)), frame(mac(1))[..13].to_vec(), frame(mac(2)));
    let gates: Vec<usize> = rig.pass_into(0, &[&one, &short, &two]).iter().map(|(gate, _)| *gate).collect();
    assert_eq!(gates, [1, 3]);
    assert_eq!(rig.drops(DropReason::Malformed), 1);
    rig.retire();
}

#[test]
fn populate_deals_addresses_out_to_gates() {
    let mut module = forward();
    module.populate(mac(0), 1000, 4).unwrap();
    assert_eq!(module.lookup(&[mac(0), mac(5), MacAddr([2, 0, 0, 0, 1, 2])]).unwrap(), [0, 1, 2]);
    assert_eq!(module.counters(), [("addresses", 1000)]);
}

#[test]
fn entries_tell_what_was_added() {
    let mut module = forward();
    module.add(&[(mac(1), 1), (MacAddr([0; 6]), 2), (MacAddr([1, 2, 3, 4, 5, 6]), 3)]).unwrap();
    module.delete(&[mac(1)]).unwrap();
    let mut entries: Vec<_> = module.entries().collect();
    entries.sort_unstable_by_key(|(_, gate)| *gate);
    assert_eq!(entries, [(MacAddr([0; 6]), 2), (MacAddr([1, 2, 3, 4, 5, 6]), 3)]);
}

#[test]
fn wrong_arguments_say_what_is_wrong() {
    let mut module = forward();
    assert!(module.lookup(&[mac(9)]).unwrap_err().to_string().contains("no address 0x020000000009"));
    assert!(module.delete(&[mac(9)]).is_err());
    assert!(module.add(&[(mac(1), 8192)]).unwrap_err().to_string().contains("0 to 8191"));
    assert!(module.populate(mac(0), 5, 0).unwrap_err().to_string().contains("1 to 8192"));
    let last = MacAddr([0xff; 6]);
    assert!(module.populate(last, 2, 1).unwrap_err().to_string().contains("1 to 1"));
    assert!(L2Forward::new(L2ForwardParams { size: 0, seed: 0 }).is_err());
}

#[test]
fn garbage_is_survived() {
    let mut module = forward();
    module.add(&[(mac(1), 1)]).unwrap();
    Rig::with_gates(module, 1, 2).survives_garbage(1, &frame(mac(1)), 13);
}
