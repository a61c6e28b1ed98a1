//! The loop: a port's frames to the sockets, theirs to the port, and time.
//!
//! ```text
//!   poll():  what was written, timers --> rx --> sockets --> tx, once for all
//!   as_fd(): epoll( port's descriptor | timer )            for a loop of others: readable when poll() has work
//! ```

use crate::host::Host;
use crate::routes::Routes;
use crate::wire::Wire;
use std::io;
use std::net::IpAddr;
use std::ops::{Deref, DerefMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use tidegate_base::{Duration, HashKey, Instant};
use tidegate_mux::MuxError;
use tidegate_mux::client::ClientError;
use tidegate_packet::{BATCH_LEN_MAX, Batch, HeapMemory, Pool, PoolError};
use tidegate_port::{Port, PortCounters, TapPort};
use tidegate_stack::{Interface, Limits, Ownership, Secrets, TcpConfig};
use tidegate_sys::event::{Epoll, Interest, TimerFd, poll};
use tidegate_sys::netlink::{Netlink, NetlinkError};
use tidegate_sys::next_hop::NextHops;
use tidegate_sys::random::RandomError;
use tidegate_sys::tap::{Tap, TapError};
use tidegate_sys::{clock, random};
use tidegate_wire::MacAddr;

/// Bytes of a chunk: a full Ethernet frame and its headroom.
pub(crate) const CHUNK_SIZE: usize = 2048;
/// Batches received in one round at most, so that a flood does not keep the owner waiting.
const BATCHES_PER_ROUND: usize = 8;
/// How long to wait before a port that took nothing is asked again.
const RETRY_INTERVAL: Duration = Duration::from_micros(100);

/// What the set tells the timer and the port by; nobody asks.
const TIMER_KEY: u64 = 0;
const PORT_KEY: u64 = 1;

/// A runtime could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The memory for frames.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// The TAP device.
    #[error(transparent)]
    Tap(#[from] TapError),
    /// The link of that device.
    #[error(transparent)]
    Link(#[from] NetlinkError),
    /// What is to be the stack's cannot be.
    #[error("{0}")]
    Places(String),
    /// A NIC of the host's.
    #[error(transparent)]
    Device(#[from] MuxError),
    /// The daemon that gives stacks places, or the way to it.
    #[error(transparent)]
    Mux(#[from] ClientError),
    /// The thread that keeps what the daemon gave.
    #[error("could not start the thread that keeps a stack's place: {0}; raise the limit on threads")]
    Keeper(#[source] io::Error),
    /// Secrets that nobody may guess.
    #[error(transparent)]
    Random(#[from] RandomError),
    /// The descriptor to wait on.
    #[error("could not make a descriptor to wait on: {0}; raise the limit on open files")]
    Descriptor(#[from] io::Error),
}

/// What a runtime is made with.
#[derive(Clone, Debug)]
pub struct RuntimeConfig {
    /// TCP settings that sockets cannot change.
    pub tcp: TcpConfig,
    /// How many connections there may be.
    pub limits: Limits,
    /// Frames in the pool of a runtime that makes its own.
    pub frame_count: usize,
}

impl Default for RuntimeConfig {
    fn default() -> Self {
        Self { tcp: TcpConfig::default(), limits: Limits::default(), frame_count: 4096 }
    }
}

/// A host with its port, on one thread.
pub struct Runtime {
    host: Host<Wire>,
    incoming: Batch,
    timer: TimerFd,
    set: Epoll,
    /// When the timer goes off.
    armed_at: Instant,
    /// Somebody waits on the descriptor, so that the timer must be set.
    is_watched: bool,
    /// Where peers are, if the kernel is asked.
    routes: Option<Routes>,
    /// What it has of others', given back when the port is gone.
    _hold: Option<Box<dyn Send>>,
}

impl Runtime {
    /// Sockets at `interface`, whose frames come and go by `port` in chunks of `pool`.
    pub fn new(
        port: Box<dyn Port>,
        pool: Pool,
        interface: Interface,
        config: RuntimeConfig,
    ) -> Result<Self, OpenError> {
        let (timer, set) = (TimerFd::new()?, Epoll::new()?);
        set.add(timer.as_fd(), TIMER_KEY)?;
        if let Some(fd) = port.wait_fd() {
            set.add(fd, PORT_KEY)?;
        }
        let secret = || random::bytes().map(HashKey::new);
        let secrets = Secrets { isn: secret()?, cookie: secret()?, flow: random::u64()? };
        let RuntimeConfig { tcp, limits, .. } = config;
        let wire = Wire::new(port, pool);
        Ok(Self {
            host: Host::new(clock::now(), interface, tcp, limits, &secrets, wire),
            incoming: Batch::new(),
            timer,
            set,
            armed_at: Instant::FAR_FUTURE,
            is_watched: false,
            routes: None,
            _hold: None,
        })
    }

    /// Keeps `hold` for as long as this lives.
    pub(crate) fn holding(self, hold: impl Send + 'static) -> Self {
        Self { _hold: Some(Box::new(hold)), ..self }
    }

    /// Sockets with addresses of their own behind a new TAP device `name`, which is raised; the kernel's end gets no address.
    ///
    /// Needs CAP_NET_ADMIN.
    pub fn on_tap(
        name: &str,
        addresses: impl IntoIterator<Item = IpAddr>,
        config: RuntimeConfig,
    ) -> Result<Self, OpenError> {
        let tap = Tap::open(name)?;
        let mut netlink = Netlink::open()?;
        let link = netlink.link(tap.name())?;
        netlink.set_up(link.ifindex, true)?;
        let mut mac: [u8; 6] = random::bytes()?;
        // Locally administered, and one station (IEEE 802, section 8.2).
        mac[0] = mac[0] & 0xfc | 2;
        let interface = Interface::new(MacAddr(mac), addresses, link.mtu as usize, Ownership::Address);
        let port = TapPort::new(tap, interface.frame_len_max());
        let memory = HeapMemory::new(config.frame_count * CHUNK_SIZE);
        let pool = Pool::new(Box::new(memory), CHUNK_SIZE)?;
        Self::new(Box::new(port), pool, interface, config)
    }

    /// From now on finds peers by the routes and neighbours that the kernel has on its link `ifindex`, as for a stack with ports
    /// of the kernel's addresses: such a one does no ARP. It is the calling thread's network namespace that is asked, and the
    /// threads that run the stack are to be in it too.
    pub fn ask_kernel(&mut self, ifindex: u32) -> Result<(), OpenError> {
        self.routes = Some(Routes::new(NextHops::open(ifindex)?));
        Ok(())
    }

    /// One round; returns how many frames it received. Does not wait.
    pub fn poll(&mut self) -> usize {
        let now = clock::now();
        self.host.poll(now);
        if self.resolve(now) {
            self.host.poll(now);
        }
        let mut count = 0;
        for _ in 0..BATCHES_PER_ROUND {
            let received = self.host.egress().receive(&mut self.incoming);
            self.host.input_batch(now, &mut self.incoming);
            count += received;
            if received < BATCH_LEN_MAX {
                break;
            }
        }
        self.host.egress().flush();
        if self.is_watched || self.armed_at <= now {
            self.arm(now);
        }
        count
    }

    /// Finds peers that are looked for. True: some can be reached now that could not before.
    fn resolve(&mut self, now: Instant) -> bool {
        let mut has_found = false;
        while let Some(peer) = self.host.poll_unresolved() {
            if let Some(routes) = &mut self.routes {
                routes.want(now, peer);
            }
        }
        let Some(routes) = &mut self.routes else { return false };
        while let Some(peer) = routes.poll_stale(now) {
            self.host.forget_neighbour(peer);
        }
        while let Some((peer, mac)) = routes.poll_found(now) {
            self.host.set_neighbour(peer, mac);
            has_found = true;
        }
        has_found
    }

    /// Sends what was written, waits until there is an event or `timeout` has passed, and returns. Without a timeout it
    /// waits for an event.
    pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        let until = timeout.map_or(Instant::FAR_FUTURE, |timeout| clock::now() + timeout);
        loop {
            self.poll();
            let now = self.host.now();
            if self.host.has_event() || now >= until {
                return Ok(());
            }
            let due = self.next_deadline().map_or(until, |due| due.min(until));
            let time = (due != Instant::FAR_FUTURE).then(|| due.since(clock::now()));
            let descriptors = self.host.egress().wait_fd().map(|fd| (fd, Interest::READ));
            poll(descriptors.as_slice(), time)?;
        }
    }

    /// When [`poll`](Self::poll) has something to do even if no frame arrives; a time in the past: now.
    pub fn next_deadline(&mut self) -> Option<Instant> {
        if self.host.egress().is_stuck() {
            return Some(self.host.now() + RETRY_INTERVAL);
        }
        if self.host.has_unresolved() {
            return Some(Instant::ZERO);
        }
        let hosts = match self.host.next_deadline() {
            // Connections wait for room in the port.
            Some(Instant::ZERO) if !self.host.has_work() => Some(self.host.now() + RETRY_INTERVAL),
            due => due,
        };
        hosts.into_iter().chain(self.routes.as_ref().and_then(Routes::next_deadline)).min()
    }

    /// What the port did so far.
    pub fn port_counters(&mut self) -> PortCounters {
        self.host.egress().counters()
    }

    /// From now on, [`as_fd`](AsFd::as_fd) is readable whenever [`poll`](Self::poll) has something to do.
    pub fn watch(&mut self) -> BorrowedFd<'_> {
        self.is_watched = true;
        self.arm(clock::now());
        self.set.as_fd()
    }

    /// The same descriptor, to be kept beside the runtime.
    pub fn descriptor(&self) -> io::Result<OwnedFd> {
        self.set.as_fd().try_clone_to_owned()
    }

    /// Makes the descriptor readable until the next round, whoever waits on it.
    pub fn wake(&mut self) {
        self.armed_at = Instant::ZERO;
        let _ = self.timer.set(Some(Instant::ZERO));
    }

    /// Sets the timer where it would go off too late, or has gone off. Too early costs a round, and less than setting it
    /// anew in each.
    fn arm(&mut self, now: Instant) {
        let due = self.next_deadline().filter(|_| self.is_watched).unwrap_or(Instant::FAR_FUTURE);
        if due < self.armed_at || self.armed_at <= now {
            self.armed_at = due;
            // A timer that cannot be set is one of a process that is ending.
            let _ = self.timer.set((due != Instant::FAR_FUTURE).then_some(due));
        }
    }

    /// After socket calls outside of a round: the descriptor becomes readable if they left something to do.
    pub fn settle(&mut self) {
        let has_work = |host: &Host<Wire>| host.has_work() || host.has_unresolved();
        if self.is_watched && self.armed_at > Instant::ZERO && has_work(&self.host) {
            self.wake();
        }
    }
}

impl AsFd for Runtime {
    /// To wait on with epoll or poll, for reading, after [`watch`](Self::watch).
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.set.as_fd()
    }
}

impl Deref for Runtime {
    type Target = Host<Wire>;
    fn deref(&self) -> &Host<Wire> {
        &self.host
    }
}

impl DerefMut for Runtime {
    /// The socket calls.
    fn deref_mut(&mut self) -> &mut Host<Wire> {
        &mut self.host
    }
}
