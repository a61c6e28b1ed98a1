//! Answers from zones, and answers without records.

use super::{Asker, Desk, DeskConfig, Outcome, Way};
use crate::answer;
use crate::message::{ExtendedError, Flags, Opt, Query, Rcode, Writer};
use crate::tcp::Answered;
use crate::transfer::clock::unix_s;
use std::sync::Arc;

impl Desk {
    pub(super) fn ordinary(&mut self, query: &Query<'_>, asker: Asker, room: &mut [u8]) -> Outcome {
        let size_max = asker.size_max(query, room);
        let config = Arc::clone(&self.config);
        let Some(mut writer) = Writer::answering(query, room, size_max) else { return Answered::Hopeless };
        let expire_s = self.expire_s(query);
        if let Some(opt) = self.opt(&config, query, asker) {
            let opt = Opt { expire_s, ..opt };
            // No room for it: then there is none for an answer, and TC will say so.
            let _ = writer.set_opt(opt);
        }
        answer::answer(self.catalog.load(), query, &config.policy, &mut writer);
        Answered::Message(writer.finish())
    }

    /// An answer without records.
    pub(super) fn say(&mut self, query: &Query<'_>, asker: Asker, rcode: Rcode, room: &mut [u8]) -> Outcome {
        let size_max = asker.size_max(query, room);
        let config = Arc::clone(&self.config);
        let Some(mut writer) = Writer::answering(query, room, size_max) else { return Answered::Hopeless };
        writer.set_rcode(rcode);
        if rcode == Rcode::NOERROR {
            writer.set_flags(Flags::AA);
        }
        if let Some(opt) = self.opt(&config, query, asker) {
            let _ = writer.set_opt(opt);
            // RFC 8914 section 4.19: whoever is refused here is not among those who may.
            if rcode == Rcode::REFUSED {
                writer.set_extended_error(ExtendedError::PROHIBITED);
            }
        }
        Answered::Message(writer.finish())
    }

    /// The OPT record of an answer, if the query has one (RFC 6891 section 7).
    fn opt<'c>(&mut self, config: &'c DeskConfig, query: &Query<'_>, asker: Asker) -> Option<Opt<'c>> {
        let edns = query.edns?;
        let (opt, cookie) = config.opt(&edns, asker.peer.ip(), || unix_s() as u32);
        self.cookie = cookie;
        if let Some(cookie) = cookie {
            self.tally.on_cookie(cookie);
        }
        // RFC 7828 section 3.3.1: only over TCP, in tenths of a second.
        let keepalive = match asker.way {
            Way::Tcp { keep_alive } if edns.wants_keepalive => {
                Some(u16::try_from(keep_alive.as_millis() / 100).unwrap_or(u16::MAX))
            }
            _ => None,
        };
        Some(Opt { keepalive, ..opt })
    }
}
