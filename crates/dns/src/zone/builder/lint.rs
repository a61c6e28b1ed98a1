//! What a zone's keeper should look at though the zone can be served: what `named-checkzone` warns of.

use domain::base::iana::Rtype;

use super::error::{Oddity, Place, Warning};
use crate::name::{Folded, Name};
use crate::zone::node::Node;
use crate::zone::rdata::target;
use crate::zone::{Lookup, Rrset, Zone};

/// More than anybody reads.
const WARNINGS_MAX: usize = 1_000;

/// Looks at every node; `places` says where the first record of each set was read.
pub(super) fn lint(zone: &Zone, places: &[Place], warnings: &mut Vec<Warning>) {
    let mut lint = Lint { zone, places, warnings };
    for node in zone.nodes() {
        for (at, set) in node.numbered_sets() {
            lint.set(node, at, set);
        }
    }
    lint.denial();
    warnings.truncate(WARNINGS_MAX);
}

struct Lint<'a> {
    zone: &'a Zone,
    places: &'a [Place],
    warnings: &'a mut Vec<Warning>,
}

impl Lint<'_> {
    fn set(&mut self, node: Node<'_>, at: usize, set: Rrset<'_>) {
        match node.shadow() {
            Some(above) => self.hidden(node, above, at, set),
            None => self.in_the_open(node, at, set),
        }
    }

    /// Below a cut there are addresses and nothing else; below a DNAME there is nothing (RFC 6672 section 2.4).
    fn hidden(&mut self, node: Node<'_>, above: Node<'_>, at: usize, set: Rrset<'_>) {
        let is_glue = matches!(set.rtype(), Rtype::A | Rtype::AAAA);
        if !(above.is_cut() && is_glue) {
            self.warn(node, at, set.rtype(), Oddity::Occluded { above: above.name().to_string() });
        }
    }

    fn in_the_open(&mut self, node: Node<'_>, at: usize, set: Rrset<'_>) {
        match set.rtype() {
            Rtype::DS if !node.is_cut() => self.warn(node, at, Rtype::DS, Oddity::StrayDs),
            Rtype::NS | Rtype::MX => {
                let zone = self.zone;
                let targets = set.rdatas().filter_map(|data| target(set.rtype(), data));
                for oddity in targets.filter_map(|target| oddity_of(zone, node, target)) {
                    self.warn(node, at, set.rtype(), oddity);
                }
            }
            _ => {}
        }
    }

    /// A zone with keys and without a chain cannot prove what it has not.
    fn denial(&mut self) {
        let apex = self.zone.apex_node();
        let chained = self.zone.is_nsec_signed() || self.zone.nsec3().is_some();
        if apex.rrset(Rtype::DNSKEY).is_some_and(|keys| keys.sigs().next().is_some()) && !chained {
            let owner = apex.name().to_string();
            let warning =
                Warning { oddity: Oddity::NoDenial, owner, rtype: Rtype::NSEC, place: Place::default() };
            self.warnings.push(warning);
        }
    }

    fn warn(&mut self, node: Node<'_>, at: usize, rtype: Rtype, oddity: Oddity) {
        if self.warnings.len() < WARNINGS_MAX {
            let place = self.places.get(at).copied().unwrap_or_default();
            self.warnings.push(Warning { oddity, owner: node.name().to_string(), rtype, place });
        }
    }
}

/// What is odd about a server's name, seen from the node that names it.
fn oddity_of(zone: &Zone, node: Node<'_>, target: &Name) -> Option<Oddity> {
    if !target.is_within(zone.apex()) {
        return None;
    }
    let folded = Folded::of(target);
    let no_address = || Some(Oddity::NoAddress { target: target.to_string() });
    let known = zone.node(&folded).is_some_and(has_address);
    match zone.find(&folded) {
        _ if known => None,
        Lookup::Exact(found) if found.has_cname() => {
            Some(Oddity::TargetIsAlias { target: target.to_string() })
        }
        Lookup::Exact(_) | Lookup::Missing { .. } => no_address(),
        // Another zone's name needs no glue, unless that zone is the one that is delegated to it.
        Lookup::Cut { cut, .. } if cut == node => no_address(),
        Lookup::Cut { .. } | Lookup::Dname { .. } | Lookup::Wildcard { .. } => None,
    }
}

fn has_address(node: Node<'_>) -> bool {
    node.rrset(Rtype::A).or_else(|| node.rrset(Rtype::AAAA)).is_some()
}
