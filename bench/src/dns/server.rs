//! The servers: how each is started in its best shape, one worker each.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use tidegate_testbed::{End, ScratchDir};

use super::plan::Contender;
use super::zone::Zone;
use crate::binary::ensure_built;

/// Where all of them answer.
pub(crate) const PORT: u16 = 53;

/// One server in one configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ServerKind {
    /// NSD, one server process.
    Nsd,
    /// Knot over the host's stack, one UDP worker.
    Knot,
    /// Knot in its XDP mode, one queue and so one worker.
    KnotXdp,
    /// BIND, one thread.
    Bind,
    /// Tidegate, keys in wire format, ready packets posted as they are.
    WirePreCopy,
    /// Tidegate, keys in wire format, ready packets cloned.
    WireMemcopy,
    /// Tidegate, keys in wire format, answers written over the questions.
    WireInPlace,
    /// Tidegate, decompressed keys, ready packets posted as they are.
    FqdnPreCopy,
    /// Tidegate, decompressed keys, ready packets cloned.
    FqdnMemcopy,
    /// Tidegate, decompressed keys, answers written over the questions.
    FqdnInPlace,
    /// No name server: a pipeline that sends each question back, which is what any over AF_XDP pays before it has thought.
    Echo,
}

impl ServerKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            ServerKind::Nsd => "NSD",
            ServerKind::Knot => "Knot",
            ServerKind::KnotXdp => "Knot XDP",
            ServerKind::Bind => "BIND",
            ServerKind::WirePreCopy => "tidegate wire pre-copy",
            ServerKind::WireMemcopy => "tidegate wire memcopy",
            ServerKind::WireInPlace => "tidegate wire in-place",
            ServerKind::FqdnPreCopy => "tidegate fqdn pre-copy",
            ServerKind::FqdnMemcopy => "tidegate fqdn memcopy",
            ServerKind::FqdnInPlace => "tidegate fqdn in-place",
            ServerKind::Echo => "bare AF_XDP echo",
        }
    }

    /// Its `--keys` and `--mode` if it is ours; the others are what ours is compared with.
    fn choices(self) -> Option<(&'static str, &'static str)> {
        match self {
            ServerKind::Nsd
            | ServerKind::Knot
            | ServerKind::KnotXdp
            | ServerKind::Bind
            | ServerKind::Echo => None,
            ServerKind::WirePreCopy => Some(("wire", "pre-copy")),
            ServerKind::WireMemcopy => Some(("wire", "memcopy")),
            ServerKind::WireInPlace => Some(("wire", "in-place")),
            ServerKind::FqdnPreCopy => Some(("decompressed", "pre-copy")),
            ServerKind::FqdnMemcopy => Some(("decompressed", "memcopy")),
            ServerKind::FqdnInPlace => Some(("decompressed", "in-place")),
        }
    }

    /// The best of its kind: all on every zone would take too long.
    pub(crate) fn stands_for_others(self) -> bool {
        matches!(self, ServerKind::Nsd | ServerKind::KnotXdp | ServerKind::WireInPlace)
    }

    pub(crate) fn is_tidegate(self) -> bool {
        self.choices().is_some()
    }
}

/// Where the servers' programs are.
#[derive(Clone, Debug)]
pub(crate) struct Programs {
    pub(crate) tidegate: PathBuf,
    pub(crate) tidegate_args: Vec<String>,
}

impl Programs {
    /// Fails at once if a server that is asked for is not built.
    pub(crate) fn check(&self, servers: &[ServerKind]) -> anyhow::Result<()> {
        let needs_us = |server: &ServerKind| server.is_tidegate() || *server == ServerKind::Echo;
        if servers.iter().any(needs_us) { ensure_built(&self.tidegate) } else { Ok(()) }
    }

    /// Each program, its path and the flag that makes it tell its version.
    pub(crate) fn versions(&self, servers: &[ServerKind]) -> Vec<(&str, &Path, &str)> {
        let mut programs: Vec<(&str, &Path, &str)> =
            vec![("dnsperf", Path::new("dnsperf"), "-h"), ("kxdpgun", Path::new("kxdpgun"), "-V")];
        for server in servers {
            programs.push(match server {
                ServerKind::Nsd => ("NSD", Path::new("nsd"), "-v"),
                ServerKind::Knot | ServerKind::KnotXdp => ("Knot", Path::new("knotd"), "-V"),
                ServerKind::Bind => ("BIND", Path::new("named"), "-v"),
                _ => ("tidegate", &self.tidegate, "--version"),
            });
        }
        programs.dedup_by_key(|program| program.0);
        programs
    }

    /// The command that serves `zone` on the device of `end`; its configuration goes to `scratch`.
    pub(crate) fn command(
        &self,
        contender: Contender,
        zone: &Zone,
        end: &End,
        scratch: &ScratchDir,
    ) -> anyhow::Result<Command> {
        match contender.server {
            ServerKind::Nsd => nsd(zone, end.ipv4(), scratch),
            ServerKind::Knot => knot(zone, end.ipv4(), scratch, ""),
            ServerKind::KnotXdp => {
                knot(zone, end.ipv4(), scratch, &format!("xdp:\n  listen: {}@{PORT}\n", end.device()))
            }
            ServerKind::Bind => bind(zone, end.ipv4(), scratch),
            ServerKind::Echo => self.echo(end, scratch),
            server => Ok(self.tidegate(server.choices().unwrap_or_default(), contender.batch, zone, end)),
        }
    }

