//! Address ranges onto each other, both ways.

use super::*;
use crate::rig::{Rig, checksums_hold, packet};
use tidegate_base::Rng;

fn pair(internal: [u32; 2], external: [u32; 2]) -> AddressPair {
    let range = |[first, last]: [u32; 2]| (first.into(), last.into());
    AddressPair { internal: range(internal), external: range(external) }
}

fn pairs() -> Vec<AddressPair> {
    vec![pair([0x0a00_0010, 0x0a00_001f], [0xc000_0200, 0xc000_020f]), pair([1, 1], [9, 9])]
}

#[test]
fn there_and_back_gives_the_same_bytes() {
    let mut rig = Rig::with_gates(StaticNat::new(pairs()).unwrap(), 2, 2);
    let mut rng = Rng::new(5);
    for _ in 0..200 {
        let protocol = [6, 17, 1][rng.below(3) as usize];
        let n = rng.below(16) as u32;
        let (port, peer) = (rng.next_u32() as u16, rng.next_u32());
        let payload = vec![rng.next_u32() as u8; rng.below(40) as usize];
        let out = packet(protocol, (0x0a00_0010 + n, port), (peer, 80), 8, &payload);
        let (gate, seen) = rig.pass_into(0, &[&out]).remove(0);
        assert_eq!(gate, 1);
        assert!(checksums_hold(&seen));
        assert_eq!(seen, packet(protocol, (0xc000_0200 + n, port), (peer, 80), 8, &payload));
        let back = packet(protocol, (peer, 80), (0xc000_0200 + n, port), 0, &payload);
        let (gate, seen) = rig.pass_into(1, &[&back]).remove(0);
        assert_eq!((gate, seen), (0, packet(protocol, (peer, 80), (0x0a00_0010 + n, port), 0, &payload)));
    }
    rig.retire();
}

#[test]
fn what_is_in_no_range_passes_unchanged() {
    let mut rig = Rig::with_gates(StaticNat::new(pairs()).unwrap(), 2, 2);
    let foreign = packet(17, (0x0a00_0020, 5), (2, 53), 0, b"x");
    assert_eq!(rig.pass_into(0, &[&foreign]), [(1, foreign.clone())]);
    assert_eq!(rig.pass_into(0, &[&foreign[..20]]), [(1, foreign[..20].to_vec())]);
    let counters = rig.module::<StaticNat>().counters();
    assert_eq!(counters, [("translated", 0), ("passed", 2)]);
    rig.retire();
}

#[test]
fn wrong_ranges_say_what_is_wrong() {
    let error = |pairs| StaticNat::new(pairs).err().unwrap().to_string();
    assert!(error(vec![]).contains("at least one"));
    assert!(error(vec![pair([2, 1], [3, 4])]).contains("0.0.0.2-0.0.0.1 is empty"));
    assert!(error(vec![pair([1, 2], [3, 3])]).contains("2 and 1 addresses"));
    assert!(error(vec![pair([1, 2], [3, 4]), pair([2, 3], [8, 9])]).contains("0.0.0.2 is in two"));
}

#[test]
fn garbage_is_survived() {
    let model = packet(6, (0x0a00_0010, 7), (2, 80), 2, b"data");
    Rig::with_gates(StaticNat::new(pairs()).unwrap(), 2, 2).survives_garbage(2, &model, 17);
}
