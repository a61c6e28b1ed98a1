//! The stacks that share a NIC, as the programs know them: by slot, a number from 0 to
//! [`LoadOptions::stack_count_max`](crate::LoadOptions).
//!
//! ```text
//!   own queue:  register(tuple, SlotSocket{slot}), set_slot_socket(slot, queue, socket)
//!   own veth:   set_nic(..), give_device(slot, host end), guard(host end), feed(stack's end), set_end_socket(slot, socket),
//!               register(tuple, Device{slot})
//! ```
//! Not here: who is which stack, and making the devices.
//!
//! Invariant: what leaves a veth's host end has passed the program's rules (`xdp/egress.h`); a device without a slot, a NIC
//! that was not set, a missing program all mean that nothing leaves.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd};

use libbpf_rs::{ErrorKind, MapCore, MapFlags, MapHandle};
use tidegate_wire::MacAddr;
use tidegate_wire::egress::{EgressVerdict, Rate};
use zerocopy::{FromBytes, IntoBytes};

use crate::abi::{Action, AddressKey, NicValue, PaceValue, STACK_END_IFINDEX_MIN, StackValue};
use crate::program::{MapError, TestRun, XdpProgram, found, map_error};
use crate::raw;
use crate::tuple::address_bytes;

/// How frames of stacks get from the host's end of a veth to the NIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WayOut {
    /// As packets of the kernel, through the NIC's queueing discipline: any NIC.
    #[default]
    Packet,
    /// Straight from XDP: a NIC whose driver takes redirected frames; on a veth its peer must run XDP.
    Xdp,
}

/// The NIC that stacks send through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nic {
    /// The device, in the namespace of the veths' host ends.
    pub ifindex: u32,
    /// Its address: the one that frames must be from.
    pub mac: MacAddr,
    /// The longest IP packet that may leave, in bytes.
    pub mtu: u32,
    /// How frames get there.
    pub way_out: WayOut,
}

fn pace_of(rate: Rate) -> PaceValue {
    PaceValue { byte_cost: rate.byte_cost(), burst: rate.burst_cost(), full_at: 0 }
}

/// What went to and came from a stack since its slot was last cleared, summed over all CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StackCounters {
    /// Frames redirected to it; a full ring behind the program may still lose some.
    pub to_frames: u64,
    /// Bytes of these.
    pub to_bytes: u64,
    /// Frames for it that came in on another queue than its socket's: dropped.
    pub wrong_queue_frames: u64,
    /// Bytes of frames that it sent and that went out.
    pub from_bytes: u64,
    from_frames: [u64; EgressVerdict::ALL.len()],
}

impl StackCounters {
    /// Those of a stack that a pipeline carries, which are counted there.
    pub const fn of_pipeline(
        to: (u64, u64),
        from_bytes: u64,
        from_frames: [u64; EgressVerdict::ALL.len()],
    ) -> Self {
        Self { to_frames: to.0, to_bytes: to.1, wrong_queue_frames: 0, from_bytes, from_frames }
    }

    /// Frames that it sent, by what became of them.
    pub const fn from_frames(&self, verdict: EgressVerdict) -> u64 {
        self.from_frames[verdict as usize]
    }

    /// Every verdict with its frames, in the order of [`EgressVerdict::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (EgressVerdict, u64)> + '_ {
        EgressVerdict::ALL.into_iter().zip(self.from_frames)
    }

    /// Frames that it sent and that were dropped, for whatever reason.
    pub fn dropped_frames(&self) -> u64 {
        self.from_frames[1..].iter().sum()
    }

    /// What was counted since `earlier`, an older reading of the same slot.
    pub fn since(&self, earlier: &Self) -> Self {
        let mut difference = *self;
        difference.to_frames -= earlier.to_frames.min(self.to_frames);
        difference.to_bytes -= earlier.to_bytes.min(self.to_bytes);
        difference.wrong_queue_frames -= earlier.wrong_queue_frames.min(self.wrong_queue_frames);
        difference.from_bytes -= earlier.from_bytes.min(self.from_bytes);
        for (frames, before) in difference.from_frames.iter_mut().zip(earlier.from_frames) {
            *frames -= before.min(*frames);
        }
        difference
    }

    fn add(&mut self, value: &StackValue) {
        self.to_frames += value.to_frames;
        self.to_bytes += value.to_bytes;
        self.wrong_queue_frames += value.wrong_queue_frames;
        self.from_bytes += value.from_bytes;
        for (sum, frames) in self.from_frames.iter_mut().zip(value.from_frames) {
            *sum += frames;
        }
    }
}

impl XdpProgram {
    /// How many stacks have room: slots are smaller numbers.
    pub fn stack_count_max(&self) -> u32 {
        self.maps.stacks.max_entries()
    }

