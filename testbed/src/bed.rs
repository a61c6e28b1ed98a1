//! The pair of hosts: made, found again by name, taken down.

use std::time::{Duration, Instant};

use std::net::{SocketAddr, TcpStream};

use tidegate_sys::netlink::{Netlink, VethEnd};
use tidegate_sys::netns::Netns;

use crate::end::End;
use crate::layout::{Layout, Side};
use crate::{Process, TestbedError};

/// Two namespaces joined by a veth pair.
///
/// Made by [`new`](Testbed::new) it goes with its holder, panics and `kill -9` included, and any number live
/// side by side. Made by [`up`](Testbed::up) it has a name and stays until [`down`](Testbed::down).
#[derive(Debug)]
pub struct Testbed {
    client: End,
    server: End,
}

impl Testbed {
    /// A testbed without a name, gone when dropped.
    ///
    /// Needs root.
    pub fn new(layout: &Layout) -> Result<Testbed, TestbedError> {
        Testbed::join(Netns::create()?, Netns::create()?, layout)
    }

    /// A testbed that stays: `ip netns` lists it as `tidegate-NAME-client` and `tidegate-NAME-server`.
    ///
    /// Needs root, and that nobody used the name already.
    pub fn up(name: &str, layout: &Layout) -> Result<Testbed, TestbedError> {
        let client = Netns::create_named(&netns_name(name, Side::Client))?;
        let undo_client = || Netns::delete_named(&netns_name(name, Side::Client));
        let server = Netns::create_named(&netns_name(name, Side::Server)).inspect_err(|_| {
            // The error to report is why there is no server.
            let _ = undo_client();
        })?;
        Testbed::join(client, server, layout).inspect_err(|_| {
            // As above: why they could not be joined.
            let _ = Testbed::down(name);
        })
    }

    /// Takes a named testbed down; programs that still run in it keep its namespaces until they end.
    pub fn down(name: &str) -> Result<(), TestbedError> {
        let client = Netns::delete_named(&netns_name(name, Side::Client));
        let server = Netns::delete_named(&netns_name(name, Side::Server));
        client.and(server).map_err(TestbedError::from)
    }

    /// The named testbed that an earlier [`up`](Testbed::up) made; `layout` says where programs go.
    pub fn named(name: &str, layout: &Layout) -> Result<Testbed, TestbedError> {
        let end = |side| -> Result<End, TestbedError> {
            Ok(End::new(side, Netns::named(&netns_name(name, side))?, layout.cpu(side)))
        };
        Ok(Testbed { client: end(Side::Client)?, server: end(Side::Server)? })
    }

    fn join(client: Netns, server: Netns, layout: &Layout) -> Result<Testbed, TestbedError> {
        let end = |side: Side, netns| VethEnd {
            netns: Some(netns),
            mac: Some(side.mac()),
            queue_count: layout.queue_count,
            ..VethEnd::new(side.device())
        };
        // Asked for inside the client's namespace, so that neither end is ever seen outside.
        let mut netlink = Netlink::open_in(&client)?;
        netlink.create_veth(end(Side::Client, &client), end(Side::Server, &server))?;
        let bed = Testbed {
            client: End::new(Side::Client, client, layout.client_cpu),
            server: End::new(Side::Server, server, layout.server_cpu),
        };
        for end in [&bed.client, &bed.server] {
            end.set_up(layout)?;
        }
        for end in [&bed.client, &bed.server] {
            end.behave_like_a_wire(layout.segmentation)?;
        }
        Ok(bed)
    }

    /// The host on that side.
    pub fn end(&self, side: Side) -> &End {
        match side {
            Side::Client => &self.client,
            Side::Server => &self.server,
        }
    }

    /// The host that asks.
    pub fn client(&self) -> &End {
        &self.client
    }

    /// The host that answers.
    pub fn server(&self) -> &End {
        &self.server
    }

    /// Waits until a client can connect to `address`, which `process` is to serve.
    pub fn await_service(
        &self,
        process: &mut Process,
        address: SocketAddr,
        patience: Duration,
    ) -> Result<(), TestbedError> {
        const ATTEMPT: Duration = Duration::from_millis(200);
        let deadline = Instant::now() + patience;
        let answered = self.client.run(|| {
            while Instant::now() < deadline && process.is_running() {
                if TcpStream::connect_timeout(&address, ATTEMPT).is_ok() {
                    return true;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            false
        })?;
        if answered { Ok(()) } else { Err(process.overdue(format!("answer on {address}"), patience)) }
    }
}

fn netns_name(name: &str, side: Side) -> String {
    format!("tidegate-{name}-{}", side.name())
}
