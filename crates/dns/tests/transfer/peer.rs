//! Knot, NSD and BIND beside each other, as secondaries of ours or as primaries for ours.

use crate::scene::{APEX, KEY, SECRET, kdig};
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use tidegate_testbed::{Process, ScratchDir, Testbed};

/// Which server it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Knot,
    Nsd,
    Bind,
}

pub(crate) const KINDS: [Kind; 3] = [Kind::Knot, Kind::Nsd, Kind::Bind];

/// One of them, running.
pub(crate) struct Peer {
    pub(crate) kind: Kind,
    process: Process,
    bed: Arc<Testbed>,
    dir: ScratchDir,
}

/// Where the zone comes from.
enum Role {
    Secondary,
    /// It says what has changed, or waits to be asked.
    Primary {
        notifies: bool,
    },
}

impl Kind {
    pub(crate) fn address(self) -> SocketAddr {
        let port = match self {
            Self::Knot => 5301,
            Self::Nsd => 5302,
            Self::Bind => 5303,
        };
        (Ipv4Addr::new(10, 78, 0, 1), port).into()
    }

    /// As kdig wants it.
    pub(crate) fn at(self) -> String {
        format!("@10.78.0.1 -p {}", self.address().port())
    }
}

impl Peer {
    /// Copies the zone from us.
    pub(crate) fn secondary(bed: &Arc<Testbed>, kind: Kind, signed: bool) -> Self {
        Self::start(bed, kind, signed, &Role::Secondary, None)
    }

    /// Serves `text`, lets the first host have it and tells us of changes.
    pub(crate) fn primary(bed: &Arc<Testbed>, kind: Kind, signed: bool, text: &str) -> Self {
        Self::start(bed, kind, signed, &Role::Primary { notifies: true }, Some(text))
    }

    /// The same, but that it tells nobody of changes.
    pub(crate) fn silent_primary(bed: &Arc<Testbed>, kind: Kind, signed: bool, text: &str) -> Self {
        Self::start(bed, kind, signed, &Role::Primary { notifies: false }, Some(text))
    }

    fn start(bed: &Arc<Testbed>, kind: Kind, signed: bool, role: &Role, text: Option<&str>) -> Self {
        let dir = ScratchDir::new().expect("a scratch directory");
        // NSD and BIND go on as they are started, but look at who owns what.
        let path = dir.path().to_owned();
        if let Some(text) = text {
            fs::write(path.join("zone"), text).expect("a file");
        }
        let conf = match kind {
            Kind::Knot => knot(&path, signed, role),
            Kind::Nsd => nsd(&path, signed, role),
            Kind::Bind => bind(&path, signed, role),
        };
        let conf_path = path.join("conf");
        fs::write(&conf_path, conf).expect("a file");
        let process = bed.client().spawn(command(kind, &conf_path)).expect("a server");
        Self { kind, process, bed: Arc::clone(bed), dir }
    }

    /// Exchanges the zone for another version.
    pub(crate) fn change(&self, text: &str) {
        let new = self.dir.join("zone.new");
        fs::write(&new, text).expect("a file");
        fs::rename(new, self.dir.join("zone")).expect("a file");
        let status = Command::new("kill").arg("-HUP").arg(self.server_pid().to_string()).status();
        assert!(status.expect("kill").success());
    }

    /// NSD runs in a process namespace of its own, whose first process it is.
    fn server_pid(&self) -> u32 {
        let pid = self.process.pid();
        if self.kind != Kind::Nsd {
            return pid;
        }
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).expect("children");
        children.split_whitespace().next().expect("a child").parse().expect("a number")
    }

    /// The version that it serves; `None` if it serves none.
    pub(crate) fn serial(&self) -> Option<u32> {
        let said = kdig(&self.bed, &format!("{} {APEX} SOA +short +retry=0 +timeout=1", self.kind.at()));
        said.split_whitespace().nth(2)?.parse().ok()
    }

    pub(crate) fn said(&self) -> String {
        self.process.said()
    }
}

fn command(kind: Kind, conf: &Path) -> Command {
    let mut command = Command::new(match kind {
        Kind::Knot => "knotd",
        Kind::Nsd => "unshare",
        Kind::Bind => "named",
    });
    match kind {
        Kind::Knot => command.arg("-c").arg(conf),
        Kind::Nsd => {
            command.args(["--pid", "--fork", "--kill-child", "nsd", "-d", "-V", "2", "-c"]).arg(conf)
        }
        Kind::Bind => command.args(["-g", "-4", "-n", "1", "-c"]).arg(conf),
    };
    command
}

