//! One HTTP server in C, one request a connection: over our stack in each place that it can have on a NIC, over the host's
//! sockets, and nginx (MultiStack paper, section 5.2 and figure 6).
//!
//! ```text
//!   CPU 0: wrk, or our own client  ===== veth =====  server0: CPU 1
//!                                                       +-- the mux's program -- veth of its own -- http.c on libtidegate
//!                                                       +-- the mux's program -- its queue -------- http.c on libtidegate
//!                                                       +-- its own program ---- its queues ------- http.c on libtidegate
//!                                                       +-- the host's TCP ------------------------ http.c, nginx
//! ```
//! The terms are those of bench-web: a server runs alone, on CPU 1 with what receives for it; what compares is the server's
//! processor time a request, everything that ran there. Its inverse is what a processor of its own can serve.

mod report;
mod server;
mod turn;

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::ValueEnum;
use tidegate_testbed::{Layout, Testbed};

use self::report::Failure;
pub(super) use self::report::Report;
use self::server::{Programs, ServerKind};
use self::turn::Turn;
use crate::binary::{ensure_built, tidegate_binary, tidegate_library};
use crate::web::{Body, ClientKind, Content, prepare};

/// Options of this part
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct HttpArgs {
    /// http: body sizes (default: 1K,2K,4K,8K,16K,32K)
    #[arg(long, value_delimiter = ',', value_name = "SIZE")]
    sizes: Vec<Body>,
    /// http: servers to compare (default: all)
    #[arg(long, value_delimiter = ',', value_enum, value_name = "NAME")]
    servers: Vec<ServerKind>,
    /// http: programs that ask (default: wrk and our own client)
    #[arg(long, value_delimiter = ',', value_enum, value_name = "NAME")]
    clients: Vec<ClientKind>,
    /// http: seconds a measurement
    #[arg(long, default_value_t = 1, value_name = "S", value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
    /// http: requests under way at a time
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    concurrency: u32,
    /// http: Tidegate's binary (default: the one beside this program)
    #[arg(long, value_name = "FILE")]
    tidegate: Option<PathBuf>,
    /// http: libtidegate.so (default: the one beside this program)
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
}

const SIZES: [Body; 6] = [
    Body::Bytes(1 << 10),
    Body::Bytes(2 << 10),
    Body::Bytes(4 << 10),
    Body::Bytes(8 << 10),
    Body::Bytes(16 << 10),
    Body::Bytes(32 << 10),
];
const QUICK_SIZES: [Body; 2] = [SIZES[0], SIZES[5]];

/// What is measured.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    servers: Vec<ServerKind>,
    sizes: Vec<Body>,
    clients: Vec<ClientKind>,
    runs: u32,
    seconds: u32,
    concurrency: u32,
    tidegate: PathBuf,
    library: PathBuf,
}

impl Plan {
    /// Fails at once if something that is needed is not built.
    pub(super) fn new(args: &HttpArgs, is_quick: bool, runs: Option<u32>) -> anyhow::Result<Plan> {
        let servers = or_else(&args.servers, ServerKind::value_variants());
        let (clients, sizes): (&[_], &[_]) =
            if is_quick { (&[ClientKind::Wrk], &QUICK_SIZES) } else { (&CLIENTS, &SIZES) };
        let tidegate = tidegate_binary(args.tidegate.as_deref())?;
        if servers.iter().any(|server| server.needs_mux()) {
            ensure_built(&tidegate)?;
        }
        Ok(Plan {
            servers,
            sizes: or_else(&args.sizes, sizes),
            clients: or_else(&args.clients, clients),
            runs: runs.unwrap_or(if is_quick { 1 } else { 5 }),
            seconds: args.seconds,
            concurrency: args.concurrency,
            tidegate,
            library: tidegate_library(args.library.as_deref())?,
        })
    }

    /// Each program of others, its path and the flag that makes it tell its version.
    pub(super) fn versions(&self) -> Vec<(&'static str, &'static Path, &'static str)> {
        let nginx = self.servers.iter().any(|server| server.is_nginx());
        let servers = nginx.then_some(("nginx", Path::new("nginx"), "-v"));
        self.clients.iter().filter_map(|client| client.version()).chain(servers).collect()
    }
}

const CLIENTS: [ClientKind; 2] = [ClientKind::Wrk, ClientKind::Packet];

fn or_else<T: Clone>(chosen: &[T], default: &[T]) -> Vec<T> {
    if chosen.is_empty() { default.to_vec() } else { chosen.to_vec() }
}

/// A server that fails is left out from then on, and named in the report.
pub(super) fn measure(plan: &Plan) -> anyhow::Result<Report> {
    let programs = Programs::build(&plan.library)?;
    let content = Content::write(&plan.sizes)?;
    let bed = Testbed::new(&Layout::default()).context("make the testbed (CPU 0 and CPU 1 are needed)")?;
    prepare(&bed, true)?;
    let (mut samples, mut failures) = (Vec::new(), Vec::<Failure>::new());
    for run in 0..plan.runs {
        for &server in &plan.servers {
            if failures.iter().any(|failure| failure.server == server) {
                continue;
            }
            let turn = Turn { plan, programs: &programs, content: &content, bed: &bed, run, server };
            if let Err(error) = turn.take(&mut samples) {
                failures.push(Failure { server, why: format!("{error:#}") });
            }
        }
    }
    Ok(Report::new(plan, samples, failures))
}
