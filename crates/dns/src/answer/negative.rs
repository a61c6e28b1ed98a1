//! What there is not: no such name, no such data (RFC 2308).

use domain::base::iana::Rtype;

use super::emit::Full;
use super::{Search, Section, Step};
use crate::message::Rcode;
use crate::zone::{Node, Zone};

impl<'a> Search<'a, '_, '_> {
    /// NXDOMAIN: RFC 2308 section 2.1.1. After an alias it speaks of the last name (RFC 6604 section 3).
    pub(super) fn name_error(&mut self, zone: &'a Zone, encloser: Node<'a>) -> Result<Step, Full> {
        self.rcode = Rcode::NXDOMAIN;
        self.put_authority(zone)?;
        self.deny_name(zone, encloser);
        Ok(Step::Done)
    }

    /// The name exists without the type: RFC 2308 section 2.2.1.
    pub(super) fn no_data(&mut self, zone: &'a Zone, node: Node<'a>) -> Result<Step, Full> {
        self.put_authority(zone)?;
        self.deny_type(zone, node);
        Ok(Step::Done)
    }

    /// A wildcard speaks for the name and lacks the type, too.
    pub(super) fn no_data_at_wildcard(
        &mut self,
        zone: &'a Zone,
        encloser: Node<'a>,
        wildcard: Node<'a>,
    ) -> Result<Step, Full> {
        self.put_authority(zone)?;
        self.deny_type_at_wildcard(zone, encloser, wildcard);
        Ok(Step::Done)
    }

    /// The SOA, and for how long "no" holds: the lesser of its TTL and its MINIMUM (RFC 2308 sections 3 and 5).
    fn put_authority(&mut self, zone: &'a Zone) -> Result<(), Full> {
        match zone.apex_node().rrset(Rtype::SOA) {
            Some(soa) => {
                let ttl = zone.soa().negative_ttl;
                self.out.put_with_ttl(Section::Authority, zone.apex(), soa, ttl)
            }
            None => Ok(()),
        }
    }
}
