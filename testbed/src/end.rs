//! One host of a testbed: its namespace, its end of the cable, and what runs there.

use std::fs;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::process::{Command, ExitStatus, Output};
use std::time::Duration;

use tidegate_sys::ethtool::{Ethtool, Offload};
use tidegate_sys::netlink::{Address, Netlink};
use tidegate_sys::netns::Netns;
use tidegate_sys::{cpu, napi};

use crate::layout::{Layout, Segmentation, Side};
use crate::{Process, TestbedError};

/// For how long a cable whose ends are up may take to carry frames, however busy the machine.
const CARRIER_PATIENCE: Duration = Duration::from_secs(30);

/// One host of a testbed.
#[derive(Debug)]
pub struct End {
    side: Side,
    netns: Netns,
    cpu: Option<usize>,
}

impl End {
    pub(crate) fn new(side: Side, netns: Netns, cpu: Option<usize>) -> End {
        End { side, netns, cpu }
    }

    /// Its namespace, for threads that are to live there.
    pub fn netns(&self) -> &Netns {
        &self.netns
    }

    /// The device of its end of the cable.
    pub fn device(&self) -> &'static str {
        self.side.device()
    }

    /// Its IPv4 address.
    pub fn ipv4(&self) -> Ipv4Addr {
        self.side.ipv4()
    }

    /// Its IPv6 address.
    pub fn ipv6(&self) -> Ipv6Addr {
        self.side.ipv6()
    }

    /// The processor that its programs and its receive threads are kept on.
    pub fn cpu(&self) -> Option<usize> {
        self.cpu
    }

    /// Runs `work` inside its namespace and on its processor, on a thread of its own.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, TestbedError> {
        self.netns.run(|| {
            self.pin_current_thread()?;
            Ok(work())
        })?
    }

    /// Starts a program there; it is killed when the [`Process`] is dropped.
    ///
    /// A child inherits the namespace and the processor of the thread that starts it.
    pub fn spawn(&self, command: Command) -> Result<Process, TestbedError> {
        self.run(|| Process::start(command))?
    }

    /// Runs a program there to its end and takes what it wrote.
    pub fn output(&self, mut command: Command) -> Result<Output, TestbedError> {
        let program = command.get_program().to_string_lossy().into_owned();
        self.run(|| command.output())?.map_err(|source| TestbedError::Start { program, source })
    }

    /// Runs a program there to its end, its input and output being those of this process.
    pub fn status(&self, mut command: Command) -> Result<ExitStatus, TestbedError> {
        let program = command.get_program().to_string_lossy().into_owned();
        self.run(|| command.status())?.map_err(|source| TestbedError::Start { program, source })
    }

    /// The kernel threads that receive here.
    pub fn receive_threads(&self) -> Result<Vec<u32>, TestbedError> {
        Ok(self.netns.run(|| napi::threads(self.device()))??)
    }

    /// Pins the receive threads again: a program that loads XDP, or stops, may have made new ones.
    pub fn settle(&self) -> Result<(), TestbedError> {
        self.thread_receiving()
    }

    /// Keeps every thread of a program on this host's processor, also one that chose another for itself.
    pub fn keep(&self, process: &Process) -> Result<(), TestbedError> {
        let Some(cpu) = self.cpu else { return Ok(()) };
        // A thread that ended since it was listed needs no place.
        let alive = process.threads().into_iter().filter(|thread| cpu::time_of(*thread).is_ok());
        Ok(alive.into_iter().try_for_each(|thread| cpu::pin(thread, cpu))?)
    }

    /// Lets receive rounds gather frames: see [`napi::set_deferral`].
    pub fn defer_interrupts(&self, round_count: u32, flush: Duration) -> Result<(), TestbedError> {
        Ok(self.netns.run(|| napi::set_deferral(self.device(), round_count, flush.into()))??)
    }

    /// Sets one of the namespace's own parameters below `/proc/sys/net`, such as `ipv4/ip_local_port_range`.
    pub fn set_parameter(&self, name: &str, value: &str) -> Result<(), TestbedError> {
        let path = Path::new("/proc/sys/net").join(name);
        self.netns.run(|| fs::write(&path, value))?.map_err(|source| TestbedError::File {
            attempted: "write",
            path: path.display().to_string(),
            source,
        })
    }

    /// Switches an offload of its device. Turning [`Offload::GenericReceive`] on makes new receive threads,
    /// which are pinned again.
    pub fn set_offload(&self, offload: Offload, on: bool) -> Result<(), TestbedError> {
        self.netns.run(|| Ethtool::open(self.device())?.set(offload, on))??;
        if offload == Offload::GenericReceive && on {
            self.thread_receiving()?;
        }
        Ok(())
    }

    pub(crate) fn set_up(&self, layout: &Layout) -> Result<(), TestbedError> {
        let mut netlink = Netlink::open_in(&self.netns)?;
        let ifindex = netlink.link(self.device())?.ifindex;
        netlink.set_mtu(ifindex, layout.mtu)?;
        if layout.stops_senders && layout.queue_count == 1 {
            netlink.put_queue_before(ifindex)?;
        }
        netlink.set_up(ifindex, true)?;
        for (ip, prefix_len) in self.side.addresses() {
            netlink.add_address(ifindex, Address { ip, prefix_len })?;
        }
        Ok(())
    }

    /// Both ends must be up: only then has veth carrier, and receive threads.
    pub(crate) fn behave_like_a_wire(&self, segmentation: Segmentation) -> Result<(), TestbedError> {
        let mut netlink = Netlink::open_in(&self.netns)?;
        let ifindex = netlink.link(self.device())?.ifindex;
        netlink.await_running(ifindex, CARRIER_PATIENCE.into())?;
        // GRO is what turns NAPI on while no XDP program is loaded.
        self.set_offload(Offload::GenericReceive, true)?;
        match (self.side, segmentation) {
            (Side::Client, _) => self.finish_frames(),
            (Side::Server, Segmentation::Wire) => self.set_offload(Offload::TcpSegmentation, false),
            (Side::Server, Segmentation::Virtual) => Ok(()),
        }
    }

    /// What this host's kernel sends is complete and no longer than the MTU, so that AF_XDP can take it.
    fn finish_frames(&self) -> Result<(), TestbedError> {
        let left_open = [Offload::TcpSegmentation, Offload::GenericSegmentation, Offload::TxChecksum];
        left_open.into_iter().try_for_each(|offload| self.set_offload(offload, false))
    }

    fn thread_receiving(&self) -> Result<(), TestbedError> {
        self.netns.run(|| {
            napi::set_threaded(self.device(), true)?;
            if let Some(cpu) = self.cpu {
                napi::pin_threads(self.device(), cpu)?;
            }
            Ok(())
        })?
    }

    fn pin_current_thread(&self) -> Result<(), TestbedError> {
        match self.cpu {
            Some(cpu) => Ok(cpu::pin_current_thread(cpu)?),
            None => Ok(()),
        }
    }
}
