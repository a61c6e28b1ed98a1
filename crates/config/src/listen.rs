//! Where requests come in.

use crate::ConfigFault;
use serde::Deserialize;
use std::net::SocketAddr;

/// One place where requests come in.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listen {
    /// The network interface. None: the embedded one.
    #[serde(default)]
    pub dev: Option<String>,
    /// Address and port.
    pub address: SocketAddr,
}

/// What is wrong with the places of one service; `key` is where they are in the file.
pub fn listen_faults(key: &str, listen: &[Listen]) -> Vec<ConfigFault> {
    let fault = |(at, place): (usize, &Listen)| {
        let address = place.address;
        if address.port() == 0 {
            return Some(ConfigFault::new(format!("{key} {address}: choose a port")));
        }
        let is_repeated = listen[..at].contains(place);
        is_repeated.then(|| ConfigFault::new(format!("{key} {address}: named twice, leave one out")))
    };
    listen.iter().enumerate().filter_map(fault).collect()
}
