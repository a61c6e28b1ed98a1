//! News that a zone has changed which is copied from another server (RFC 1996).

use super::{Asker, Desk, Outcome};
use crate::message::{Query, Rcode, Rtype};
use crate::name::NameBuf;
use crate::transfer::secondary::Event;
use crate::tsig::Pass;

impl Desk {
    /// RFC 1996 section 3.11: heeds the news that a copied zone has changed.
    pub(super) fn notified(
        &mut self,
        query: &Query<'_>,
        asker: Asker,
        pass: Option<&Pass>,
        room: &mut [u8],
    ) -> Outcome {
        let apex = query.question.name;
        let relations = self.served.relations();
        let copied = relations.of(apex).and_then(|relation| relation.copied.as_ref());
        let rcode = match copied {
            _ if query.question.rtype != Rtype::SOA => Rcode::NOTIMP,
            None => Rcode::NOTAUTH,
            Some(copied) if !copied.heeds(asker.peer.ip(), pass.map(|pass| pass.key().name())) => {
                Rcode::REFUSED
            }
            Some(_) => {
                // A worker does not wait: where so many wait already, one more says nothing new. And nobody
                // listens any more when the service ends.
                let _ = self.checks.try_send(Event::Check(NameBuf::from(apex)));
                Rcode::NOERROR
            }
        };
        self.say(query, asker, rcode, room)
    }
}
