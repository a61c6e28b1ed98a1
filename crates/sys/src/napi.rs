//! Threaded NAPI: a device's receive work on kernel threads of its own, which can be pinned.
//!
//! Without it, whoever sends into a veth does the receiver's work in softirq, on the sender's processor.
//! NAPI exists on a veth only while it has an XDP program or GRO is on.
//!
//! Source: networking/napi.rst, ABI/testing/sysfs-class-net.

use std::fs;
use std::io;
use std::path::Path;

use tidegate_base::Duration;

use crate::cpu;
use crate::netlink;
use crate::netns::on_own_thread;
use crate::syscall::{c_string, check};

/// Receive work could not be moved to threads, or the threads not be found or pinned.
#[derive(Debug, thiserror::Error)]
#[error("could not {attempted} of {device}: {source}; {}", self.hint())]
pub struct NapiError {
    /// The step that failed.
    pub attempted: &'static str,
    /// The device.
    pub device: String,
    /// What the kernel said.
    pub source: io::Error,
}

impl NapiError {
    fn hint(&self) -> &'static str {
        match self.source.raw_os_error() {
            Some(libc::EOPNOTSUPP) => "it has no NAPI yet: attach the XDP program or switch GRO on first",
            Some(libc::EPERM | libc::EACCES) => "run as root",
            Some(libc::ENODEV | libc::ENOENT) => "see which interfaces there are with: ip link",
            _ => "see networking/napi.rst",
        }
    }
}

fn failed(attempted: &'static str, device: &str) -> impl FnOnce(io::Error) -> NapiError {
    let device = device.to_owned();
    move |source| NapiError { attempted, device, source }
}

/// Moves the receive work of `device`, which must have NAPI by now, in the calling thread's network namespace, to kernel threads or back
/// to softirqs.
///
/// sysfs shows the devices of the namespace it was mounted from, so this mounts one of its own, in a mount
/// namespace of a thread that ends with the call. Needs CAP_SYS_ADMIN and root.
pub fn set_threaded(device: &str, threaded: bool) -> Result<(), NapiError> {
    let value = if threaded { "1" } else { "0" };
    // A new thread is in the namespaces of the thread that makes it.
    let written = on_own_thread(|| write_attributes(device, &[("threaded", value)]));
    written.map_err(failed("set threaded NAPI", device))
}

/// Has the driver of `device`, in the calling thread's network namespace, let up to `round_count` rounds without
/// frames pass before it asks for interrupts again, and look again after `flush` meanwhile: fewer, larger rounds,
/// and what preferred busy polling needs. Zero and zero switch it off.
///
/// It stays when the caller ends. Needs CAP_SYS_ADMIN and root. Source: networking/napi.rst, "IRQ mitigation".
pub fn set_deferral(device: &str, round_count: u32, flush: Duration) -> Result<(), NapiError> {
    let (round_count, flush_ns) = (round_count.to_string(), flush.as_nanos().to_string());
    let attributes = [("napi_defer_hard_irqs", &*round_count), ("gro_flush_timeout", &*flush_ns)];
    let written = on_own_thread(|| write_attributes(device, &attributes));
    written.map_err(failed("set interrupt deferral", device))
}

/// The kernel threads that run the receive work of `device`, in the calling thread's network namespace.
/// Empty while it has no NAPI, or none that is threaded.
pub fn threads(device: &str) -> Result<Vec<u32>, NapiError> {
    let ifindex = netlink::ifindex(device).map_err(failed("find NAPI", device))?;
    let instances = netlink::napi_instances(ifindex);
    Ok(match instances {
        Ok(instances) => instances.into_iter().filter_map(|instance| instance.thread).collect(),
        // Before Linux 6.10 netlink does not tell; thread names do, unless two namespaces share the name.
        Err(_) => threads_by_name(device),
    })
}

/// Puts the kernel threads of `device` on one processor; returns their numbers.
///
/// Needs CAP_SYS_NICE.
pub fn pin_threads(device: &str, cpu: usize) -> Result<Vec<u32>, NapiError> {
    let threads = threads(device)?;
    for &thread in &threads {
        let pinned = cpu::pin(thread, cpu).map_err(|error| error.source);
        pinned.map_err(failed("pin the NAPI threads", device))?;
    }
    Ok(threads)
}

