//! The calls of libbpf that libbpf-rs has no safe form of, as thin safe functions.
//!
//! Not more than that: no policy, no retry. Invariant: a descriptor that the kernel gave is owned before
//! anything can fail.

use std::ffi::{CString, c_int};
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

/// `BPF_LINK_CREATE` of an XDP program on a device of this thread's network namespace, with `XDP_FLAGS_*` of
/// `linux/if_link.h`. Needs CAP_NET_ADMIN.
pub(crate) fn create_xdp_link(program: BorrowedFd<'_>, ifindex: u32, flags: u32) -> io::Result<OwnedFd> {
    let options = libbpf_sys::bpf_link_create_opts {
        sz: size_of::<libbpf_sys::bpf_link_create_opts>() as libbpf_sys::size_t,
        flags,
        ..Default::default()
    };
    let ifindex = to_c_int(ifindex)?;
    // SAFETY: `options` is initialised, states its own size and outlives the call, which keeps no pointer;
    // `program` is open for as long as it is borrowed.
    let fd =
        unsafe { libbpf_sys::bpf_link_create(program.as_raw_fd(), ifindex, libbpf_sys::BPF_XDP, &options) };
    to_owned_fd(fd)
}

/// Puts an XDP program onto a device of this thread's network namespace in driver mode, by rtnetlink: it stays for as long as
/// the device does, whoever dies. A device that has one is refused. Needs CAP_NET_ADMIN.
pub(crate) fn attach_xdp(program: BorrowedFd<'_>, ifindex: u32) -> io::Result<()> {
    let flags = libbpf_sys::XDP_FLAGS_DRV_MODE | libbpf_sys::XDP_FLAGS_UPDATE_IF_NOEXIST;
    let ifindex = to_c_int(ifindex)?;
    // SAFETY: a descriptor and numbers go in; there are no options.
    check(unsafe { libbpf_sys::bpf_xdp_attach(ifindex, program.as_raw_fd(), flags, std::ptr::null()) })
}

/// `BPF_PROG_ATTACH` of a tcx program to what comes in on a device of this thread's network namespace, for as long as the
/// device exists. Needs CAP_NET_ADMIN.
pub(crate) fn attach_tcx_ingress(program: BorrowedFd<'_>, ifindex: u32) -> io::Result<()> {
    let options = libbpf_sys::bpf_prog_attach_opts {
        sz: size_of::<libbpf_sys::bpf_prog_attach_opts>() as libbpf_sys::size_t,
        ..Default::default()
    };
    let (program, ifindex) = (program.as_raw_fd(), to_c_int(ifindex)?);
    // SAFETY: `options` is initialised, states its own size and outlives the call, which keeps no pointer.
    check(unsafe {
        libbpf_sys::bpf_prog_attach_opts(program, ifindex, libbpf_sys::BPF_TCX_INGRESS, &options)
    })
}

/// `BPF_LINK_CREATE` of a tcx program on what comes in on a device of this thread's network namespace, behind those that are
/// there. Needs CAP_NET_ADMIN.
pub(crate) fn create_tcx_link(program: BorrowedFd<'_>, ifindex: u32) -> io::Result<OwnedFd> {
    let options = libbpf_sys::bpf_link_create_opts {
        sz: size_of::<libbpf_sys::bpf_link_create_opts>() as libbpf_sys::size_t,
        ..Default::default()
    };
    let (program, ifindex) = (program.as_raw_fd(), to_c_int(ifindex)?);
    // SAFETY: as in `create_xdp_link`.
    to_owned_fd(unsafe {
        libbpf_sys::bpf_link_create(program, ifindex, libbpf_sys::BPF_TCX_INGRESS, &options)
    })
}

/// `BPF_LINK_DETACH`: the program leaves its device though the link stays open elsewhere.
pub(crate) fn detach_link(link: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: a descriptor goes in, nothing comes out.
    check(unsafe { libbpf_sys::bpf_link_detach(link.as_raw_fd()) })
}

/// `BPF_OBJ_PIN`: gives a program, map or link a name in a bpf file system.
pub(crate) fn pin(object: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
    let path = to_c_string(path)?;
    // SAFETY: `path` is a NUL-terminated string that outlives the call.
    check(unsafe { libbpf_sys::bpf_obj_pin(object.as_raw_fd(), path.as_ptr()) })
}

/// `BPF_OBJ_GET`: opens what was pinned at `path`.
pub(crate) fn open_pinned(path: &Path) -> io::Result<OwnedFd> {
    let path = to_c_string(path)?;
    // SAFETY: `path` is a NUL-terminated string that outlives the call.
    to_owned_fd(unsafe { libbpf_sys::bpf_obj_get(path.as_ptr()) })
}

/// The programs on a device, by the mode that they are attached in; 0 where there is none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AttachedPrograms {
    pub(crate) driver_id: u32,
    pub(crate) generic_id: u32,
    pub(crate) hardware_id: u32,
}

