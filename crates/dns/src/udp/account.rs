//! What is counted of answers over UDP, and what the rate limit makes of them.
//!
//! It looks at the message that is about to be sent, however that was made, so that nothing goes out unlimited.
//!
//! Not here: the limits themselves (`rrl`), the numbers themselves (`counters`), and the counting of queries that
//! the source answers whole, which reads them better.

use super::Outcome;
use super::glance::{Glance, HEADER_LEN, QUESTION_TAIL_LEN, name_end};
use crate::cookie::CookieVerdict;
use crate::counters::{DnsTally, Transport};
use crate::message::{Flags, Rcode, Rtype};
use crate::rrl::{RateLimiter, RateVerdict, ResponseClass};
use std::sync::Arc;
use tidegate_base::Instant;
use tidegate_packet::Pool;
use tidegate_stack::{Datagram, Reply};

/// A worker's count and limit.
#[derive(Default)]
pub(super) struct Account {
    pub(super) tally: Option<Arc<DnsTally>>,
    pub(super) limiter: Option<RateLimiter>,
}

impl Account {
    /// Counts the answer to `datagram`, whose query had `query_len` octets, and lets the rate limit change it unless a
    /// good cookie shows that the client is who it says (RFC 7873 section 5.2.3).
    #[inline]
    pub(super) fn pass(
        &mut self,
        now: Instant,
        datagram: &mut Datagram,
        query_len: usize,
        outcome: Outcome,
        pool: &mut Pool,
    ) -> Reply {
        let Outcome { reply, cookie } = outcome;
        if self.tally.is_none() && self.limiter.is_none() {
            return reply;
        }
        let verdict = match message(datagram, &reply) {
            Some(message) => self.judge(now, datagram, cookie, message),
            None => return reply,
        };
        match verdict {
            RateVerdict::Send => return reply,
            RateVerdict::Slip | RateVerdict::Drop => {}
        }
        if let Reply::By(payload) = reply {
            pool.free(payload.frame);
        }
        if verdict == RateVerdict::Slip { slip(datagram, query_len) } else { Reply::Silence }
    }

    /// Counts a query that was answered without being read whole.
    #[inline]
    pub(super) fn on_ready(&self, datagram: &Datagram, glance: &Glance, cookie: Option<CookieVerdict>) {
        if let Some(tally) = &self.tally {
            let transport = Transport::udp(datagram.local().is_ipv6());
            let dnssec_ok = glance.edns.map(|edns| edns.wants_dnssec);
            tally.on_plain_query(transport, Rtype(glance.key.qtype), dnssec_ok);
            if let Some(cookie) = cookie {
                tally.on_cookie(cookie);
            }
        }
    }

    fn judge(
        &mut self,
        now: Instant,
        datagram: &Datagram,
        cookie: Option<CookieVerdict>,
        message: &[u8],
    ) -> RateVerdict {
        let Some(header) = message.first_chunk::<HEADER_LEN>() else { return RateVerdict::Send };
        let flags = Flags(u16::from_be_bytes([header[2], header[3]]));
        let limiter = self.limiter.as_mut().filter(|_| cookie != Some(CookieVerdict::Good));
        let verdict = limiter.map_or(RateVerdict::Send, |limiter| {
            let class = class_of(header, flags);
            limiter.on_response(now, datagram.peer().ip(), class, alike(message, class))
        });
        if let Some(tally) = &self.tally {
            tally.on_rate_verdict(verdict);
            if verdict != RateVerdict::Drop {
                tally.on_response(flags.rcode(), message.len(), flags.has(Flags::TC));
            }
        }
        verdict
    }
}

/// The message that `reply` sends, if it sends one.
#[inline]
pub(crate) fn message<'a>(datagram: &'a Datagram, reply: &'a Reply) -> Option<&'a [u8]> {
    match reply {
        Reply::InPlace(_) => Some(datagram.data()),
        Reply::By(payload) => Some(payload.frame.data()),
        _ => None,
    }
}

