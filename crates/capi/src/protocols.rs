//! What a socket can choose beside what TCP has itself: a congestion control and an option, each of a crate of its own.

use crate::border::Errno;
use std::sync::OnceLock;
use tidegate_base::HashKey;
use tidegate_fastopen::FastOpen;
use tidegate_socket::{OptionKind, Options};
use tidegate_sys::{errno, random};

/// Chooses the congestion control of that name.
pub(crate) fn set_congestion(options: &mut Options, name: &str) -> Result<(), Errno> {
    // Names are the process's. Where a program in Rust has another one under this name, that is the one it means.
    let _ = tidegate_bbr::register();
    Ok(options.set_congestion(name)?)
}

/// Fast Open under one secret for the whole process: a client's cookie is good at all its listeners.
pub(crate) fn fast_open() -> Result<OptionKind, Errno> {
    static FAST_OPEN: OnceLock<OptionKind> = OnceLock::new();
    if let Some(option) = FAST_OPEN.get() {
        return Ok(option.clone());
    }
    let secret = random::bytes().map_err(|_| Errno(errno::EIO))?;
    Ok(FAST_OPEN.get_or_init(|| FastOpen::new(HashKey::new(secret)).option()).clone())
}
