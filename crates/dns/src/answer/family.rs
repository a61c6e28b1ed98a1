//! Names whose answers are alike: of those that a zone does not have there are as many as anybody cares to ask for,
//! and few ways to say so.
//!
//! ```text
//!   x.y.cut.example     www.cut.example         below one cut: the same referral
//!   nobody.example      none.example            covered by one link of the chain: the same NXDOMAIN, the same proof
//!   a.wild.example      b.wild.example          of one wildcard and type: the same data under another owner
//!   \--- child ---/ \-- suffix --/
//! ```
//! Within a family answers have the same records; only the question differs, what they point to in it, and where a
//! record's owner is the name asked for.
//!
//! Not of a family: what exists, what a DNAME redirects (each has a target of its own), and what is in no zone.

use domain::base::iana::Rtype;

use super::denial::Chain;
use super::hosting_of;
use crate::message;
use crate::name::{Folded, Name};
use crate::zone::{Catalog, Hosting, Lookup, Node, Zone};

/// What the names of one family share, and where one of them parts from the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Family {
    /// Octets of the name that all of them end with: of the cut, or of the closest encloser.
    pub suffix_len: u8,
    /// Where in this name the label before the suffix begins.
    pub child_at: u8,
    /// Labels of this name.
    pub label_count: u8,
    /// What tells families of one suffix apart.
    pub variant: u64,
}

/// What kind of family it is.
#[derive(Clone, Copy)]
enum Kind {
    Below = 1,
    Missing = 2,
    Wildcard = 3,
}

impl Family {
    /// The family that a question of class IN belongs to, if it is of any.
    pub fn of(catalog: &Catalog, name: &Name, qtype: message::Rtype, wants_dnssec: bool) -> Option<Family> {
        let folded = Folded::of(name);
        let hosting = hosting_of(catalog, &folded, Rtype::from_int(qtype.0))?;
        let Hosting::Ready(zone) = hosting else { return None };
        let link = |encloser| link(zone, &folded, encloser, wants_dnssec);
        match zone.find(&folded) {
            Lookup::Cut { cut, at_cut: false } => Family::new(name, cut, Kind::Below, 0, 0),
            Lookup::Missing { encloser } => Family::new(name, encloser, Kind::Missing, 0, link(encloser)?),
            Lookup::Wildcard { encloser, .. } => {
                Family::new(name, encloser, Kind::Wildcard, qtype.0, link(encloser)?)
            }
            Lookup::Cut { .. } | Lookup::Dname { .. } | Lookup::Exact(_) => None,
        }
    }

    /// Whether records of the answer have the question's name as their owner.
    pub const fn is_of_wildcard(&self) -> bool {
        self.variant >> 48 == Kind::Wildcard as u64
    }

    fn new(name: &Name, suffix: Node<'_>, kind: Kind, qtype: u16, link: u32) -> Option<Family> {
        let (label_count, suffix) = (name.label_count(), suffix.name());
        let child = name.skip_labels(label_count.checked_sub(suffix.label_count() + 1)?)?;
        Some(Family {
            suffix_len: suffix.wire_len() as u8,
            child_at: (name.wire_len() - child.wire_len()) as u8,
            label_count: label_count as u8,
            variant: (kind as u64) << 48 | u64::from(qtype) << 32 | u64::from(link),
        })
    }
}

/// The link of the zone's chain that says of this very name that it is not there. All other proofs are the encloser's.
fn link(zone: &Zone, name: &Folded, encloser: Node<'_>, wants_dnssec: bool) -> Option<u32> {
    match Chain::of(zone) {
        Chain::Nsec if wants_dnssec => Some(zone.nsec_below(encloser, name)?.index()),
        Chain::Nsec3 if wants_dnssec => {
            let next_closer = name.name().label_count().checked_sub(encloser.name().label_count() + 1)?;
            Some(zone.nsec3_for(name.name().skip_labels(next_closer)?)?.nsec3().number())
        }
        Chain::None | Chain::Nsec | Chain::Nsec3 => Some(0),
    }
}