#[inline]
fn class_of(header: &[u8; HEADER_LEN], flags: Flags) -> ResponseClass {
    let [.., a0, a1, n0, n1, _, _] = *header;
    match flags.rcode() {
        Rcode::NXDOMAIN => ResponseClass::NxDomain,
        Rcode::NOERROR if [a0, a1] != [0, 0] => ResponseClass::Positive,
        Rcode::NOERROR if [n0, n1] != [0, 0] && !flags.has(Flags::AA) => ResponseClass::Referral,
        Rcode::NOERROR => ResponseClass::NoData,
        _ => ResponseClass::Error,
    }
}

/// What makes answers of a class alike: the name asked for, or, where one of a random kind was, what all of them
/// have in common: the owner of the first record of authority, which is the zone's SOA or the cut's NS.
/// It is the same in every worker: they share buckets.
fn alike(message: &[u8], class: ResponseClass) -> u64 {
    match (class, name_end(message)) {
        (ResponseClass::Error, _) | (_, None) => 0,
        (ResponseClass::Positive, Some(end)) => {
            hash_question(message.get(HEADER_LEN..end).unwrap_or_default())
        }
        (_, Some(end)) => hash_name(message, end + QUESTION_TAIL_LEN),
    }
}

const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// A hash of a name without pointers, eight octets at a time. The bit of a letter's case is set in all octets: a
/// few names more are alike.
#[inline]
fn hash_question(name: &[u8]) -> u64 {
    const CASE: u64 = 0x2020_2020_2020_2020;
    let (words, rest) = name.as_chunks::<8>();
    let mut last = [0; 8];
    last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    let words = words.iter().chain([&last]).map(|word| u64::from_le_bytes(*word) | CASE);
    words.fold(0, |hash, word| (hash ^ word).wrapping_mul(FACTOR).rotate_left(29))
}

/// A hash of the name at `at` in lower case. Its pointers lead back, as this server writes them.
fn hash_name(message: &[u8], mut at: usize) -> u64 {
    let mut hash = 0u64;
    while let Some(&len) = message.get(at) {
        if len & 0xc0 == 0xc0 {
            let low = message.get(at + 1).copied().unwrap_or_default();
            let target = usize::from(len & 0x3f) << 8 | usize::from(low);
            if target >= at {
                break;
            }
            at = target;
            continue;
        }
        let Some(label) = message.get(at..=at + usize::from(len)) else { break };
        for octet in label {
            hash = (hash ^ u64::from(octet.to_ascii_lowercase())).wrapping_mul(FACTOR).rotate_left(29);
        }
        if len == 0 {
            break;
        }
        at += label.len();
    }
    hash
}

/// An empty answer with TC: an honest client asks again over TCP, a forged one draws no more than it sent. A
/// question that had pointers is longer where it is written out; who sends such ones gets none.
#[cold]
fn slip(datagram: &mut Datagram, query_len: usize) -> Reply {
    let Some(end) = question_end(datagram.data()).filter(|end| *end <= query_len) else {
        return Reply::Silence;
    };
    datagram.truncate(end);
    let Some([_, _, f0, f1, _, _, counts @ ..]) = datagram.data_mut().first_chunk_mut::<HEADER_LEN>() else {
        return Reply::Silence;
    };
    let asked = Flags(u16::from_be_bytes([*f0, *f1]));
    let flags = asked.only(Flags::RD).with_opcode(asked.opcode()).with(Flags::QR).with(Flags::TC);
    [*f0, *f1] = flags.0.to_be_bytes();
    *counts = [0; 6];
    Reply::InPlace(tidegate_base::Sum::of(datagram.data()))
}

/// Where the question ends, which what could not be read has none of.
fn question_end(message: &[u8]) -> Option<usize> {
    match message.get(4..6)? {
        [0, 0] => Some(HEADER_LEN),
        _ => name_end(message).map(|end| end + QUESTION_TAIL_LEN),
    }
}
