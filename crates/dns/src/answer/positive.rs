//! The name exists, or a wildcard speaks for it: its data, its alias, or the news that it has no such data.

use domain::base::iana::Rtype;

use super::emit::Full;
use super::{Search, Section, Step};
use crate::zone::{Node, Zone};

impl<'a> Search<'a, '_, '_> {
    /// RFC 1034 section 4.3.2 step 3a.
    pub(super) fn at_node(&mut self, zone: &'a Zone, node: Node<'a>) -> Result<Step, Full> {
        if self.put_data(zone, node)? {
            return Ok(Step::Done);
        }
        match node.rrset(Rtype::CNAME) {
            Some(alias) => self.follow(alias),
            None => self.no_data(zone, node),
        }
    }

    /// RFC 4592 section 3.3.1: the wildcard's data under the name asked for, with a proof that no closer name
    /// exists (RFC 4035 section 3.1.3.3, RFC 5155 section 7.2.6).
    pub(super) fn synthesize(
        &mut self,
        zone: &'a Zone,
        encloser: Node<'a>,
        wildcard: Node<'a>,
    ) -> Result<Step, Full> {
        if self.put_data(zone, wildcard)? {
            self.deny_closer_name(zone, encloser);
            return Ok(Step::Done);
        }
        match wildcard.rrset(Rtype::CNAME) {
            Some(alias) => {
                self.deny_closer_name(zone, encloser);
                self.follow(alias)
            }
            None => self.no_data_at_wildcard(zone, encloser, wildcard),
        }
    }

    /// Writes what `node` has of the type asked for; whether there was any.
    fn put_data(&mut self, zone: &'a Zone, node: Node<'a>) -> Result<bool, Full> {
        let set = match self.qtype {
            Rtype::RRSIG => return self.put_signatures(node),
            // RFC 8482 section 4.1: one set of those there are is answer enough.
            Rtype::ANY => node.rrsets().next(),
            qtype => node.rrset(qtype),
        };
        match set {
            Some(set) => self.put_answer(zone, set).map(|()| true),
            None => Ok(false),
        }
    }

    /// Signatures asked for by themselves: those of one set, as RFC 8482 section 7 has it for ANY.
    fn put_signatures(&mut self, node: Node<'a>) -> Result<bool, Full> {
        match node.rrsets().find(|set| set.sigs().len() > 0) {
            Some(set) => self.out.put_signatures(Section::Answer, self.name.name(), set).map(|()| true),
            None => Ok(false),
        }
    }
}
