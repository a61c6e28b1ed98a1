//! Segments by hand; and the kernel's TCP at both ends, curl as the client.
use super::*;
use crate::rig::{Packet as Given, Rig, checksums_hold, packet, survives};
use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use tidegate_packet::{HeapMemory, Pool, SCRATCH_LEN};
use tidegate_pipeline::{Graph, PortIndex, Worker, WorkerConfig, control};
use tidegate_port::{Port, TapPort};
use tidegate_sys::netlink::{Address, Netlink};
use tidegate_sys::netns::Netns;
use tidegate_sys::tap::Tap;

fn filter(urls: &[(&str, &str)]) -> UrlFilter {
    let url = |(host, path): &(&str, &str)| Url { host: (*host).to_owned(), path: (*path).to_owned() };
    UrlFilter::new(urls.iter().map(url).collect(), 100, 1).unwrap()
}

const CLIENT: (u32, u16) = (0x0a00_0001, 40_000);
const SERVER: (u32, u16) = (0x0a00_0002, 80);

fn segment(seq: u32, flags: u8, text: &str) -> Vec<u8> {
    let mut frame = packet(6, CLIENT, SERVER, flags, text.as_bytes());
    frame[38..42].copy_from_slice(&seq.to_be_bytes());
    seal(&mut frame);
    frame
}

fn seal(frame: &mut [u8]) {
    let found = crate::segment::Segment::find(frame).unwrap();
    found.seal(frame);
}

#[test]
fn a_refused_request_is_answered_in_the_servers_name() {
    let mut rig = Rig::new(filter(&[("example.org", "/private")]));
    let open = segment(99, SYN, "");
    let first = segment(100, ACK, "GET /private/x HTTP/1.1\r\nHo");
    assert_eq!(rig.pass(&[open.clone(), first.clone()]), [(0, open), (0, first.clone())]);
    let text = "st: EXAMPLE.org:80\r\n\r\n";
    let seq = 100 + (first.len() - 54) as u32;
    let mut out = rig.pass(&[segment(seq, ACK | PSH, text), segment(seq + 22, ACK, "more")]);
    out.sort_by_key(|(gate, _)| *gate);
    let [(0, to_server), (1, refusal), (1, to_client)] = &out[..] else { panic!("{out:?}") };
    assert!(out.iter().all(|(_, frame)| checksums_hold(frame)));
    assert_eq!(to_server[38..42], seq.to_be_bytes(), "what it has of the request");
    assert_eq!((to_server[47], refusal[47], to_client[47]), (RST | ACK, PSH | ACK, RST | ACK));
    assert!(refusal[54..].starts_with(b"HTTP/1.1 403 "));
    assert_eq!(refusal[42..46], (seq + text.len() as u32).to_be_bytes());
    assert_eq!((&refusal[26..30], &refusal[34..36]), (&[10, 0, 0, 2][..], &[0, 80][..]));
    assert_eq!((rig.counter("blocked"), rig.counter("requests")), (1, 1));
    assert_eq!(rig.drops(DropReason::Policy), 2);
    // The next connection begins anew.
    let again = [segment(7, SYN, ""), segment(8, ACK, "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n")];
    assert_eq!(rig.pass(&again).len(), 2);
}

#[test]
fn a_segment_ahead_of_its_turn_comes_again_and_an_old_one_passes() {
    let mut rig = Rig::new(filter(&[("h", "/no")]));
    let head = "GET /no HTTP/1.1\r\nHost: h\r\n\r\n";
    rig.pass(&[segment(0, SYN, "")]);
    let (first, second) = head.split_at(10);
    assert_eq!(rig.pass(&[segment(11, ACK, second)]), [], "it would be out of sight");
    assert_eq!(rig.pass(&[segment(1, ACK, first), segment(1, ACK, first)]).len(), 2);
    assert_eq!(rig.pass(&[segment(6, ACK, &head[5..])]).len(), 3, "refused, though half of it is old");
    assert_eq!((rig.counter("out_of_order"), rig.counter("blocked")), (1, 1));
}

