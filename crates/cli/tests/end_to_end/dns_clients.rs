//! Name clients that people use: validators, load generators, and what they make of TC and of connections.

use crate::scene::{lone_machine, run};
use crate::service::{Service, TIDEGATE};
use crate::zone::Zone;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use tidegate_sys::netns::Netns;
use tidegate_testbed::ScratchDir;

const SERVERS: [&str; 2] = ["10.77.0.2", "fd77::2"];

/// Zones of the differential test's corpus, signed until 2038: with NSEC, with NSEC3, and with opt-out.
const SIGNED: [&str; 3] = ["nsec.test", "nsec3.test", "optout.test"];

fn corpus_file(kind: &str, apex: &str) -> PathBuf {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dns/tests/differential/zones");
    corpus.join(kind).join(format!("{apex}.zone"))
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in ASCII")
}

/// The signed zones and their keys, in the forms that validators read.
struct Signed {
    service: Service,
    machine: Netns,
    scratch: ScratchDir,
}

impl Signed {
    fn serve() -> Self {
        let (machine, scratch) = (lone_machine(), ScratchDir::new().expect("a temporary directory"));
        let files = SIGNED.map(|apex| format!("{apex}={}", text(&corpus_file("signed", apex))));
        let args: Vec<&str> = files.iter().flat_map(|file| ["--zone", file.as_str()]).collect();
        let service = Service::run(&machine, "dns", &args);
        Self { service, machine, scratch }
    }

    /// The key that signs a zone's keys: flags with SEP (RFC 4034 section 2.1.1), protocol, algorithm, and the key in
    /// base64.
    fn anchor(apex: &str) -> [String; 2] {
        let zone = std::fs::read_to_string(corpus_file("signed", apex)).expect("in the tree");
        let fields = zone.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let mut keys = fields.filter(|fields| fields.get(3..5) == Some(&["DNSKEY", "257"]));
        let key = keys.next().expect("a key");
        [key[4..7].join(" "), key[7..].concat()]
    }

    fn file(&self, name: &str, content: &str) -> String {
        text(&self.scratch.write(name, content).expect("a temporary file")).to_owned()
    }

    /// What an Unbound is to know that asks us alone, at `server`.
    fn unbound(&self, server: &str) -> String {
        let directory = self.scratch.path().display();
        let mut conf = format!(
            "server:\n directory: \"{directory}\"\n username: \"\"\n chroot: \"\"\n local-zone: \"test.\" nodefault\n"
        );
        for apex in SIGNED {
            let _ = writeln!(conf, " trust-anchor: \"{apex}. DNSKEY {}\"", Self::anchor(apex).join(" "));
        }
        for apex in SIGNED {
            let _ = write!(conf, "stub-zone:\n name: \"{apex}\"\n stub-addr: {server}\n");
        }
        self.file("unbound.conf", &conf)
    }
}

#[test]
fn unbound_finds_signatures_and_proofs_to_be_right() {
    const ASKED: [(&str, &str, &str); 9] = [
        ("A", "host", "has address"),
        ("DNSKEY", "", "has DNSKEY record"),
        ("A", "any.w", "has address"),
        ("AAAA", "mail", "has no IPv6 address"),
        ("MX", "any.w", "has no mail handler record"),
        ("A", "b.c", "has no address"),
        ("A", "absent", "3(NXDOMAIN)"),
        ("A", "cn", "is an alias for"),
        ("A", "host.dn", "is an alias for"),
    ];
    let signed = Signed::serve();
    for server in SERVERS {
        let conf = signed.unbound(server);
        for (rtype, label, expected) in ASKED {
            for apex in SIGNED {
                let name = format!("{label}.{apex}");
                let name = name.trim_start_matches('.');
                let said = run(&signed.machine, "unbound-host", &["-C", &conf, "-v", "-t", rtype, name]);
                assert!(said.contains(expected), "{server}: {said}");
                // Opt-out proves no more than that nothing signed is there (RFC 5155 section 6).
                let is_open = apex == "optout.test" && said.contains("(insecure)");
                assert!(said.lines().all(|line| line.ends_with("(secure)")) || is_open, "{server}: {said}");
            }
        }
    }
    assert!(signed.service.terminate().success());
}

