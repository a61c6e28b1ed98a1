//! `tidegate dns` as its clients meet it.

use crate::scene::{has_link, lone_machine, output, run, wire};
use crate::service::{Service, TIDEGATE};
use crate::zone::{Asker, Zone};
use std::net::UdpSocket;
use std::time::{Duration, Instant};
use tidegate_sys::netns::Netns;

fn dig(netns: &Netns, server: &str, args: &[&str]) -> String {
    let server = format!("@{server}");
    let answer = run(netns, "dig", &[&["+short", "+time=2", "+tries=1", &server][..], args].concat());
    answer.trim().to_owned()
}

#[test]
fn every_client_is_answered_over_both_transports_and_both_ip_versions() {
    let (machine, zone) = (lone_machine(), Zone::new(7));
    let log = crate::service::tempfile("queries");
    let queries = ["--query-log", log.to_str().expect("a path in ASCII")];
    let args = [&["--zone", zone.file(), "--nsid", "the-one"][..], &queries].concat();
    let service = Service::run(&machine, "dns", &args);
    assert!(service.line.contains("1 zone on 10.77.0.2:53 and [fd77::2]:53"), "{}", service.line);
    for server in ["10.77.0.2", "fd77::2"] {
        for transport in ["+notcp", "+tcp"] {
            assert_eq!(dig(&machine, server, &[transport, "www.example.org", "A"]), "192.0.2.80");
            assert_eq!(dig(&machine, server, &[transport, "any.wild.example.org", "TXT"]), "\"7\"");
            let server = format!("@{server}");
            let kdig = run(&machine, "kdig", &[transport, "+short", &server, "www.example.org", "AAAA"]);
            assert_eq!(kdig.trim(), "2001:db8::80");
        }
        let at = format!("@{server}");
        assert!(run(&machine, "dig", &["+nsid", &at, "example.org", "SOA"]).contains("the-one"));
        assert!(run(&machine, "dig", &[&at, "none.example.org"]).contains("status: NXDOMAIN"));
        assert!(run(&machine, "dig", &[&at, "example.net"]).contains("status: REFUSED"));
        assert!(run(&machine, "delv", &["+noroot", "-i", &at, "www.example.org"]).contains("192.0.2.80"));
    }
    assert!(run(&machine, "dig", &["@10.77.0.2", "+cookie", "example.org"]).contains("(good)"));
    assert_eq!(dig(&machine, "10.77.0.2", &["version.bind", "CH", "TXT"]), "\"Tidegate\"");
    assert!(service.terminate().success());
    let logged = std::fs::read_to_string(&log).expect("a log");
    for transport in ["udp4", "udp6", "tcp4", "tcp6"] {
        let lines: Vec<&str> = logged.lines().filter(|line| line.contains(transport)).collect();
        let has = |what: &str, ends: &str| {
            let is_said =
                |line: &&str| line.contains(what) && line.split_once(what).unwrap().1.contains(ends);
            assert!(lines.iter().any(is_said), "{transport} {what} {ends}: {logged}");
        };
        has("www.example.org. IN A ", " NOERROR ");
        assert!(lines.iter().all(|line| !line.ends_with('-')), "all were answered: {logged}");
    }
    let octets =
        |line: &&str| line.contains(" NXDOMAIN ") && line.rsplit(' ').next().unwrap().parse::<u16>().is_ok();
    assert!(logged.lines().any(|line| octets(&line)) && logged.contains(" REFUSED "), "{logged}");
    let _ = std::fs::remove_file(&log);
    assert!(!has_link(&machine, "tidegate0"));
}

#[test]
fn every_mode_and_key_form_gives_the_same_answers() {
    let zone = Zone::new(3);
    for (mode, keys) in [("in-place", "decompressed"), ("memcopy", "wire"), ("pre-copy", "wire")] {
        let machine = lone_machine();
        let service = Service::run(&machine, "dns", &["--zone", zone.file(), "--mode", mode, "--keys", keys]);
        for _ in 0..3 {
            assert_eq!(dig(&machine, "10.77.0.2", &["wWw.Example.ORG", "A"]), "192.0.2.80", "{mode} {keys}");
            assert_eq!(dig(&machine, "fd77::2", &["example.org", "NS"]), "ns.example.org.", "{mode} {keys}");
        }
        assert!(service.terminate().success());
    }
}

/// Answers every datagram with `text`, in the calling thread's namespace, until the test ends.
fn host_server(address: &str, text: &'static [u8]) {
    let socket = UdpSocket::bind(address).expect("the host's own address");
    std::thread::spawn(move || {
        let mut query = [0; 512];
        while let Ok((_, peer)) = socket.recv_from(&mut query) {
            let _ = socket.send_to(text, peer);
        }
    });
}

