//! Proofs that a name or a type does not exist: which NSEC or NSEC3 records go with an answer.
//!
//! ```text
//!                        NSEC (RFC 4035 3.1.3)              NSEC3 (RFC 5155 7.2)
//!   no such name         covers QNAME                       matches closest encloser, covers next closer,
//!                        covers *.encloser                  covers *.encloser
//!   no such type         owner's own, or covers an          matches QNAME; else (opt-out) closest encloser
//!                        empty non-terminal                 and next closer
//!   from a wildcard      covers QNAME                       covers next closer
//!   wildcard, no type    covers QNAME, the wildcard's own   closest encloser, next closer, matches wildcard
//!   cut without DS       the cut's own                      matches the cut; else (opt-out) as above
//! ```
//!
//! Proofs are gathered while the answer section is written and follow it in the authority section, each record
//! once. An unsigned zone, or a resolver that did not ask, gets none.

use arrayvec::ArrayVec;
use domain::base::iana::Rtype;

use super::emit::{Full, Out, is_same};
use super::trail::LINK_COUNT_MAX;
use super::{Search, Section};
use crate::name::{Name, NameBuf};
use crate::zone::{Node, Nsec3, Nsec3Lookup, Rrset, Zone};

/// One a link, and the three that the end of a chain may take.
const PROOF_COUNT_MAX: usize = LINK_COUNT_MAX + 4;

/// A record set that proves an absence, and whose name it has.
#[derive(Clone, Copy)]
enum Proof<'a> {
    Nsec(Node<'a>),
    Nsec3(Nsec3<'a>),
}

impl<'a> Proof<'a> {
    fn rrset(&self) -> Option<Rrset<'a>> {
        match self {
            Proof::Nsec(node) => node.rrset(Rtype::NSEC),
            Proof::Nsec3(nsec3) => nsec3.rrset(),
        }
    }

    fn write(&self, out: &mut Out<'_, '_>) -> Result<(), Full> {
        let Some(set) = self.rrset() else { return Ok(()) };
        match self {
            Proof::Nsec(node) => out.put(Section::Authority, node.name(), set),
            Proof::Nsec3(nsec3) => out.put(Section::Authority, &nsec3.owner(), set),
        }
    }

    fn is_same(&self, other: &Proof<'a>) -> bool {
        match (self.rrset(), other.rrset()) {
            (Some(this), Some(other)) => is_same(this, other),
            _ => false,
        }
    }
}

/// The proofs of one answer, without repetition.
pub(super) struct Denials<'a>(ArrayVec<Proof<'a>, PROOF_COUNT_MAX>);

impl<'a> Denials<'a> {
    pub(super) fn new() -> Self {
        Denials(ArrayVec::new())
    }

    fn add(&mut self, proof: Proof<'a>) {
        if !self.0.iter().any(|held| held.is_same(&proof)) {
            // Cannot be full: each link of a chain adds one, and its end at most three.
            let _ = self.0.try_push(proof);
        }
    }

    fn add_nsec(&mut self, owner: Option<Node<'a>>) {
        owner.into_iter().for_each(|owner| self.add(Proof::Nsec(owner)));
    }

    fn add_nsec3(&mut self, found: Option<Nsec3Lookup<'a>>) {
        found.into_iter().for_each(|found| self.add(Proof::Nsec3(found.nsec3())));
    }

    /// Writes them out, and holds none then.
    pub(super) fn write(&mut self, out: &mut Out<'_, '_>) -> Result<(), Full> {
        self.0.drain(..).try_for_each(|proof| proof.write(out))
    }
}

/// How a zone proves what it does not have.
pub(super) enum Chain {
    None,
    Nsec,
    Nsec3,
}

impl Chain {
    pub(super) fn of(zone: &Zone) -> Chain {
        match (zone.nsec3(), zone.is_nsec_signed()) {
            (Some(_), _) => Chain::Nsec3,
            (None, true) => Chain::Nsec,
            (None, false) => Chain::None,
        }
    }
}

impl<'a> Search<'a, '_, '_> {
    fn chain(&self, zone: &Zone) -> Chain {
        if self.out.dnssec_ok() { Chain::of(zone) } else { Chain::None }
    }

    /// Whether the zone is signed and the resolver wants to know.
    pub(super) fn has_proofs(&self, zone: &Zone) -> bool {
        !matches!(self.chain(zone), Chain::None)
    }