    /// Gives `socket`, which is bound to `queue`, the frames of the stack `slot` that come in there; those that come in on
    /// other queues are dropped. When the socket is closed the host gets all of them.
    pub fn set_slot_socket(&self, slot: u32, queue: u32, socket: impl AsFd) -> Result<(), MapError> {
        let attempted = || format!("set the socket of stack {slot} on queue {queue}");
        // The queue first: a frame that comes in between must not be taken for one on a wrong queue of the old socket.
        self.unset_slot_socket(slot)?;
        put(&self.maps.slot_queues, slot, &queue.to_ne_bytes()).map_err(|e| map_error(attempted(), e))?;
        put(&self.maps.slot_sockets, slot, &socket.as_fd().as_raw_fd().to_ne_bytes())
            .map_err(|e| map_error(attempted(), e))
    }

    /// Leaves the frames of the stack `slot` to the host, whether it had a socket or not.
    pub fn unset_slot_socket(&self, slot: u32) -> Result<(), MapError> {
        clear(&self.maps.slot_sockets, slot)
            .map_err(|e| map_error(format!("unset the socket of stack {slot}"), e))
    }

    /// Gives the device `ifindex` of this thread's network namespace the frames of the stack `slot`, without letting it send:
    /// [`give_device`](Self::give_device) does both. When the device goes the host gets them.
    pub fn set_device(&self, slot: u32, ifindex: u32) -> Result<(), MapError> {
        put(&self.maps.devices, slot, &ifindex.to_ne_bytes())
            .map_err(|e| map_error(format!("make device {ifindex} that of stack {slot}"), e))
    }

    /// Leaves the frames of the stack `slot` to the host, whether it had a device or not.
    pub fn unset_device(&self, slot: u32) -> Result<(), MapError> {
        clear(&self.maps.devices, slot).map_err(|e| map_error(format!("unset the device of stack {slot}"), e))
    }

    /// Gives the stack `slot` the host's end `ifindex` of its veth: what is for it goes there, and what comes from there is
    /// checked as its own.
    pub fn give_device(&self, slot: u32, ifindex: u32) -> Result<(), MapError> {
        let result = self.maps.owners.update(&ifindex.to_ne_bytes(), &slot.to_ne_bytes(), MapFlags::ANY);
        result.map_err(|e| map_error(format!("let device {ifindex} send for stack {slot}"), e))?;
        self.set_device(slot, ifindex)
    }

    /// The opposite of [`give_device`](Self::give_device): nothing goes to or comes from it any more. Whether it was given.
    pub fn take_device(&self, slot: u32, ifindex: u32) -> Result<bool, MapError> {
        self.unset_device(slot)?;
        let result = self.maps.owners.delete(&ifindex.to_ne_bytes());
        found(result)
            .map_err(|e| map_error(format!("stop device {ifindex} from sending for stack {slot}"), e))
    }

    /// The host's ends that were given to stacks, with their slots, in no order.
    pub fn given_devices(&self) -> Result<Vec<(u32, u32)>, MapError> {
        let number = |bytes: &[u8]| bytes.try_into().map_or(0, u32::from_ne_bytes);
        let mut given = Vec::new();
        for key in self.maps.owners.keys() {
            let slot = self.maps.owners.lookup(&key, MapFlags::ANY);
            let slot = slot.map_err(|e| map_error("read the devices of stacks", e))?;
            given.extend(slot.map(|slot| (number(&key), number(&slot))));
        }
        Ok(given)
    }

    /// Gives `socket`, which is on the stack's end of the veth of `slot`, what comes out there. It need not be bound yet.
    pub fn set_end_socket(&self, slot: u32, socket: impl AsFd) -> Result<(), MapError> {
        put(&self.maps.end_sockets, slot, &socket.as_fd().as_raw_fd().to_ne_bytes())
            .map_err(|e| map_error(format!("set the socket behind the veth of stack {slot}"), e))
    }

    /// The number that the stack's end of the veth of `slot` must have in its namespace, for [`feed`](Self::feed).
    pub const fn stack_end_ifindex(slot: u32) -> u32 {
        STACK_END_IFINDEX_MIN + slot
    }

    /// Says which NIC stacks send through; until then nothing leaves.
    pub fn set_nic(&self, nic: &Nic) -> Result<(), MapError> {
        let attempted = |e| map_error(format!("let stacks send through device {}", nic.ifindex), e);
        match nic.way_out {
            WayOut::Xdp => put(&self.maps.way_out, 0, &nic.ifindex.to_ne_bytes()),
            WayOut::Packet => clear(&self.maps.way_out, 0),
        }
        .map_err(attempted)?;
        let value = NicValue {
            ifindex: nic.ifindex,
            mtu: nic.mtu,
            mac: nic.mac.0,
            is_redirected_by_xdp: (nic.way_out == WayOut::Xdp).into(),
            padding: 0,
        };
        put(&self.maps.nic, 0, value.as_bytes()).map_err(attempted)
    }

