//! Access lists on real headers: the first rule that matches decides.

use super::*;
use crate::rig::{Rig, packet};

const NET: (Ipv4Addr, u8) = (Ipv4Addr::new(10, 0, 0, 0), 8);

fn tcp(src: u32, dst_port: u16, flags: u8) -> Vec<u8> {
    packet(6, (src, 9), (0x0b00_0001, dst_port), flags, b"data")
}

fn rig(rules: &[AclRule]) -> Rig {
    Rig::with_gates(Acl::new(rules).unwrap(), 1, 1)
}

fn passes(rig: &mut Rig, frame: &[u8]) -> bool {
    rig.gate_of(frame).is_some()
}

#[test]
fn the_first_rule_that_is_met_decides() {
    let mut rig = rig(&[
        AclRule { src: NET, dst_port: 22, drop: true, ..AclRule::ANY },
        AclRule { src: NET, ..AclRule::ANY },
        AclRule { dst_port: 80, ..AclRule::ANY },
    ]);
    assert!(!passes(&mut rig, &tcp(0x0a00_0001, 22, 0)));
    assert!(passes(&mut rig, &tcp(0x0a00_0001, 23, 0)));
    assert!(passes(&mut rig, &tcp(0x0c00_0001, 80, 0)));
    assert!(!passes(&mut rig, &tcp(0x0c00_0001, 81, 0)));
    let counters = rig.module::<Acl>().counters();
    assert_eq!(counters, [("rules", 3), ("passed", 2), ("denied", 1), ("unmatched", 1)]);
    rig.module::<Acl>().clear();
    assert!(!passes(&mut rig, &tcp(0x0a00_0001, 23, 0)));
    rig.module::<Acl>().add(&[AclRule::ANY]).unwrap();
    assert!(passes(&mut rig, &tcp(0x0a00_0001, 23, 0)));
    assert_eq!(rig.module::<Acl>().rules(), [AclRule::ANY]);
    rig.retire();
}

#[test]
fn established_lets_connections_go_on_and_none_begin() {
    let mut rig = rig(&[AclRule { established: true, ..AclRule::ANY }]);
    assert!(!passes(&mut rig, &tcp(1, 80, 0x02)), "SYN");
    assert!(passes(&mut rig, &tcp(1, 80, 0x12)), "SYN, ACK");
    assert!(passes(&mut rig, &tcp(1, 80, 0x10)), "ACK");
    assert!(passes(&mut rig, &tcp(1, 80, 0x04)), "RST");
    assert!(!passes(&mut rig, &packet(17, (1, 1), (2, 2), 0, &[0xff; 20])), "UDP");
    let mut fragment = tcp(1, 80, 0x10);
    fragment[21] = 8;
    assert!(!passes(&mut rig, &fragment), "a later fragment has no flags");
    rig.retire();
}

#[test]
fn what_is_no_ipv4_is_dropped() {
    let mut rig = rig(&[AclRule::ANY]);
    let good = tcp(1, 80, 0);
    let mut arp = good.clone();
    arp[13] = 6;
    let left = rig.pass_into(0, &[&arp, &good, &good[..30]]);
    assert_eq!(left, [(0, good.clone())]);
    assert_eq!(rig.drops(DropReason::UnknownProtocol), 1);
    assert_eq!(rig.drops(DropReason::Malformed), 1);
    rig.survives_garbage(1, &good, 15);
}

#[test]
fn a_wrong_rule_changes_nothing_and_says_what_is_wrong() {
    let mut acl = Acl::new(&[AclRule::ANY]).unwrap();
    let wrong = AclRule { src: (Ipv4Addr::new(10, 0, 0, 1), 8), ..AclRule::ANY };
    assert!(acl.add(&[AclRule::ANY, wrong]).unwrap_err().to_string().contains("10.0.0.0/8"));
    assert_eq!(acl.rules().len(), 1);
}
