//! Floods: what a network gets of a server that limits it, and what garbage on connections costs.

use crate::scene::run;
use crate::service::{Service, TIDEGATE, tempfile};
use crate::zone::{Asker, Zone, text};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tidegate_base::Rng;
use tidegate_sys::netlink::{Address, Netlink};
use tidegate_testbed::{End, Layout, Testbed};

const SERVER: &str = "10.78.0.2:53";
/// Whose addresses are forged; the other clients are of 10.78.0.0/24.
const VICTIM: &str = "10.79.0.1";
/// Answers a second that a network gets.
const RATE: f64 = 100.0;
/// Octets of a frame before a datagram.
const HEADERS_LEN: u64 = 42;
/// What a server may grow by through a flood: what its allocator keeps, not what a flood could fill.
const GROWTH_MAX: u64 = 4 << 20;
/// For ready answers. They are made when the machine has time, maybe late in a flood, and must not look like growth.
const STORE_SIZE: &str = "1MiB";
/// Connections at a time, each of which may leave a message of 64 KiB unfinished: within [`GROWTH_MAX`].
const CONNECTION_COUNT_MAX: u64 = 32;

/// `big.example.org TXT`, with EDNS: an answer of some 1,100 octets for 44.
const QUERY: &[u8] =
    b"\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x01\x03big\x07example\x03org\x00\x00\x10\x00\x01\
    \x00\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x00";

/// Two queues, so that two workers share what there is.
fn wire() -> Testbed {
    let bed = Testbed::new(&Layout { queue_count: 2, ..Layout::unpinned() });
    bed.expect("two network namespaces (run as root)")
}

fn resident_bytes(service: &Service) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", service.pid())).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a process");
    line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).expect("a number") << 10
}

/// The sum of a counter's values in `stats`.
fn counted(stats: &str, what: &str) -> u64 {
    let name = format!("\"{what}\": ");
    let values = stats.split(&name).skip(1).filter_map(|rest| {
        rest.split(|octet: char| !octet.is_ascii_digit()).next().and_then(|value| value.parse::<u64>().ok())
    });
    values.sum()
}

/// Octets that came in and went out of the client's device.
fn device_bytes(end: &End) -> (u64, u64) {
    let table = end.netns().run(|| std::fs::read_to_string("/proc/thread-self/net/dev").expect("a table"));
    let table = table.expect("entered");
    let row = table.lines().find_map(|line| line.trim().strip_prefix(&format!("{}:", end.device())));
    let numbers: Vec<u64> =
        row.expect("its row").split_whitespace().filter_map(|word| word.parse().ok()).collect();
    (numbers[0], numbers[8])
}

/// What came back of a flood.
#[derive(Default, Debug)]
struct Flood {
    query_count: u64,
    full_count: u64,
    slip_count: u64,
    full_len: u64,
    /// From the flood's beginning to the arrival of the last full answer.
    full_span: Duration,
}