impl AttachedPrograms {
    /// The program that runs, 0 where there is none: only one mode at a time does.
    pub(crate) fn id(&self) -> u32 {
        self.driver_id.max(self.generic_id).max(self.hardware_id)
    }
}

/// `BPF_LINK_GET_FD_BY_ID`: a descriptor of a link that another process may hold. Needs CAP_SYS_ADMIN.
pub(crate) fn link_of_id(id: u32) -> io::Result<OwnedFd> {
    // SAFETY: a number goes in, a new descriptor or an error comes out.
    to_owned_fd(unsafe { libbpf_sys::bpf_link_get_fd_by_id(id) })
}

/// Asks rtnetlink which XDP programs are on a device of this thread's network namespace.
pub(crate) fn query_xdp(ifindex: u32) -> io::Result<AttachedPrograms> {
    let mut answer = libbpf_sys::bpf_xdp_query_opts {
        sz: size_of::<libbpf_sys::bpf_xdp_query_opts>() as libbpf_sys::size_t,
        ..Default::default()
    };
    let ifindex = to_c_int(ifindex)?;
    // SAFETY: `answer` is initialised, states its own size and outlives the call, which keeps no pointer.
    check(unsafe { libbpf_sys::bpf_xdp_query(ifindex, 0, &mut answer) })?;
    Ok(AttachedPrograms {
        driver_id: answer.drv_prog_id,
        generic_id: answer.skb_prog_id,
        hardware_id: answer.hw_prog_id,
    })
}

/// `BPF_PROG_TEST_RUN`: runs the program `repeat` times over `frame` and returns its action and the mean
/// time of a run. The kernel refuses frames that are shorter than an Ethernet header.
pub(crate) fn test_run(program: BorrowedFd<'_>, frame: &[u8], repeat: u32) -> io::Result<(u32, Duration)> {
    let mut options = libbpf_sys::bpf_test_run_opts {
        sz: size_of::<libbpf_sys::bpf_test_run_opts>() as libbpf_sys::size_t,
        data_in: frame.as_ptr().cast(),
        data_size_in: u32::try_from(frame.len()).map_err(|_| io::ErrorKind::InvalidInput)?,
        repeat: to_c_int(repeat)?,
        ..Default::default()
    };
    // SAFETY: `options` states its own size; `data_in` is `data_size_in` readable bytes, borrowed for the
    // call; there is no output buffer.
    check(unsafe { libbpf_sys::bpf_prog_test_run_opts(program.as_raw_fd(), &mut options) })?;
    Ok((options.retval, Duration::from_nanos(options.duration.into())))
}

/// `BPF_PROG_TEST_RUN`, once: the program's action, and the frame as it leaves it.
pub(crate) fn test_frame(program: BorrowedFd<'_>, frame: &[u8]) -> io::Result<(u32, Vec<u8>)> {
    // What a frame may grow to in a page.
    let mut out = vec![0_u8; 4096];
    let mut options = libbpf_sys::bpf_test_run_opts {
        sz: size_of::<libbpf_sys::bpf_test_run_opts>() as libbpf_sys::size_t,
        data_in: frame.as_ptr().cast(),
        data_size_in: u32::try_from(frame.len()).map_err(|_| io::ErrorKind::InvalidInput)?,
        data_out: out.as_mut_ptr().cast(),
        data_size_out: out.len() as u32,
        repeat: 1,
        ..Default::default()
    };
    // SAFETY: as in `test_run`; `data_out` is `data_size_out` writable bytes, borrowed for the call.
    check(unsafe { libbpf_sys::bpf_prog_test_run_opts(program.as_raw_fd(), &mut options) })?;
    out.truncate(options.data_size_out as usize);
    Ok((options.retval, out))
}

/// `BPF_OBJ_GET_INFO_BY_FD`: how many instructions the verifier went through when the program was loaded.
pub(crate) fn verified_instructions(program: BorrowedFd<'_>) -> io::Result<u32> {
    let mut info = libbpf_sys::bpf_prog_info::default();
    let mut len = size_of::<libbpf_sys::bpf_prog_info>() as u32;
    // SAFETY: `info` is initialised and `len` bytes long; no pointer in it is set, so that nothing else is written.
    check(unsafe { libbpf_sys::bpf_prog_get_info_by_fd(program.as_raw_fd(), &mut info, &mut len) })?;
    Ok(info.verified_insns)
}

fn to_c_int(number: u32) -> io::Result<c_int> {
    c_int::try_from(number).map_err(|_| io::ErrorKind::InvalidInput.into())
}

fn to_c_string(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// libbpf 1.x returns the negated error number.
fn check(result: c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::from_raw_os_error(-result)) } else { Ok(()) }
}

fn to_owned_fd(fd: c_int) -> io::Result<OwnedFd> {
    check(fd)?;
    // SAFETY: the callers pass what the kernel returned as a new descriptor, which nobody else has.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
