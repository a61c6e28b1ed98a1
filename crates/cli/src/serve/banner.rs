//! The line that says where the services are and how they run.

use super::seat::Seat;
use std::net::SocketAddr;
use tidegate_service::{Config, Device, Endpoint, Kind};

/// `serving DIR on URL and URL; 2 zones on ADDRESS (driver mode, copy, 1 worker, huge pages)`.
pub(super) fn banner(config: &Config, devices: &[Device], seats: &[Seat]) -> String {
    let endpoints: Vec<Endpoint> = devices.iter().flat_map(|device| device.listen.iter().copied()).collect();
    let mut facts: Vec<String> = devices.iter().map(|device| format!("{} mode", device.nic.mode())).collect();
    facts.extend(seats.iter().flat_map(Seat::facts));
    facts.push(counted(seats.len(), "worker"));
    format!("serving {} ({})", services(config, &endpoints).join("; "), each_once(facts).join(", "))
}

/// What each service serves, and where.
fn services(config: &Config, endpoints: &[Endpoint]) -> Vec<String> {
    let of_kind = |kind: Kind| endpoints.iter().filter(move |e| e.kind == kind).map(|e| e.address);
    let web = config.web.as_ref().map(|web| {
        let urls: Vec<String> = of_kind(Kind::Web).map(url).collect();
        format!("{} on {}", web.root.display(), urls.join(" and "))
    });
    let dns = config.dns.as_ref().map(|dns| {
        let addresses: Vec<String> = of_kind(Kind::Dns).map(|address| address.to_string()).collect();
        format!("{} on {}", counted(dns.zones.len(), "zone"), addresses.join(" and "))
    });
    web.into_iter().chain(dns).collect()
}

fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// The words in order, without repetition.
fn each_once(words: Vec<String>) -> Vec<String> {
    let mut once = Vec::new();
    for word in words {
        if !once.contains(&word) {
            once.push(word);
        }
    }
    once
}

fn url(address: SocketAddr) -> String {
    match (address.port(), address) {
        (80, SocketAddr::V4(v4)) => format!("http://{}/", v4.ip()),
        (80, SocketAddr::V6(v6)) => format!("http://[{}]/", v6.ip()),
        _ => format!("http://{address}/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(kind: Kind, text: &str) -> Endpoint {
        Endpoint { address: text.parse().expect("an address and a port"), kind }
    }

    #[test]
    fn the_default_port_is_left_out_of_a_url() {
        let url = |text: &str| url(endpoint(Kind::Web, text).address);
        assert_eq!(url("10.77.0.2:80"), "http://10.77.0.2/");
        assert_eq!(url("[fd77::2]:80"), "http://[fd77::2]/");
        assert_eq!(url("[fd77::2]:8080"), "http://[fd77::2]:8080/");
    }

    #[test]
    fn each_service_is_named_with_its_places() {
        let web = tidegate_web::Config { root: "site".into(), ..Default::default() };
        let dns = Some(tidegate_dns::Config::default());
        let config = Config { web: Some(web), dns, ..Config::default() };
        let endpoints = [endpoint(Kind::Web, "10.77.0.2:80"), endpoint(Kind::Dns, "10.77.0.2:53")];
        assert_eq!(services(&config, &endpoints), ["site on http://10.77.0.2/", "0 zones on 10.77.0.2:53"]);
    }
}
