//! Processors: pinning threads to them, and how long they were busy.
//!
//! Not a scheduler. Which thread belongs on which processor is the caller's choice.

use std::fs;
use std::io;
use std::mem::size_of;
use std::time::Duration;

use crate::syscall::check;

/// A thread could not be kept to one processor.
#[derive(Debug, thiserror::Error)]
#[error(
    "could not pin {thread} to CPU {cpu}: {source}; choose a CPU below {count} that this process may use"
)]
pub struct PinError {
    /// Which thread, in words.
    pub thread: String,
    /// The processor that was wanted.
    pub cpu: usize,
    /// How many processors there are.
    pub count: usize,
    /// What the kernel said.
    pub source: io::Error,
}

/// Processor time could not be read.
#[derive(Debug, thiserror::Error)]
#[error("could not read the processor time of {subject}: {source}")]
pub struct TimeError {
    /// Whose time.
    pub subject: String,
    /// What the kernel said.
    pub source: io::Error,
}

/// How many processors are configured, those included that this process may not use.
pub fn count() -> usize {
    // SAFETY: takes no pointers.
    let configured = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) };
    usize::try_from(configured).unwrap_or(1).max(1)
}

/// Keeps the calling thread on `cpu`.
///
/// Needs no capability. Source: sched_setaffinity(2).
pub fn pin_current_thread(cpu: usize) -> Result<(), PinError> {
    set_affinity(0, cpu).map_err(|source| pin_error("this thread".into(), cpu, source))
}

/// Has the calling thread run only when nobody else wants its processor; whoever wakes up there takes its place.
///
/// Needs no capability. Source: sched_setscheduler(2), SCHED_IDLE.
pub fn run_when_idle() -> io::Result<()> {
    // SAFETY: `sched_param` is an array of integers, for which zero is a value.
    let param: libc::sched_param = unsafe { std::mem::zeroed() };
    // SAFETY: the call reads `param`; zero is the calling thread.
    crate::syscall::check(unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &param) }).map(drop)
}

/// Keeps the thread or single-threaded process `pid` on `cpu`; kernel threads may be pinned too.
///
/// Needs CAP_SYS_NICE where the thread is another user's. Source: sched_setaffinity(2).
pub fn pin(pid: u32, cpu: usize) -> Result<(), PinError> {
    let thread = libc::pid_t::try_from(pid).map_err(|_| io::Error::from_raw_os_error(libc::ESRCH));
    thread
        .and_then(|thread| set_affinity(thread, cpu))
        .map_err(|source| pin_error(format!("thread {pid}"), cpu, source))
}

fn pin_error(thread: String, cpu: usize, source: io::Error) -> PinError {
    PinError { thread, cpu, count: count(), source }
}

fn set_affinity(thread: libc::pid_t, cpu: usize) -> io::Result<()> {
    if cpu >= libc::CPU_SETSIZE as usize {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    // SAFETY: `cpu_set_t` is an array of integers, for which zero is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `cpu` was checked to lie within the set.
    unsafe { libc::CPU_SET(cpu, &mut set) };
    // SAFETY: `set` is valid for reads of its size.
    check(unsafe { libc::sched_setaffinity(thread, size_of::<libc::cpu_set_t>(), &set) })?;
    Ok(())
}

/// The processors that the calling thread may run on, ascending.
///
/// Source: sched_getaffinity(2).
pub fn allowed() -> Vec<usize> {
    // SAFETY: `cpu_set_t` is an array of integers, for which zero is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is valid for writes of its size.
    unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) };
    // SAFETY: every index is below CPU_SETSIZE.
    (0..libc::CPU_SETSIZE as usize).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) }).collect()
}