#[test]
fn drill_and_delv_follow_a_signature_to_its_key() {
    let signed = Signed::serve();
    for apex in SIGNED {
        // Opt-out leaves open what else may be there (RFC 5155 section 9.2).
        let of_wildcard = if apex == "optout.test" { "; unsigned answer" } else { "; fully validated" };
        let [numbers, base64] = Signed::anchor(apex);
        let key = signed.file("key", &format!("{apex}. 3600 IN DNSKEY {numbers} {base64}\n"));
        let anchors = format!("trust-anchors {{ {apex}. static-key {numbers} \"{base64}\"; }};");
        let anchors = signed.file("anchors", &anchors);
        for server in SERVERS {
            let (at, name) = (format!("@{server}"), format!("host.{apex}"));
            let drill = run(&signed.machine, "drill", &["-S", "-k", &key, &at, &name, "A"]);
            assert!(drill.contains("Chase successful"), "{drill}");
            let root = format!("+root={apex}");
            for (name, expected) in [(name, "; fully validated"), (format!("any.w.{apex}"), of_wildcard)] {
                let delv = run(&signed.machine, "delv", &["-a", &anchors, &root, &at, &name, "A"]);
                assert!(delv.contains(expected), "{delv}");
            }
        }
    }
    assert!(signed.service.terminate().success());
}

#[test]
fn dig_and_kdig_get_signatures_and_proofs_where_they_ask_for_them() {
    let signed = Signed::serve();
    for at in SERVERS.map(|server| format!("@{server}")) {
        for program in ["dig", "kdig"] {
            let ask = |args: &[&str]| {
                let said = run(&signed.machine, program, &[&[at.as_str()], args].concat());
                said.split_whitespace().collect::<Vec<_>>().join(" ")
            };
            let whole = ask(&["+dnssec", "host.nsec.test", "A"]);
            assert!(
                whole.contains(" RRSIG A ") && whole.to_lowercase().contains(" do"),
                "{program}: {whole}"
            );
            assert!(!ask(&["host.nsec.test", "A"]).contains("RRSIG"), "{program}");
            for (name, proof) in [("absent.nsec.test", " NSEC "), ("absent.nsec3.test", " NSEC3 ")] {
                let denied = ask(&["+dnssec", name, "A"]);
                assert!(denied.contains("NXDOMAIN") && denied.contains(proof), "{program}: {denied}");
            }
        }
    }
    assert!(signed.service.terminate().success());
}

/// Mixed types, of which some names are there, some made by wildcards, and some absent.
fn mixed_queries() -> String {
    (0..100).fold(String::new(), |mut lines, number| {
        let _ = write!(
            lines,
            "www.example.org A\nwww.example.org AAAA\nexample.org SOA\nexample.org NS\n\
             n{number}.wild.example.org TXT\nn{number}.example.org A\nwww.example.org MX\nn{number}.example.net A\n"
        );
        lines
    })
}

#[test]
fn dnsperf_loses_nothing_below_saturation() {
    let (machine, zone, scratch) = (lone_machine(), Zone::new(1), ScratchDir::new());
    let queries = scratch.expect("a temporary directory");
    let queries = text(&queries.write("queries", mixed_queries()).expect("a temporary file")).to_owned();
    let service = Service::run(&machine, "dns", &["--zone", zone.file()]);
    for server in SERVERS {
        for dress in [&["-m", "udp"][..], &["-m", "udp", "-D"], &["-m", "tcp", "-e"]] {
            let args = ["-s", server, "-d", &queries, "-n", "5", "-c", "8", "-Q", "4000", "-q", "64"];
            let said = run(&machine, "dnsperf", &[&args[..], dress].concat());
            let figure = |what: &str| {
                let line = said.lines().find(|line| line.trim_start().starts_with(what));
                line.and_then(|line| line.split_whitespace().nth(2)?.parse::<u32>().ok())
            };
            assert_eq!(figure("Queries completed:"), Some(4000), "{said}");
            assert_eq!(figure("Queries lost:"), Some(0), "{said}");
            for code in ["NOERROR 3000", "NXDOMAIN 500", "REFUSED 500"] {
                assert!(said.contains(code), "{said}");
            }
        }
    }
    assert!(service.terminate().success());
}

