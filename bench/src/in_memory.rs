//! A client and a server on one worker, joined by a cable in memory: what the benches without a kernel run on.
//!
//! The graph is its bench's; the client is at port 0, the server at port 1 with modules of its own.

use std::net::{IpAddr, Ipv4Addr};

use tidegate_base::Duration;
use tidegate_packet::Pool;
use tidegate_pipeline::{Graph, Worker, WorkerConfig, control};
use tidegate_port::joined_by_move;
use tidegate_stack::{Interface, Limits, Ownership, Service, Stack, TcpConfig};
use tidegate_sys::clock;
use tidegate_sys::mem::Mapping;
use tidegate_wire::MacAddr;

pub(crate) const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 77, 0, 2));
pub(crate) const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 77, 0, 1));
pub(crate) const SERVER_MAC: MacAddr = MacAddr([2, 0x77, 0, 0, 0, 2]);
pub(crate) const CLIENT_MAC: MacAddr = MacAddr([2, 0x77, 0, 0, 0, 1]);
/// The modules whose time is the server's.
const SERVER_MODULES: [&str; 3] = ["server_in", "server", "server_out"];
const CHUNK_COUNT: usize = 16 * 1024;
const CHUNK_LEN: usize = 2048;
const RING_LEN: usize = 4096;

/// A host with a service.
pub(crate) fn stack<S: Service>(mac: MacAddr, addr: IpAddr, service: S) -> anyhow::Result<Stack<S>> {
    let interface = Interface::new(mac, [addr], 1500, Ownership::Address);
    let secrets = crate::device::secrets()?;
    Ok(Stack::new(clock::now(), interface, TcpConfig::default(), Limits::default(), &secrets, service))
}

/// A worker that runs `graph` in batches of `batch_len` and takes the time of each module.
pub(crate) fn worker(graph: Graph, batch_len: usize) -> anyhow::Result<Worker> {
    let (client_port, server_port) = joined_by_move(RING_LEN, 1514);
    let pool = Pool::new(Box::new(Mapping::anonymous(CHUNK_COUNT * CHUNK_LEN)?), CHUNK_LEN)?;
    let config = WorkerConfig { batch_len, stopwatch: Some(clock::now), ..WorkerConfig::default() };
    let (_, commands) = control(|| {});
    Ok(Worker::new(config, pool, vec![Box::new(client_port), Box::new(server_port)], graph, commands))
}

/// Lets the worker run for `span`.
pub(crate) fn drive(worker: &mut Worker, span: Duration) {
    let end = clock::now() + span;
    loop {
        let now = clock::now();
        if now >= end {
            return;
        }
        worker.round(now);
    }
}

/// What the server's modules spent so far.
pub(crate) fn server_busy(worker: &Worker) -> Duration {
    let modules = worker.snapshot().modules;
    let of_server = modules.iter().filter(|m| SERVER_MODULES.contains(&m.name.as_str()));
    of_server.fold(Duration::ZERO, |sum, m| sum + m.traffic.busy)
}
