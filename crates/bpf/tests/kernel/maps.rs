//! What is registered, and the errors that say why something is not.

use std::net::IpAddr;

use tidegate_bpf::{LoadError, LoadOptions, Reason, RegisterError, Steering, Tuple, Verdict, XdpProgram};

use crate::golden::golden_packets;
use crate::reference::Registered;
use crate::support::{beside_socket, load, load_registered, registered, run};

fn service(port: u16) -> Tuple {
    Tuple::tcp(IpAddr::from([192, 0, 2, 1]), port)
}

#[test]
fn registered_tuples_are_listed() {
    let Some(program) = load_registered() else { return };
    let listed: Registered = program.registered().expect("the map can be read").into_iter().collect();
    assert_eq!(listed, registered());
}

#[test]
fn a_tuple_has_one_owner() {
    let Some(program) = load() else { return };
    program.register(service(80), Steering::Socket).expect("a new tuple");
    let refused = program.register(service(80), Steering::Host).expect_err("the tuple is taken");
    assert!(matches!(refused, RegisterError::Taken(tuple) if tuple == service(80)), "{refused}");
    assert!(refused.to_string().contains("tcp 192.0.2.1:80"), "{refused}");
}

fn syn() -> Vec<u8> {
    let packets = golden_packets();
    let syn = packets.into_iter().find(|packet| packet.name == "ipv4-tcp-registered");
    syn.expect("a golden packet").frame
}

#[test]
fn an_unregistered_tuple_is_the_hosts_again() {
    beside_socket(|program, _receiver| {
        assert_eq!(run(program, &syn()).1, Reason::Tuple);
        assert!(program.unregister(service(80)).expect("the map can be written"));
        assert_eq!(run(program, &syn()).1, Reason::Unregistered);
        assert!(!program.unregister(service(80)).expect("the map can be written"));
    });
}

#[test]
fn a_closed_socket_leaves_its_frames_to_the_host() {
    beside_socket(|program, receiver| {
        assert_eq!(run(program, &syn()).1, Reason::Tuple);
        drop(receiver);
        assert_eq!(run(program, &syn()), (Verdict::Pass, Reason::SocketAbsent));
    });
}

#[test]
fn an_unset_socket_leaves_its_frames_to_the_host() {
    beside_socket(|program, _receiver| {
        assert_eq!(run(program, &syn()).1, Reason::Tuple);
        program.unset_xsk(0).expect("queue 0 has a place");
        assert_eq!(run(program, &syn()).1, Reason::SocketAbsent);
        program.unset_xsk(0).expect("unsetting nothing is no error");
    });
}

#[test]
fn a_device_can_be_shared_again() {
    beside_socket(|program, _receiver| {
        program.own_device(true).expect("the setting can be written");
        assert_eq!(run(program, &[0; 60]), (Verdict::Socket, Reason::OwnDevice));
        program.own_device(false).expect("the setting can be written");
        assert_eq!(run(program, &[0; 60]), (Verdict::Pass, Reason::NotIp));
    });
}

#[test]
fn a_full_map_says_how_many_fit() {
    if load().is_none() {
        return;
    }
    let options = LoadOptions { tuple_count_max: 2, ..LoadOptions::default() };
    let program = XdpProgram::load(&options).expect("loading worked a moment ago");
    program.register(service(80), Steering::Socket).expect("place 1");
    program.register(service(81), Steering::Socket).expect("place 2");
    let refused = program.register(service(82), Steering::Socket).expect_err("there is no place 3");
    assert!(matches!(refused, RegisterError::Full { capacity: 2, .. }), "{refused}");
}

#[test]
fn a_refused_load_quotes_the_log() {
    if load().is_none() {
        return;
    }
    let options = LoadOptions { tuple_count_max: 0, ..LoadOptions::default() };
    let refused = XdpProgram::load(&options).expect_err("a map has room for something");
    assert!(matches!(refused, LoadError::Refused { .. }), "{refused}");
    assert!(refused.to_string().contains("tuples"), "{refused}");
}

#[test]
fn a_queue_beyond_the_map_is_refused_by_name() {
    beside_socket(|program, receiver| {
        let queue = LoadOptions::default().queue_count_max;
        let refused = program.set_xsk(queue, &receiver).expect_err("there is no such place");
        assert!(refused.to_string().contains(&format!("receive queue {queue}")), "{refused}");
    });
}

#[test]
fn a_map_of_sockets_takes_nothing_else() {
    let Some(program) = load() else { return };
    let file = std::fs::File::open("/dev/null").expect("/dev/null opens");
    program.set_xsk(0, &file).expect_err("a file is no AF_XDP socket");
}
