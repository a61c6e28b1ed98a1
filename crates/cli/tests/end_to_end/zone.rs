//! A zone file whose version is known, and a client that notices every answer that does not come.

use crate::service::tempfile;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What an answer may take before it counts as lost.
const PATIENCE: Duration = Duration::from_secs(2);

/// The zone `example.org`, in a file that is removed at the end of the test.
pub(crate) struct Zone {
    file: PathBuf,
}

impl Zone {
    /// Version `serial` of it.
    pub(crate) fn new(serial: u32) -> Self {
        let zone = Self { file: tempfile("zone") };
        zone.write(&text(serial));
        zone
    }

    /// Puts another version in its place, as editors and deployments do it.
    pub(crate) fn write(&self, text: &str) {
        let beside = tempfile("zone-next");
        std::fs::write(&beside, text).expect("a temporary file");
        std::fs::rename(&beside, &self.file).expect("replaced");
    }

    pub(crate) fn path(&self) -> &Path {
        &self.file
    }

    /// The path as an argument.
    pub(crate) fn file(&self) -> &str {
        self.file.to_str().expect("a path in ASCII")
    }
}

impl Drop for Zone {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

/// The text of version `serial`.
pub(crate) fn text(serial: u32) -> String {
    format!(
        "$ORIGIN example.org.\n$TTL 1h\n@ IN SOA ns hostmaster {serial} 4h 15m 4w 5m\n@ IN NS ns\n\
         ns IN A 192.0.2.53\nwww IN A 192.0.2.80\nwww IN AAAA 2001:db8::80\n*.wild IN TXT \"{serial}\"\n"
    )
}

/// One question after the other, none before the answer to the one before.
pub(crate) struct Asker {
    socket: UdpSocket,
    id: u16,
}

impl Asker {
    /// Asks the server there; to be made in the client's namespace.
    pub(crate) fn of(server: &str) -> Self {
        let own = if server.starts_with('[') { "[::]:0" } else { "0.0.0.0:0" };
        let socket = UdpSocket::bind(own).expect("a socket");
        socket.connect(server).expect("a way there");
        socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        Self { socket, id: 0 }
    }

    /// The serial of `example.org`; `None` if no answer came.
    pub(crate) fn serial(&mut self) -> Option<u32> {
        self.id = self.id.wrapping_add(1);
        let [high, low] = self.id.to_be_bytes();
        let mut query = vec![high, low, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        query.extend_from_slice(b"\x07example\x03org\0\0\x06\0\x01");
        self.socket.send(&query).ok()?;
        let mut answer = [0; 512];
        let len = self.socket.recv(&mut answer).ok()?;
        // Without OPT the SOA is the last record: serial, refresh, retry, expire, minimum.
        let serial = answer[..len].last_chunk::<20>().and_then(|numbers| numbers.first_chunk::<4>());
        (answer[..2] == query[..2] && answer[3] & 0xf == 0).then_some(u32::from_be_bytes(*serial?))
    }
}
