//! Units read back as they are shown; faults say where.

use super::*;
use serde::Deserialize;
use std::path::Path;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(default)]
    memory: Option<ByteSize>,
    #[serde(default)]
    listen: Vec<Listen>,
}

#[test]
fn units_read_back_what_they_show() {
    for text in ["1000", "64KiB", "3MiB", "2GiB", "0"] {
        assert_eq!(text.parse::<ByteSize>().unwrap().to_string(), text);
    }
    for text in ["", "x", "1X", "99999999999TiB", "-1"] {
        assert!(text.parse::<ByteSize>().is_err(), "{text}");
    }
    for text in ["", "5", "s", "1d", "-1s"] {
        assert!(text.parse::<Span>().is_err(), "{text}");
    }
}

#[test]
fn a_fault_says_where_what_and_what_to_do() {
    for (text, start, part) in [
        ("memroy = 1", "a.toml:1:1: unknown field `memroy`", "did you mean `memory`?"),
        ("\nmemory = \"lots\"", "a.toml:2:10: \"lots\" is no size", "512MiB"),
        ("[[listen]]\naddress = \"eth0\"", "a.toml:2:11:", "socket address"),
    ] {
        let fault = parse::<Settings>(text).map_err(|fault| fault.in_file(Path::new("a.toml"))).unwrap_err();
        let line = fault.to_string();
        assert!(line.starts_with(start) && line.contains(part) && !line.contains('\n'), "{line}");
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let fault = read::<Settings>(Path::new("/absent/a.toml")).unwrap_err().to_string();
    assert!(fault.contains("/absent/a.toml"), "{fault}");
}

#[test]
fn places_to_listen_need_a_port_and_are_named_once() {
    let text = "[[listen]]\naddress = \"1.2.3.4:0\"\n[[listen]]\naddress = \"1.2.3.4:5\"\n";
    let settings: Settings = parse(&format!("{text}[[listen]]\naddress = \"1.2.3.4:5\"")).unwrap();
    assert_eq!(settings.memory, None);
    let faults: Vec<String> =
        listen_faults("dns.listen", &settings.listen).iter().map(ToString::to_string).collect();
    assert_eq!(faults.len(), 2);
    assert!(faults[0].contains("dns.listen 1.2.3.4:0: choose a port") && faults[1].contains("twice"));
}

#[test]
fn a_bare_name_is_in_the_current_directory() {
    assert_eq!(directory_of(Path::new("a.zone")), Path::new("."));
    assert_eq!(directory_of(Path::new("/etc/a.zone")), Path::new("/etc"));
}

#[test]
fn rates_are_bits_or_bytes_a_second() {
    let rates = [("1000", 1000), ("500kbit", 500_000), ("100Mbit", 100_000_000), ("2G", 2_000_000_000)];
    for (text, bits) in rates.into_iter().chain([("12MB", 96_000_000), ("7B", 56)]) {
        assert_eq!(text.parse(), Ok(BitRate(bits)), "{text}");
    }
    for text in ["", "fast", "1Tbit", "-1", "1.5M", "99999999999999G", "1MiB"] {
        let said = text.parse::<BitRate>().unwrap_err();
        assert!(said.contains("100Mbit"), "{said}");
    }
}
