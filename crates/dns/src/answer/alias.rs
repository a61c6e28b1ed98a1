//! Aliases: CNAME and DNAME, followed through all zones that are here.
//!
//! A chain ends after [`LINK_COUNT_MAX`] links or where it comes back to itself; what was found until then is the
//! answer, and the resolver goes on from there.

use domain::base::iana::Rtype;

use super::emit::Full;
use super::trail::LINK_COUNT_MAX;
use super::{Search, Section, Step};
use crate::message::Rcode;
use crate::name::{Name, NameBuf};
use crate::zone::{Node, Rrset, Zone};

impl<'a> Search<'a, '_, '_> {
    /// RFC 1034 section 4.3.2 step 3a: the CNAME, then the same question for the name that it gives.
    pub(super) fn follow(&mut self, alias: Rrset<'a>) -> Result<Step, Full> {
        self.out.put(Section::Answer, self.name.name(), alias)?;
        match Name::from_wire(alias.first()) {
            Ok(target) => Ok(self.go_on_from(target)),
            Err(_) => Ok(Step::Done),
        }
    }

    /// RFC 6672 section 3.2: the DNAME, the CNAME that it amounts to, and on from there.
    pub(super) fn redirect(&mut self, _zone: &'a Zone, owner: Node<'a>) -> Result<Step, Full> {
        let Some(dname) = owner.rrset(Rtype::DNAME) else { return Ok(Step::Done) };
        if self.trail.is_new_redirection(dname) {
            self.out.put(Section::Answer, owner.name(), dname)?;
        }
        let target = Name::from_wire(dname.first()).unwrap_or(Name::ROOT);
        match NameBuf::substitute(self.name.name(), owner.name(), target) {
            Some(Ok(target)) => self.follow_synthesized(dname.ttl(), &target),
            // RFC 6672 section 2.2: no name is longer than 255 octets.
            _ => {
                self.rcode = Rcode::YXDOMAIN;
                Ok(Step::Done)
            }
        }
    }

    /// RFC 6672 section 3.1: the CNAME has the DNAME's TTL and no signature.
    fn follow_synthesized(&mut self, ttl: u32, target: &Name) -> Result<Step, Full> {
        self.out.put_record(Section::Answer, self.name.name(), Rtype::CNAME, ttl, target.as_wire())?;
        if self.qtype == Rtype::CNAME {
            return Ok(Step::Done);
        }
        Ok(self.go_on_from(target))
    }

    fn go_on_from(&mut self, target: &Name) -> Step {
        self.trail.add(&self.name);
        if self.trail.len() > LINK_COUNT_MAX {
            return Step::Done;
        }
        self.name.assign(target);
        if self.trail.leads_back_to(&self.name) { Step::Done } else { Step::Again }
    }
}