/// Kernel threads are called `napi/DEVICE-ID`.
fn threads_by_name(device: &str) -> Vec<u32> {
    let prefix = format!("napi/{device}-");
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let named = |pid: &u32| {
        fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.starts_with(&prefix))
    };
    pids.filter(named).collect()
}

/// Writes attributes of a device of this thread's network namespace; the thread must end afterwards.
fn write_attributes(device: &str, attributes: &[(&str, &str)]) -> io::Result<()> {
    if device.is_empty() || device.contains(['/', '\0']) || device.starts_with('.') {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    mount_own_sysfs()?;
    let directory = Path::new("/sys/class/net").join(device);
    attributes.iter().try_for_each(|(name, value)| fs::write(directory.join(name), value))
}

/// Covers /sys with the sysfs of this thread's network namespace, for this thread only.
fn mount_own_sysfs() -> io::Result<()> {
    // SAFETY: takes no pointers; changes this short-lived thread only.
    check(unsafe { libc::unshare(libc::CLONE_NEWNS) })?;
    mount(None, "/", None, libc::MS_REC | libc::MS_PRIVATE)?;
    mount(Some("sysfs"), "/sys", Some("sysfs"), 0)
}

/// mount(2).
fn mount(source: Option<&str>, target: &str, kind: Option<&str>, flags: libc::c_ulong) -> io::Result<()> {
    let source = source.map(c_string).transpose()?;
    let kind = kind.map(c_string).transpose()?;
    let target = c_string(target)?;
    let pointer =
        |text: &Option<std::ffi::CString>| text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr());
    let (source, kind, data) = (pointer(&source), pointer(&kind), std::ptr::null());
    // SAFETY: all are null or C strings that live for the length of the call.
    check(unsafe { libc::mount(source, target.as_ptr(), kind, flags, data) })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ethtool::{Ethtool, Offload};
    use crate::netlink::{Netlink, VethEnd};
    use crate::netns::Netns;

    fn beside_veth(check: impl FnOnce() + Send) {
        let netns = Netns::create().unwrap();
        let mut netlink = Netlink::open_in(&netns).unwrap();
        netlink.create_veth(VethEnd::new("a"), VethEnd::new("b")).unwrap();
        for name in ["a", "b"] {
            let ifindex = netlink.link(name).unwrap().ifindex;
            netlink.set_up(ifindex, true).unwrap();
        }
        netns.run(check).unwrap();
    }

    #[test]
    fn a_veth_with_gro_gets_a_thread_that_can_be_pinned() {
        beside_veth(|| {
            assert!(threads("a").unwrap().is_empty(), "no NAPI, no thread");
            let refused = set_threaded("a", true).unwrap_err().to_string();
            assert!(refused.contains("switch GRO on first"), "{refused}");
            Ethtool::open("a").unwrap().set(Offload::GenericReceive, true).unwrap();
            set_threaded("a", true).unwrap();
            let pinned = pin_threads("a", 0).unwrap();
            assert_eq!(pinned.len(), 1);
            let name = fs::read_to_string(format!("/proc/{}/comm", pinned[0])).unwrap();
            assert!(name.starts_with("napi/a-"), "{name}");
            assert!(threads_by_name("a").contains(&pinned[0]));
        });
    }

    #[test]
    fn the_callers_sysfs_stays_as_it_was() {
        let before = fs::read_to_string("/proc/self/mounts").unwrap();
        beside_veth(|| {
            Ethtool::open("b").unwrap().set(Offload::GenericReceive, true).unwrap();
            set_threaded("b", true).unwrap();
        });
        assert_eq!(fs::read_to_string("/proc/self/mounts").unwrap(), before);
    }

    #[test]
    fn an_absent_device_is_named() {
        let text = set_threaded("absent0", true).unwrap_err().to_string();
        assert!(text.contains("absent0"), "{text}");
    }
}
