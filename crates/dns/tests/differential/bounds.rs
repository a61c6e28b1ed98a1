//! What holds of every answer, whatever peers do: it can be read, says nothing twice, keeps within its limit, and
//! nothing that is asked makes the engine panic.

use std::sync::OnceLock;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use tidegate_dns::answer::{Policy, answer};
use tidegate_dns::message::{Opt, Query, Writer};
use tidegate_dns::name::NameBuf;
use tidegate_dns::zone::Catalog;

use crate::corpus::{Set, Wire, child};
use crate::message::Message;
use crate::ours;
use crate::queries::{Draw, Extent, header, opt, queries};

/// Every zone of the corpus, the root left out (it would leave nothing to refuse), and zones that peers do not load.
fn everything() -> &'static (Catalog, Vec<Wire>) {
    static EVERYTHING: OnceLock<(Catalog, Vec<Wire>)> = OnceLock::new();
    EVERYTHING.get_or_init(|| {
        let set = Set::of(&["plain", "signed", "ours"]);
        (ours::catalog(&set.zones), set.owners.into_iter().collect())
    })
}

/// The answer within `limit`, if its question fits at all.
fn answer_within(catalog: &Catalog, policy: &Policy, message: &[u8], limit: usize) -> Option<Vec<u8>> {
    let (mut name, mut out) = (NameBuf::new(), vec![0; 65_535]);
    let query = Query::parse(message, &mut name).ok()?;
    let mut writer = Writer::answering(&query, &mut out, limit)?;
    if let Some(edns) = &query.edns {
        writer.set_opt(Opt::new(1232, edns.dnssec_ok)).ok()?;
    }
    answer(catalog, &query, policy, &mut writer);
    let len = writer.finish();
    out.truncate(len);
    Some(out)
}

/// Whether an answer keeps what every answer keeps; `true` if there is none.
fn is_sound(answer: Option<Vec<u8>>, limit: usize) -> bool {
    let Some(answer) = answer else { return true };
    let message = Message::parse(&answer).unwrap();
    answer.len() <= limit && !message.has_duplicates
}

#[test]
fn every_answer_is_whole_and_says_nothing_twice() {
    let (catalog, policy, mut draw) = (&everything().0, ours::policy(), Draw(7));
    let set = Set::of(&["plain", "signed", "ours"]);
    for query in queries(&set, Extent::Drawn(1), &mut Draw(2)) {
        let limit = 12 + draw.next() as usize % 4096;
        let sound = is_sound(answer_within(catalog, &policy, &query, limit), limit);
        assert!(sound, "limit {limit}: {query:02x?}");
    }
}

proptest! {
    #[test]
    fn no_question_makes_an_answer_unsound(
        owner in any::<Index>(),
        labels in vec(vec(any::<u8>(), 1..20), 0..6),
        rtype in prop_oneof![0..70_u16, any::<u16>()],
        class in prop_oneof![8 => Just(1_u16), 1 => Just(3), 1 => any::<u16>()],
        dnssec_ok in any::<bool>(),
        limit in 12..2000_usize,
    ) {
        let (catalog, owners) = everything();
        let below = labels.iter().try_fold(owner.get(owners).clone(), |name, label| child(label, &name));
        let name = below.unwrap_or_else(|| owner.get(owners).clone());
        let opt = opt(1232, u32::from(dnssec_ok) << 15, &[]);
        let question = [rtype.to_be_bytes(), class.to_be_bytes()].concat();
        let query = [header(0, [1, 0, 0, 1]), name, question, opt].concat();
        prop_assert!(is_sound(answer_within(catalog, &ours::policy(), &query, limit), limit));
    }

    #[test]
    fn no_octets_make_the_engine_panic(octets in vec(any::<u8>(), 0..80), asks in any::<bool>()) {
        let message = if asks { [header(0, [1, 0, 0, 0]), octets].concat() } else { octets };
        let mut out = vec![0; 65_535];
        let len = ours::respond(&everything().0, &ours::policy(), &message, &mut out);
        prop_assert!(len.is_none_or(|len| Message::parse(&out[..len]).is_ok()));
    }
}
