//! One turn: a server, once for each body, asked by every client.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context;
use serde::Serialize;
use tidegate_testbed::{Process, ScratchDir, Testbed};

use super::Plan;
use super::server::{Programs, ServerKind, daemon};
use crate::syscalls::SyscallCounter;
use crate::terms::{self, ServerMeter};
use crate::web::{Body, ClientKind, Connection, Content, Load, verify};

const PORT: u16 = 80;
const PATIENCE: Duration = Duration::from_secs(20);
/// Whoever does not end by then when asked to is killed.
const END_PATIENCE: Duration = Duration::from_secs(3);

/// What one server did for one client with one body in one turn; times are of the server's processor, in us a request.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Sample {
    pub(super) server: ServerKind,
    pub(super) client: ClientKind,
    pub(super) body: Body,
    pub(super) run: u32,
    pub(super) requests_per_s: f64,
    /// Everything that ran.
    pub(super) cpu_us: f64,
    /// The server's own time in user space, and in the kernel.
    pub(super) user_us: f64,
    pub(super) kernel_us: f64,
    /// What received for it.
    pub(super) receive_us: f64,
    /// How much of the processor was busy, from 0 to 1.
    pub(super) busy_share: f64,
    pub(super) p50_us: Option<f64>,
    pub(super) p99_us: Option<f64>,
    pub(super) syscalls: Option<f64>,
    pub(super) error_count: u64,
}

/// One server's go.
pub(super) struct Turn<'a> {
    pub(super) plan: &'a Plan,
    pub(super) programs: &'a Programs,
    pub(super) content: &'a Content,
    pub(super) bed: &'a Testbed,
    pub(super) run: u32,
    pub(super) server: ServerKind,
}

impl Turn<'_> {
    pub(super) fn take(&self, samples: &mut Vec<Sample>) -> anyhow::Result<()> {
        let scratch = ScratchDir::new()?;
        let daemon = self.server.needs_mux().then(|| self.start_daemon(&scratch)).transpose()?;
        for &body in &self.plan.sizes {
            self.serve(body, &scratch, samples).with_context(|| format!("{body}, turn {}", self.run))?;
        }
        if let Some(daemon) = daemon {
            end(daemon);
        }
        Ok(())
    }

    fn start_daemon(&self, scratch: &ScratchDir) -> anyhow::Result<Process> {
        let mut process = self.bed.server().spawn(daemon(&self.plan.tidegate, scratch))?;
        process.await_text("controllers reach it", PATIENCE).context("start the daemon")?;
        Ok(process)
    }

    fn address(&self) -> SocketAddr {
        (self.bed.server().ipv4(), PORT).into()
    }

    fn serve(&self, body: Body, scratch: &ScratchDir, samples: &mut Vec<Sample>) -> anyhow::Result<()> {
        let (end_of_cable, address) = (self.bed.server(), self.address());
        let command =
            self.programs.command(self.server, self.content, body, end_of_cable, address, scratch)?;
        let mut process = end_of_cable.spawn(command)?;
        self.bed.await_service(&mut process, address, PATIENCE)?;
        terms::settle(self.bed, &process)?;
        let file = body.paths().into_iter().next().unwrap_or_default();
        verify(self.bed.client(), address, &self.server.paths(body), |_| self.content.file(&file))?;
        for &client in &self.plan.clients {
            let sample = self.measure(client, body, &process, scratch);
            let asked = sample.with_context(|| format!("asked by {}", client.words()));
            samples.push(asked.with_context(|| process.said())?);
        }
        end(process);
        Ok(())
    }

    fn measure(
        &self,
        client: ClientKind,
        body: Body,
        process: &Process,
        scratch: &ScratchDir,
    ) -> anyhow::Result<Sample> {
        let load = self.load(client, body, self.plan.seconds);
        let before = process.cpu_time()?;
        let meter = ServerMeter::start(self.bed.server(), process)?;
        let seen = load.apply(self.bed.client(), scratch, None)?;
        let spent = meter.stop()?;
        let own = process.cpu_time()?.saturating_sub(before);
        let a_request = |time: Duration| time.as_secs_f64() * 1e6 / seen.request_count.max(1) as f64;
        Ok(Sample {
            server: self.server,
            client,
            body,
            run: self.run,
            requests_per_s: seen.requests_per_s,
            cpu_us: a_request(spent.cpu.busy),
            user_us: a_request(spent.user),
            kernel_us: a_request(own.saturating_sub(spent.user)),
            receive_us: a_request(spent.cpu.threads.saturating_sub(own)),
            busy_share: spent.busy_share(),
            p50_us: seen.p50_us,
            p99_us: seen.p99_us,
            syscalls: self.syscalls(client, body, process, scratch)?,
            error_count: seen.error_count,
        })
    }

    fn load(&self, client: ClientKind, body: Body, seconds: u32) -> Load {
        Load {
            client,
            server: self.address(),
            paths: self.server.paths(body),
            connection: Connection::Close,
            concurrency: self.plan.concurrency,
            seconds,
        }
    }

    /// System calls a request, counted in a pass of its own, in the first turn only, since counting costs.
    fn syscalls(
        &self,
        client: ClientKind,
        body: Body,
        process: &Process,
        scratch: &ScratchDir,
    ) -> anyhow::Result<Option<f64>> {
        if self.run > 0 {
            return Ok(None);
        }
        let counter = SyscallCounter::of(process, scratch);
        let seen = self.load(client, body, 1).apply(self.bed.client(), scratch, Some(&counter))?;
        Ok(counter.count()?.map(|count| count as f64 / seen.request_count.max(1) as f64))
    }
}

/// Asks it to end; one that does not is killed.
fn end(process: Process) {
    // How a server takes its end is none of what is compared.
    let _ = process.terminate(END_PATIENCE);
}
