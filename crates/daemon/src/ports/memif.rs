//! memif: an interface of one queue, a port.

use super::{Opened, failed};
use tidegate_control::Fault;
use tidegate_control::proto::v1::MemifPortArg;
use tidegate_port::{MemifConfig, MemifRole, open_memif};

/// 0 is the interface's own choice.
pub(super) fn config(arg: &MemifPortArg) -> Result<MemifConfig, Fault> {
    let role = if arg.server { MemifRole::Server } else { MemifRole::Client };
    let own = MemifConfig::new(&arg.socket, role);
    let ring_log2 = match arg.ring_size {
        0 => own.ring_log2,
        size if size.is_power_of_two() && size <= 1 << 14 => size.ilog2() as u8,
        size => return Err(Fault::invalid(format!("ring_size is {size}: give a power of two, 2 to 16384"))),
    };
    let buffer_len = match arg.buffer_size {
        0 => own.buffer_len,
        len => u16::try_from(len)
            .map_err(|_| Fault::invalid(format!("buffer_size is {len}: give 64 to 65535 bytes")))?,
    };
    Ok(MemifConfig { id: arg.id, secret: arg.secret.clone(), ring_log2, buffer_len, ..own })
}

pub(super) fn open(config: &MemifConfig) -> Result<Opened, Fault> {
    let ports = open_memif(config.clone()).map_err(|error| failed(error.to_string()))?;
    let port = ports.into_iter().next().ok_or_else(|| failed("the interface has no queue"))?;
    Ok(Opened::alone(port))
}