/// 40,000 record sets, which with and without DNSSEC records take some 5 MB as ready answers.
#[test]
fn a_zone_larger_than_its_memory_is_answered_all_the_same() {
    const NAME_COUNT: u32 = 20_000;
    let (machine, zone, scratch) = (lone_machine(), Zone::new(1), ScratchDir::new());
    let scratch = scratch.expect("a temporary directory");
    let (mut names, mut queries) = (crate::zone::text(1), String::new());
    for number in 0..NAME_COUNT {
        let _ = write!(names, "h{number} A 192.0.2.1\nh{number} TXT \"{number}\"\n");
        let _ = write!(queries, "h{number}.example.org A\nh{number}.example.org TXT\n");
    }
    zone.write(&names);
    let queries = text(&scratch.write("queries", queries).expect("a temporary file")).to_owned();
    let service = Service::run(&machine, "dns", &["--zone", zone.file(), "--memory", "1M"]);
    let args = ["-s", SERVERS[0], "-d", &queries, "-n", "2", "-c", "8", "-q", "64"];
    let said = run(&machine, "dnsperf", &args);
    assert!(said.contains("NOERROR 80000 (100.00%)"), "{said}");
    let stats = run(&machine, TIDEGATE, &["stats", "--json", "--pid", &service.pid().to_string()]);
    let counted = |what: &str| {
        let (_, value) = stats.split_once(&format!("\"{what}\": "))?;
        value.split(|octet: char| !octet.is_ascii_digit()).next()?.parse::<u64>().ok()
    };
    assert_eq!(counted("store_filled"), Some(0), "nothing was made beforehand: {stats}");
    assert!(counted("store_evicted") > Some(u64::from(NAME_COUNT)), "{stats}");
    assert!(counted("store_bytes") <= Some(1 << 20), "{stats}");
    assert!(service.terminate().success());
}

/// A zone with one set that no datagram of 512 octets holds.
fn large_zone() -> Zone {
    let zone = Zone::new(1);
    let large: String = (0..20).map(|number| format!("large IN TXT \"{number:060}\"\n")).collect();
    zone.write(&(crate::zone::text(1) + &large));
    zone
}

#[test]
fn what_is_cut_short_is_asked_for_again_over_tcp() {
    let (machine, zone) = (lone_machine(), large_zone());
    let service = Service::run(&machine, "dns", &["--zone", zone.file()]);
    let asked = ["large.example.org", "TXT"];
    for at in SERVERS.map(|server| format!("@{server}")) {
        let dig = |args: &[&str]| run(&machine, "dig", &[&[at.as_str(), "+noedns"], args, &asked].concat());
        let cut = dig(&["+bufsize=512", "+ignore"]);
        assert!(cut.contains("flags: qr aa tc rd;") && cut.contains("ANSWER: 0"), "{cut}");
        for dress in [&["+bufsize=512"][..], &["+noedns"]] {
            let whole = dig(dress);
            assert!(whole.contains("Truncated, retrying in TCP mode"), "{whole}");
            assert!(whole.contains("flags: qr aa rd;") && whole.contains("ANSWER: 20"), "{whole}");
        }
        let kdig = run(&machine, "kdig", &[&[at.as_str(), "+bufsize=512"][..], &asked].concat());
        assert!(kdig.contains("(TCP)") && kdig.contains("ANSWER: 20"), "{kdig}");
        let drill = run(&machine, "drill", &["-b", "512", &at, "large.example.org", "TXT"]);
        assert!(drill.contains("flags: qr aa tc rd"), "{drill}");
        let drill = run(&machine, "drill", &["-t", &at, "large.example.org", "TXT"]);
        assert!(drill.contains("flags: qr aa rd") && drill.contains("ANSWER: 20"), "{drill}");
    }
    assert!(service.terminate().success());
}

