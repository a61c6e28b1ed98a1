//! Queueing disciplines at a link's way out: RTM_NEWQDISC. Only the choice of one, without parameters.

use super::message::Request;
use super::{Netlink, NetlinkError, REPLACE};

/// linux/pkt_sched.h: the discipline of the whole link.
const TC_H_ROOT: u32 = u32::MAX;
/// linux/rtnetlink.h.
const TCA_KIND: u16 = 1;

/// What holds a packet that a link cannot send yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queueing {
    /// One queue, first in, first out: for a link with one transmit queue.
    First,
    /// One such queue for each transmit queue.
    EachTransmitQueue,
}

impl Netlink {
    /// Puts a queue before a link.
    ///
    /// A veth has none of its own: when its ring of 256 frames is full it drops what it is given. With a queue
    /// it stops its senders instead, those on AF_XDP too, as other NICs do. Source: tc(8), drivers/net/veth.c.
    pub fn set_queueing(&mut self, ifindex: u32, queueing: Queueing) -> Result<(), NetlinkError> {
        let kind = match queueing {
            Queueing::First => "pfifo_fast",
            Queueing::EachTransmitQueue => "mq",
        };
        let request = Request::new(libc::RTM_NEWQDISC, REPLACE, &root_of(ifindex)).text(TCA_KIND, kind);
        self.change(format!("put the queue {kind} before link {ifindex}"), request)
    }
}

/// `struct tcmsg`: family u8, three pads, index i32, handle u32, parent u32, info u32.
fn root_of(ifindex: u32) -> [u8; 20] {
    let mut bytes = [0; 20];
    bytes[4..8].copy_from_slice(&ifindex.to_ne_bytes());
    bytes[12..16].copy_from_slice(&TC_H_ROOT.to_ne_bytes());
    bytes
}
