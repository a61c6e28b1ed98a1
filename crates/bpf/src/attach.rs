//! Attaching the program to a device, by a link.
//!
//! A link (unlike a program set through rtnetlink) belongs to its descriptor: when the last one is closed, be
//! it by `kill -9`, the kernel takes the program off the device. Only a pin makes it outlive its process.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use libbpf_rs::ProgramHandle;
use libbpf_rs::query::{LinkInfo, LinkInfoIter, LinkTypeInfo};

use crate::raw::{self, AttachedPrograms};

/// Where in the receive path the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AttachMode {
    /// In the driver, before the kernel makes a packet of the frame.
    Driver,
    /// In the network core, after it did: for drivers without XDP; slower, and AF_XDP always copies.
    Generic,
}

impl AttachMode {
    const fn flags(self) -> u32 {
        match self {
            Self::Driver => libbpf_sys::XDP_FLAGS_DRV_MODE,
            Self::Generic => libbpf_sys::XDP_FLAGS_SKB_MODE,
        }
    }
}

impl fmt::Display for AttachMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Driver => "driver",
            Self::Generic => "generic",
        })
    }
}

/// Which modes may be tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ModeChoice {
    /// The driver's, and where the driver refuses, the generic one.
    #[default]
    DriverThenGeneric,
    /// The driver's or none.
    DriverOnly,
    /// The generic one.
    GenericOnly,
}

/// Why the program was not attached.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// There is no such device in this network namespace.
    #[error("no device with index {ifindex} in this network namespace")]
    NoDevice {
        /// The device.
        ifindex: u32,
    },
    /// Another XDP program is on the device.
    #[error(
        "the device with index {ifindex} already runs the XDP program `{name}` (id {program_id}): detach that first"
    )]
    Occupied {
        /// The device.
        ifindex: u32,
        /// The program's number, as in `bpftool prog show id`.
        program_id: u32,
        /// The program's name.
        name: String,
    },
    /// The process lacks the capabilities.
    #[error("not permitted to attach an XDP program: run as root or with CAP_NET_ADMIN")]
    NotPermitted,
    /// The device takes no XDP program in this mode.
    #[error("the device with index {ifindex} refuses the XDP program in {mode} mode: {source}")]
    Refused {
        /// The device.
        ifindex: u32,
        /// The mode that was tried last.
        mode: AttachMode,
        /// What the kernel returned.
        source: io::Error,
    },
    /// The device takes no tcx program.
    #[error(
        "the device with index {ifindex} takes no program at tc ingress: {source} (Linux 6.6 or newer does, with CONFIG_NET_XGRESS)"
    )]
    Fallback {
        /// The device.
        ifindex: u32,
        /// What the kernel returned.
        source: io::Error,
    },
    /// The link is on a device of that number in another network namespace.
    #[error(
        "the device with index {ifindex} runs another program than the link has: it is of another network namespace"
    )]
    Elsewhere {
        /// The device.
        ifindex: u32,
    },
    /// The kernel did not tell about the device or the link.
    #[error("cannot query the XDP program of the device with index {ifindex}: {source}")]
    Query {
        /// The device.
        ifindex: u32,
        /// What the kernel returned.
        source: io::Error,
    },
}

/// A program on a device. Dropped, or with its process gone, the program is off the device, unless pinned.
#[derive(Debug)]
#[must_use = "the program leaves the device when this is dropped"]
pub struct Attachment {
    link: OwnedFd,
    ifindex: u32,
    mode: AttachMode,
    driver_refusal: Option<io::Error>,
}

impl Attachment {
    /// The device.
    pub const fn ifindex(&self) -> u32 {
        self.ifindex
    }

    /// The mode that was chosen.
    pub const fn mode(&self) -> AttachMode {
        self.mode
    }

    /// Why the driver's mode was not chosen, where it was tried.
    pub const fn driver_refusal(&self) -> Option<&io::Error> {
        self.driver_refusal.as_ref()
    }

    /// Whether it still is: the device may be gone, and anybody with the rights may have taken the program off.
    pub fn is_attached(&self) -> Result<bool, AttachError> {
        let info = LinkInfo::from_fd(self.link.as_fd());
        let info = info
            .map_err(|error| AttachError::Query { ifindex: self.ifindex, source: io::Error::other(error) })?;
        Ok(device_of(&info).is_some())
    }

    /// The kernel's number of the link, as `bpftool link` shows it.
    pub fn link_id(&self) -> io::Result<u32> {
        LinkInfo::from_fd(self.link.as_fd()).map(|info| info.id).map_err(io::Error::other)
    }

    /// Takes the program off the device, also where the link is pinned or open in another process.
    pub fn detach(self) -> io::Result<()> {
        raw::detach_link(self.link.as_fd())
    }