    fn tidegate(&self, (keys, mode): (&str, &str), batch: Option<u16>, zone: &Zone, end: &End) -> Command {
        let mut command = Command::new(&self.tidegate);
        let listen = SocketAddr::from((end.ipv4(), PORT));
        command.args(["dns", "--dev", end.device(), "--listen", &listen.to_string()]);
        command.arg("--zone").arg(format!("{}={}", zone.apex(), zone.file().display()));
        command.args(["--keys", keys, "--mode", mode]);
        command.args(batch.iter().flat_map(|batch| ["--batch".to_owned(), batch.to_string()]));
        command.args(&self.tidegate_args);
        command
    }

    /// Says QR and AA (RFC 1035 section 4.1.1), and no checksum (RFC 768), so that clients take the question for its answer.
    fn echo(&self, end: &End, scratch: &ScratchDir) -> anyhow::Result<Command> {
        let pipeline = format!(
            "worker 0(core={core})
nic::AFXDPPort(dev={device}, steer=[\"udp {address}:{PORT}\"])
in::PortInc(port=nic) -> MACSwap() -> IPSwap()
  -> Update(fields=[{{offset={UDP_CHECKSUM_OFFSET}, size=2, value=0}}, {{offset={DNS_FLAGS_OFFSET}, size=2, value=0x8400}}])
  -> out::PortOut(port=nic)
",
            core = end.cpu().unwrap_or(0),
            device = end.device(),
            address = end.ipv4(),
        );
        let mut command = Command::new(&self.tidegate);
        command.arg("run").arg(scratch.write("echo.tg", pipeline)?);
        Ok(command)
    }
}

/// Offsets in a frame with an IPv4 header without options.
const UDP_CHECKSUM_OFFSET: usize = 40;
const DNS_FLAGS_OFFSET: usize = 44;

/// One server process, the zone in memory only, room in its sockets, no rate limit, minimal responses
/// (nsd.conf(5)). It forks, so it gets a process namespace that takes its children along when it ends.
fn nsd(zone: &Zone, address: Ipv4Addr, scratch: &ScratchDir) -> anyhow::Result<Command> {
    let configuration = format!(
        "server:
  ip-address: {address}@{PORT}
  server-count: 1
  receive-buffer-size: 4194304
  send-buffer-size: 4194304
  minimal-responses: yes
  rrl-ratelimit: 0
  rrl-whitelist-ratelimit: 0
  username: \"\"
  chroot: \"\"
  database: \"\"
  zonesdir: \"{directory}\"
  pidfile: \"\"
  zonelistfile: \"{directory}/zone.list\"
  xfrdfile: \"\"
  xfrdir: \"{directory}\"
remote-control:
  control-enable: no
zone:
  name: \"{apex}\"
  zonefile: \"{file}\"
",
        directory = scratch.path().display(),
        apex = zone.apex(),
        file = zone.file().display(),
    );
    let path = scratch.write("nsd.conf", configuration)?;
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--kill-child", "nsd", "-d", "-c"]).arg(path);
    Ok(command)
}

/// One worker of each kind, the zone in memory only, no checks of its content, no modules (knot.conf(5)). In XDP mode
/// the sockets stay, as its manual wants it, for TCP.
fn knot(zone: &Zone, address: Ipv4Addr, scratch: &ScratchDir, xdp: &str) -> anyhow::Result<Command> {
    let configuration = format!(
        "server:
  rundir: {directory}
  listen: {address}@{PORT}
  udp-workers: 1
  tcp-workers: 1
  background-workers: 1
{xdp}log:
  - target: stderr
    any: warning
database:
  storage: {directory}
template:
  - id: default
    semantic-checks: off
    zonefile-sync: -1
    journal-content: none
zone:
  - domain: \"{apex}\"
    file: {file}
",
        directory = scratch.path().display(),
        apex = zone.apex(),
        file = zone.file().display(),
    );
    let path = scratch.write("knot.conf", configuration)?;
    let mut command = Command::new("knotd");
    command.arg("-c").arg(path);
    Ok(command)
}

/// One thread, authoritative only, minimal responses, no statistics and no rate limit (BIND's reference manual,
/// "options").
fn bind(zone: &Zone, address: Ipv4Addr, scratch: &ScratchDir) -> anyhow::Result<Command> {
    let configuration = format!(
        "options {{
  directory \"{directory}\";
  pid-file none;
  lock-file none;
  session-keyfile none;
  listen-on port {PORT} {{ {address}; }};
  listen-on-v6 {{ none; }};
  recursion no;
  dnssec-validation no;
  empty-zones-enable no;
  minimal-responses yes;
  minimal-any yes;
  notify no;
  querylog no;
  zone-statistics none;
  max-udp-size 1232;
}};
controls {{ }};
zone \"{apex}\" {{ type primary; file \"{file}\"; check-names ignore; }};
",
        directory = scratch.path().display(),
        apex = zone.apex(),
        file = zone.file().display(),
    );
    let path = scratch.write("named.conf", configuration)?;
    let mut command = Command::new("named");
    command.args(["-g", "-n", "1", "-c"]).arg(path);
    Ok(command)
}
