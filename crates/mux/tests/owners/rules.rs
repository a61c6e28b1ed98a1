//! Who is refused, and what it says.

use crate::world::{HOST, World, at, udp};
use tidegate_bpf::Tuple;
use tidegate_mux::registry::Grade;

#[test]
fn what_others_have_is_refused_by_name() {
    let world = World::new();
    world.host_server(7000);
    let (first, second) = (world.attach(), world.attach());
    let said = first.bind(udp(7000)).unwrap_err().to_string();
    assert!(said.contains(&format!("UDP {HOST}:7000")) && said.contains("(process "), "{said}");
    first.bind(udp(7001)).expect("it is free");
    let said = second.bind(udp(7001)).unwrap_err().to_string();
    assert!(said.contains("stack 0 has it") && said.contains("process"), "{said}");
    let all = at("0.0.0.0:7001");
    let said = second.bind(Tuple::udp(all.ip(), all.port())).unwrap_err().to_string();
    assert!(said.contains("stack 0 has it") && said.contains("as udp 10.9.0.1:7001"), "{said}");
    let foreign = at("192.0.2.1:7001");
    let said = second.bind(Tuple::udp(foreign.ip(), foreign.port())).unwrap_err().to_string();
    assert!(said.contains("has no address 192.0.2.1: it has 10.9.0.1"), "{said}");
    first.release(udp(7001)).expect("its own");
    second.bind(udp(7001)).expect("free again");
    world
        .host
        .run(|| assert!(std::net::UdpSocket::bind((HOST, 7001)).is_err(), "kept from the host"))
        .unwrap();
}

#[test]
fn what_cannot_be_is_said_to_be() {
    let mut world = World::new();
    let said = world.try_attach(Grade::Memif).unwrap_err().to_string();
    assert!(said.contains("grade memif"), "{said}");
    let device = std::mem::replace(&mut world.device, "absent0".to_owned());
    let said = world.try_attach(Grade::Veth).unwrap_err().to_string();
    assert!(said.contains("no interface absent0"), "{said}");
    world.device = device;
    world.stop();
    let said = world.try_attach(Grade::Veth).unwrap_err().to_string();
    assert!(said.contains("tidegate daemon --mux"), "{said}");
}
