//! `tidegate detach DEV`: the interface is the host's alone again.
//!
//! Only Tidegate's own program is taken off: pinned by a daemon, or held by a process that is still there. What is pinned
//! for a device of that name in another network namespace stays.

use crate::exit::wrong_input;
use anyhow::{Result, anyhow, bail};
use std::path::Path;
use tidegate_bpf::{Attachment, PinDirectory, PinError};
use tidegate_sys::netlink::Netlink;

/// The name that our program has in the kernel.
const PROGRAM: &str = "tidegate";

/// Takes the program off; nothing there is no error, but it is said.
pub(crate) fn detach(device: &str, pins: &Path) -> Result<String> {
    let links = Netlink::open()?.links()?;
    let Some(link) = links.iter().find(|link| link.name == device) else {
        let names: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
        return Err(wrong_input(format!("there is no interface {device}: there are {}", names.join(", "))));
    };
    let pinned = PinDirectory::under(pins, device).map_err(|error| wrong_input(error.to_string()))?;
    match pinned.attachment() {
        Ok(attachment) if attachment.ifindex() == link.ifindex => {
            pinned.remove()?;
            Ok(format!("{device}: the pinned program is off, and what was pinned is removed"))
        }
        Err(PinError::Defunct { .. }) => {
            pinned.remove()?;
            detach_unpinned(device, link.ifindex)
        }
        Ok(_) | Err(PinError::Absent { .. } | PinError::Elsewhere { .. }) => {
            detach_unpinned(device, link.ifindex)
        }
        Err(error) => Err(error.into()),
    }
}

fn detach_unpinned(device: &str, ifindex: u32) -> Result<String> {
    match Attachment::program_on(ifindex)? {
        None => Ok(format!("{device}: no XDP program is on it")),
        Some(name) if name != PROGRAM => {
            bail!("{device} has the XDP program `{name}`, not Tidegate's: ip link set dev {device} xdp off")
        }
        Some(_) => {
            let attachment = Attachment::of_device(ifindex)?;
            let attachment = attachment.ok_or_else(|| {
                anyhow!("{device} has Tidegate's program without a link: ip link set dev {device} xdp off")
            })?;
            attachment.detach()?;
            Ok(format!("{device}: the program is off; the process that held it serves nobody any more"))
        }
    }
}
