//! The answer to a question: every case of RFC 1034 section 4.3.2, as RFC 2308, 4035, 4592, 5155, 6672, 8482 and
//! 9471 amend it.
//!
//! ```text
//!   Query --> class --IN--> Catalog::find --> Zone::find --+-- Exact, Wildcard --> positive.rs --+--> alias: again
//!               |                                          +-- Dname ------------> alias.rs -----/
//!               +--CH--> chaos.rs                          +-- Cut --------------> referral.rs
//!                                                          +-- Missing, no data -> negative.rs --> denial.rs
//!                                              then, where room is left: additional.rs
//! ```
//!
//! What it is not: it reads no packet ([`Query`] is parsed), knows no transport and counts nothing. It does not
//! allocate: names live on the stack, data is copied from the zone into the message.
//!
//! The invariant: what is written are whole record sets with their signatures. Where a required one does not fit,
//! the message ends there and has TC (RFC 2181 section 9).

mod additional;
mod alias;
mod chaos;
mod denial;
mod emit;
mod family;
mod negative;
mod positive;
mod referral;
#[cfg(test)]
mod tests;
mod trail;

use domain::base::iana::Rtype;

use crate::message::{
    Class, ExtendedError, Flags, Opcode, Query, Rcode, Rtype as QueryType, Section, Writer,
};
use crate::name::Folded;
use crate::zone::{Catalog, Hosting, Lack, Lookup, Rrset, Zone};

pub use self::family::Family;

use self::denial::Denials;
use self::emit::{Full, Out};
use self::trail::Trail;

/// What an operator says about answers that no zone holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// `version.bind` and `version.server` in class CHAOS; refused if absent.
    pub version: Option<String>,
    /// `id.server` and `hostname.bind` in class CHAOS (RFC 4892); refused if absent.
    pub identity: Option<String>,
}

/// Writes the answer to `query` and returns its RCODE, which the writer has too. OPT and what else comes last is
/// the caller's.
pub fn answer(catalog: &Catalog, query: &Query<'_>, policy: &Policy, writer: &mut Writer<'_>) -> Rcode {
    let rcode = match query.opcode() {
        Opcode::QUERY => answer_query(catalog, query, policy, writer),
        // RFC 1996 section 3.10: a NOTIFY that found no secondary to hear it is for another server.
        Opcode::NOTIFY => Rcode::NOTAUTH,
        _ => Rcode::NOTIMP,
    };
    writer.set_rcode(rcode);
    rcode
}

fn answer_query(catalog: &Catalog, query: &Query<'_>, policy: &Policy, writer: &mut Writer<'_>) -> Rcode {
    match query.question.class {
        // RFC 5936 section 4.2: there is no AXFR over UDP, and transfers over TCP never come here.
        Class::IN | Class::ANY if query.question.rtype == QueryType::AXFR => Rcode::NOTIMP,
        Class::IN => Search::new(catalog, query, writer).run(),
        Class::ANY => {
            let rcode = Search::new(catalog, query, writer).run();
            // RFC 1035 section 6.2: an answer of one class has no authority to speak for all.
            writer.clear_flags(Flags::AA);
            rcode
        }
        Class::CH => chaos::answer(query, policy, writer),
        _ => Rcode::REFUSED,
    }
}

/// Who is responsible for `name`. The DS of a zone is its parent's, and so is the answer if both are here (RFC 4035
/// section 3.1.4.1).
fn hosting_of<'a>(catalog: &'a Catalog, name: &Folded, qtype: Rtype) -> Option<&'a Hosting> {
    let hosting = catalog.find(name)?;
    if qtype != Rtype::DS {
        return Some(hosting);
    }
    let above = || catalog.find_above(name).filter(|above| above.zone().is_some());
    match hosting {
        Hosting::Ready(zone) if zone.apex() != name.name() => Some(hosting),
        _ => above().or(Some(hosting)),
    }
}

