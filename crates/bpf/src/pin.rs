//! Names in the bpf file system, by which the program on a device outlives its process.
//!
//! ```text
//!   /sys/fs/bpf/tidegate/eth0/  tuples  sockets  settings  counters ...   maps (`xdp/maps.h`)
//!                               tidegate  host_egress ...                programs
//!                               link                                     to the device
//! ```
//!
//! Invariant: `link` is made last and removed first, so a directory with a `link` is complete. A bpf file
//! system is not a network namespace's: two devices of one name in two namespaces need two roots.

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use libbpf_rs::{MapCore, MapHandle, ProgramHandle};

use crate::abi::{
    AddressKey, NicValue, OffloadOutcome, OffloadPlace, OffloadValue, PaceValue, Reason, ServiceValue,
    Settings, StackValue, SteeringValue, TupleKey,
};
use crate::attach::{AttachError, Attachment};
use crate::program::{Maps, Programs, XdpProgram};
use crate::raw;

/// Where devices' directories are unless told otherwise.
pub const PIN_ROOT: &str = "/sys/fs/bpf/tidegate";

const LINK: &str = "link";

/// Why pinning, opening or removing failed.
#[derive(Debug, thiserror::Error)]
pub enum PinError {
    /// The name cannot be a device's.
    #[error("`{0}` is not a device name")]
    BadName(String),
    /// Nothing is pinned for the device.
    #[error("nothing is pinned at {}", path.display())]
    Absent {
        /// The device's directory.
        path: PathBuf,
    },
    /// The device's directory is there already.
    #[error("{} exists: open or remove what is pinned there first", path.display())]
    Exists {
        /// The device's directory.
        path: PathBuf,
    },
    /// What is pinned was made by a version with other maps.
    #[error("{} was pinned by another version of tidegate: remove it and attach anew", path.display())]
    OtherVersion {
        /// The map that differs.
        path: PathBuf,
    },
    /// The device is one of another network namespace.
    #[error(
        "what is pinned at {} is on a device of another network namespace: name another directory with --pins, or take \
         it off there with: tidegate detach",
        path.display()
    )]
    Elsewhere {
        /// The device's directory.
        path: PathBuf,
    },
    /// The device is gone, or the program was taken off it.
    #[error("what is pinned at {} is on no device any more: remove it and attach anew", path.display())]
    Defunct {
        /// The device's directory.
        path: PathBuf,
    },
    /// The file system refused.
    #[error(
        "cannot {attempted} {}: {source} (is a bpf file system mounted there? `mount -t bpf bpf /sys/fs/bpf`)",
        path.display()
    )]
    FileSystem {
        /// What was attempted.
        attempted: &'static str,
        /// On what.
        path: PathBuf,
        /// What the kernel returned.
        source: io::Error,
    },
    /// The kernel did not tell about the device.
    #[error(transparent)]
    Attach(#[from] AttachError),
}

/// The directory of one device in a bpf file system.
#[derive(Clone, Debug)]
pub struct PinDirectory {
    path: PathBuf,
}

