//! What a file may say, and the line a user sees when it says something else.

use super::*;
use std::fs;
use std::path::PathBuf;
use tidegate_config::ConfigFault;

fn parse(text: &str) -> Result<Config, ConfigFault> {
    tidegate_config::parse(text)
}

fn fault(text: &str) -> String {
    parse(text).map_err(|f| f.in_file(Path::new("dns.toml"))).expect_err("wrong on purpose").to_string()
}

fn checked(text: &str) -> String {
    let faults = check(&parse(text).expect("it parses"));
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// A file with that text, removed when this is dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tidegate-dns-config-{}-{name}", std::process::id()));
        fs::write(&path, text).expect("a temporary file");
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn an_empty_file_is_the_default() {
    assert_eq!(parse("").expect("nothing wrong"), Config::default());
}

#[test]
fn a_file_that_says_everything() {
    let zone = Scratch::new("all.zone", "");
    let secrets = Scratch::new("all.cookies", "# shared\n000102030405060708090a0b0c0d0e0f\n");
    let text = format!(
        r#"
        mode = "memcopy"
        keys = "decompressed"
        memory = "1GiB"
        nsid = "ns1"
        version = ""
        watch = false
        allow_transfer = ["192.0.2.0/24", "key transfer"]
        notify = ["192.0.2.9", "[2001:db8::9]:5353 key Transfer."]
        [[listen]]
        dev = "eth0"
        address = "192.0.2.1:53"
        [[zone]]
        file = "{zone}"
        [[zone]]
        name = "example.org"
        file = "/tmp/example.org.zone"
        primaries = ["192.0.2.3 key transfer."]
        allow_notify = ["any key transfer."]
        allow_transfer = []
        notify = []
        [[key]]
        name = "transfer."
        algorithm = "hmac-sha512"
        secret = "c2VjcmV0"
        [rrl]
        responses_per_second = 200
        slip = 1
        exempt = ["127.0.0.0/8", "::1"]
        [cookies]
        secrets = "{secrets}"
        [query_log]
        path = "/tmp/queries.log"
        sample = 1000
        [limits]
        udp_size = 1400
        [timeouts]
        idle = "30s"
        "#,
        zone = zone.0.display(),
        secrets = secrets.0.display(),
    );
    let config = parse(&text).expect("all of it is right");
    assert_eq!(check(&config), []);
    assert_eq!(config.tsig_keys[0].secret_bytes().expect("base64"), b"secret");
    assert_eq!(config.cookies.secrets().expect("hexadecimal")[0][15], 0x0f);
    assert_eq!(config.notified(&config.zones[0])[1].address.port(), 5353);
    assert_eq!(
        config.notified(&config.zones[0])[1].key.as_ref().map(ToString::to_string).as_deref(),
        Some("Transfer.")
    );
    assert!(config.notified(&config.zones[1]).is_empty() && config.zones[1].is_secondary());
    assert!(config.transfer_peers(&config.zones[0])[1].network.is_none());
}

#[test]
fn faults_say_where_what_and_what_to_do() {
    for (text, start, part) in [
        ("zones = []", "dns.toml:1:1: unknown field `zones`", "did you mean `zone`?"),
        ("keys = \"wires\"", "dns.toml:1:8: unknown variant `wires`", "did you mean `wire`?"),
        ("[[zone]]\nname = \"a\"", "dns.toml:1:1: missing field `file`", ""),
        ("allow_transfer = [\"192.0.2.0/33\"]", "dns.toml:1:", "32 bits at most"),
        ("allow_transfer = [\"from afar\"]", "dns.toml:1:", "key NAME"),
        ("notify = [\"ns1.example.org\"]", "dns.toml:1:", "192.0.2.1:5353"),
        ("[[key]]\nname = \"a..b\"", "dns.toml:2:8:", "no domain name"),
        ("[[key]]\nname = \"a\"\nalgorithm = \"hmac-md5\"", "dns.toml:3:13:", "hmac-sha256"),
        ("[rrl]\nresponses_per_second = -1", "dns.toml:2:24:", ""),
        ("[timeouts]\nidle = \"5\"", "dns.toml:2:8: \"5\" is no span of time", "30s"),
    ] {
        let line = fault(text);
        assert!(line.starts_with(start) && line.contains(part) && !line.contains('\n'), "{text:?}: {line}");
    }
}

#[test]
fn values_must_make_sense_together() {
    for (text, part) in [
        ("", "dns.zone: name a zone file"),
        ("[[zone]]\nfile = \"/absent/a.zone\"", "dns.zone /absent/a.zone: No such file"),
        ("[[zone]]\nfile = \"/tmp\"", "dns.zone /tmp: is a directory"),
        ("[[zone]]\nfile = \"/absent/a\"\nprimaries = [\"192.0.2.1\"]", "say which zone it is"),
        ("[[zone]]\nname = \"a\"\nfile = \"/absent/a\"\nprimaries = [\"192.0.2.1\"]", "no directory /absent"),
        ("[[zone]]\nname = \"a\"\nfile = \"/x\"\n[[zone]]\nname = \"A.\"\nfile = \"/y\"", "A.: named twice"),
        ("[[key]]\nname = \"k\"", "dns.key k.: no secret"),
        ("[[key]]\nname = \"k\"\nsecret = \"!\"", "no base64"),
        ("allow_transfer = [\"key other\"]", "key other.: there is none of that name"),
        ("[cookies]\nsecrets = \"/absent/cookies\"", "dns.cookies.secrets: /absent/cookies"),
        ("[limits]\nudp_size = 100", "dns.limits.udp_size"),
        ("nsid = \"\"", "dns.nsid"),
        ("[query_log]\nsample = 0", "dns.query_log.sample"),
    ] {
        let said = checked(text);
        assert!(said.contains(part), "{text:?}: {said}");
    }
}

#[test]
fn a_secret_that_is_none_is_named_with_its_line() {
    let secrets = Scratch::new("bad.cookies", "000102030405060708090a0b0c0d0e0f\nxyz\n");
    let config = CookieConfig { secrets: Some(secrets.0.clone()), ..CookieConfig::default() };
    let said = config.secrets().expect_err("wrong on purpose");
    assert!(said.contains(":2: write 32 hexadecimal digits"), "{said}");
}

#[test]
fn a_network_holds_its_addresses_only() {
    let network = |text: &str| text.parse::<Network>().expect("a network");
    let ip = |text: &str| text.parse().expect("an address");
    assert!(network("192.0.2.0/24").contains(ip("192.0.2.255")));
    assert!(network("192.0.2.0/24").contains(ip("::ffff:192.0.2.1")));
    assert!(!network("192.0.2.0/24").contains(ip("192.0.3.0")));
    assert!(!network("192.0.2.0/24").contains(ip("2001:db8::1")));
    assert!(network("0.0.0.0/0").contains(ip("8.8.8.8")) && network("::/0").contains(ip("fd77::1")));
    assert!(
        network("192.0.2.1").contains(ip("192.0.2.1")) && !network("192.0.2.1").contains(ip("192.0.2.0"))
    );
}