    pub(crate) fn link(&self) -> BorrowedFd<'_> {
        self.link.as_fd()
    }

    /// The attachment by which another process holds the program of the device; `None` where the device has
    /// no program, or one that no link holds. Needs CAP_SYS_ADMIN.
    pub fn of_device(ifindex: u32) -> Result<Option<Self>, AttachError> {
        let program_id = query(ifindex)?.id();
        let holds = |link: &LinkInfo| link.prog_id == program_id && device_of(link) == Some(ifindex);
        let Some(link) = LinkInfoIter::default().find(|link| program_id != 0 && holds(link)) else {
            return Ok(None);
        };
        let link = raw::link_of_id(link.id).map_err(|source| AttachError::Query { ifindex, source })?;
        Self::of_link(link)
    }

    /// The name of the program that is on the device; `None` where there is none.
    pub fn program_on(ifindex: u32) -> Result<Option<String>, AttachError> {
        let program_id = query(ifindex)?.id();
        Ok((program_id != 0).then(|| program_name(program_id)))
    }

    /// The attachment of a link that exists, on a device of this thread's network namespace; `None` where the device is
    /// gone or the program was detached. A link does not tell its namespace: what its device runs does.
    pub(crate) fn of_link(link: OwnedFd) -> Result<Option<Self>, AttachError> {
        let info = LinkInfo::from_fd(link.as_fd())
            .map_err(|source| AttachError::Query { ifindex: 0, source: io::Error::other(source) })?;
        let Some(ifindex) = device_of(&info) else {
            return Ok(None);
        };
        let attached = query(ifindex)?;
        if attached.id() != info.prog_id {
            return Err(AttachError::Elsewhere { ifindex });
        }
        let mode = attached_mode(attached);
        Ok(mode.map(|mode| Self { link, ifindex, mode, driver_refusal: None }))
    }
}

/// The offload's second program on a device. Dropped, or with its process gone, it is off the device.
#[derive(Debug)]
#[must_use = "the program leaves the device when this is dropped"]
pub struct Fallback {
    _link: OwnedFd,
}

pub(crate) fn attach_fallback(program: BorrowedFd<'_>, ifindex: u32) -> Result<Fallback, AttachError> {
    match raw::create_tcx_link(program, ifindex) {
        Ok(link) => Ok(Fallback { _link: link }),
        Err(source) if source.kind() == io::ErrorKind::PermissionDenied => Err(AttachError::NotPermitted),
        Err(source) if source.raw_os_error() == Some(ENODEV) => Err(AttachError::NoDevice { ifindex }),
        Err(source) => Err(AttachError::Fallback { ifindex, source }),
    }
}

pub(crate) fn attach(
    program: BorrowedFd<'_>,
    ifindex: u32,
    choice: ModeChoice,
) -> Result<Attachment, AttachError> {
    refuse_occupied(ifindex)?;
    match choice {
        ModeChoice::DriverOnly => attach_in(program, ifindex, AttachMode::Driver, None),
        ModeChoice::GenericOnly => attach_in(program, ifindex, AttachMode::Generic, None),
        ModeChoice::DriverThenGeneric => match attach_in(program, ifindex, AttachMode::Driver, None) {
            Err(AttachError::Refused { source, .. }) => {
                attach_in(program, ifindex, AttachMode::Generic, Some(source))
            }
            other => other,
        },
    }
}

fn attach_in(
    program: BorrowedFd<'_>,
    ifindex: u32,
    mode: AttachMode,
    driver_refusal: Option<io::Error>,
) -> Result<Attachment, AttachError> {
    match raw::create_xdp_link(program, ifindex, mode.flags()) {
        Ok(link) => Ok(Attachment { link, ifindex, mode, driver_refusal }),
        Err(source) if source.kind() == io::ErrorKind::PermissionDenied => Err(AttachError::NotPermitted),
        Err(source) => {
            // Somebody may have been quicker since the first look.
            refuse_occupied(ifindex)?;
            Err(AttachError::Refused { ifindex, mode, source })
        }
    }
}

fn refuse_occupied(ifindex: u32) -> Result<(), AttachError> {
    let program_id = query(ifindex)?.id();
    if program_id == 0 {
        return Ok(());
    }
    Err(AttachError::Occupied { ifindex, program_id, name: program_name(program_id) })
}

fn query(ifindex: u32) -> Result<AttachedPrograms, AttachError> {
    raw::query_xdp(ifindex).map_err(|source| match source.raw_os_error() {
        Some(ENODEV) => AttachError::NoDevice { ifindex },
        _ => AttachError::Query { ifindex, source },
    })
}

/// `asm-generic/errno-base.h`.
const ENODEV: i32 = 19;

fn program_name(program_id: u32) -> String {
    match ProgramHandle::from_prog_id(program_id) {
        Ok(program) => program.name().to_string_lossy().into_owned(),
        Err(_) => "of unknown name".to_owned(),
    }
}

/// The kernel keeps a link whose device is gone, and calls its device 0.
fn device_of(link: &LinkInfo) -> Option<u32> {
    match &link.info {
        LinkTypeInfo::Xdp(xdp) if xdp.ifindex != 0 => Some(xdp.ifindex),
        _ => None,
    }
}

fn attached_mode(attached: AttachedPrograms) -> Option<AttachMode> {
    if attached.driver_id != 0 {
        Some(AttachMode::Driver)
    } else if attached.generic_id != 0 {
        Some(AttachMode::Generic)
    } else {
        None
    }
}
