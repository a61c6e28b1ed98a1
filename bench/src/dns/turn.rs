//! One turn: a server starts, answers right, is asked in every way, and ends.

use std::net::UdpSocket;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};
use tidegate_testbed::{Process, ScratchDir, Testbed};

use super::Saturations;
use super::client::{Asking, Seen};
use super::plan::{Contender, Load, NEARLY_ALL, PACED_PER_S, Plan, SHARES, TOO_MUCH};
use super::saturation::{Saturation, search};
use super::server::{PORT, Programs, ServerKind};
use super::verify::{await_echo, await_zone, verify};
use super::zone::Zone;
use crate::syscalls::SyscallCounter;
use crate::terms::{self, ServerMeter};
use crate::yardstick::Yardstick;

/// How long a server may take to load a zone, and to end.
const PATIENCE: Duration = Duration::from_secs(120);
/// A server that works for less than a tenth of so long is at rest.
const REST: Duration = Duration::from_millis(200);
/// Before what is asked counts: caches fill, lazily built answers are built.
const WARM_UP_S: f64 = 1.0;
/// A trial of the search for saturation.
const TRIAL_S: f64 = 0.5;

/// What one server did under one load in one round.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Sample {
    /// Which zone, by its place.
    pub(crate) zone: usize,
    pub(crate) contender: Contender,
    pub(crate) load: Load,
    pub(crate) round: u32,
    /// Seconds from its start until it answered for the zone.
    pub(crate) load_s: f64,
    pub(crate) sent_per_s: f64,
    pub(crate) answers_per_s: f64,
    /// The part of the questions without an answer, from 0 to 1.
    pub(crate) loss: f64,
    /// Everything that ran on the server's processor, an answer.
    pub(crate) cpu_us_per_answer: f64,
    /// The part of it that ran in the server's own threads and those that receive for it.
    pub(crate) threads_us_per_answer: f64,
    /// The part of it that the server's threads spent in user space.
    pub(crate) user_us_per_answer: f64,
    /// How much of the server's processor was busy, from 0 to 1.
    pub(crate) busy_share: f64,
    pub(crate) p50_us: Option<f64>,
    pub(crate) p99_us: Option<f64>,
    pub(crate) syscalls_per_answer: Option<f64>,
    /// Memory that the server held afterwards.
    pub(crate) memory_mib: f64,
}

/// One server's go at one zone.
pub(crate) struct Turn<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) programs: &'a Programs,
    pub(crate) zone: &'a Zone,
    pub(crate) zone_index: usize,
    pub(crate) bed: &'a Testbed,
    pub(crate) round: u32,
    pub(crate) contender: Contender,
}

/// A server that answers for its zone.
struct Running<'a> {
    process: &'a Process,
    scratch: &'a ScratchDir,
    load_s: f64,
}

