//! The additional section: addresses of the hosts that an answer names.
//!
//! Glue of servers inside the delegated zone is required (RFC 9471 section 3.1); all else is there if it fits, and
//! comes from the same zone as what points at it.

use arrayvec::ArrayVec;
use domain::base::iana::Rtype;

use super::emit::Full;
use super::{Search, Section};
use crate::name::{Folded, Name};
use crate::zone::rdata::target;
use crate::zone::{Lookup, Node, Rrset, Zone};

/// The types whose data names a host to be talked to next: RFC 1035 sections 3.3.9 and 3.3.11, RFC 2782, RFC 9460
/// section 4.1. Older types ask for the same (RFC 1183, RFC 2230), and neither NSD nor Knot does it for them.
const POINTING: [Rtype; 5] = [Rtype::NS, Rtype::MX, Rtype::SRV, Rtype::SVCB, Rtype::HTTPS];

/// Hosts whose addresses are added for one answer.
const HOST_COUNT_MAX: usize = 32;

impl<'a> Search<'a, '_, '_> {
    /// Glue for a referral. A server inside the child zone cannot be found without: if its addresses do not all
    /// fit, the answer is truncated (RFC 9471 section 3.1). Others' are there if they fit (section 3.2).
    pub(super) fn put_glue(&mut self, zone: &'a Zone, cut: Node<'a>, servers: Rrset<'a>) -> Result<(), Full> {
        let (mut host, mut outcome) = (Folded::new(), Ok(()));
        let names = || servers.rdatas().filter_map(|rdata| target(Rtype::NS, rdata));
        for name in names().filter(|name| name.is_within(cut.name())) {
            host.assign(name);
            let put = zone.node(&host).map_or(Ok(()), |node| self.put_addresses(name, node));
            outcome = outcome.and(put);
        }
        let others = names().filter(|name| !name.is_within(cut.name()) && name.is_within(zone.apex()));
        for name in others {
            host.assign(name);
            self.put_optional(zone, &host);
        }
        outcome
    }

    /// Addresses for what the answer points at: RFC 1034 section 4.3.2 step 6, RFC 2782, RFC 9460 section 4.1.
    pub(super) fn add_addresses(&mut self) {
        let Some((zone, set)) = self.pointing.filter(|(_, set)| POINTING.contains(&set.rtype())) else {
            return;
        };
        let mut added: ArrayVec<u64, HOST_COUNT_MAX> = ArrayVec::new();
        let mut host = Folded::new();
        let targets = set.rdatas().filter_map(|rdata| target(set.rtype(), rdata));
        for name in targets.filter(|name| name.is_within(zone.apex())) {
            host.assign(name);
            if !added.contains(&host.hash()) && added.try_push(host.hash()).is_ok() {
                self.put_optional(zone, &host);
            }
        }
    }

    /// The addresses of a host of this zone, be they glue, its own, or a wildcard's; none is missed.
    fn put_optional(&mut self, zone: &'a Zone, host: &Folded) {
        let node = match zone.find(host) {
            Lookup::Exact(node) => Some(node),
            Lookup::Cut { .. } => zone.node(host),
            // A signed wildcard's data is worth nothing without a proof that no closer name exists.
            Lookup::Wildcard { wildcard, .. } => Some(wildcard).filter(|_| !self.has_proofs(zone)),
            Lookup::Dname { .. } | Lookup::Missing { .. } => None,
        };
        // Nobody needs them to go on, so that no room for them changes nothing else.
        let _ = node.map(|node| self.put_addresses(host.name(), node));
    }

    /// What there is room for; whether that was all.
    fn put_addresses(&mut self, owner: &Name, node: Node<'a>) -> Result<(), Full> {
        let mut put =
            |rtype| node.rrset(rtype).map_or(Ok(()), |set| self.out.put(Section::Additional, owner, set));
        let (ipv4, ipv6) = (put(Rtype::A), put(Rtype::AAAA));
        ipv4.and(ipv6)
    }
}
