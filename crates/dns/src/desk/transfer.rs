//! Zones for whoever may have them: AXFR (RFC 5936), IXFR (RFC 1995), and for how long (RFC 7314).

use super::{Asker, Desk, Outcome, Way};
use crate::message::{Class, Query, Question, Rcode, Rtype};
use crate::name::Folded;
use crate::tcp::Answered;
use crate::transfer::Relations;
use crate::transfer::inbound::{is_newer, proposed_serial};
use crate::transfer::outbound::{Outbound, Script};
use crate::tsig::Pass;
use crate::zone::Zone;
use std::sync::Arc;

impl Desk {
    /// Hands out a zone, or says why not.
    pub(super) fn transfer(
        &mut self,
        query: &Query<'_>,
        asker: Asker,
        pass: Option<&Pass>,
        room: &mut [u8],
    ) -> Outcome {
        let script = match self.script(query, asker, pass) {
            Ok(script) => script,
            Err(rcode) => return self.say(query, asker, rcode, room),
        };
        let expire_s = self.expire_s(query);
        match asker.way {
            Way::Udp { .. } => in_one_datagram(script, query, asker, expire_s, room),
            // The one here, and one for each transfer.
            Way::Tcp { .. } if Arc::strong_count(&self.ticket) > self.config.transfer_count_max => {
                self.say(query, asker, Rcode::SERVFAIL, room)
            }
            Way::Tcp { .. } => {
                let (signer, ticket) = (pass.map(Pass::signer), Arc::clone(&self.ticket));
                let transfer = Outbound::new(script, query, signer, Some(ticket));
                Answered::Transfer(Box::new(transfer.with_expire(expire_s)))
            }
        }
    }

    /// What is to be handed out, if it may be.
    fn script(&mut self, query: &Query<'_>, asker: Asker, pass: Option<&Pass>) -> Result<Script, Rcode> {
        let apex = Folded::of(query.question.name);
        let relations = self.served.relations();
        // RFC 5936 section 2.2.1: NOTAUTH for a zone that is not here.
        let hosting = self.catalog.load().hosting(&apex).ok_or(Rcode::NOTAUTH)?;
        if !may_have(&relations, &apex, asker, pass) {
            return Err(Rcode::REFUSED);
        }
        let zone = Arc::clone(hosting.zone().ok_or(Rcode::SERVFAIL)?);
        let is_udp = matches!(asker.way, Way::Udp { .. });
        match query.question.rtype {
            Rtype::AXFR => Ok(Script::Whole(zone)),
            _ => {
                let theirs = proposed_serial(query.message).ok_or(Rcode::FORMERR)?;
                Ok(self.steps(zone, theirs, is_udp))
            }
        }
    }

    /// RFC 1995 sections 2 and 4: the steps, if they are known, or all of it; over UDP the version at least, so
    /// that the client comes again by TCP.
    fn steps(&self, zone: Arc<Zone>, theirs: u32, is_udp: bool) -> Script {
        if !is_newer(zone.serial(), theirs) {
            return Script::Version(zone);
        }
        match self.served.way(theirs, &zone) {
            Some(steps) => Script::Steps(zone, steps),
            None if is_udp => Script::Version(zone),
            None => Script::Whole(zone),
        }
    }

    /// For how long the zone may be served that a client means to copy, if it asks (RFC 7314 section 3).
    pub(super) fn expire_s(&mut self, query: &Query<'_>) -> Option<u32> {
        let Question { name, rtype, class } = query.question;
        let is_asked = query.edns.is_some_and(|edns| edns.wants_expire);
        if !is_asked || class != Class::IN || !matches!(rtype, Rtype::SOA | Rtype::AXFR | Rtype::IXFR) {
            return None;
        }
        let zone = self.catalog.load().hosting(&Folded::of(name))?.zone()?;
        Some(self.served.expire_s(zone))
    }
}

fn may_have(relations: &Relations, apex: &Folded, asker: Asker, pass: Option<&Pass>) -> bool {
    let key = pass.map(|pass| pass.key().name());
    relations.of(apex.name()).is_some_and(|relation| relation.allow_transfer.admits(asker.peer.ip(), key))
}

fn in_one_datagram(
    script: Script,
    query: &Query<'_>,
    asker: Asker,
    expire_s: Option<u32>,
    room: &mut [u8],
) -> Outcome {
    let size_max = asker.size_max(query, room);
    let version = Script::Version(Arc::clone(script.zone()));
    let made = [script, version].into_iter().find_map(|script| {
        let transfer = Outbound::new(script, query, None, None).with_expire(expire_s);
        transfer.in_one_message(&mut room[..size_max])
    });
    made.map_or(Answered::Hopeless, Answered::Message)
}