#[test]
fn other_packets_and_answers_pass() {
    let mut rig = Rig::new(filter(&[("h", "")]));
    let others =
        [packet(17, CLIENT, SERVER, 0, b"x"), packet(6, CLIENT, (1, 443), ACK, b"GET /"), vec![0; 9]];
    assert_eq!(rig.pass(&others).len(), 3);
    let answer = packet(6, SERVER, CLIENT, ACK, b"HTTP/1.1 200 OK\r\n\r\n");
    let out = rig.pass_packets(&[Given { gate: 1, data: answer, scratch: [0; SCRATCH_LEN] }]);
    assert_eq!(out[0].gate, 1);
    survives(filter(&[("h", "")]), 0);
    assert!(UrlFilter::new(Vec::new(), 0, 1).is_err());
    assert!(UrlFilter::new(vec![Url { host: String::new(), path: "/".into() }], 1, 1).is_err());
}

/// A TAP device in a namespace of its own.
fn end(host: u8) -> (Netns, Box<dyn Port>) {
    let netns = Netns::create().unwrap();
    let port = netns.run(move || {
        let tap = Tap::open("tap%d").unwrap();
        let mut netlink = Netlink::open().unwrap();
        let ifindex = netlink.link(tap.name()).unwrap().ifindex;
        netlink.set_up(ifindex, true).unwrap();
        let ip = IpAddr::from(Ipv4Addr::new(10, 9, 1, host));
        netlink.add_address(ifindex, Address { ip, prefix_len: 24 }).unwrap();
        Box::new(TapPort::new(tap, 1514)) as Box<dyn Port>
    });
    (netns, port.unwrap())
}

fn serve(listener: &TcpListener) {
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
        // A connection that was reset has nobody to tell.
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nyes");
    }
}

#[test]
fn curl_is_refused_what_is_on_the_list() {
    let ((near, client), (far, server)) = (end(1), end(2));
    let listener = far.run(|| TcpListener::bind("10.9.1.2:80").unwrap()).unwrap();
    std::thread::spawn(move || serve(&listener));
    let mut graph = Graph::new();
    let inputs =
        [0, 1].map(|n| graph.add(&format!("in{n}"), Box::new(crate::PortIn::new(PortIndex(n)))).unwrap());
    let module = graph.add("filter", Box::new(filter(&[("10.9.1.2", "/no")]))).unwrap();
    let outputs =
        [1, 0].map(|n| graph.add(&format!("out{n}"), Box::new(crate::PortOut::new(PortIndex(n)))).unwrap());
    for gate in 0..2 {
        graph.connect(inputs[gate], 0, module, gate).unwrap();
        graph.connect(module, gate, outputs[gate], 0).unwrap();
    }
    let pool = Pool::new(Box::new(HeapMemory::new(256 * 2048)), 2048).unwrap();
    let (_control, commands) = control(|| {});
    let mut worker = Worker::new(WorkerConfig::default(), pool, vec![client, server], graph, commands);
    let is_over = AtomicBool::new(false);
    let answers = std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let answers = ["/yes", "/no/way", "/yes"].map(|path| curl(&near, path));
            is_over.store(true, Ordering::Relaxed);
            answers
        });
        while !is_over.load(Ordering::Relaxed) && !asking.is_finished() {
            worker.round(tidegate_sys::clock::now());
        }
        asking.join().unwrap()
    });
    assert_eq!(answers, ["yes 200", "Forbidden\n 403", "yes 200"]);
}

/// What curl gets, and the status.
fn curl(netns: &Netns, path: &str) -> String {
    let url = format!("http://10.9.1.2{path}");
    let arguments = ["--silent", "--max-time", "20", "--write-out", " %{http_code}", &url];
    let output = netns.run(|| Command::new("curl").args(arguments).output().unwrap()).unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}
