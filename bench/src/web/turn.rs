//! One turn: a server starts, fills every cell, and ends.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context;
use serde::Serialize;
use tidegate_testbed::{Process, ScratchDir, Testbed};

use super::client::{Load, verify};
use super::content::Content;
use super::plan::{Cell, Cut, Plan};
use super::server::{Binaries, ServerKind};
use crate::syscalls::SyscallCounter;
use crate::terms::{self, ServerMeter};

const PORT: u16 = 80;
const PATIENCE: Duration = Duration::from_secs(20);

/// What one server did in one cell in one turn.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Sample {
    pub(crate) cell: Cell,
    pub(crate) server: ServerKind,
    pub(crate) run: u32,
    pub(crate) requests_per_s: f64,
    /// Everything that ran on the server's processor, a request.
    pub(crate) cpu_us_per_request: f64,
    /// The part of it that ran in the server's own threads and those that receive for it.
    pub(crate) threads_us_per_request: f64,
    /// How much of the server's processor was busy, from 0 to 1.
    pub(crate) busy_share: f64,
    pub(crate) p50_us: Option<f64>,
    pub(crate) p99_us: Option<f64>,
    pub(crate) syscalls_per_request: Option<f64>,
    pub(crate) error_count: u64,
    /// Memory that the server held afterwards.
    pub(crate) resident_mib: f64,
}

/// One server's go at every cell of a testbed.
pub(crate) struct Turn<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) binaries: &'a Binaries,
    pub(crate) content: &'a Content,
    pub(crate) bed: &'a Testbed,
    pub(crate) cut: Cut,
    pub(crate) run: u32,
    pub(crate) server: ServerKind,
}

impl Turn<'_> {
    pub(crate) fn take(&self, samples: &mut Vec<Sample>) -> anyhow::Result<()> {
        let scratch = ScratchDir::new()?;
        let process = self.start(&scratch)?;
        for cell in self.plan.cells(self.cut) {
            let sample = self.fill(cell, &process, &scratch);
            let sample = sample.with_context(|| format!("{} {}", cell.connection.words(), cell.body));
            samples.push(sample.with_context(|| process.said())?);
        }
        match self.server {
            // On SIGTERM it was seen to wait for longer than a bench has patience.
            ServerKind::H2o => process.kill(),
            _ => drop(process.terminate(PATIENCE)?),
        }
        Ok(())
    }

    fn address(&self) -> SocketAddr {
        (self.bed.server().ipv4(), PORT).into()
    }

    fn start(&self, scratch: &ScratchDir) -> anyhow::Result<Process> {
        let end = self.bed.server();
        let command =
            self.binaries.command(self.server, self.content.root(), end, self.address(), scratch)?;
        let mut process = end.spawn(command)?;
        self.bed.await_service(&mut process, self.address(), PATIENCE)?;
        terms::settle(self.bed, &process)?;
        Ok(process)
    }

    fn fill(&self, cell: Cell, process: &Process, scratch: &ScratchDir) -> anyhow::Result<Sample> {
        let paths = cell.body.paths();
        verify(self.bed.client(), self.address(), &paths, |path| self.content.file(path))?;
        let load = self.load(cell, self.plan.seconds);
        let meter = ServerMeter::start(self.bed.server(), process)?;
        let seen = load.apply(self.bed.client(), scratch, None)?;
        let spent = meter.stop()?;
        let request_count = seen.request_count.max(1) as f64;
        let a_request = |time: Duration| time.as_secs_f64() * 1e6 / request_count;
        Ok(Sample {
            cell,
            server: self.server,
            run: self.run,
            requests_per_s: seen.requests_per_s,
            cpu_us_per_request: a_request(spent.cpu.busy),
            threads_us_per_request: a_request(spent.cpu.threads),
            busy_share: spent.busy_share(),
            p50_us: seen.p50_us,
            p99_us: seen.p99_us,
            syscalls_per_request: self.syscalls_per_request(cell, process, scratch)?,
            error_count: seen.error_count,
            resident_mib: process.resident_bytes() as f64 / f64::from(1 << 20),
        })
    }

    fn load(&self, cell: Cell, seconds: u32) -> Load {
        Load {
            client: cell.client,
            server: self.address(),
            paths: cell.body.paths(),
            connection: cell.connection,
            concurrency: self.plan.concurrency,
            seconds,
        }
    }

    /// Counted in a pass of its own, in the first turn only, since counting costs.
    fn syscalls_per_request(
        &self,
        cell: Cell,
        process: &Process,
        scratch: &ScratchDir,
    ) -> anyhow::Result<Option<f64>> {
        if self.run > 0 {
            return Ok(None);
        }
        let counter = SyscallCounter::of(process, scratch);
        let seen = self.load(cell, 1).apply(self.bed.client(), scratch, Some(&counter))?;
        Ok(counter.count()?.map(|count| count as f64 / seen.request_count.max(1) as f64))
    }
}
