//! Files that controllers name. Opening a FIFO or a device may wait for ever, and the control thread must not.

use tidegate_control::{Errno, Fault};

/// Bytes of the shortest capture file: its header.
const CAPTURE_LEN_MIN: u64 = 24;

/// Refuses what is no file to read a capture from; how many bytes it has.
pub(crate) fn check_capture(path: &str) -> Result<u64, Fault> {
    let shown = path.escape_debug();
    let found = std::fs::metadata(path)
        .map_err(|error| Fault::new(Errno::ENOENT, format!("cannot read {shown}: {error}")))?;
    if !found.is_file() {
        return Err(Fault::invalid(format!("{shown} is no regular file: write the capture to one first")));
    }
    // Files of proc(5) say that they are empty, and may wait when they are read.
    if found.len() < CAPTURE_LEN_MIN {
        return Err(Fault::invalid(format!("{shown} has {} bytes: that is no capture", found.len())));
    }
    Ok(found.len())
}

/// Refuses what is there and no file to write to.
pub(crate) fn check_target(path: &str) -> Result<(), Fault> {
    match std::fs::metadata(path) {
        Ok(found) if !found.is_file() => {
            let shown = path.escape_debug();
            Err(Fault::invalid(format!("{shown} is no regular file: name one, or one that is not there")))
        }
        // What is missing is made, and what cannot be looked at cannot be opened.
        _ => Ok(()),
    }
}