fn knot(dir: &Path, signed: bool, role: &Role) -> String {
    let dir = dir.display();
    let port = Kind::Knot.address().port();
    let key = if signed { format!("\n    key: {KEY}") } else { String::new() };
    let zone = match role {
        Role::Secondary => "master: ours\n    acl: [told]".to_owned(),
        Role::Primary { notifies } => {
            let notify = if *notifies { "notify: ours\n    " } else { "" };
            format!(
                "file: zone\n    {notify}acl: [given]\n    zonefile-load: difference\n    journal-content: changes"
            )
        }
    };
    format!(
        "server:\n  rundir: \"{dir}\"\n  listen: 10.78.0.1@{port}\n  background-workers: 1\n  udp-workers: 1\n  tcp-workers: 1\n\
         log:\n  - target: stdout\n    any: info\ndatabase:\n  storage: \"{dir}\"\n\
         key:\n  - id: {KEY}\n    algorithm: hmac-sha256\n    secret: {SECRET}\n\
         remote:\n  - id: ours\n    address: 10.78.0.2@53{key}\n\
         acl:\n  - id: told\n    address: 10.78.0.0/24{key}\n    action: notify\n\
         \x20 - id: given\n    address: 10.78.0.0/24{key}\n    action: transfer\n\
         zone:\n  - domain: {APEX}\n    storage: \"{dir}\"\n    {zone}\n"
    )
}

fn nsd(dir: &Path, signed: bool, role: &Role) -> String {
    let dir = dir.display();
    let port = Kind::Nsd.address().port();
    let key = if signed { KEY } else { "NOKEY" };
    let zone = match role {
        Role::Secondary => {
            format!(
                "request-xfr: 10.78.0.2@53 {key}\n allow-notify: 10.78.0.0/24 {key}\n zonefile: \"copy\"\n"
            )
        }
        Role::Primary { notifies } => {
            let notify = if *notifies { format!(" notify: 10.78.0.2@53 {key}\n") } else { String::new() };
            format!(
                "zonefile: \"zone\"\n provide-xfr: 10.78.0.0/24 {key}\n{notify} store-ixfr: yes\n create-ixfr: yes\n"
            )
        }
    };
    format!(
        "server:\n ip-address: 10.78.0.1@{port}\n server-count: 1\n username: \"\"\n chroot: \"\"\n database: \"\"\n \
         zonesdir: \"{dir}\"\n pidfile: \"{dir}/nsd.pid\"\n zonelistfile: \"{dir}/zone.list\"\n \
         xfrdfile: \"{dir}/xfrd.state\"\n xfrdir: \"{dir}\"\n verbosity: 2\nremote-control:\n control-enable: no\n\
         key:\n name: \"{KEY}\"\n algorithm: hmac-sha256\n secret: \"{SECRET}\"\n\
         zone:\n name: \"{APEX}\"\n {zone}"
    )
}

fn bind(dir: &Path, signed: bool, role: &Role) -> String {
    let dir = dir.display();
    let port = Kind::Bind.address().port();
    let key = if signed { format!(" key \"{KEY}\"") } else { String::new() };
    let given = if signed { format!("key \"{KEY}\"") } else { "10.78.0.0/24".to_owned() };
    let zone = match role {
        Role::Secondary => format!(
            "type secondary; primaries {{ 10.78.0.2 port 53{key}; }}; file \"copy\"; allow-notify {{ 10.78.0.0/24; }};"
        ),
        Role::Primary { notifies } => {
            let notify = if *notifies {
                format!("notify explicit; also-notify {{ 10.78.0.2 port 53{key}; }};")
            } else {
                "notify no;".to_owned()
            };
            format!(
                "type primary; file \"zone\"; allow-transfer {{ {given}; }}; ixfr-from-differences yes; {notify}"
            )
        }
    };
    format!(
        "options {{ directory \"{dir}\"; listen-on port {port} {{ 10.78.0.1; }}; listen-on-v6 {{ none; }}; \
         pid-file \"{dir}/named.pid\"; session-keyfile \"{dir}/session.key\"; recursion no; dnssec-validation no; \
         notify-delay 0; empty-zones-enable no; allow-query {{ any; }}; managed-keys-directory \"{dir}\"; }};\n\
         controls {{ }};\nkey \"{KEY}\" {{ algorithm hmac-sha256; secret \"{SECRET}\"; }};\n\
         zone \"{APEX}\" {{ {zone} }};\n"
    )
}
