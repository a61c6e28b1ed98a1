//! NSD and Knot serving the same zones beside each other: the peers that a name server's answers are compared with.
//!
//! ```text
//!  +---- a namespace without a name, loopback only ---------+
//!  |  NSD 127.0.0.1:5301    Knot 127.0.0.1:5302             |
//!  |  and whatever the caller binds in `DnsPeers::netns()`  |
//!  +--------------------------------------------------------+
//! ```
//!
//! They are configured alike wherever they can be: minimal responses, 1,232 bytes of UDP payload, the same NSID and
//! CHAOS texts, the same secret for cookies, no rate limit. What is absent: transfers, keys, and any road out of the
//! namespace.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use tidegate_sys::netns::Netns;

use crate::{Process, ScratchDir, TestbedError};

/// How long a peer may take to load its zones: a million names on a busy machine take one more than half a minute.
const PATIENCE: Duration = Duration::from_secs(120);

/// A zone and the file that it is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneFile {
    /// Its apex as text, with or without the final dot; `.` is the root.
    pub apex: String,
    /// Where it is.
    pub path: PathBuf,
}

/// Both peers, running; gone when dropped.
#[derive(Debug)]
pub struct DnsPeers {
    // In this order: programs end before their namespace and their files go.
    nsd: Process,
    knot: Process,
    netns: Netns,
    _scratch: ScratchDir,
}

impl DnsPeers {
    /// Where NSD answers.
    pub const NSD: SocketAddr = loopback(5301);
    /// Where Knot answers.
    pub const KNOT: SocketAddr = loopback(5302);
    /// What both call themselves: NSID, `id.server`.
    pub const IDENTITY: &str = "tidegate-peer";
    /// What both give as `version.server`.
    pub const VERSION: &str = "peer 1.0";
    /// The UDP payload that neither exceeds.
    pub const UDP_PAYLOAD_MAX: u16 = 1232;
    /// What both make cookies with (RFC 9018 4.4), in hexadecimal.
    pub const COOKIE_SECRET: &str = "e5e973e5a6b2a43f48e7dc849e37bfcf";

    /// Starts both in a namespace of their own, and waits until each answers for every zone.
    ///
    /// Needs root, `nsd` and `knotd`.
    pub fn start(zones: &[ZoneFile]) -> Result<DnsPeers, TestbedError> {
        let scratch = ScratchDir::new()?;
        let netns = Netns::create()?;
        let nsd_conf = scratch.write("nsd.conf", nsd_conf(&scratch, zones))?;
        let knot_conf = scratch.write("knot.conf", knot_conf(&scratch, zones))?;
        let nsd = netns.run(|| Process::start(nsd(&nsd_conf)))??;
        let knot = netns.run(|| Process::start(knot(&knot_conf)))??;
        let mut peers = DnsPeers { nsd, knot, netns, _scratch: scratch };
        peers.await_zones(zones)?;
        Ok(peers)
    }

    /// The namespace they answer in, for those who ask them.
    pub fn netns(&self) -> &Netns {
        &self.netns
    }

    /// Starts another server beside them.
    pub fn spawn(&self, command: Command) -> Result<Process, TestbedError> {
        self.netns.run(|| Process::start(command))?
    }

    /// What they wrote so far, for the message of a test that fails.
    pub fn said(&self) -> String {
        format!("nsd:\n{}\nknot:\n{}", self.nsd.said(), self.knot.said())
    }

    fn await_zones(&mut self, zones: &[ZoneFile]) -> Result<(), TestbedError> {
        let DnsPeers { nsd, knot, netns, .. } = self;
        netns.run(|| {
            for (process, address) in [(nsd, DnsPeers::NSD), (knot, DnsPeers::KNOT)] {
                let unserved = zones.iter().find(|zone| !is_served(process, address, &zone.apex));
                if let Some(zone) = unserved {
                    return Err(process.overdue(format!("serve {}", zone.apex), PATIENCE));
                }
            }
            Ok(())
        })?
    }
}

const fn loopback(port: u16) -> SocketAddr {
    SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, port))
}

/// NSD forks, so it gets a process namespace that ends with the handle and takes its children along.
fn nsd(conf: &Path) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--kill-child", "nsd", "-d", "-c"]).arg(conf);
    command
}

fn knot(conf: &Path) -> Command {
    let mut command = Command::new("knotd");
    command.arg("-c").arg(conf);
    command
}

