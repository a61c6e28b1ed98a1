//! Several services in one process.

use crate::scene::{lone_machine, run, wire};
use crate::service::{Service, TIDEGATE, tempfile};
use crate::site::Site;
use crate::zone::Zone;
use tidegate_sys::netns::Netns;

fn page(machine: &Netns, url: &str) -> String {
    run(machine, "curl", &["-gsSf", "--max-time", "5", url])
}

fn address(machine: &Netns, server: &str, transport: &str) -> String {
    let server = format!("@{server}");
    run(machine, "dig", &["+short", "+time=2", "+tries=1", transport, &server, "www.example.org", "A"])
}

fn start(machine: &Netns, config: &str) -> Service {
    let file = tempfile("toml");
    std::fs::write(&file, config).expect("written");
    let path = file.to_str().expect("a path in ASCII");
    assert!(run(machine, TIDEGATE, &["check", path]).contains("right"));
    let service = Service::run(machine, "serve", &["--config", path]);
    let _ = std::fs::remove_file(&file);
    service
}

#[test]
fn files_and_zones_come_from_one_process_and_one_device() {
    let (machine, site, zone) = (lone_machine(), Site::new(), Zone::new(1));
    let config = format!("[web]\nroot = \"{}\"\n[[dns.zone]]\nfile = \"{}\"\n", site.root(), zone.file());
    let service = start(&machine, &config);
    assert!(
        service.line.contains("http://10.77.0.2/") && service.line.contains("10.77.0.2:53"),
        "{}",
        service.line
    );
    for _ in 0..3 {
        assert!(page(&machine, "http://10.77.0.2/").contains("in and out"));
        assert!(page(&machine, "http://[fd77::2]/").contains("in and out"));
        for server in ["10.77.0.2", "fd77::2"] {
            for transport in ["+notcp", "+tcp"] {
                assert_eq!(address(&machine, server, transport).trim(), "192.0.2.80");
            }
        }
    }
    let wrk = run(&machine, "wrk", &["-t1", "-c32", "-d1s", "http://10.77.0.2/"]);
    assert!(!wrk.contains("Socket errors") && !wrk.contains("Non-2xx"), "{wrk}");
    assert!(service.terminate().success());
}

#[test]
fn each_service_has_its_own_addresses_beside_the_host() {
    let (bed, site, zone) = (wire(), Site::new(), Zone::new(1));
    let client = bed.client().netns();
    let listen = |kind: &str, address: &str| {
        format!("[[{kind}.listen]]\ndev = \"server0\"\naddress = \"{address}\"\n")
    };
    let config = format!(
        "[web]\nroot = \"{}\"\n{}{}[[dns.zone]]\nfile = \"{}\"\n",
        site.root(),
        listen("web", "10.78.0.2:8080"),
        listen("dns", "[fd78::2]:53"),
        zone.file()
    );
    let service = start(bed.server().netns(), &config);
    assert!(page(client, "http://10.78.0.2:8080/").contains("in and out"));
    assert_eq!(address(client, "fd78::2", "+tcp").trim(), "192.0.2.80");
    assert_eq!(address(client, "fd78::2", "+notcp").trim(), "192.0.2.80");
    assert!(service.terminate().success());
}

#[test]
fn several_addresses_of_one_device_each_serve_files_and_zones() {
    let (bed, site, zone) = (wire(), Site::new(), Zone::new(1));
    let (server, client) = (bed.server().netns(), bed.client().netns());
    for address in ["10.78.0.3/24", "fd78::3/64"] {
        run(server, "ip", &["address", "add", address, "dev", "server0", "nodad"]);
    }
    let addresses = ["10.78.0.2", "10.78.0.3", "[fd78::2]", "[fd78::3]"];
    let listen = |kind: &str, port: u16| {
        let one = |ip| format!("[[{kind}.listen]]\ndev = \"server0\"\naddress = \"{ip}:{port}\"\n");
        addresses.map(one).concat()
    };
    let config = format!(
        "[web]\nroot = \"{}\"\n{}{}[[dns.zone]]\nfile = \"{}\"\n",
        site.root(),
        listen("web", 80),
        listen("dns", 53),
        zone.file()
    );
    let service = start(server, &config);
    for ip in addresses {
        assert!(page(client, &format!("http://{ip}/")).contains("in and out"), "{ip}");
        for transport in ["+notcp", "+tcp"] {
            let answer = address(client, ip.trim_matches(['[', ']']), transport);
            assert_eq!(answer.trim(), "192.0.2.80", "{ip} {transport}");
        }
    }
    let wrk = run(client, "wrk", &["-t1", "-c16", "-d1s", "http://10.78.0.3/"]);
    assert!(!wrk.contains("Socket errors") && !wrk.contains("Non-2xx"), "{wrk}");
    assert!(service.terminate().success());
}