#[test]
fn one_connection_serves_many_questions() {
    let (machine, zone) = (lone_machine(), Zone::new(1));
    let service = Service::run(&machine, "dns", &["--zone", zone.file()]);
    for (server, accepted) in SERVERS.into_iter().zip([1, 2]) {
        let at = format!("@{server}");
        let asked = ["www.example.org", "A", "www.example.org", "AAAA", "any.wild.example.org", "TXT"];
        let said =
            run(&machine, "kdig", &[&[at.as_str(), "+tcp", "+keepopen", "+short"][..], &asked].concat());
        assert_eq!(said.lines().collect::<Vec<_>>(), ["192.0.2.80", "2001:db8::80", "\"1\""]);
        let stats = run(&machine, TIDEGATE, &["stats", "--json", "--pid", &service.pid().to_string()]);
        assert!(stats.contains(&format!("\"tcp_accepted\": {accepted},")), "{stats}");
    }
    assert!(service.terminate().success());
}

#[test]
fn a_cookie_that_is_shown_again_is_good_and_a_forged_one_is_replaced() {
    let (machine, zone) = (lone_machine(), Zone::new(1));
    let service = Service::run(&machine, "dns", &["--zone", zone.file()]);
    for at in SERVERS.map(|server| format!("@{server}")) {
        let dig = |cookie: &str| run(&machine, "dig", &[&at, &format!("+cookie={cookie}"), "example.org"]);
        let first = dig("0123456789abcdef");
        let cookie = first.lines().find_map(|line| line.strip_prefix("; COOKIE: ")).expect("a cookie");
        let cookie = cookie.split(' ').next().expect("a word").to_owned();
        assert!(cookie.len() == 48 && cookie.starts_with("0123456789abcdef01000000"), "{first}");
        assert!(dig(&cookie).contains(&format!("; COOKIE: {cookie} (good)")), "{cookie}");
        let forged = format!("{}{}", &cookie[..46], if cookie.ends_with("00") { "01" } else { "00" });
        let said = dig(&forged);
        assert!(said.contains("status: NOERROR") && !said.contains(&format!("; COOKIE: {forged}")), "{said}");
    }
    let stats = run(&machine, TIDEGATE, &["stats", "--json", "--pid", &service.pid().to_string()]);
    for counted in ["\"cookie_good\": 2,", "\"cookie_bad\": 2,", "\"cookie_client_only\": 2,"] {
        assert!(stats.contains(counted), "{stats}");
    }
    assert!(service.terminate().success());
}

#[test]
fn prometheus_reads_answers_by_type_rcode_transport_and_size() {
    let (machine, zone) = (lone_machine(), large_zone());
    let args = ["--zone", zone.file(), "--metrics", "127.0.0.1:9100"];
    let service = Service::run(&machine, "dns", &args);
    let dig = |args: &[&str]| drop(run(&machine, "dig", &[&["+nocookie", "+noedns"], args].concat()));
    dig(&["@10.77.0.2", "www.example.org", "A", "www.example.org", "AAAA"]);
    dig(&["@fd77::2", "absent.example.org", "A"]);
    dig(&["@10.77.0.2", "+tcp", "large.example.org", "TXT"]);
    dig(&["@fd77::2", "+tcp", "example.net", "A"]);
    let metrics = run(&machine, "curl", &["-sSf", "--max-time", "5", "http://127.0.0.1:9100/metrics"]);
    for (counted, value) in [
        ("query_transport_udp4", 2),
        ("query_transport_udp6", 1),
        ("query_transport_tcp4", 1),
        ("query_transport_tcp6", 1),
        ("query_type_A", 3),
        ("query_type_AAAA", 1),
        ("query_type_TXT", 1),
        ("query_opcode_QUERY", 5),
        ("response_rcode_NOERROR", 3),
        ("response_rcode_NXDOMAIN", 1),
        ("response_rcode_REFUSED", 1),
        ("response_size_2048", 1),
        ("response_size_32", 1),
        ("response_size_64", 2),
        ("response_size_128", 1),
    ] {
        let line = format!("tidegate_dns_{counted}{{worker=\"0\",module=\"stack0\"}} {value}\n");
        assert!(metrics.contains(&line), "{line}{metrics}");
    }
    assert!(service.terminate().success());
}