fn ask(address: &str, text: &[u8]) -> Vec<u8> {
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
    socket.set_read_timeout(Some(Duration::from_secs(5))).expect("a timeout");
    socket.send_to(text, address).expect("sent");
    let mut answer = [0; 512];
    let len = socket.recv(&mut answer).expect("an answer");
    answer[..len].to_vec()
}

#[test]
fn the_host_keeps_its_address_and_its_other_name_servers() {
    let (bed, zone) = (wire(), Zone::new(1));
    let (server, client) = (bed.server().netns(), bed.client().netns());
    server.run(|| host_server("10.78.0.2:5300", b"the host's")).expect("entered");
    let device = ["--dev", "server0", "--listen", "10.78.0.2:53", "--listen", "[fd78::2]:53"];
    let service = Service::run(server, "dns", &[&["--zone", zone.file()][..], &device].concat());
    for _ in 0..3 {
        assert_eq!(dig(client, "10.78.0.2", &["www.example.org", "A"]), "192.0.2.80");
        assert_eq!(dig(client, "fd78::2", &["+tcp", "www.example.org", "A"]), "192.0.2.80");
        let answer = client.run(|| ask("10.78.0.2:5300", b"?")).expect("entered");
        assert_eq!(answer, b"the host's");
    }
    let taken = server.run(|| UdpSocket::bind("10.78.0.2:53").is_err()).expect("entered");
    assert!(taken, "the host must not give the port away");
    assert!(service.terminate().success());
    let free = server.run(|| UdpSocket::bind("10.78.0.2:53").is_ok()).expect("entered");
    assert!(free, "the host has its port back");
}

#[test]
fn a_port_that_the_host_serves_is_named_with_its_owner() {
    let (bed, zone) = (wire(), Zone::new(1));
    let server = bed.server().netns();
    server.run(|| host_server("10.78.0.2:53", b"mine")).expect("entered");
    let args = ["dns", "--zone", zone.file(), "--dev", "server0", "--listen", "10.78.0.2:53"];
    let said = String::from_utf8_lossy(&output(server, TIDEGATE, &args).stderr).into_owned();
    assert!(said.contains("UDP 10.78.0.2:53 is taken by"), "{said}");
}

#[test]
fn a_killed_server_leaves_nothing_behind_and_another_takes_over() {
    let (bed, zone) = (wire(), Zone::new(1));
    let (server, client) = (bed.server().netns(), bed.client().netns());
    let args = ["--zone", zone.file(), "--dev", "server0", "--listen", "10.78.0.2:53"];
    Service::run(server, "dns", &args).kill();
    let free = server.run(|| UdpSocket::bind("10.78.0.2:53").is_ok()).expect("entered");
    assert!(free, "the host has its port back");
    let service = Service::run(server, "dns", &args);
    assert_eq!(client.run(|| Asker::of("10.78.0.2:53").serial()).expect("entered"), Some(1));
    assert!(service.terminate().success());
}

fn await_copy(machine: &Netns, service: &Service, serial: u32) {
    let start = Instant::now();
    while machine.run(|| Asker::of("10.77.1.2:53").serial()).expect("entered") != Some(serial) {
        assert!(start.elapsed() < Duration::from_secs(20), "no serial {serial}: {}", service.log());
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_copy_is_kept_current_and_outlives_its_primary() {
    let (machine, zone, copy) = (lone_machine(), Zone::new(1), Zone::new(0));
    std::fs::remove_file(copy.path()).expect("not copied yet");
    let configure = |text: &str| {
        let file = crate::service::tempfile("toml");
        std::fs::write(&file, text).expect("written");
        file
    };
    let primary = configure(&format!(
        "[dns]\nallow_transfer = [\"10.77.0.0/16\"]\nnotify = [\"10.77.1.2\"]\n\
         [[dns.zone]]\nfile = \"{}\"\n",
        zone.file()
    ));
    let secondary = configure(&format!(
        "name = \"tidegate1\"\n[[dns.zone]]\nname = \"example.org\"\nfile = \"{}\"\nprimaries = [\"10.77.0.2\"]\n\
         allow_notify = [\"10.77.0.0/16\"]\n",
        copy.file()
    ));
    let path = |file: &std::path::Path| file.to_str().expect("a path in ASCII").to_owned();
    let first = Service::run(&machine, "serve", &["--config", &path(&primary)]);
    let second = Service::run(&machine, "serve", &["--config", &path(&secondary)]);
    await_copy(&machine, &second, 1);
    zone.write(&crate::zone::text(2));
    await_copy(&machine, &second, 2);
    assert!(copy.path().exists());
    assert!(first.terminate().success());
    await_copy(&machine, &second, 2);
    assert!(second.terminate().success());
    let again = Service::run(&machine, "serve", &["--config", &path(&secondary)]);
    assert_eq!(machine.run(|| Asker::of("10.77.1.2:53").serial()).expect("entered"), Some(2));
    assert!(again.terminate().success());
    let _ = (std::fs::remove_file(primary), std::fs::remove_file(secondary));
}