/// How long the calling thread has run, in user space and in the kernel on its own behalf.
///
/// Softirqs that interrupt it are not in it: see [`busy`]. Source: clock_gettime(2).
pub fn thread_time() -> Duration {
    processor_clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// How long all threads of this process have run. Source: clock_gettime(2).
pub fn process_time() -> Duration {
    processor_clock(libc::CLOCK_PROCESS_CPUTIME_ID)
}

fn processor_clock(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writes; both clocks exist on every Linux, so the call cannot fail.
    unsafe { libc::clock_gettime(clock, &mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// Where one processor's time went since boot, in the steps of the kernel's tick (often 10 ms).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// User space, `nice`d or not.
    pub user: Duration,
    /// The kernel on behalf of threads, its own included (NAPI threads run here).
    pub system: Duration,
    /// Interrupt handlers.
    pub irq: Duration,
    /// Softirqs: most of the network stack's receive side.
    pub softirq: Duration,
    /// Nothing to do, or waiting for a disk.
    pub idle: Duration,
    /// Taken by the hypervisor for others.
    pub steal: Duration,
}

impl CpuTime {
    /// Everything that ran on the processor, for whomever.
    pub fn busy(&self) -> Duration {
        self.user + self.system + self.irq + self.softirq
    }

    /// What passed between `earlier` and this.
    pub fn since(&self, earlier: &CpuTime) -> CpuTime {
        CpuTime {
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
            irq: self.irq.saturating_sub(earlier.irq),
            softirq: self.softirq.saturating_sub(earlier.softirq),
            idle: self.idle.saturating_sub(earlier.idle),
            steal: self.steal.saturating_sub(earlier.steal),
        }
    }
}

/// Where the time of `cpu` went since boot, whoever used it.
///
/// Needs no capability. Source: proc_stat(5).
pub fn busy(cpu: usize) -> Result<CpuTime, TimeError> {
    let error = |source| TimeError { subject: format!("CPU {cpu}"), source };
    let stat = fs::read_to_string("/proc/stat").map_err(error)?;
    let ticks_per_s = ticks_per_s();
    parse_cpu_time(&stat, cpu, ticks_per_s).ok_or_else(|| error(io::ErrorKind::NotFound.into()))
}

fn ticks_per_s() -> u64 {
    // SAFETY: takes no pointers.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    u64::try_from(ticks).unwrap_or(100).max(1)
}

/// `cpuN user nice system idle iowait irq softirq steal guest guest_nice`, in ticks.
fn parse_cpu_time(stat: &str, cpu: usize, ticks_per_s: u64) -> Option<CpuTime> {
    let label = format!("cpu{cpu} ");
    let fields = stat.lines().find_map(|line| line.strip_prefix(&label))?;
    let ticks: Vec<u64> = fields.split_whitespace().map_while(|field| field.parse().ok()).collect();
    let spent =
        |index: usize| ticks.get(index).map(|&count| Duration::from_millis(count * 1000 / ticks_per_s));
    Some(CpuTime {
        user: spent(0)? + spent(1)?,
        system: spent(2)?,
        idle: spent(3)? + spent(4)?,
        irq: spent(5)?,
        softirq: spent(6)?,
        steal: spent(7).unwrap_or_default(),
    })
}

/// How long the thread or process `pid` has run, in the steps of the scheduler's own clock (1 ns).
///
/// Needs no capability for one's own. Source: proc_pid_schedstat, scheduler/sched-stats.rst.
pub fn time_of(pid: u32) -> Result<Duration, TimeError> {
    let error = |source| TimeError { subject: format!("thread {pid}"), source };
    let text = fs::read_to_string(format!("/proc/{pid}/schedstat")).map_err(error)?;
    let first = text.split_whitespace().next().and_then(|field| field.parse().ok());
    first.map(Duration::from_nanos).ok_or_else(|| error(io::ErrorKind::InvalidData.into()))
}

/// How long all threads of the process `pid` have run in user space, those included that have ended.
///
/// Steps of 10 ms, which the kernel splits from the exact total by what each of its ticks met. Needs no
/// capability. Source: proc_pid_stat(5).
pub fn user_time_of(pid: u32) -> Result<Duration, TimeError> {
    let error = |source| TimeError { subject: format!("process {pid}"), source };
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).map_err(error)?;
    parse_user_time(&stat, ticks_per_s()).ok_or_else(|| error(io::ErrorKind::InvalidData.into()))
}

/// `pid (comm) state ppid ...`: utime is field 14, and a comm may hold anything, parentheses too.
fn parse_user_time(stat: &str, ticks_per_s: u64) -> Option<Duration> {
    let (_, after_comm) = stat.rsplit_once(')')?;
    let ticks: u64 = after_comm.split_whitespace().nth(11)?.parse().ok()?;
    Some(Duration::from_millis(ticks * 1000 / ticks_per_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_may_run_nowhere_else() {
        let cpu = *allowed().last().unwrap();
        let seen = std::thread::spawn(move || {
            pin_current_thread(cpu).unwrap();
            allowed()
        });
        assert_eq!(seen.join().unwrap(), vec![cpu]);
    }

    #[test]
    fn an_absent_cpu_is_named_in_the_error() {
        let text = pin_current_thread(1 << 20).unwrap_err().to_string();
        assert!(text.contains("CPU 1048576"), "{text}");
    }

    #[test]
    fn a_line_of_proc_stat() {
        let stat = "cpu  1 1 1 1 1 1 1 1\ncpu0 9 9 9 9 9 9 9 9 9 9\ncpu1 100 1 20 300 5 6 70 8 0 0\n";
        let time = parse_cpu_time(stat, 1, 100).unwrap();
        assert_eq!(time.user, Duration::from_millis(1010));
        assert_eq!(time.idle, Duration::from_millis(3050));
        assert_eq!(time.busy(), Duration::from_millis(1010 + 200 + 60 + 700));
        assert_eq!(parse_cpu_time(stat, 2, 100), None);
    }

    #[test]
    fn a_process_stat_whose_name_is_hostile() {
        let stat = "7 (a) R 1 (b) R 1 2 3 4 5 6 7 8 9 10 250 40 0 0 20 0 1";
        assert_eq!(parse_user_time(stat, 100), Some(Duration::from_millis(2500)));
        assert_eq!(parse_user_time("7 (a) R 1", 100), None);
    }

    #[test]
    fn work_shows_in_the_thread_clock() {
        let before = thread_time();
        let mut sum = 0_u64;
        while thread_time() == before {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(process_time() >= thread_time());
        assert!(busy(0).unwrap().busy() > Duration::ZERO);
        assert!(time_of(std::process::id()).unwrap() > Duration::ZERO);
    }
}
