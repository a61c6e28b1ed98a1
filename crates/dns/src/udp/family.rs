//! Answers that are ready for a whole family of names: below one cut, not there between two names that are, of one
//! wildcard.
//!
//! ```text
//!   nobody.example A --Source::family--> (example, NXDOMAIN, link 7) --Store--> sections, joints --compose--> answer
//! ```
//! What a family has in common is made from the answer to the first of its names that is asked for, whole: nothing is
//! left out of it for want of room. An answer that it is too long for is the engine's.
//!
//! Not here: what a family is ([`crate::answer::Family`]), and how it is joined to a name's question (`store`).

use super::glance::{Glance, HEADER_LEN, QUESTION_TAIL_LEN};
use super::{MESSAGE_LEN_MAX, Outcome, Question, Responder, Seat, Source, compose, opt, size_max};
use crate::answer::Family;
use crate::store::{Key, NameWords, SECTIONS_LEN_MAX, Sections, Store, write_common};
use tidegate_base::Instant;
use tidegate_stack::Datagram;

impl<S: Source> Responder<S> {
    /// The answer, from what is ready for the names that are answered alike. `None`, with nothing changed, if there is
    /// no such thing.
    pub(super) fn reply_in_common(
        &mut self,
        now: Instant,
        at: usize,
        datagram: &mut Datagram,
    ) -> Option<Outcome> {
        let Self { seats, source, store, scratch, family_words, config, opts, .. } = self;
        let glance = seats.get(at).and_then(|Seat { glance, .. }| glance.as_ref())?;
        let question = question_of(datagram, glance)?;
        let family = source.family(&question)?;
        let octets = datagram.data().get(..HEADER_LEN + question.name.len())?;
        let key = Key::of_family(store.seed(), octets, &family, question.wants_dnssec, family_words)?;
        let line = match store.locate_common(&key, family_words) {
            Some(line) => line,
            None => make(source, store, &key, family_words, &question, &family, &mut scratch[..])?,
        };
        let common = store.common_at(line)?;
        if !common.1.fit(common.0.sections.octets, question.name, &family) {
            return None;
        }
        let shift = question.name.len() - usize::from(family.suffix_len);
        let (opt, cookie) = opt(now, datagram, glance, source, opts)?;
        let size_max = size_max(glance, config.size_max, datagram);
        let reply = compose::in_common(datagram, glance, common, shift as u16, opt, size_max)?;
        self.counters.ready_count += 1;
        self.counters.common_count += 1;
        self.account.on_ready(datagram, glance, cookie);
        Some(Outcome { reply, cookie })
    }
}

/// What a query asks, if its name is without pointers.
#[inline]
fn question_of<'a>(datagram: &'a Datagram, glance: &Glance) -> Option<Question<'a>> {
    let name_end = usize::from(glance.question_end).checked_sub(QUESTION_TAIL_LEN)?;
    let name = datagram.data().get(HEADER_LEN..name_end).filter(|_| !glance.is_compressed)?;
    Some(Question { name, qtype: glance.key.qtype, wants_dnssec: glance.key.wants_dnssec })
}

/// Keeps what `family` has in common, from the answer to `question`; the line it begins in.
#[cold]
fn make<S: Source>(
    source: &mut S,
    store: &mut Store,
    key: &Key,
    words: &NameWords,
    question: &Question<'_>,
    family: &Family,
    scratch: &mut [u8],
) -> Option<u32> {
    let found = source.find(question, MESSAGE_LEN_MAX, scratch)?;
    let Sections { counts, octets, .. } = found.sections;
    let mut out = [0; SECTIONS_LEN_MAX];
    let len = write_common(octets, counts, question.name.len(), family, &mut out)?;
    store.insert(key, words, &Sections { octets: out.get(..len)?, ..found.sections })
}
