//! Queries with a signature (RFC 8945).
//!
//! Invariant: nothing of a query is heeded before its signature is found to be good.

use super::{Asker, Desk, Outcome};
use crate::message::{Query, Rcode, Writer};
use crate::tcp::Answered;
use crate::transfer::clock::unix_s;
use crate::tsig::{self, Checked, Pass, Rejection};

impl Desk {
    /// RFC 8945 section 5.2: a signature is looked at before anything else.
    pub(super) fn check(&mut self, query: &Query<'_>, asker: Asker, room: &mut [u8]) -> Outcome {
        let relations = self.served.relations();
        match tsig::check(query.message, relations.keys(), unix_s()) {
            Checked::Signed(pass) => self.answer_signed(query, asker, pass, room),
            Checked::Rejected(rejection) => self.reject(query, &rejection, room),
            Checked::Unsigned | Checked::Malformed => self.say(query, asker, Rcode::FORMERR, room),
        }
    }

    fn answer_signed(&mut self, query: &Query<'_>, asker: Asker, pass: Pass, room: &mut [u8]) -> Outcome {
        let mut signer = pass.signer();
        let size_max = asker.size_max(query, room);
        let Some(plain_len) = size_max.checked_sub(signer.record_len()) else { return Answered::Hopeless };
        match self.dispatch(query, asker, Some(&pass), &mut room[..plain_len]) {
            Answered::Message(len) => {
                let signed_len = signer.sign(room, len, unix_s());
                signed_len.map_or(Answered::Hopeless, Answered::Message)
            }
            other => other,
        }
    }

    /// RFC 8945 section 5.2: NOTAUTH, and the reason in a TSIG record.
    fn reject(&self, query: &Query<'_>, rejection: &Rejection, room: &mut [u8]) -> Outcome {
        let mut answered = || {
            let size_max = room.len();
            let mut writer = Writer::answering(query, room, size_max)?;
            writer.set_rcode(Rcode::NOTAUTH);
            let len = writer.finish();
            rejection.answer(room, len, unix_s())
        };
        answered().map_or(Answered::Hopeless, Answered::Message)
    }
}
