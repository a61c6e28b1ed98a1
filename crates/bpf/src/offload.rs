//! The offload: datagrams for a service that the program answers itself, by the rules of a table.
//!
//! ```text
//!   offload_table(pages) -> OffloadTable: words, mapped ---written by crates/offload---+
//!   set_table(slot, &table)       serve(tuple, slot)       answer_as(mac, mtu)         v
//!                                  tuple -> slot -> table -> records: what the kernel answers
//! ```
//! What is in a table is not known here. Invariant: what is not set up completely answers nothing.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};

use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType};
use tidegate_sys::shared_memory::SharedMemory;
use tidegate_wire::MacAddr;
use zerocopy::IntoBytes;

use crate::abi::{Action, OFFLOAD_PAGE_LEN, OffloadOutcome, OffloadPlace, OffloadValue, ServiceValue};
use crate::attach::{AttachError, Fallback, attach_fallback};
use crate::program::{MapError, TestRun, XdpProgram, found, map_error};
use crate::raw;
use crate::tuple::Tuple;

/// A table's memory: pages of 64 KiB that the kernel reads and this process has mapped. Zeroed when made.
#[derive(Debug)]
pub struct OffloadTable {
    map: MapHandle,
    memory: SharedMemory,
    page_count: usize,
    slot: u32,
    /// A map of maps of this table's own, which is changed for nothing but that the kernel waits where one is.
    grace: MapHandle,
}

impl OffloadTable {
    /// Pages.
    pub const fn page_count(&self) -> usize {
        self.page_count
    }

    /// The eight bytes that are word `at`, 0 where there is none; what was written before is seen behind this.
    #[inline]
    pub fn load(&self, at: usize) -> u64 {
        self.memory.acquire_u64(at.saturating_mul(8))
    }

    /// Puts a word, if there is a place, behind all that was written before.
    #[inline]
    pub fn store(&self, at: usize, word: u64) {
        self.memory.release_u64(at.saturating_mul(8), word);
    }

    /// Puts `new` where `old` is; whether it was.
    #[inline]
    pub fn replace(&self, at: usize, old: u64, new: u64) -> bool {
        self.memory.replace_u64(at.saturating_mul(8), old, new)
    }

    /// Waits until no run of the program that has begun still uses what it found in a table: the kernel waits for a grace period
    /// where a map of maps is changed (`maybe_wait_bpf_programs` in `kernel/bpf/syscall.c`).
    pub fn quiesce(&self) -> Result<(), MapError> {
        put_table(&self.grace, 0, &self.map)
            .map_err(|e| map_error(format!("wait for readers of table {}", self.slot), e))
    }
}

fn put_table(tables: &MapHandle, slot: u32, map: &MapHandle) -> libbpf_rs::Result<()> {
    let map = map.as_fd().as_raw_fd();
    tables.update(&slot.to_ne_bytes(), &map.to_ne_bytes(), MapFlags::ANY)
}

fn make_table(slot: u32, page_count: usize) -> libbpf_rs::Result<OffloadTable> {
    let options = |inner_map_fd, map_flags| libbpf_sys::bpf_map_create_opts {
        sz: size_of::<libbpf_sys::bpf_map_create_opts>() as libbpf_sys::size_t,
        map_flags,
        inner_map_fd,
        ..Default::default()
    };
    let flags = libbpf_sys::BPF_F_MMAPABLE | libbpf_sys::BPF_F_INNER_MAP;
    let count = u32::try_from(page_count).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    let map = MapHandle::create(
        MapType::Array,
        Some("offload_table"),
        4,
        OFFLOAD_PAGE_LEN,
        count,
        &options(0, flags),
    )?;
    let inner = map.as_fd().as_raw_fd() as u32;
    let grace = MapHandle::create(MapType::ArrayOfMaps, Some("offload_grace"), 4, 4, 1, &options(inner, 0))?;
    let memory = map.as_fd().try_clone_to_owned()?;
    let memory = SharedMemory::of_kernel(memory, page_count * OFFLOAD_PAGE_LEN as usize);
    let memory = memory.map_err(io::Error::other)?;
    Ok(OffloadTable { map, memory, page_count, slot, grace })
}