impl PinDirectory {
    /// The directory of device `name` under `root`, which must be in a bpf file system.
    pub fn under(root: &Path, name: &str) -> Result<Self, PinError> {
        if name.is_empty() || name == "." || name == ".." || name.contains(['/', ':']) {
            return Err(PinError::BadName(name.to_owned()));
        }
        // The bpf file system refuses dots, which names of VLAN devices have; no device name has a colon.
        Ok(Self { path: root.join(name.replace('.', ":")) })
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a complete set is pinned.
    pub fn is_pinned(&self) -> bool {
        self.path.join(LINK).exists()
    }

    /// Pins `program` with its maps, and the link of `attachment`.
    pub fn pin(&self, program: &XdpProgram, attachment: &Attachment) -> Result<(), PinError> {
        if self.is_pinned() {
            return Err(PinError::Exists { path: self.path.clone() });
        }
        self.remove_files()?;
        let pinned = self.pin_all(program, attachment);
        if pinned.is_err() {
            // The error that matters is the first one.
            let _ = self.remove_files();
        }
        pinned
    }

    /// Opens what an earlier process pinned.
    pub fn open(&self) -> Result<(XdpProgram, Attachment), PinError> {
        // First of all: what is another namespace's is none of ours, of whatever version.
        let attachment = self.attachment()?;
        let maps = Maps::try_collect(|name| self.open_map(name))?;
        self.check_version(&maps)?;
        let programs = Programs::try_collect(|name| {
            let path = self.pinned_path(name)?;
            ProgramHandle::from_pinned_path(&path)
                .map_err(|source| failed("open", &path, io::Error::other(source)))
        })?;
        Ok((XdpProgram { programs, maps }, attachment))
    }

    /// What is pinned of the link, if that is on a device of this thread's network namespace.
    pub fn attachment(&self) -> Result<Attachment, PinError> {
        if self.is_pinned() {
            self.open_attachment()
        } else {
            Err(PinError::Absent { path: self.path.clone() })
        }
    }

    /// Takes the program off the device, also where a process still holds it, and removes the directory.
    /// Nothing pinned is no error.
    pub fn remove(&self) -> Result<(), PinError> {
        if self.is_pinned() {
            let path = self.path.join(LINK);
            let link = raw::open_pinned(&path).map_err(|source| failed("open", &path, source))?;
            raw::detach_link(link.as_fd()).map_err(|source| failed("detach", &path, source))?;
        }
        self.remove_files()
    }

    fn pin_all(&self, program: &XdpProgram, attachment: &Attachment) -> Result<(), PinError> {
        fs::create_dir_all(&self.path).map_err(|source| failed("make", &self.path, source))?;
        for (name, map) in program.maps.named() {
            self.pin_one(name, map)?;
        }
        for (name, program) in program.programs.named() {
            self.pin_one(name, program)?;
        }
        self.pin_one(LINK, &attachment.link())
    }

    fn pin_one(&self, name: &str, object: &impl AsFd) -> Result<(), PinError> {
        let path = self.path.join(name);
        raw::pin(object.as_fd(), &path).map_err(|source| failed("pin", &path, source))
    }

    /// The path of a part, which a complete set of this version has.
    fn pinned_path(&self, name: &str) -> Result<PathBuf, PinError> {
        let path = self.path.join(name);
        if path.exists() { Ok(path) } else { Err(PinError::OtherVersion { path }) }
    }

    fn open_map(&self, name: &str) -> Result<MapHandle, PinError> {
        let path = self.pinned_path(name)?;
        MapHandle::from_pinned_path(&path).map_err(|source| failed("open", &path, io::Error::other(source)))
    }

    fn open_attachment(&self) -> Result<Attachment, PinError> {
        let path = self.path.join(LINK);
        let link = raw::open_pinned(&path).map_err(|source| failed("open", &path, source))?;
        match Attachment::of_link(link) {
            Ok(Some(attachment)) => Ok(attachment),
            Ok(None) => Err(PinError::Defunct { path: self.path.clone() }),
            Err(AttachError::NoDevice { .. } | AttachError::Elsewhere { .. }) => {
                Err(PinError::Elsewhere { path: self.path.clone() })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Numbers are only ever appended (`xdp/abi.h`), so equal sizes are equal meanings.
    fn check_version(&self, maps: &Maps) -> Result<(), PinError> {
        let sizes = [
            ("tuples", &maps.tuples, size_of::<TupleKey>(), size_of::<SteeringValue>()),
            ("settings", &maps.settings, size_of::<u32>(), size_of::<Settings>()),
            ("counters", &maps.counters, size_of::<u32>(), size_of::<u64>()),
            ("stacks", &maps.stacks, size_of::<u32>(), size_of::<StackValue>()),
            ("paces", &maps.paces, size_of::<u32>(), size_of::<PaceValue>()),
            ("addresses", &maps.addresses, size_of::<AddressKey>(), size_of::<u32>()),
            ("nic", &maps.nic, size_of::<u32>(), size_of::<NicValue>()),
            ("services", &maps.services, size_of::<TupleKey>(), size_of::<ServiceValue>()),
            ("offload", &maps.offload, size_of::<u32>(), size_of::<OffloadValue>()),
        ];
        let same = |map: &MapHandle, key, value| {
            map.key_size() as usize == key && map.value_size() as usize == value
        };
        for (name, map, key, value) in sizes {
            if !same(map, key, value) {
                return Err(PinError::OtherVersion { path: self.path.join(name) });
            }
        }
        let outcome_count = OffloadPlace::ALL.len() * OffloadOutcome::ALL.len();
        let lists =
            [("counters", &maps.counters, Reason::ALL.len()), ("outcomes", &maps.outcomes, outcome_count)];
        for (name, map, count) in lists {
            if map.max_entries() as usize != count {
                return Err(PinError::OtherVersion { path: self.path.join(name) });
            }
        }
        Ok(())
    }

    fn remove_files(&self) -> Result<(), PinError> {
        let remove = |path: &Path| {
            absent_is_fine(fs::remove_file(path)).map_err(|source| failed("remove", path, source))
        };
        remove(&self.path.join(LINK))?;
        // Whatever else is there: another version may have other parts.
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            remove(&entry.path())?;
        }
        absent_is_fine(fs::remove_dir(&self.path)).map_err(|source| failed("remove", &self.path, source))
    }
}

fn failed(attempted: &'static str, path: &Path, source: io::Error) -> PinError {
    PinError::FileSystem { attempted, path: path.to_owned(), source }
}

fn absent_is_fine(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
