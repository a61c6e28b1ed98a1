//! A queue at a link's way out: RTM_NEWQDISC.

use super::message::Request;
use super::{Netlink, NetlinkError, REPLACE};

/// linux/pkt_sched.h: the discipline of the whole link.
const TC_H_ROOT: u32 = u32::MAX;
/// linux/rtnetlink.h.
const TCA_KIND: u16 = 1;

impl Netlink {
    /// Puts one queue, first in, first out, before a link with one transmit queue.
    ///
    /// A veth has none of its own: when its ring of 256 frames is full it drops what it is given. With a queue
    /// it stops its senders instead, those on AF_XDP too, as other NICs do. On Linux 6.18 a veth with several
    /// transmit queues was seen to stop one for good, so this is for measurements, not for service. Source:
    /// tc(8), drivers/net/veth.c.
    pub fn put_queue_before(&mut self, ifindex: u32) -> Result<(), NetlinkError> {
        let request =
            Request::new(libc::RTM_NEWQDISC, REPLACE, &root_of(ifindex)).text(TCA_KIND, "pfifo_fast");
        self.change(format!("put a queue before link {ifindex}"), request)
    }
}

/// `struct tcmsg`: family u8, three pads, index i32, handle u32, parent u32, info u32.
fn root_of(ifindex: u32) -> [u8; 20] {
    let mut bytes = [0; 20];
    bytes[4..8].copy_from_slice(&ifindex.to_ne_bytes());
    bytes[12..16].copy_from_slice(&TC_H_ROOT.to_ne_bytes());
    bytes
}