/// Datagrams for services, by where they were looked at and what became of them, summed over all CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OffloadCounters {
    frames: [[u64; OffloadOutcome::ALL.len()]; OffloadPlace::ALL.len()],
}

impl OffloadCounters {
    /// Datagrams of one kind.
    pub const fn of(&self, place: OffloadPlace, outcome: OffloadOutcome) -> u64 {
        self.frames[place as usize][outcome as usize]
    }

    /// Every place and outcome with its datagrams.
    pub fn iter(&self) -> impl Iterator<Item = (OffloadPlace, OffloadOutcome, u64)> + '_ {
        let of_place = |place| OffloadOutcome::ALL.map(|outcome| (place, outcome, self.of(place, outcome)));
        OffloadPlace::ALL.into_iter().flat_map(of_place)
    }

    /// What was counted since `earlier`, an older reading of the same program.
    pub fn since(&self, earlier: &Self) -> Self {
        let mut difference = *self;
        let counts = difference.frames.as_flattened_mut().iter_mut();
        for (frames, before) in counts.zip(earlier.frames.as_flattened()) {
            *frames = frames.wrapping_sub(*before);
        }
        difference
    }
}

impl XdpProgram {
    /// How many tables the program can have at once: slots are smaller numbers.
    pub fn table_count_max(&self) -> u32 {
        self.maps.tables.max_entries()
    }

    /// Memory for a table of `page_count` pages of 64 KiB in `slot`, which nothing leads to before
    /// [`set_table`](Self::set_table).
    pub fn offload_table(&self, slot: u32, page_count: usize) -> Result<OffloadTable, MapError> {
        make_table(slot, page_count).map_err(|e| {
            map_error(format!("make table {slot} of {page_count} pages of {OFFLOAD_PAGE_LEN} bytes"), e)
        })
    }

    /// Lets services find a table in its slot, in the place of the one that is there. Returns when nobody uses that any more.
    pub fn set_table(&self, table: &OffloadTable) -> Result<(), MapError> {
        put_table(&self.maps.tables, table.slot, &table.map)
            .map_err(|e| map_error(format!("set table {}", table.slot), e))
    }

    /// Lets services find none in `slot`, whether there was one or not.
    pub fn unset_table(&self, slot: u32) -> Result<(), MapError> {
        let result = self.maps.tables.delete(&slot.to_ne_bytes());
        found(result).map(drop).map_err(|e| map_error(format!("unset table {slot}"), e))
    }

    /// Looks at datagrams to `address` by the table in `slot` from now on. The address must be one: a service of all addresses
    /// would answer what is only passing through.
    pub fn serve(&self, address: SocketAddr, slot: u32) -> Result<(), MapError> {
        let tuple = Tuple::udp(address.ip(), address.port());
        let attempted = || format!("answer for {tuple} by table {slot}");
        if address.ip().is_unspecified() {
            let error = io::Error::new(io::ErrorKind::InvalidInput, "name an address of the server");
            return Err(map_error(attempted(), error.into()));
        }
        let value = ServiceValue { table: slot };
        let result = self.maps.services.update(tuple.to_key().as_bytes(), value.as_bytes(), MapFlags::ANY);
        result.map_err(|e| map_error(attempted(), e))
    }

    /// Leaves datagrams to `address` to its server again; whether they were looked at.
    pub fn unserve(&self, address: SocketAddr) -> Result<bool, MapError> {
        let tuple = Tuple::udp(address.ip(), address.port());
        let result = self.maps.services.delete(tuple.to_key().as_bytes());
        found(result).map_err(|e| map_error(format!("stop answering for {tuple}"), e))
    }