/// One question on its way through the zones.
struct Search<'a, 'w, 'b> {
    catalog: &'a Catalog,
    out: Out<'w, 'b>,
    qtype: Rtype,
    /// QNAME, then what aliases make of it.
    name: Folded,
    /// So far: what a truncated message has too.
    rcode: Rcode,
    /// Aliases that are in the answer already.
    trail: Trail<'a>,
    /// Proofs that belong to the answer and follow it in the authority section.
    denials: Denials<'a>,
    /// The set whose data names hosts, and the zone that it is from.
    pointing: Option<(&'a Zone, Rrset<'a>)>,
}

/// Where a step leads.
enum Step {
    /// The answer is complete.
    Done,
    /// [`Search::name`] has changed: an alias leads there.
    Again,
}

impl<'a, 'w, 'b> Search<'a, 'w, 'b> {
    fn new(catalog: &'a Catalog, query: &Query<'_>, writer: &'w mut Writer<'b>) -> Self {
        Search {
            catalog,
            out: Out::new(writer, query.dnssec_ok()),
            qtype: Rtype::from_int(query.question.rtype.0),
            name: Folded::of(query.question.name),
            rcode: Rcode::NOERROR,
            trail: Trail::new(),
            denials: Denials::new(),
            pointing: None,
        }
    }

    fn run(mut self) -> Rcode {
        match self.hosting() {
            // RFC 8914 section 4.21 tells "not mine" from "not for you".
            None => {
                self.out.explain(ExtendedError::NOT_AUTHORITATIVE);
                Rcode::REFUSED
            }
            Some(&Hosting::Unavailable(lack)) => {
                self.out.explain(match lack {
                    // RFC 8914 sections 4.15 and 4.25.
                    Lack::Awaited => ExtendedError::NOT_READY,
                    Lack::Unusable => ExtendedError::INVALID_DATA,
                });
                Rcode::SERVFAIL
            }
            Some(Hosting::Ready(zone)) => {
                if self.resolve(zone).is_err() {
                    self.out.truncate();
                }
                self.rcode
            }
        }
    }

    /// Who is responsible for the name at hand.
    fn hosting(&self) -> Option<&'a Hosting> {
        hosting_of(self.catalog, &self.name, self.qtype)
    }

    fn resolve(&mut self, zone: &'a Zone) -> Result<(), Full> {
        let mut zone = zone;
        while let Step::Again = self.step(zone)? {
            // An alias that leaves our zones ends the answer: the resolver goes on from there.
            let Some(next) = self.hosting().and_then(Hosting::zone) else { break };
            zone = next;
        }
        self.denials.write(&mut self.out)?;
        self.add_addresses();
        Ok(())
    }

    /// RFC 1034 section 4.3.2 step 3, as RFC 4592 section 3.3.1 and RFC 6672 section 3.2 have it.
    fn step(&mut self, zone: &'a Zone) -> Result<Step, Full> {
        let found = zone.find(&self.name);
        if self.trail.is_empty() && self.is_authoritative(found) {
            self.out.set_authoritative();
        }
        match found {
            Lookup::Exact(node) => self.at_node(zone, node),
            Lookup::Cut { cut, at_cut: true } if self.qtype == Rtype::DS => self.delegation_signer(zone, cut),
            Lookup::Cut { cut, .. } => self.referral(zone, cut),
            Lookup::Dname { owner } => self.redirect(zone, owner),
            Lookup::Wildcard { encloser, wildcard } => self.synthesize(zone, encloser, wildcard),
            Lookup::Missing { encloser } => self.name_error(zone, encloser),
        }
    }

    /// AA speaks of the first owner in the answer (RFC 1035 section 4.1.1), so only the first step counts.
    fn is_authoritative(&self, found: Lookup<'a>) -> bool {
        match found {
            Lookup::Cut { at_cut, .. } => at_cut && self.qtype == Rtype::DS,
            _ => true,
        }
    }

    /// Writes a set that belongs to the answer under the name at hand, and remembers where it points.
    fn put_answer(&mut self, zone: &'a Zone, set: Rrset<'a>) -> Result<(), Full> {
        self.pointing = Some((zone, set));
        self.out.put(Section::Answer, self.name.name(), set)
    }
}
