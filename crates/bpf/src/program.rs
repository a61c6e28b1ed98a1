//! The loaded program and its maps.
//!
//! Not attached to anything by itself ([`XdpProgram::attach`] does that), and no cache: each method is one
//! operation on a map in the kernel, so that several processes may hold the same pinned program.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use libbpf_rs::{ErrorKind, MapCore, MapFlags, MapHandle, ObjectBuilder, OpenObject, ProgramHandle};
use zerocopy::{FromBytes, IntoBytes};

use crate::abi::{Action, Reason, Settings, SteeringValue, TupleKey};
use crate::attach::{self, AttachError, Attachment, ModeChoice};
use crate::counters::Counters;
use crate::steering::Steering;
use crate::tuple::Tuple;
use crate::{log, object, raw};

/// Lines of the kernel's verifier that a refusal quotes.
const VERIFIER_LINES: usize = 12;

/// Sizes of the maps, fixed by the load.
#[derive(Clone, Copy, Debug)]
pub struct LoadOptions {
    /// Tuples that can be registered at once.
    pub tuple_count_max: u32,
    /// Receive queues that can have a socket: at least the device's.
    pub queue_count_max: u32,
    /// Stacks that can share the NIC.
    pub stack_count_max: u32,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self { tuple_count_max: 4096, queue_count_max: 128, stack_count_max: 1024 }
    }
}

/// Why the program was not loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The process lacks the capabilities.
    #[error("not permitted to load the XDP program: run as root or with CAP_BPF and CAP_NET_ADMIN")]
    NotPermitted,
    /// The kernel's verifier did not accept the program.
    #[error("the kernel refused the XDP program: {source:#}; the end of its log:\n{log}")]
    Refused {
        /// What the kernel returned.
        source: libbpf_rs::Error,
        /// The last lines of libbpf's and the verifier's messages.
        log: String,
    },
    /// The embedded object lacks a part that this loader knows.
    #[error("the embedded XDP object has no `{part}`: rebuild tidegate-bpf")]
    Incomplete {
        /// The program or map.
        part: &'static str,
    },
}

/// An operation on a map of the program that failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {attempted}: {source:#}")]
pub struct MapError {
    attempted: String,
    source: libbpf_rs::Error,
}

/// Why a tuple was not registered.
#[derive(Debug, thiserror::Error)]
pub enum RegisterError {
    /// The tuple is registered on this device already.
    #[error("{0} is already registered on this device: unregister it first")]
    Taken(Tuple),
    /// All places for tuples are taken.
    #[error("cannot register {tuple}: all {capacity} places for tuples on this device are taken")]
    Full {
        /// What was to be registered.
        tuple: Tuple,
        /// [`LoadOptions::tuple_count_max`].
        capacity: u32,
    },
    /// Anything else.
    #[error(transparent)]
    Map(#[from] MapError),
}

/// What a run of a program on one frame gave; see [`XdpProgram::test_run`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestRun {
    /// What the kernel would have done with the frame.
    pub action: Action,
    /// Mean time of a run.
    pub duration: Duration,
}

/// The XDP program, loaded, with its maps and the programs of stacks' veths. Load one for each NIC.
#[derive(Debug)]
pub struct XdpProgram {
    pub(crate) programs: Programs,
    pub(crate) maps: Maps,
}

