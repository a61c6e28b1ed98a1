//! Five servers of five kinds at one address of one interface: each gets exactly its packets, and dies alone.

use super::books::{Books, Member, Owner, TCP, UDP};
use super::clients::{Client, DnsTalk, ShellTalk, WebTalk, await_rounds, rest};
use super::host::{ADDRESS, DEVICE, Host, stranger};
use super::servers::{Utcp, serve_async, serve_shell};
use crate::device::nginx;
use crate::scene::run;
use crate::site::Site;
use crate::zone::Zone;
use std::path::PathBuf;
use tidegate_socket::Grade;
use tidegate_sys::ethtool::Offload;
use tidegate_testbed::{Process, ScratchDir};

/// Rounds that the others must do while one is dead, and again when it is back.
const ROUNDS: u64 = 30;

const NGINX: Member = ("nginx", Owner::Host, &[(TCP, 80)]);
const SHELL: Member = ("shell", Owner::Host, &[(TCP, 22)]);
const DAEMON: Member = ("daemon", Owner::Service, &[(TCP, 8080), (UDP, 53)]);
const UTCP: Member = ("utcp", Owner::Stack, &[(TCP, 9000)]);
const ASYNC: Member = ("async", Owner::Stack, &[(TCP, 9001)]);
const MEMBERS: [Member; 5] = [NGINX, SHELL, DAEMON, UTCP, ASYNC];

/// What each serves, and what it takes to start it.
struct Line<'a> {
    host: &'a Host,
    scratch: ScratchDir,
    sites: [Site; 2],
    zone: Zone,
    program: Utcp,
    pages: [PathBuf; 2],
    users: [u32; 2],
    running: Vec<(&'static str, Process)>,
}

impl<'a> Line<'a> {
    fn new(host: &'a Host) -> Self {
        Self {
            host,
            scratch: ScratchDir::new().expect("a temporary directory"),
            sites: [Site::new(), Site::new()],
            zone: Zone::new(7),
            program: Utcp::build(host),
            pages: ["9000.html", "9001.html"].map(|name| host.scratch.join(name)),
            users: [stranger(), stranger()],
            running: Vec::new(),
        }
    }

    fn start(&mut self, (name, ..): Member) {
        let (host, [utcp_page, async_page]) = (self.host, &self.pages);
        let process = match name {
            "nginx" => nginx(&host.bed, &self.sites[0], &self.scratch, 80),
            "shell" => serve_shell(host, 22),
            "utcp" => self.program.serve(host, self.users[0], 9000, Some(utcp_page)),
            "async" => serve_async(host, self.users[1], Grade::Veth, 9001, async_page),
            _ => {
                let daemon = host.start_daemon();
                host.start_service(&self.config());
                daemon
            }
        };
        self.running.push((name, process));
    }

    /// One service with both: two could not have the same queue.
    fn config(&self) -> String {
        let listen = |kind: &str, port: u16| {
            format!("[[{kind}.listen]]\ndev = \"{DEVICE}\"\naddress = \"{ADDRESS}:{port}\"\n")
        };
        format!(
            "gso = \"off\"\n[web]\nroot = \"{}\"\n{}[[dns.zone]]\nfile = \"{}\"\n{}",
            self.sites[1].root(),
            listen("web", 8080),
            self.zone.file(),
            listen("dns", 53)
        )
    }

    fn process(&self, (name, ..): Member) -> &Process {
        &self.running.iter().find(|(running, _)| *running == name).expect("it runs").1
    }

    fn kill(&mut self, (name, ..): Member) {
        let at = self.running.iter().position(|(running, _)| *running == name).expect("it runs");
        self.running.swap_remove(at).1.kill();
    }
}

#[test]
fn five_servers_on_one_address_get_their_packets_and_die_alone() {
    let host = Host::new();
    let mut line = Line::new(&host);
    let pages = [
        line.sites[0].write_noise("index.html", 3_000),
        line.sites[1].write_noise("index.html", 5_000),
        crate::site::noise(9000, 9_000),
        crate::site::noise(9001, 7_000),
    ];
    line.pages.iter().zip(&pages[2..]).for_each(|(file, page)| std::fs::write(file, page).expect("writable"));
    for member in [DAEMON, NGINX, SHELL, UTCP, ASYNC] {
        line.start(member);
    }
    // Merged frames cannot be counted. XDP on the NIC had switched it on.
    for end in [host.bed.client(), host.bed.server()] {
        end.set_offload(Offload::GenericReceive, false).expect("a veth can do without");
    }
    let mut books = Books::open(&host, &MEMBERS);
    std::thread::scope(|scope| {
        let netns = host.bed.client().netns();
        let [of_nginx, of_web, of_utcp, of_async] = pages;
        let web = |name, port: u16, page| {
            (name, Client::start(scope, netns, name, WebTalk::new(&format!("{ADDRESS}:{port}"), page)))
        };
        let names = DnsTalk::new(&format!("{ADDRESS}:53"), 7);
        let shell = ShellTalk::new(&format!("{ADDRESS}:22"));
        let clients = [
            web("nginx", 80, of_nginx),
            web("daemon", 8080, of_web),
            ("daemon", Client::start(scope, netns, "daemon's names", names)),
            web("utcp", 9000, of_utcp),
            web("async", 9001, of_async),
            ("shell", Client::start(scope, netns, "shell", shell)),
        ];
        let all = || clients.iter().map(|(_, client)| client);
        await_rounds(all(), 2 * ROUNDS);
        rest(all(), true);
        books.await_balance(None);
        books.check_veths();
        rest(all(), false);

        for victim in MEMBERS {
            let own = || clients.iter().filter(|(of, _)| *of == victim.0).map(|(_, client)| client);
            let others = || clients.iter().filter(|(of, _)| *of != victim.0).map(|(_, client)| client);
            own().for_each(|client| client.excuse(true));
            line.kill(victim);
            await_rounds(others(), ROUNDS);
            line.start(victim);
            await_rounds(clients.iter().map(|(_, client)| client), ROUNDS);
            own().for_each(|client| client.excuse(false));
            if victim == DAEMON {
                host.await_owner(9000, line.process(UTCP));
                host.await_owner(9001, line.process(ASYNC));
            }
            rest(all(), true);
            books.await_balance(Some(victim.0));
            books.open_anew(victim.0);
            books.check_veths();
            rest(all(), false);
        }
        // With what was opened anew.
        await_rounds(all(), ROUNDS);
        rest(all(), true);
        books.await_balance(None);
    });
    books.close();
    eprintln!("{}", run(host.bed.client().netns(), "nstat", &["-asz", "TcpRetransSegs", "TcpOutSegs"]));
}