    /// Looks at datagrams to `mac` and answers with IP packets of at most `mtu` bytes, from now on. What the NIC has it must be told
    /// again when that changes.
    pub fn answer_as(&self, mac: MacAddr, mtu: u32) -> Result<(), MapError> {
        self.set_offload(OffloadValue { mtu, mac: mac.0, padding: [0; 2] })
    }

    /// Looks at nothing, whatever services and tables there are: at once, and for next to no cost a frame.
    pub fn answer_nothing(&self) -> Result<(), MapError> {
        self.set_offload(OffloadValue { mtu: 0, mac: [0; 6], padding: [0; 2] })
    }

    fn set_offload(&self, value: OffloadValue) -> Result<(), MapError> {
        let result = self.maps.offload.update(&0_u32.to_ne_bytes(), value.as_bytes(), MapFlags::ANY);
        result.map_err(|e| map_error("set how the offload answers", e))
    }

    /// What became of datagrams for services, since the load.
    pub fn offload_counters(&self) -> Result<OffloadCounters, MapError> {
        let mut counters = OffloadCounters::default();
        for (place, frames) in OffloadPlace::ALL.into_iter().zip(&mut counters.frames) {
            for (outcome, frames) in OffloadOutcome::ALL.into_iter().zip(frames) {
                let key = place as u32 * OffloadOutcome::ALL.len() as u32 + outcome as u32;
                *frames = self.sum_over_cpus(&self.maps.outcomes, key, "read the offload's counters")?;
            }
        }
        Ok(counters)
    }

    /// Puts the second program behind the first, at tc ingress of a device of this thread's network namespace: for replies that
    /// outgrow the frame of their request, and for devices whose driver runs no XDP. Needs CAP_NET_ADMIN.
    pub fn attach_fallback(&self, ifindex: u32) -> Result<Fallback, AttachError> {
        attach_fallback(self.programs.offload.as_fd(), ifindex)
    }

    /// Runs the program once on `frame`, as [`test_run`](Self::test_run) does; what it does and what the frame is then.
    pub fn test_reply(&self, frame: &[u8]) -> io::Result<(Action, Vec<u8>)> {
        let (action, frame) = raw::test_frame(self.programs.demux.as_fd(), frame)?;
        match Action::from_number(action) {
            Some(action) => Ok((action, frame)),
            None => Err(io::Error::other(format!("the XDP program returned action {action}"))),
        }
    }

    /// The same by the second program: the reply, or nothing where the frame goes on as it was.
    pub fn test_fallback(&self, frame: &[u8]) -> io::Result<Option<Vec<u8>>> {
        match raw::test_frame(self.programs.offload.as_fd(), frame)? {
            (TC_ACT_REDIRECT, frame) => Ok(Some(frame)),
            (TC_ACT_UNSPEC, _) => Ok(None),
            (action, _) => {
                Err(io::Error::other(format!("the offload's second program returned action {action}")))
            }
        }
    }

    /// Runs the second program `repeat` times on `frame`, which no rule may answer, for its time.
    pub fn test_run_fallback(&self, frame: &[u8], repeat: u32) -> io::Result<TestRun> {
        let (_, duration) = raw::test_run(self.programs.offload.as_fd(), frame, repeat)?;
        Ok(TestRun { action: Action::Pass, duration })
    }

    /// How many instructions the kernel's verifier went through, by the name of the program.
    pub fn verified_instructions(&self) -> io::Result<Vec<(&'static str, u32)>> {
        let counted = |(name, program): (&'static str, &libbpf_rs::ProgramHandle)| {
            Ok((name, raw::verified_instructions(program.as_fd())?))
        };
        self.programs.named().into_iter().map(counted).collect()
    }
}

/// `linux/pkt_cls.h`.
const TC_ACT_REDIRECT: u32 = 7;
const TC_ACT_UNSPEC: u32 = u32::MAX;
