//! NAPI instances and queues of a device: the `netdev` family of generic netlink (Linux 6.8; threads since 6.10, AF_XDP of
//! queues since 6.15).
//!
//! Source: netlink/specs/netdev.yaml, userspace-api/netlink/intro.rst.

use std::io;

use super::message::{self, Request};
use super::{NetlinkError, Refusal, Transport};

/// linux/genetlink.h, `enum` of controller attributes.
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
/// linux/netdev.h.
const NETDEV_CMD_QUEUE_GET: u8 = 10;
const NETDEV_CMD_NAPI_GET: u8 = 11;
const NETDEV_A_QUEUE_ID: u16 = 1;
const NETDEV_A_QUEUE_IFINDEX: u16 = 2;
const NETDEV_A_QUEUE_TYPE: u16 = 3;
const NETDEV_A_QUEUE_XSK: u16 = 7;
const NETDEV_QUEUE_TYPE_RX: u32 = 0;
const NETDEV_A_NAPI_IFINDEX: u16 = 1;
const NETDEV_A_NAPI_ID: u16 = 2;
const NETDEV_A_NAPI_PID: u16 = 4;
/// Bytes of `struct genlmsghdr`.
const GENERIC_LEN: usize = 4;

/// One receive loop of a device's driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NapiInstance {
    /// Its number, unique on the machine.
    pub id: u32,
    /// The kernel thread that runs it, if it has one of its own.
    pub thread: Option<u32>,
}

/// The NAPI instances of the device `ifindex` of the calling thread's network namespace.
///
/// Needs no capability.
pub fn napi_instances(ifindex: u32) -> Result<Vec<NapiInstance>, NetlinkError> {
    list(ifindex).map_err(|refusal| refusal.of(format!("list the NAPI instances of link {ifindex}")))
}

fn list(ifindex: u32) -> Result<Vec<NapiInstance>, Refusal> {
    let mut transport = Transport::open(libc::NETLINK_GENERIC)?;
    let family = family(&mut transport, "netdev")?;
    let command = [NETDEV_CMD_NAPI_GET, 1, 0, 0];
    let request = Request::new(family, libc::NLM_F_DUMP, &command).number(NETDEV_A_NAPI_IFINDEX, ifindex);
    let mut instances = Vec::new();
    transport.ask(request, |message| instances.extend(parse(message.body)))?;
    Ok(instances)
}

fn parse(body: &[u8]) -> Option<NapiInstance> {
    let attributes = body.get(GENERIC_LEN..)?;
    let id = message::number(attributes, NETDEV_A_NAPI_ID)?;
    Some(NapiInstance { id, thread: message::number(attributes, NETDEV_A_NAPI_PID) })
}

/// A receive queue of a device, looked at for memory of AF_XDP sockets.
#[derive(Debug)]
pub struct QueueWatch {
    transport: Transport,
    family: u16,
    ifindex: u32,
    queue: u32,
}

impl QueueWatch {
    /// Looks at a queue of a device of the calling thread's network namespace, wherever the watch is asked later.
    ///
    /// Needs no capability. Source: netlink/specs/netdev.yaml.
    pub fn open(ifindex: u32, queue: u32) -> Result<QueueWatch, NetlinkError> {
        let opened = Transport::open(libc::NETLINK_GENERIC).and_then(|mut transport| {
            let family = family(&mut transport, "netdev")?;
            Ok(QueueWatch { transport, family, ifindex, queue })
        });
        opened.map_err(|refusal| refusal.of(format!("watch queue {queue} of link {ifindex}")))
    }

    /// Whether a socket's memory is tied to the queue: the driver may access it until it is not. Nothing, if the kernel does
    /// not say: it is older than 6.15, or the device is down. A device that is gone is tied to nothing.
    pub fn is_tied(&mut self) -> Option<bool> {
        let command = [NETDEV_CMD_QUEUE_GET, 1, 0, 0];
        let request = Request::new(self.family, libc::NLM_F_ACK, &command)
            .number(NETDEV_A_QUEUE_IFINDEX, self.ifindex)
            .number(NETDEV_A_QUEUE_ID, self.queue)
            .number(NETDEV_A_QUEUE_TYPE, NETDEV_QUEUE_TYPE_RX);
        let mut is_tied = None;
        let asked = self.transport.ask(request, |message| {
            let attributes = message.body.get(GENERIC_LEN..).unwrap_or_default();
            if message::number(attributes, NETDEV_A_QUEUE_ID) == Some(self.queue) {
                is_tied = Some(message::attribute(attributes, NETDEV_A_QUEUE_XSK).is_some());
            }
        });
        match asked {
            Ok(()) => is_tied,
            Err(refusal) if is_gone(&refusal.source) => Some(false),
            Err(_) => None,
        }
    }
}

fn is_gone(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENODEV)
}

/// The number of a family of generic netlink.
fn family(transport: &mut Transport, name: &str) -> Result<u16, Refusal> {
    let command = [libc::CTRL_CMD_GETFAMILY as u8, 1, 0, 0];
    let request = Request::new(libc::GENL_ID_CTRL as u16, libc::NLM_F_ACK, &command);
    let mut found = None;
    transport.ask(request.text(CTRL_ATTR_FAMILY_NAME, name), |message| {
        let id =
            message.body.get(GENERIC_LEN..).and_then(|bytes| message::attribute(bytes, CTRL_ATTR_FAMILY_ID));
        found = id.and_then(|id| message::u16_at(id, 0));
    })?;
    found.ok_or_else(|| Refusal::errno(libc::EOPNOTSUPP))
}
