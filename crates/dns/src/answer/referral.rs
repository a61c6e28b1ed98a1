//! Zone cuts: referrals with glue, and the one type that a cut answers for itself, DS.

use domain::base::iana::Rtype;

use super::emit::Full;
use super::{Search, Section, Step};
use crate::zone::{Node, Zone};

impl<'a> Search<'a, '_, '_> {
    /// RFC 1034 section 4.3.2 step 3b: the NS set, then DS or the proof that there is none (RFC 4035 section
    /// 3.1.4), then glue.
    pub(super) fn referral(&mut self, zone: &'a Zone, cut: Node<'a>) -> Result<Step, Full> {
        let Some(servers) = cut.rrset(Rtype::NS) else { return Ok(Step::Done) };
        self.out.put(Section::Authority, cut.name(), servers)?;
        self.pointing = None;
        // RFC 4035 section 3.1.4 speaks of signed zones; elsewhere a DS would be worth nothing.
        match cut.rrset(Rtype::DS).filter(|_| self.has_proofs(zone)) {
            Some(ds) => self.out.put(Section::Authority, cut.name(), ds)?,
            None => self.deny_type(zone, cut),
        }
        self.denials.write(&mut self.out)?;
        self.put_glue(zone, cut, servers)?;
        Ok(Step::Done)
    }

    /// The parent's answer about the child's keys: RFC 4035 section 3.1.4.1.
    pub(super) fn delegation_signer(&mut self, zone: &'a Zone, cut: Node<'a>) -> Result<Step, Full> {
        match cut.rrset(Rtype::DS) {
            Some(ds) => self.put_answer(zone, ds).map(|()| Step::Done),
            None => self.no_data(zone, cut),
        }
    }
}
