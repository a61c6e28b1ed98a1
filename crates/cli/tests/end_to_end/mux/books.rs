//! Accounts of packets: what the client sent to whom and had from whom, against what each of them got and sent.
//!
//! ```text
//!   client's tap: sent, received   ==   a stack: `tidegate mux stats`      the host: its tap      a service: its port's counters
//! ```
//! Both sides are sums since the account was opened, so that they must become equal once nothing is under way, however long
//! that takes; one packet that got lost, or to somebody else, keeps them apart for ever.

use super::capture::{Capture, Kind, What};
use super::host::{DEVICE, Host, PATIENCE};
use std::time::{Duration, Instant};
use tidegate_control::proto::bess::GetPortStatsRequest;
use tidegate_sys::netlink::Netlink;

pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
/// Without a packet for so long, nothing is under way that an account could be opened amid: TCP acknowledges sooner.
const STILLNESS: Duration = Duration::from_millis(500);
const LOOK_PERIOD: Duration = Duration::from_millis(50);

/// Whose an account is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    Host,
    /// The daemon's service `line`.
    Service,
    Stack,
}

/// One whose packets are counted: its name, what it is, its ports.
pub(crate) type Member = (&'static str, Owner, &'static [(u8, u16)]);

/// Ports of one owner.
pub(crate) struct Account {
    name: &'static str,
    owner: Owner,
    ports: &'static [(u8, u16)],
    opened_at: Sums,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Sums {
    /// By the client.
    sent: u64,
    received: u64,
    /// By the owner.
    taken: u64,
    given: u64,
    /// To the host, though it is not the host's.
    strayed: u64,
}

impl Sums {
    fn since(&self, earlier: &Self) -> Self {
        Self {
            sent: self.sent.saturating_sub(earlier.sent),
            received: self.received.saturating_sub(earlier.received),
            taken: self.taken.saturating_sub(earlier.taken),
            given: self.given.saturating_sub(earlier.given),
            strayed: self.strayed.saturating_sub(earlier.strayed),
        }
    }

    fn is_balanced(&self) -> bool {
        self.sent == self.taken && self.received == self.given && self.strayed == 0
    }
}

/// All accounts, and the captures behind them.
pub(crate) struct Books<'a> {
    host: &'a Host,
    client: Capture,
    server: Capture,
    accounts: Vec<Account>,
    ifindex: u32,
}

impl<'a> Books<'a> {
    /// Opens them while nothing is under way.
    pub(crate) fn open(host: &'a Host, accounts: &[Member]) -> Self {
        let account = |(name, owner, ports): &Member| Account {
            name,
            owner: *owner,
            ports,
            opened_at: Sums::default(),
        };
        let mut netlink = Netlink::open_in(host.netns()).expect("rtnetlink");
        let mut books = Self {
            host,
            client: Capture::start(host.bed.client(), false),
            server: Capture::start(host.bed.server(), true),
            accounts: accounts.iter().map(account).collect(),
            ifindex: netlink.link(DEVICE).expect("the NIC").ifindex,
        };
        for (name, ..) in accounts {
            books.open_anew(name);
        }
        books
    }

    /// Opens one anew, whose owner died, once nothing of it is under way.
    pub(crate) fn open_anew(&mut self, name: &str) {
        let at = self.accounts.iter().position(|account| account.name == name).expect("an account");
        let start = Instant::now();
        let mut last = self.sums(at);
        loop {
            std::thread::sleep(STILLNESS);
            let now = self.sums(at);
            if now == last {
                self.accounts[at].opened_at = now;
                return;
            }
            assert!(start.elapsed() < PATIENCE, "{name} does not come to rest: {now:?}");
            last = now;
        }
    }

    /// Waits until all accounts but one balance.
    pub(crate) fn await_balance(&mut self, but: Option<&str>) {
        for at in 0..self.accounts.len() {
            let start = Instant::now();
            while but != Some(self.accounts[at].name) {
                let sums = self.sums(at).since(&self.accounts[at].opened_at);
                if sums.is_balanced() && sums.sent > 0 {
                    break;
                }
                assert!(start.elapsed() < PATIENCE, "{} does not balance: {sums:?}", self.accounts[at].name);
                std::thread::sleep(LOOK_PERIOD);
            }
        }
    }

    /// From each stack's veth come the packets of its own port, all that it is said to have sent, and nothing else.
    pub(crate) fn check_veths(&mut self) {
        let links = Netlink::open_in(self.host.netns()).and_then(|mut netlink| netlink.links());
        let links = links.expect("the host's links");
        let stacks: Vec<_> = self.accounts.iter().filter(|account| account.owner == Owner::Stack).collect();
        for (name, (protocol, port)) in stacks.iter().map(|account| (account.name, account.ports[0])) {
            let stack = self.host.stack_of(port).unwrap_or_else(|| panic!("{name} has a stack"));
            let veth = format!("tgv{}-{}", self.ifindex, stack.slot);
            let veth = links.iter().find(|link| link.name == veth).expect("its veth").ifindex;
            let own = Kind { ifindex: veth, is_outgoing: false, what: What::From(protocol, port) };
            let start = Instant::now();
            loop {
                self.server.read();
                let seen: Vec<_> =
                    self.server.counts.iter().filter(|(kind, _)| kind.ifindex == veth).collect();
                if seen == [(&own, &stack.from_packets)] {
                    break;
                }
                assert!(start.elapsed() < PATIENCE, "on the veth of {name}, {stack:?}: {seen:?}");
                std::thread::sleep(LOOK_PERIOD);
            }
        }
    }

    /// Ends the captures.
    pub(crate) fn close(self) {
        self.client.finish();
        self.server.finish();
    }

    fn sums(&mut self, at: usize) -> Sums {
        self.client.read();
        self.server.read();
        let Account { owner, ports, .. } = self.accounts[at];
        let ifindex = self.ifindex;
        let is_of = |what: What| ports.iter().any(|(protocol, port)| what == What::From(*protocol, *port));
        let is_for = |what: What| ports.iter().any(|(protocol, port)| what == What::To(*protocol, *port));
        let to_host = |kind: &Kind| kind.ifindex == ifindex && !kind.is_outgoing && is_for(kind.what);
        let of_host = |kind: &Kind| kind.ifindex == ifindex && kind.is_outgoing && is_of(kind.what);
        let host = self.server.count(to_host);
        let (taken, given) = match owner {
            Owner::Host => (host, self.server.count(of_host)),
            Owner::Service => self.of_service(),
            Owner::Stack => {
                let stack = self.host.stack_of(ports[0].1);
                stack.map_or((0, 0), |stack| (stack.to_packets, stack.from_packets))
            }
        };
        Sums {
            sent: self.client.count(|kind| is_for(kind.what)),
            received: self.client.count(|kind| is_of(kind.what)),
            taken,
            given,
            strayed: if owner == Owner::Host { 0 } else { host },
        }
    }

    fn of_service(&self) -> (u64, u64) {
        let request = GetPortStatsRequest { name: format!("{DEVICE}/0") };
        let stats = self.host.client().get_port_stats(request).expect("the service's port");
        let (inc, out) = (stats.inc.unwrap_or_default(), stats.out.unwrap_or_default());
        (inc.packets, out.packets)
    }
}