/// Asks the same for `span` from sixteen ports of the victim's, some thousand times a second, and waits for answers as
/// long as `rest` beyond that.
fn flood(span: Duration, rest: Duration) -> Flood {
    let socket = |_| {
        let socket = UdpSocket::bind((VICTIM, 0)).expect("the victim's address");
        socket.connect(SERVER).expect("a way there");
        socket.set_nonblocking(true).expect("a socket option");
        socket
    };
    let sockets: Vec<UdpSocket> = (0..16).map(socket).collect();
    let (start, mut flood) = (Instant::now(), Flood::default());
    while start.elapsed() < span + rest {
        for socket in &sockets {
            if start.elapsed() < span && socket.send(QUERY).is_ok() {
                flood.query_count += 1;
            }
            take_answers(socket, start, &mut flood);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    flood
}

fn take_answers(socket: &UdpSocket, start: Instant, flood: &mut Flood) {
    let mut answer = [0; 2048];
    while let Ok(len) = socket.recv(&mut answer) {
        let is_truncated = answer[2] & 2 != 0;
        if is_truncated {
            assert_eq!(
                (len, &answer[6..12]),
                (QUERY.len() - 11, &[0; 6][..]),
                "a slip is header and question"
            );
            flood.slip_count += 1;
        } else {
            assert!(len > 1000, "{len} octets");
            flood.full_count += 1;
            flood.full_len = len as u64;
            flood.full_span = start.elapsed();
        }
    }
}

/// Asks at a rate of its own until told to stop; how many were asked, and how many not answered.
fn ask_on(stop: &AtomicBool) -> (u32, u32) {
    let (mut asker, mut asked, mut lost) = (Asker::of(SERVER), 0, 0);
    while !stop.load(Ordering::Relaxed) {
        asked += 1;
        lost += u32::from(asker.serial() != Some(1));
        std::thread::sleep(Duration::from_millis(20));
    }
    (asked, lost)
}

#[test]
fn a_flooded_network_gets_its_rate_and_every_second_slip_whatever_the_workers() {
    let (bed, zone) = (wire(), Zone::new(1));
    let strings = format!("\"{}\" ", "x".repeat(250)).repeat(4);
    zone.write(&format!("{}big IN TXT {strings}\n", text(1)));
    let (server, client) = (bed.server().netns(), bed.client().netns());
    let mut netlink = Netlink::open_in(client).expect("a socket");
    let ifindex = netlink.link(bed.client().device()).expect("its device").ifindex;
    let ip: IpAddr = VICTIM.parse().expect("an address");
    netlink.add_address(ifindex, Address { ip, prefix_len: 32 }).expect("an address more");
    let limits = ["--rrl", "100", "--workers", "2", "--memory", STORE_SIZE];
    let args = [&["--zone", zone.file(), "--dev", "server0", "--listen", SERVER][..], &limits].concat();
    let service = Service::run(server, "dns", &args);
    // Once, so that what fills is full, and the network's bucket empty: no answer of the next flood is given at a time
    // that a worker read off its clock before that began.
    client.run(|| flood(Duration::from_millis(500), Duration::ZERO)).expect("entered");
    let (resident, before) = (resident_bytes(&service), device_bytes(bed.client()));
    let stop = AtomicBool::new(false);
    let (flood, (asked, lost)) = client
        .run(|| {
            std::thread::scope(|scope| {
                let other = scope.spawn(|| ask_on(&stop));
                let flood = flood(Duration::from_secs(3), Duration::from_millis(500));
                stop.store(true, Ordering::Relaxed);
                (flood, other.join().expect("it asks"))
            })
        })
        .expect("entered");
    let after = device_bytes(bed.client());
    assert!(flood.query_count > 5000 && asked > 20, "that was no flood: {flood:?}");
    assert_eq!(lost, 0, "of {asked} queries of another network");
    // A full bucket, and what comes back as time goes by: no more at any speed of the machine.
    let full_bound = RATE * (flood.full_span.as_secs_f64() + 1.0);
    assert!((flood.full_count as f64) <= full_bound, "{flood:?}, more than {full_bound}");
    assert!(flood.full_count as f64 >= RATE, "{flood:?}");
    // Counted by the server: a machine that is busy with other things may lose some of either. Each of the two workers
    // counts for itself what it refuses.
    let stats = run(server, TIDEGATE, &["stats", "--json", "--pid", &service.pid().to_string()]);
    let (slipped, dropped) = (counted(&stats, "rate_slipped"), counted(&stats, "rate_dropped"));
    assert!(
        slipped.abs_diff(dropped) <= 4 && slipped > 1000,
        "{slipped} slipped, {dropped} dropped: {stats}"
    );
    assert!(flood.slip_count > 0 && flood.slip_count <= slipped, "{flood:?}, {slipped} slipped");
    let (bytes_in, bytes_out) = (after.1 - before.1, after.0 - before.0);
    let of_other = u64::from(asked) * 200;
    let out_bound = full_bound as u64 * (flood.full_len + HEADERS_LEN) + bytes_in / 2 + of_other;
    assert!(
        bytes_out <= out_bound,
        "{bytes_out} octets out for {bytes_in} in, more than {out_bound}: {flood:?}"
    );
    let grown = resident_bytes(&service).saturating_sub(resident);
    assert!(grown < GROWTH_MAX, "grown by {grown} octets");
    let dig = ["+tcp", "+short", "-b", VICTIM, "@10.78.0.2", "www.example.org", "A"];
    assert_eq!(run(client, "dig", &dig).trim(), "192.0.2.80", "TC leads to an answer");
    assert!(service.terminate().success());
}

/// Ways to waste a connection; how many there are.
const WASTE_COUNT: u64 = 7;

/// Wastes a connection until the server ends it, and says how long it took; `None`: it was not let in.
fn waste(kind: u64, rng: &mut Rng) -> Option<Duration> {
    let address: SocketAddr = SERVER.parse().expect("an address");
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(5)).ok()?;
    stream.set_read_timeout(Some(Duration::from_millis(100))).expect("a socket option");
    let start = Instant::now();
    let noise: Vec<u8> = (0..70_000).map(|_| rng.next_u32() as u8).collect();
    let (opening, is_slow): (&[u8], bool) = match kind {
        0 => (&[0], false),
        1 => (&[0, 0], false),
        2 => (b"\x00\x05abcde", false),
        3 => (&[0xff, 0xff], false),
        4 => (&[&[0xff, 0xff], &noise[..65_535]].concat(), false),
        5 => (&[0, 29], true),
        _ => (&noise, false),
    };
    // The server may have ended it already.
    let _ = stream.write_all(opening);
    let mut answers = [0; 4096];
    while start.elapsed() < Duration::from_secs(20) {
        match stream.read(&mut answers) {
            Ok(0) => return Some(start.elapsed()),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => return Some(start.elapsed()),
            Ok(_) => {}
        }
        if is_slow {
            let _ = stream.write_all(b"\x00");
        }
    }
    panic!("the server keeps a connection of kind {kind}");
}

/// A wave of connections at once, more than there may be; how many were let in and ended.
fn wave(seed: u64) -> usize {
    std::thread::scope(|scope| {
        let waste = |n: u64| move || waste(n % WASTE_COUNT, &mut Rng::new(seed << 8 | n));
        let wasted: Vec<_> = (0..60).map(|n| scope.spawn(waste(n))).collect();
        wasted.into_iter().filter_map(|wasted| wasted.join().expect("it ends")).count()
    })
}

#[test]
fn garbage_on_connections_is_ended_in_time_and_leaves_nothing() {
    let (bed, zone, file) = (wire(), Zone::new(1), tempfile("toml"));
    let (server, client) = (bed.server().netns(), bed.client().netns());
    let config = format!(
        "[dns]\nmemory = \"{STORE_SIZE}\"\n[dns.limits]\nconnections = {CONNECTION_COUNT_MAX}\n\
         [dns.timeouts]\nquery = \"1s\"\nidle = \"2s\"\n[[dns.zone]]\nfile = \"{}\"\n",
        zone.file()
    );
    std::fs::write(&file, config).expect("written");
    let config = file.to_str().expect("a path in ASCII");
    let args = ["--config", config, "--dev", "server0", "--listen", SERVER];
    let service = Service::run(server, "dns", &args);
    let mut resident = 0;
    for seed in 0..6 {
        assert!(client.run(|| wave(seed)).expect("entered") >= 20, "hardly one was let in");
        assert_eq!(client.run(|| Asker::of(SERVER).serial()).expect("entered"), Some(1), "UDP goes on");
        // What the first waves make resident does not count as growth.
        if seed == 1 {
            resident = resident_bytes(&service);
        }
    }
    let grown = resident_bytes(&service).saturating_sub(resident);
    assert!(grown < GROWTH_MAX, "grown by {grown} octets");
    let dig = ["+tcp", "+short", "@10.78.0.2", "www.example.org", "A"];
    assert_eq!(run(client, "dig", &dig).trim(), "192.0.2.80", "TCP goes on");
    assert!(service.terminate().success());
    let _ = std::fs::remove_file(&file);
}
