//! What `mux:` is followed by: a place beside others on a NIC, by leave of the daemon.

use crate::border::Errno;
use crate::stacks::explain;
use tidegate_socket::{Grade, MUX_SOCKET_PATH, Wanted};
use tidegate_sys::errno;

/// `DEVICE[/GRADE][@PATH]`: the daemon's socket, and what is wanted of it. Grades are veth, memif and queue=N.
pub(crate) fn parse(place: &str) -> Result<(&str, Wanted), Errno> {
    let (place, path) = place.split_once('@').unwrap_or((place, MUX_SOCKET_PATH));
    let (device, grade) = place.split_once('/').unwrap_or((place, Grade::Veth.name()));
    let queue = grade.strip_prefix("queue=").and_then(|number| number.parse().ok());
    let grade = match queue {
        Some(_) => Grade::Queue,
        None if grade == Grade::Veth.name() => Grade::Veth,
        None if grade == Grade::Memif.name() => Grade::Memif,
        None => {
            let why = format!(
                "`{grade}` is no way to a NIC: write {device}, {device}/veth, {device}/memif or {device}/queue=N"
            );
            return Err(explain(errno::EINVAL, why));
        }
    };
    Ok((path, Wanted { device: device.to_owned(), grade, queue }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_names_a_device_and_perhaps_a_socket_and_a_queue() {
        let parsed = |text: &'static str| parse(text).map(|(path, it)| (path, it.device, it.grade, it.queue));
        let eth0 = || "eth0".to_owned();
        assert_eq!(parsed("eth0"), Ok((MUX_SOCKET_PATH, eth0(), Grade::Veth, None)));
        assert_eq!(parsed("eth0@/run/mux"), Ok(("/run/mux", eth0(), Grade::Veth, None)));
        assert_eq!(parsed("eth0/veth@/run/mux"), Ok(("/run/mux", eth0(), Grade::Veth, None)));
        assert_eq!(parsed("eth0/queue=3@/run/mux"), Ok(("/run/mux", eth0(), Grade::Queue, Some(3))));
        assert_eq!(parsed("eth0/queue=0"), Ok((MUX_SOCKET_PATH, eth0(), Grade::Queue, Some(0))));
        for text in ["eth0/queue=", "eth0/queue=-1", "eth0/queue", "eth0/"] {
            assert_eq!(parsed(text), Err(Errno(errno::EINVAL)), "{text}");
        }
    }
}