    /// Lets stacks that own a port of every address send from `address`, which is the NIC's.
    pub fn add_address(&self, address: IpAddr) -> Result<(), MapError> {
        let result = self.maps.addresses.update(address_key(address).as_bytes(), &[0; 4], MapFlags::ANY);
        result.map_err(|e| map_error(format!("let stacks send from {address}"), e))
    }

    /// The opposite of [`add_address`](Self::add_address); whether it had been added.
    pub fn remove_address(&self, address: IpAddr) -> Result<bool, MapError> {
        let result = self.maps.addresses.delete(address_key(address).as_bytes());
        found(result).map_err(|e| map_error(format!("stop stacks from sending from {address}"), e))
    }

    /// Limits what the stack `slot` may send; `None`: as much as it can. A rate outside of what [`Rate`] says is moved there.
    pub fn set_rate(&self, slot: u32, rate: Option<Rate>) -> Result<(), MapError> {
        let value = rate.map_or(PaceValue { byte_cost: 0, burst: 0, full_at: 0 }, pace_of);
        put(&self.maps.paces, slot, value.as_bytes())
            .map_err(|e| map_error(format!("set the rate of stack {slot}"), e))
    }

    /// What was counted for the stack `slot`.
    pub fn stack_counters(&self, slot: u32) -> Result<StackCounters, MapError> {
        let values = self.maps.stacks.lookup_percpu(&slot.to_ne_bytes(), MapFlags::ANY);
        let values = values.map_err(|e| map_error(format!("read the counters of stack {slot}"), e))?;
        let mut sum = StackCounters::default();
        for value in values.unwrap_or_default() {
            if let Ok(value) = StackValue::read_from_bytes(&value) {
                sum.add(&value);
            }
        }
        Ok(sum)
    }

    /// Makes `slot` one that nobody has had: nothing goes to it, no rate, counters zero. Tuples and devices
    /// that were given are the caller's to take.
    pub fn clear_slot(&self, slot: u32) -> Result<(), MapError> {
        self.unset_slot_socket(slot)?;
        self.unset_device(slot)?;
        self.set_rate(slot, None)?;
        let attempted = |e| map_error(format!("clear slot {slot}"), e);
        clear(&self.maps.end_sockets, slot).map_err(attempted)?;
        let zeros =
            vec![vec![0; size_of::<StackValue>()]; libbpf_rs::num_possible_cpus().map_err(attempted)?];
        self.maps.stacks.update_percpu(&slot.to_ne_bytes(), &zeros, MapFlags::ANY).map_err(attempted)
    }

    /// Puts the check of what stacks send onto the host's end `ifindex` of a veth, in this thread's network namespace, for as
    /// long as the device exists. Before the device is raised, or frames get past it. Needs CAP_NET_ADMIN.
    pub fn guard(&self, ifindex: u32) -> io::Result<()> {
        raw::attach_tcx_ingress(self.programs.ingress.as_fd(), ifindex)?;
        raw::attach_xdp(self.programs.egress.as_fd(), ifindex)
    }

    /// Puts the program that feeds the stack's socket onto its end `ifindex` of a veth, in this thread's network
    /// namespace, for as long as the device exists. Its number must be [`stack_end_ifindex`](Self::stack_end_ifindex) of
    /// its slot. Needs CAP_NET_ADMIN.
    pub fn feed(&self, ifindex: u32) -> io::Result<()> {
        raw::attach_xdp(self.programs.end.as_fd(), ifindex)
    }

    /// Runs the check of what stacks send `repeat` times on `frame`, as [`test_run`](Self::test_run) does, as if it came in
    /// on the loopback device of this thread's network namespace, which a stack must have been given.
    pub fn test_run_egress(&self, frame: &[u8], repeat: u32) -> io::Result<TestRun> {
        let (action, duration) = raw::test_run(self.programs.egress.as_fd(), frame, repeat)?;
        match Action::from_number(action) {
            Some(action) => Ok(TestRun { action, duration }),
            None => Err(io::Error::other(format!("the check of what stacks send returned action {action}"))),
        }
    }
}

fn address_key(address: IpAddr) -> AddressKey {
    let (address, ip_version) = address_bytes(address);
    AddressKey { address, ip_version: ip_version.into() }
}

fn put(map: &MapHandle, index: u32, value: &[u8]) -> libbpf_rs::Result<()> {
    map.update(&index.to_ne_bytes(), value, MapFlags::ANY)
}

/// Empties a place of a map of sockets or devices. An empty one is no error.
fn clear(map: &MapHandle, index: u32) -> libbpf_rs::Result<()> {
    match map.delete(&index.to_ne_bytes()) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