    /// No such name: RFC 4035 section 3.1.3.2, RFC 5155 section 7.2.2.
    pub(super) fn deny_name(&mut self, zone: &'a Zone, encloser: Node<'a>) {
        match self.chain(zone) {
            Chain::None => {}
            Chain::Nsec => {
                self.denials.add_nsec(zone.nsec_for(&self.name));
                self.denials.add_nsec(zone.nsec_for_wildcard(encloser));
            }
            Chain::Nsec3 => {
                let encloser = self.prove_encloser(zone, encloser);
                self.look_up_wildcard(zone, encloser);
            }
        }
    }

    /// No such type at `node`: RFC 4035 sections 3.1.3.1 and 3.1.4, RFC 5155 sections 7.2.3, 7.2.4 and 7.2.7.
    pub(super) fn deny_type(&mut self, zone: &'a Zone, node: Node<'a>) {
        match self.chain(zone) {
            Chain::None => {}
            Chain::Nsec => self.denials.add_nsec(zone.nsec_for_node(node)),
            Chain::Nsec3 => match zone.nsec3_for(node.name()) {
                Some(Nsec3Lookup::Matches(own)) => self.denials.add(Proof::Nsec3(own)),
                // Opt-out left the name out: RFC 5155 sections 7.2.4 and 7.2.7.
                _ => self.prove_opt_out(zone, node),
            },
        }
    }

    /// The data is a wildcard's: no closer name may exist (RFC 4035 section 3.1.3.3, RFC 5155 section 7.2.6).
    pub(super) fn deny_closer_name(&mut self, zone: &'a Zone, encloser: Node<'a>) {
        match self.chain(zone) {
            Chain::None => {}
            Chain::Nsec => self.denials.add_nsec(zone.nsec_for(&self.name)),
            Chain::Nsec3 => {
                self.cover_next_closer(zone, self.name.name().to_owned().as_name(), encloser.name())
            }
        }
    }

    /// A wildcard that lacks the type: RFC 4035 section 3.1.3.4, RFC 5155 section 7.2.5.
    pub(super) fn deny_type_at_wildcard(&mut self, zone: &'a Zone, encloser: Node<'a>, wildcard: Node<'a>) {
        match self.chain(zone) {
            Chain::None => {}
            Chain::Nsec => {
                self.denials.add_nsec(zone.nsec_for(&self.name));
                self.denials.add_nsec(zone.nsec_for_node(wildcard));
            }
            Chain::Nsec3 => {
                self.prove_encloser(zone, encloser);
                self.denials.add_nsec3(zone.nsec3_for(wildcard.name()));
            }
        }
    }

    /// RFC 5155 section 7.2.1 for the name at hand; the encloser that could be proved.
    fn prove_encloser(&mut self, zone: &'a Zone, encloser: Node<'a>) -> Node<'a> {
        let (encloser, own) = provable(zone, encloser);
        own.into_iter().for_each(|own| self.denials.add(Proof::Nsec3(own)));
        self.cover_next_closer(zone, self.name.name().to_owned().as_name(), encloser.name());
        encloser
    }

    /// The same for a name that exists and that opt-out left out of the chain.
    fn prove_opt_out(&mut self, zone: &'a Zone, node: Node<'a>) {
        let (encloser, own) = provable(zone, node);
        own.into_iter().for_each(|own| self.denials.add(Proof::Nsec3(own)));
        self.cover_next_closer(zone, node.name(), encloser.name());
    }

    /// The next closer name is one label longer than the encloser (RFC 5155 section 1.3).
    fn cover_next_closer(&mut self, zone: &'a Zone, name: &Name, encloser: &Name) {
        let further = name.label_count().saturating_sub(encloser.label_count() + 1);
        if let Some(next_closer) = name.skip_labels(further) {
            self.denials.add_nsec3(zone.nsec3_for(next_closer));
        }
    }

    /// The NSEC3 that covers `*.` the encloser.
    fn look_up_wildcard(&mut self, zone: &'a Zone, encloser: Node<'a>) {
        // A wildcard of a name that is too long for one cannot exist, and needs no proof.
        if let Ok(wildcard) = NameBuf::wildcard_of(encloser.name()) {
            self.denials.add_nsec3(zone.nsec3_for(&wildcard));
        }
    }
}

/// The closest ancestor of `node`, or `node` itself, that the chain has: opt-out leaves out names that only
/// delegations without DS need.
fn provable<'a>(zone: &'a Zone, node: Node<'a>) -> (Node<'a>, Option<Nsec3<'a>>) {
    let mut node = node;
    loop {
        if let Some(Nsec3Lookup::Matches(own)) = zone.nsec3_for(node.name()) {
            return (node, Some(own));
        }
        match node.parent() {
            Some(parent) => node = parent,
            None => return (node, None),
        }
    }
}
