//! Our name server in place of the testbed's second host, its dealings with others in the first.

use std::sync::Arc;
use std::time::Duration;
use tidegate_dns::NameServer;
use tidegate_dns::desk::DeskConfig;
use tidegate_dns::tcp::{Bounds, Tcp, TcpCounters, TcpShared};
use tidegate_dns::transfer::{ClientPatience, Exchange, Relations};
use tidegate_fixture::StackHost;
use tidegate_stack::TcpConfig;
use tidegate_testbed::Testbed;

/// A host with our server, and the threads that deal with other servers.
pub(crate) struct Ours {
    host: StackHost<NameServer>,
    pub(crate) exchange: Exchange,
}

impl Ours {
    /// Takes over the server's end of the cable; frames suffer `faults` both ways.
    pub(crate) fn start(bed: &Arc<Testbed>, faults: &str, relations: Relations) -> Self {
        let patience = ClientPatience { message: Duration::from_secs(5), ..ClientPatience::default() };
        let exchange = bed.client().run(|| Exchange::start(relations, patience, 7)).expect("a thread");
        let exchange = exchange.expect("sockets");
        let desk = || exchange.desk(Arc::new(DeskConfig::default()));
        let name_server = NameServer::new(desk(), Tcp::new(TcpShared::new(Bounds::default()), desk()));
        Self { host: StackHost::start(bed, faults, TcpConfig::SERVER, 53, name_server), exchange }
    }

    /// What its connections did.
    pub(crate) fn tcp_counters(&self) -> TcpCounters {
        self.host.with_stack(|stack| stack.service().tcp_counters())
    }
}
