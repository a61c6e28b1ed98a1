//! The terms on which servers are compared, the same for every one of them: whose work runs on which
//! processor, when the server's device interrupts, and what the server's processor spent.

use std::time::Duration;

use anyhow::Context;
use tidegate_testbed::{CpuMeter, CpuSpent, End, Process, Testbed};

/// Above this part of foreign time on the server's processor a figure is marked.
const FOREIGN_SHARE_MAX: f64 = 0.05;

/// Whether somebody else than the server's threads was on its processor for too long; both in the same unit.
pub(crate) fn is_disturbed(cpu: f64, threads: f64) -> bool {
    cpu > threads * (1.0 + FOREIGN_SHARE_MAX)
}

/// Rounds without frames before the server's device asks for interrupts again, and how soon it looks again.
const DEFERRAL: (u32, Duration) = (100, Duration::from_micros(100));

/// What [`defer_interrupts`] and [`settle`] do, for below a table.
pub(crate) const WORDS: &str = "Receive threads pinned beside their side; interrupts of the server's device \
     deferred by 100 us (unless --no-defer): the same for every server.\n";

/// Lets the server's device gather frames.
pub(crate) fn defer_interrupts(bed: &Testbed) -> anyhow::Result<()> {
    Ok(bed.server().defer_interrupts(DEFERRAL.0, DEFERRAL.1)?)
}

/// Puts what runs for the server on its processor, and what runs for the client on the other: loading XDP makes
/// new receive threads, and some servers choose processors themselves.
pub(crate) fn settle(bed: &Testbed, server: &Process) -> anyhow::Result<()> {
    bed.server().settle()?;
    bed.client().settle()?;
    Ok(bed.server().keep(server)?)
}

/// A measurement of the server's side under way.
#[derive(Debug)]
pub(crate) struct ServerMeter<'a> {
    process: &'a Process,
    meter: CpuMeter,
    user: Duration,
}

/// What the server's side spent between start and stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServerSpent {
    /// On its processor, by whomever; and in its own threads and those that receive for it.
    pub(crate) cpu: CpuSpent,
    /// In user space, by the server's own threads.
    pub(crate) user: Duration,
}

impl<'a> ServerMeter<'a> {
    /// Starts to measure what `process` at `end` costs.
    pub(crate) fn start(end: &End, process: &'a Process) -> anyhow::Result<Self> {
        let threads = [process.threads(), end.receive_threads()?].concat();
        let cpu = end.cpu().context("the server is pinned to no processor")?;
        Ok(Self { process, user: process.user_time()?, meter: CpuMeter::start(cpu, &threads)? })
    }

    /// Reads the meter.
    pub(crate) fn stop(self) -> anyhow::Result<ServerSpent> {
        let cpu = self.meter.stop()?;
        Ok(ServerSpent { cpu, user: self.process.user_time()?.saturating_sub(self.user) })
    }
}

impl ServerSpent {
    /// How much of the processor was busy, from 0 to 1.
    pub(crate) fn busy_share(&self) -> f64 {
        self.cpu.busy.as_secs_f64() / self.cpu.elapsed.as_secs_f64()
    }
}
