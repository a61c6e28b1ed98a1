//! A few frames by hand; the table of golden frames is in `crates/bpf/tests/egress/`.

use super::*;

const NIC: [u8; 6] = [2, 0, 0, 0, 0, 1];
const RULES: EgressRules = EgressRules { mac: MacAddr(NIC), mtu: 1500 };

/// TCP port 80 of every address is ours, UDP port 53 of 192.0.2.1 somebody else's; the NIC has 192.0.2.1.
struct Registered;

impl Claims for Registered {
    fn claim(&self, source: &Source) -> Option<Claim> {
        match (source.transport, source.address.is_unspecified(), source.port) {
            (Transport::Tcp, true, 80) => Some(Claim::Own),
            (Transport::Udp, false, 53) => Some(Claim::Foreign),
            _ => None,
        }
    }

    fn is_local(&self, address: IpAddr) -> bool {
        address == IpAddr::from([192, 0, 2, 1])
    }
}

/// A TCP segment without options or data from 192.0.2.`host` port `port`.
fn segment(host: u8, port: u8) -> Vec<u8> {
    let mut frame = [[2, 0, 0, 0, 0, 9], NIC].concat();
    frame.extend([8, 0, 0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 192, 0, 2, host, 198, 51, 100, 7]);
    frame.extend([0, port, 0x9c, 0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0x10, 0, 0, 0, 0, 0, 0]);
    frame
}

fn verdict(frame: &[u8]) -> EgressVerdict {
    check(frame, &RULES, &Registered)
}

#[test]
fn a_wildcard_is_good_for_addresses_of_the_nic() {
    assert_eq!(verdict(&segment(1, 80)), EgressVerdict::Sent);
    assert_eq!(verdict(&segment(2, 80)), EgressVerdict::ForeignAddress);
    assert_eq!(verdict(&segment(1, 81)), EgressVerdict::NotOwner);
}

#[test]
fn padding_ends_where_the_shortest_frame_does() {
    let mut frame = segment(1, 80);
    frame.resize(60, 0);
    assert_eq!(verdict(&frame), EgressVerdict::Sent);
    frame.push(0);
    assert_eq!(verdict(&frame), EgressVerdict::MalformedIpv4);
}

#[test]
fn any_cut_is_refused() {
    let frame = segment(1, 80);
    for len in 0..frame.len() {
        assert_ne!(verdict(&frame[..len]), EgressVerdict::Sent, "{len} bytes");
    }
}

#[test]
fn verdicts_are_numbered_by_their_order() {
    for (index, verdict) in EgressVerdict::ALL.into_iter().enumerate() {
        assert_eq!(verdict as usize, index);
    }
}
