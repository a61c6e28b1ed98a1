//! Link addresses of peers as the host's kernel knows them: for a stack with ports of the kernel's addresses, which does no ARP.
//!
//! ```text
//!   wanted --next hop known--> told, and forgotten after a while, for a gateway may be another one then
//!      |
//!      +----not known---> the kernel is made to ask, and is looked at again and again, for half a second
//! ```

use std::collections::VecDeque;
use std::net::IpAddr;
use tidegate_base::{Duration, Instant};
use tidegate_sys::next_hop::{NextHop, NextHops};
use tidegate_wire::MacAddr;

/// The first time until the kernel is looked at again; each is twice the one before.
const LOOK_INTERVAL: Duration = Duration::from_millis(1);
/// Looks at the kernel before a peer is not looked for any more, unless the stack names it again.
const LOOK_COUNT_MAX: u32 = 10;
/// How long what the kernel said is good: as long as it trusts a neighbour itself (RFC 4861 section 10, REACHABLE_TIME).
const TRUST: Duration = Duration::from_secs(30);

struct Wanted {
    peer: IpAddr,
    look_count: u32,
    next: Instant,
}

/// Peers that are looked for, and those that were found.
pub(crate) struct Routes {
    hops: NextHops,
    wanted: Vec<Wanted>,
    /// When each is to be forgotten, in order.
    known: VecDeque<(Instant, IpAddr)>,
}

impl Routes {
    pub(crate) fn new(hops: NextHops) -> Self {
        Self { hops, wanted: Vec::new(), known: VecDeque::new() }
    }

    /// Looks for `peer` from now on.
    pub(crate) fn want(&mut self, now: Instant, peer: IpAddr) {
        if self.wanted.iter().all(|wanted| wanted.peer != peer) {
            self.wanted.push(Wanted { peer, look_count: 0, next: now });
        }
    }

    /// A peer that was found, with the link address to reach it by.
    pub(crate) fn poll_found(&mut self, now: Instant) -> Option<(IpAddr, MacAddr)> {
        while let Some(index) = self.wanted.iter().position(|wanted| wanted.next <= now) {
            let wanted = &mut self.wanted[index];
            let peer = wanted.peer;
            match self.hops.find(peer) {
                Ok(NextHop::At(mac)) => {
                    self.wanted.swap_remove(index);
                    self.known.push_back((now + TRUST, peer));
                    return Some((peer, MacAddr(mac)));
                }
                Ok(NextHop::Unresolved(hop)) if wanted.look_count < LOOK_COUNT_MAX => {
                    if wanted.look_count == 0 {
                        // A kernel that cannot ask will not know, and that is how it shows.
                        let _ = self.hops.ask_for(hop);
                    }
                    wanted.next = now + LOOK_INTERVAL.saturating_mul(1 << wanted.look_count);
                    wanted.look_count += 1;
                }
                // No route, another link, or no answer: the stack gives it up when it has waited long enough.
                _ => drop(self.wanted.swap_remove(index)),
            }
        }
        None
    }

    /// A peer whose link address is to be asked for anew.
    pub(crate) fn poll_stale(&mut self, now: Instant) -> Option<IpAddr> {
        let (_, peer) = self.known.pop_front_if(|(until, _)| *until <= now)?;
        Some(peer)
    }

    /// When one of the two has something.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let looks = self.wanted.iter().map(|wanted| wanted.next).min();
        looks.into_iter().chain(self.known.front().map(|(until, _)| *until)).min()
    }
}