impl Turn<'_> {
    pub(crate) fn take(
        &self,
        samples: &mut Vec<Sample>,
        saturations: &mut Saturations,
        yardstick: &mut Yardstick,
    ) -> anyhow::Result<()> {
        let scratch = ScratchDir::new()?;
        let start = Instant::now();
        let process = self.start(&scratch)?;
        let running = Running { process: &process, scratch: &scratch, load_s: start.elapsed().as_secs_f64() };
        self.ask_everything(&running, samples, saturations, yardstick).with_context(|| process.said())?;
        self.end(process)
    }

    /// NSD's namespace ends by force only, and its processes a while later: those of a large zone hold its port until
    /// their memory is given back. Knot leaves its XDP program on the device, for which the next server would pay.
    fn end(&self, process: Process) -> anyhow::Result<()> {
        match self.contender.server {
            ServerKind::Nsd => {
                process.kill();
                self.await_free_port()?;
            }
            ServerKind::KnotXdp => {
                process.terminate(PATIENCE)?;
                self.take_xdp_off()?;
            }
            _ => drop(process.terminate(PATIENCE)?),
        }
        Ok(())
    }

    fn start(&self, scratch: &ScratchDir) -> anyhow::Result<Process> {
        let end = self.bed.server();
        let mut process = end.spawn(self.programs.command(self.contender, self.zone, end, scratch)?)?;
        let await_answer = if self.contender.server == ServerKind::Echo { await_echo } else { await_zone };
        await_answer(self.bed, &mut process, self.zone, PATIENCE)?;
        terms::settle(self.bed, &process)?;
        Ok(process)
    }

    fn await_free_port(&self) -> anyhow::Result<()> {
        let (end, deadline) = (self.bed.server(), Instant::now() + PATIENCE);
        let is_free = || UdpSocket::bind((end.ipv4(), PORT)).is_ok();
        while !end.netns().run(is_free)? {
            ensure!(Instant::now() < deadline, "{} has ended and holds its port", self.contender);
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    fn take_xdp_off(&self) -> anyhow::Result<()> {
        let end = self.bed.server();
        let mut command = Command::new("ip");
        command.args(["link", "set", "dev", end.device(), "xdp", "off"]);
        let output = end.output(command)?;
        ensure!(output.status.success(), "ip link: {}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    }

    fn ask_everything(
        &self,
        running: &Running<'_>,
        samples: &mut Vec<Sample>,
        saturations: &mut Saturations,
        yardstick: &mut Yardstick,
    ) -> anyhow::Result<()> {
        if self.contender.server != ServerKind::Echo {
            verify(self.bed, self.zone)?;
        }
        await_rest(running.process)?;
        let warm_up = self.ask(Asking::Dnsperf { limit_per_s: None }, WARM_UP_S)?;
        if self.contender.batch.is_none() {
            samples.push(yardstick.measure(|| self.sample(Load::Closed, 0, running))?);
            samples.push(yardstick.measure(|| self.sample(Load::Paced, 0, running))?);
        }
        let saturation = self.saturation(&warm_up, saturations, yardstick)?;
        for &share in self.shares() {
            let rate = (u64::from(saturation.rate_per_s) * u64::from(share) / 100) as u32;
            samples.push(yardstick.measure(|| self.sample(Load::Open(share), rate, running))?);
        }
        Ok(())
    }

    /// With a batch size of its own Tidegate is asked for as much as it can, at the rate that its own choice of batch
    /// size cannot bear.
    fn shares(&self) -> &'static [u32] {
        if self.contender.batch.is_some() { &[TOO_MUCH] } else { &SHARES }
    }

    fn saturation(
        &self,
        seen: &Seen,
        saturations: &mut Saturations,
        yardstick: &mut Yardstick,
    ) -> anyhow::Result<Saturation> {
        let key = (self.zone_index, Contender { batch: None, ..self.contender });
        if let Some(found) = saturations.get(&key) {
            return Ok(*found);
        }
        let trial =
            |rate_per_s| Ok(yardstick.measure(|| self.ask(Asking::Kxdpgun { rate_per_s }, TRIAL_S))?.trial());
        let found = search(seen.answers_per_s as u32, trial)?;
        saturations.insert(key, found);
        Ok(found)
    }

    fn ask(&self, asking: Asking, seconds: f64) -> anyhow::Result<Seen> {
        asking.apply(self.bed, self.zone, seconds, None)
    }

    fn sample(&self, load: Load, rate_per_s: u32, running: &Running<'_>) -> anyhow::Result<Sample> {
        let asking = match load {
            Load::Closed => Asking::Dnsperf { limit_per_s: None },
            Load::Paced => Asking::Dnsperf { limit_per_s: Some(PACED_PER_S) },
            Load::Open(_) => Asking::Kxdpgun { rate_per_s },
        };
        let meter = ServerMeter::start(self.bed.server(), running.process)?;
        let seen = self.ask(asking, self.plan.seconds.into())?;
        let spent = meter.stop()?;
        let an_answer = |time: Duration| time.as_secs_f64() * 1e6 / seen.answer_count.max(1) as f64;
        Ok(Sample {
            zone: self.zone_index,
            contender: self.contender,
            load,
            round: self.round,
            load_s: running.load_s,
            sent_per_s: seen.sent_per_s,
            answers_per_s: seen.answers_per_s,
            loss: seen.loss(),
            cpu_us_per_answer: an_answer(spent.cpu.busy),
            threads_us_per_answer: an_answer(spent.cpu.threads),
            user_us_per_answer: an_answer(spent.user),
            busy_share: spent.busy_share(),
            p50_us: seen.p50_us,
            p99_us: seen.p99_us,
            syscalls_per_answer: self.syscalls_per_answer(load, asking, running)?,
            memory_mib: running.process.proportional_bytes() as f64 / f64::from(1 << 20),
        })
    }

    /// Counted in a pass of its own, in the first round and where CPU is compared, since counting costs.
    fn syscalls_per_answer(
        &self,
        load: Load,
        asking: Asking,
        running: &Running<'_>,
    ) -> anyhow::Result<Option<f64>> {
        if self.round > 0 || load != Load::Open(NEARLY_ALL) {
            return Ok(None);
        }
        let counter = SyscallCounter::of(running.process, running.scratch);
        let seen = asking.apply(self.bed, self.zone, TRIAL_S, Some(&counter))?;
        Ok(counter.count()?.map(|count| count as f64 / seen.answer_count.max(1) as f64))
    }
}

/// Waits until a server is done with what it does by itself after its start: answers made beforehand, zones written.
fn await_rest(process: &Process) -> anyhow::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    let mut spent = process.user_time()?;
    while Instant::now() < deadline {
        std::thread::sleep(REST);
        let now = process.user_time()?;
        if now.saturating_sub(spent) < REST / 10 {
            return Ok(());
        }
        spent = now;
    }
    Ok(())
}