/// Declares a structure of handles by their names in `xdp/`.
macro_rules! handles {
    ($(#[doc = $doc:literal])* $kind:ident of $handle:ident: $($field:ident = $name:literal,)*) => {
        $(#[doc = $doc])*
        #[derive(Debug)]
        pub(crate) struct $kind {
            $(pub(crate) $field: $handle,)*
        }

        impl $kind {
            pub(crate) const NAMES: [&str; [$($name),*].len()] = [$($name),*];

            /// Collects the handles; `find` gives the one of a name.
            pub(crate) fn try_collect<E>(find: impl Fn(&'static str) -> Result<$handle, E>) -> Result<Self, E> {
                Ok(Self { $($field: find($name)?,)* })
            }

            pub(crate) fn named(&self) -> [(&'static str, &$handle); Self::NAMES.len()] {
                [$(($name, &self.$field)),*]
            }
        }
    };
}

handles! {
    /// The programs of `xdp/tidegate.bpf.c`.
    Programs of ProgramHandle:
    demux = "tidegate",
    egress = "host_egress",
    ingress = "host_ingress",
    end = "stack_end",
    offload = "offload_ingress",
}

handles! {
    /// The maps of `xdp/maps.h`.
    Maps of MapHandle:
    tuples = "tuples",
    sockets = "sockets",
    settings = "settings",
    counters = "counters",
    slot_sockets = "slot_sockets",
    slot_queues = "slot_queues",
    devices = "devices",
    end_sockets = "end_sockets",
    stacks = "stacks",
    owners = "owners",
    paces = "paces",
    addresses = "addresses",
    nic = "nic",
    way_out = "way_out",
    tables = "tables",
    services = "services",
    offload = "offload",
    outcomes = "outcomes",
}

impl XdpProgram {
    /// Loads the embedded program and makes its maps, empty. Needs CAP_BPF and CAP_NET_ADMIN.
    pub fn load(options: &LoadOptions) -> Result<Self, LoadError> {
        let (loaded, messages) = log::captured(|| load_object(options));
        let object = loaded.map_err(|source| load_error(source, &messages))?;
        let programs = Programs::try_collect(|name| {
            let program = object.progs_mut().find(|program| program.name() == name);
            let program = program.ok_or(LoadError::Incomplete { part: name })?;
            ProgramHandle::try_from(&program).map_err(|source| load_error(source, ""))
        })?;
        let maps = Maps::try_collect(|name| {
            let map = object.maps().find(|map| map.name() == name);
            let map = map.ok_or(LoadError::Incomplete { part: name })?;
            MapHandle::try_from(&map).map_err(|source| load_error(source, ""))
        })?;
        Ok(Self { programs, maps })
    }

    /// Attaches the program to a device of this thread's network namespace, by a link that the returned value
    /// owns. Needs CAP_NET_ADMIN.
    pub fn attach(&self, ifindex: u32, choice: ModeChoice) -> Result<Attachment, AttachError> {
        attach::attach(self.programs.demux.as_fd(), ifindex, choice)
    }

    /// Steers frames whose destination is `tuple`, and ICMP errors about frames from it, from now on.
    pub fn register(&self, tuple: Tuple, steering: Steering) -> Result<(), RegisterError> {
        let (key, value) = (tuple.to_key(), steering.to_value());
        let result = self.maps.tuples.update(key.as_bytes(), value.as_bytes(), MapFlags::NO_EXIST);
        result.map_err(|source| match source.kind() {
            ErrorKind::AlreadyExists => RegisterError::Taken(tuple),
            ErrorKind::TooBig => RegisterError::Full { tuple, capacity: self.maps.tuples.max_entries() },
            _ => map_error(format!("register {tuple}"), source).into(),
        })
    }

    /// Steers frames to `tuple` as [`register`](Self::register) does, whether it is registered or not: no frame goes
    /// anywhere else meanwhile.
    pub fn steer(&self, tuple: Tuple, steering: Steering) -> Result<(), MapError> {
        let value = steering.to_value();
        let result = self.maps.tuples.update(tuple.to_key().as_bytes(), value.as_bytes(), MapFlags::ANY);
        result.map_err(|source| map_error(format!("steer {tuple}"), source))
    }

    /// Leaves `tuple` to the host again; whether it was registered.
    pub fn unregister(&self, tuple: Tuple) -> Result<bool, MapError> {
        let result = self.maps.tuples.delete(tuple.to_key().as_bytes());
        found(result).map_err(|source| map_error(format!("unregister {tuple}"), source))
    }

    /// What is registered, in no order.
    pub fn registered(&self) -> Result<Vec<(Tuple, Steering)>, MapError> {
        let mut registered = Vec::new();
        for key in self.maps.tuples.keys() {
            let value = self.maps.tuples.lookup(&key, MapFlags::ANY);
            let value = value.map_err(|source| map_error("read the registered tuples", source))?;
            registered.extend(value.and_then(|value| decode_entry(&key, &value)));
        }
        Ok(registered)
    }

    /// Whether every frame of the device goes to the socket of its receive queue, ARP and Neighbor Discovery
    /// included: for a device that the stack has to itself.
    pub fn own_device(&self, own: bool) -> Result<(), MapError> {
        let settings = Settings { own_device: own.into() };
        let result = self.maps.settings.update(&0_u32.to_ne_bytes(), settings.as_bytes(), MapFlags::ANY);
        result.map_err(|source| map_error("set who owns the device", source))
    }

    /// Gives the AF_XDP socket `socket` the frames of receive queue `queue`. The kernel takes it off by
    /// itself when the socket is closed, and the host then gets those frames.
    pub fn set_xsk(&self, queue: u32, socket: impl AsFd) -> Result<(), MapError> {
        let socket = socket.as_fd().as_raw_fd();
        let result = self.maps.sockets.update(&queue.to_ne_bytes(), &socket.to_ne_bytes(), MapFlags::ANY);
        result.map_err(|source| {
            let capacity = self.maps.sockets.max_entries();
            map_error(format!("set the socket of receive queue {queue} (places for {capacity})"), source)
        })
    }

    /// Leaves the frames of receive queue `queue` to the host, whether a socket was set or not.
    pub fn unset_xsk(&self, queue: u32) -> Result<(), MapError> {
        let result = self.maps.sockets.delete(&queue.to_ne_bytes());
        result.map_err(|source| map_error(format!("unset the socket of receive queue {queue}"), source))
    }

    /// Frames counted since the load, summed over all CPUs.
    pub fn counters(&self) -> Result<Counters, MapError> {
        Counters::try_from_fn(|reason| self.counter(reason))
    }

    fn counter(&self, reason: Reason) -> Result<u64, MapError> {
        self.sum_over_cpus(&self.maps.counters, reason as u32, "read the program's counters")
    }

    /// A number that each CPU counts.
    pub(crate) fn sum_over_cpus(&self, map: &MapHandle, key: u32, attempted: &str) -> Result<u64, MapError> {
        let values = map.lookup_percpu(&key.to_ne_bytes(), MapFlags::ANY);
        let values = values.map_err(|source| map_error(attempted, source))?;
        Ok(values.unwrap_or_default().iter().map(|value| counter_value(value)).sum())
    }

    /// Runs the program `repeat` times on `frame` in the kernel, not on a device (BPF_PROG_TEST_RUN), and
    /// counts it as received on queue 0. The kernel refuses frames shorter than an Ethernet header (14 bytes).
    pub fn test_run(&self, frame: &[u8], repeat: u32) -> io::Result<TestRun> {
        let (action, duration) = raw::test_run(self.programs.demux.as_fd(), frame, repeat)?;
        match Action::from_number(action) {
            Some(action) => Ok(TestRun { action, duration }),
            None => Err(io::Error::other(format!("the XDP program returned action {action}"))),
        }
    }

    /// The kernel's number of the program, as `bpftool prog` shows it.
    pub fn id(&self) -> u32 {
        self.programs.demux.id()
    }
}

fn load_object(options: &LoadOptions) -> libbpf_rs::Result<libbpf_rs::Object> {
    let mut object = ObjectBuilder::default().name("tidegate")?.open_memory(object::bytes())?;
    size_map(&mut object, "tuples", options.tuple_count_max)?;
    size_map(&mut object, "sockets", options.queue_count_max)?;
    for map in ["slot_sockets", "slot_queues", "devices", "end_sockets", "stacks", "owners", "paces"] {
        size_map(&mut object, map, options.stack_count_max)?;
    }
    object.load()
}

fn size_map(object: &mut OpenObject, name: &str, count: u32) -> libbpf_rs::Result<()> {
    match object.maps_mut().find(|map| map.name() == name) {
        Some(mut map) => map.set_max_entries(count),
        None => Ok(()),
    }
}

/// The verifier answers EACCES or EINVAL and explains; a lack of rights is EPERM and explains nothing.
fn load_error(source: libbpf_rs::Error, messages: &str) -> LoadError {
    if source.kind() == ErrorKind::PermissionDenied && !messages.contains("PROG LOAD LOG") {
        return LoadError::NotPermitted;
    }
    LoadError::Refused { source, log: log::last_lines(messages, VERIFIER_LINES) }
}

pub(crate) fn map_error(attempted: impl Into<String>, source: libbpf_rs::Error) -> MapError {
    MapError { attempted: attempted.into(), source }
}

/// Tells a deleted entry from one that was not there.
pub(crate) fn found(deleted: libbpf_rs::Result<()>) -> libbpf_rs::Result<bool> {
    match deleted {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn decode_entry(key: &[u8], value: &[u8]) -> Option<(Tuple, Steering)> {
    let tuple = Tuple::from_key(TupleKey::read_from_bytes(key).ok()?)?;
    let steering = Steering::from_value(SteeringValue::read_from_bytes(value).ok()?)?;
    Some((tuple, steering))
}

fn counter_value(value: &[u8]) -> u64 {
    value.try_into().map_or(0, u64::from_ne_bytes)
}
