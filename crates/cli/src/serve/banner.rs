//! The line that says where a service is and how it runs.

use super::seat::Seat;
use super::settings::Settings;
use crate::attach::Device;
use std::net::SocketAddr;

/// `serving DIR on URL and URL (driver mode, copy, 1 worker, huge pages)`.
pub(super) fn banner(settings: &Settings, devices: &[Device], seats: &[Seat]) -> String {
    let urls: Vec<String> = devices.iter().flat_map(|device| &device.listen).map(url).collect();
    let mut facts: Vec<String> = devices.iter().map(|device| format!("{} mode", device.mode())).collect();
    facts.extend(seats.iter().flat_map(Seat::facts));
    facts.push(match seats.len() {
        1 => "1 worker".into(),
        count => format!("{count} workers"),
    });
    let facts = each_once(facts);
    format!("serving {} on {} ({})", settings.config.root.display(), urls.join(" and "), facts.join(", "))
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

fn url(address: &SocketAddr) -> String {
    match (address.port(), address) {
        (80, SocketAddr::V4(v4)) => format!("http://{}/", v4.ip()),
        (80, SocketAddr::V6(v6)) => format!("http://[{}]/", v6.ip()),
        _ => format!("http://{address}/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_port_is_left_out_of_a_url() {
        let url = |text: &str| url(&text.parse().expect("an address and a port"));
        assert_eq!(url("10.77.0.2:80"), "http://10.77.0.2/");
        assert_eq!(url("[fd77::2]:80"), "http://[fd77::2]/");
        assert_eq!(url("[fd77::2]:8080"), "http://[fd77::2]:8080/");
    }
}
