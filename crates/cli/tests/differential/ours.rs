//! Our side: the command, as it is started by whoever runs it.

use std::fmt::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;
use std::time::Duration;

use tidegate_testbed::{DnsPeers, Process, ScratchDir, ZoneFile};

/// What it may take to load its zones: see those of the peers.
const PATIENCE: Duration = Duration::from_secs(120);

/// A name server on a virtual NIC in the peers' namespace; gone when dropped.
pub(crate) struct Ours {
    _process: Process,
    _scratch: ScratchDir,
}

impl Ours {
    /// Where it answers.
    pub(crate) const ADDRESS: SocketAddr =
        SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 77, 0, 2)), 53);
    /// The host's end of its virtual NIC: from there all three are asked, so that cookies are for the same client.
    pub(crate) const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);

    /// Serves the zones that the peers serve, configured as they are.
    pub(crate) fn start(peers: &DnsPeers, zones: &[ZoneFile]) -> Ours {
        let scratch = ScratchDir::new().unwrap();
        let secrets = scratch.write("cookies", DnsPeers::COOKIE_SECRET).unwrap();
        let (id, version) = (DnsPeers::IDENTITY, DnsPeers::VERSION);
        let mut config = format!(
            "[dns]\nnsid = \"{id}\"\nversion = \"{version}\"\n[dns.cookies]\nsecrets = \"{}\"\n",
            secrets.display()
        );
        for ZoneFile { apex, path } in zones {
            let _ = write!(config, "[[dns.zone]]\nname = \"{apex}\"\nfile = \"{}\"\n", path.display());
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
        command.args(["dns", "--config"]).arg(scratch.write("tidegate.toml", config).unwrap());
        let mut process = peers.spawn(command).unwrap();
        process.await_text("serving ", PATIENCE).unwrap();
        Ours { _process: process, _scratch: scratch }
    }
}
