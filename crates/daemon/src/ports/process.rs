//! Ports to another process over shared memory, a queue pair each.
//!
//! | driver | argument |
//! |---|---|
//! | `MemifPort` | `socket`, `role` (`client`, `server`), `id`, `ring_size`, `buffer_size`, `secret` |
//! | `VhostUserPort` | `socket`, `role` (`server`, `client`) |

use super::{Opened, failed};
use tidegate_control::Fault;
use tidegate_control::proto::bess::{MemifPortArg, VhostUserPortArg};
use tidegate_port::{
    MemifConfig, MemifRole, Port, VhostUserConfig, VhostUserRole, open_memif, open_vhost_user,
};

/// Opens what `MemifPort` asks for.
pub(super) fn open_memif_port(arg: &MemifPortArg, queue_count: u16) -> Result<Opened, Fault> {
    let role = match arg.role.as_str() {
        "" | "client" => MemifRole::Client,
        "server" => MemifRole::Server,
        other => return Err(no_role(other)),
    };
    let own = MemifConfig::new(&arg.socket, role);
    let ring_log2 = match arg.ring_size {
        0 => own.ring_log2,
        size @ 2..=16_384 if size.is_power_of_two() => size.ilog2() as u8,
        size => {
            return Err(Fault::invalid(format!(
                "ring_size is {size}: give a power of two of 2 to 16384, or none"
            )));
        }
    };
    let buffer_len = match arg.buffer_size {
        0 => own.buffer_len,
        size => u16::try_from(size)
            .ok()
            .filter(|size| *size >= 64)
            .ok_or_else(|| Fault::invalid(format!("buffer_size is {size}: give 64 to 65535, or none")))?,
    };
    let (id, secret) = (arg.id, arg.secret.clone());
    memif(MemifConfig { id, secret, ring_log2, buffer_len, queue_count, ..own })
}

/// Opens an interface.
pub(super) fn memif(config: MemifConfig) -> Result<Opened, Fault> {
    open_memif(config).map(all).map_err(|error| failed(error.to_string()))
}

/// Opens what `VhostUserPort` asks for.
pub(super) fn open_vhost_user_port(arg: &VhostUserPortArg, queue_count: u16) -> Result<Opened, Fault> {
    let role = match arg.role.as_str() {
        "" | "server" => VhostUserRole::Server,
        "client" => VhostUserRole::Client,
        other => return Err(no_role(other)),
    };
    vhost_user(VhostUserConfig { queue_count, ..VhostUserConfig::new(&arg.socket, role) })
}

/// Opens a device.
pub(super) fn vhost_user(config: VhostUserConfig) -> Result<Opened, Fault> {
    open_vhost_user(config).map(all).map_err(|error| failed(error.to_string()))
}

/// A port a queue.
fn all<P: Port + 'static>(ports: Vec<P>) -> Opened {
    let ports = ports.into_iter().map(|port| -> Box<dyn Port> { Box::new(port) });
    Opened { queues: ports.collect(), device: None }
}

fn no_role(role: &str) -> Fault {
    Fault::invalid(format!("role is {}: it may be client or server", role.escape_debug()))
}