fn nsd_conf(scratch: &ScratchDir, zones: &[ZoneFile]) -> String {
    let dir = scratch.path().display();
    let mut conf = format!(
        "server:\n ip-address: 127.0.0.1@{port}\n server-count: 1\n username: \"\"\n chroot: \"\"\n database: \"\"\n \
         zonesdir: \"{dir}\"\n pidfile: \"{dir}/nsd.pid\"\n zonelistfile: \"{dir}/zone.list\"\n \
         xfrdfile: \"{dir}/xfrd.state\"\n xfrdir: \"{dir}\"\n identity: \"{id}\"\n version: \"{version}\"\n \
         nsid: \"ascii_{id}\"\n answer-cookie: yes\n cookie-secret: \"{secret}\"\n \
         cookie-secret-file: \"{dir}/none\"\n minimal-responses: yes\n rrl-ratelimit: 0\n rrl-whitelist-ratelimit: 0\n \
         ipv4-edns-size: {size}\nremote-control:\n control-enable: no\n",
        port = DnsPeers::NSD.port(),
        id = DnsPeers::IDENTITY,
        version = DnsPeers::VERSION,
        size = DnsPeers::UDP_PAYLOAD_MAX,
        secret = DnsPeers::COOKIE_SECRET,
    );
    for ZoneFile { apex, path } in zones {
        conf += &format!("zone:\n name: \"{apex}\"\n zonefile: \"{}\"\n", path.display());
    }
    conf
}

fn knot_conf(scratch: &ScratchDir, zones: &[ZoneFile]) -> String {
    let dir = scratch.path().display();
    let mut conf = format!(
        "server:\n  rundir: \"{dir}\"\n  listen: 127.0.0.1@{port}\n  identity: \"{id}\"\n  version: \"{version}\"\n  \
         nsid: \"{id}\"\n  udp-workers: 1\n  tcp-workers: 1\n  background-workers: 1\n  \
         udp-max-payload: {size}\nlog:\n  - target: stdout\n    any: warning\ndatabase:\n  storage: \"{dir}\"\n\
         mod-cookies:\n  - id: shared\n    secret: 0x{secret}\n\
         template:\n  - id: default\n    global-module: mod-cookies/shared\n    semantic-checks: soft\n    zonefile-sync: -1\n    journal-content: none\nzone:\n",
        port = DnsPeers::KNOT.port(),
        id = DnsPeers::IDENTITY,
        version = DnsPeers::VERSION,
        size = DnsPeers::UDP_PAYLOAD_MAX,
        secret = DnsPeers::COOKIE_SECRET,
    );
    for ZoneFile { apex, path } in zones {
        conf += &format!("  - domain: \"{apex}\"\n    file: \"{}\"\n", path.display());
    }
    conf
}

/// Asks for the SOA until the answer comes with authority, the process ends, or patience does.
fn is_served(process: &mut Process, address: SocketAddr, apex: &str) -> bool {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline && process.is_running() {
        if answers_with_authority(address, &soa_query(apex)).unwrap_or(false) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

fn answers_with_authority(address: SocketAddr, query: &[u8]) -> std::io::Result<bool> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.connect(address)?;
    socket.set_read_timeout(Some(Duration::from_millis(200)))?;
    socket.send(query)?;
    let mut answer = [0; 512];
    let len = socket.recv(&mut answer)?;
    // RFC 1035 4.1.1: QR and AA in the third octet, RCODE in the low half of the fourth.
    Ok(len > 12 && answer[2] & 0x84 == 0x84 && answer[3] & 0x0f == 0)
}

/// A query for the SOA of `apex`: RFC 1035 4.1.
fn soa_query(apex: &str) -> Vec<u8> {
    const HEADER: [u8; 12] = [0x54, 0x47, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    const SOA_IN: [u8; 5] = [0, 0, 6, 0, 1];
    let labels = apex.split('.').filter(|label| !label.is_empty());
    let name = labels.flat_map(|label| std::iter::once(label.len() as u8).chain(label.bytes()));
    HEADER.into_iter().chain(name).chain(SOA_IN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_peers_answer_for_a_zone() {
        let scratch = ScratchDir::new().unwrap();
        let zone = "@ 60 SOA ns h 1 2 3 4 5\n@ 60 NS ns\nns 60 A 192.0.2.1\n";
        let path = scratch.write("peers.test.zone", zone).unwrap();
        let peers = DnsPeers::start(&[ZoneFile { apex: "peers.test".into(), path }]).unwrap();
        let asked = |address| answers_with_authority(address, &soa_query("peers.test.")).unwrap();
        assert!(peers.netns().run(|| asked(DnsPeers::NSD) && asked(DnsPeers::KNOT)).unwrap());
    }

    #[test]
    fn a_zone_that_cannot_be_read_is_named() {
        let zones = [ZoneFile { apex: "absent.test".into(), path: "/nonexistent".into() }];
        let scratch = ScratchDir::new().unwrap();
        assert!(nsd_conf(&scratch, &zones).contains("name: \"absent.test\""));
        assert!(knot_conf(&scratch, &zones).contains("domain: \"absent.test\""));
    }
}
