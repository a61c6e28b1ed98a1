//! How long a processor was busy, for whomever, between two points.
//!
//! The kernel offers three clocks, and the two that are fine do not see everything:
//!
//! | source | step | sees | misses |
//! |---|---|---|---|
//! | user, system, softirq of /proc/stat | sampled at the tick, 4 ms | everything | what runs between ticks |
//! | idle of /proc/stat | measured, printed in 10 ms | everything, as the rest of the time | - |
//! | schedstat of a thread | 1 ns | a thread, and interrupts while it ran | interrupts of an idle processor |
//!
//! So [`CpuSpent::busy`] is the time that passed less the idle time, which over some seconds is good to a few
//! tenths of a percent, and [`CpuSpent::threads`] is the sum over the threads that were named. What is
//! between them is interrupts, or somebody else who should not have been there.

use std::fs;
use std::time::{Duration, Instant};

use tidegate_sys::cpu::{self, CpuTime};

use crate::TestbedError;

/// A measurement under way.
#[derive(Debug)]
pub struct CpuMeter {
    cpu: usize,
    threads: Vec<(u32, Duration)>,
    began: Instant,
    time: CpuTime,
}

/// What a processor did between start and stop.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuSpent {
    /// Time that passed.
    pub elapsed: Duration,
    /// Time in which the processor was not idle.
    pub busy: Duration,
    /// Time in which the threads that were named ran, on any processor.
    pub threads: Duration,
}

impl CpuMeter {
    /// Starts to measure `cpu`, and beside it `threads`: the server's and those that receive for it. The
    /// processor's softirq thread is counted with them.
    pub fn start(cpu: usize, threads: &[u32]) -> Result<CpuMeter, TestbedError> {
        let timed = |thread: u32| Ok((thread, cpu::time_of(thread)?));
        let threads = threads
            .iter()
            .copied()
            .chain(softirq_thread(cpu))
            .map(timed)
            .collect::<Result<_, TestbedError>>()?;
        Ok(CpuMeter { cpu, threads, began: Instant::now(), time: cpu::busy(cpu)? })
    }

    /// Reads the meter. Threads that have ended meanwhile count nothing.
    pub fn stop(self) -> Result<CpuSpent, TestbedError> {
        let elapsed = self.began.elapsed();
        let idle = cpu::busy(self.cpu)?.since(&self.time).idle;
        let ran = |&(thread, before): &(u32, Duration)| {
            cpu::time_of(thread).map_or(Duration::ZERO, |now| now.saturating_sub(before))
        };
        Ok(CpuSpent {
            elapsed,
            busy: elapsed.saturating_sub(idle),
            threads: self.threads.iter().map(ran).sum(),
        })
    }
}

/// The kernel thread that runs what a processor's softirqs put off.
fn softirq_thread(cpu: usize) -> Option<u32> {
    let name = format!("ksoftirqd/{cpu}\n");
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers.find(|pid| fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm == name))
}
