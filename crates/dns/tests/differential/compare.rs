//! The three-way comparison: what both peers say alike must be what we say.

use std::collections::BTreeMap;
use std::fmt::Write;

use tidegate_testbed::DnsPeers;

use crate::classes::class_of;
use crate::message::{Message, shown};

/// A part of an answer that is compared for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// Whether there is an answer at all, and it can be read.
    Presence,
    Question,
    /// All but TC.
    Flags,
    Answer,
    Rcode,
    Opt,
    Authority,
    Additional,
    Truncation,
}

/// In the order in which one follows from the other.
const PARTS: [Part; 8] = [
    Part::Question,
    Part::Flags,
    Part::Answer,
    Part::Rcode,
    Part::Opt,
    Part::Authority,
    Part::Additional,
    Part::Truncation,
];

const TC: u16 = 0x0200;

/// The answers of the three servers to one query.
pub(crate) struct Trio<'a> {
    pub(crate) query: &'a [u8],
    pub(crate) over_tcp: bool,
    pub(crate) nsd: Option<Message>,
    pub(crate) knot: Option<Message>,
    pub(crate) ours: Option<Message>,
}

/// How the three stand to each other in one part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stand {
    /// The peers agree and we do not: a failure.
    Against,
    /// The peers differ and we go with NSD.
    WithNsd,
    /// The peers differ and we go with Knot.
    WithKnot,
    /// Everyone differs.
    Alone,
}

impl Part {
    fn is_section(self) -> bool {
        matches!(self, Part::Answer | Part::Authority | Part::Additional)
    }
}

impl Stand {
    fn without_agreement(self) -> Stand {
        if self == Stand::Against { Stand::Alone } else { self }
    }
}

fn same(part: Part, one: &Message, other: &Message) -> bool {
    match part {
        Part::Presence => true,
        Part::Flags => one.flags & !TC == other.flags & !TC,
        Part::Truncation => one.flags & TC == other.flags & TC,
        Part::Rcode => one.rcode == other.rcode,
        Part::Question => one.question == other.question,
        Part::Answer => one.answer == other.answer,
        Part::Authority => one.authority == other.authority,
        Part::Additional => one.additional == other.additional,
        Part::Opt => one.opt == other.opt,
    }
}

impl Trio<'_> {
    /// The answers that there are.
    pub(crate) fn each_mut(&mut self) -> impl Iterator<Item = &mut Message> {
        [&mut self.nsd, &mut self.knot, &mut self.ours].into_iter().flatten()
    }

    /// Every part in which not all three are the same.
    pub(crate) fn differences(&self) -> Vec<(Part, Stand)> {
        let (Some(nsd), Some(knot), Some(ours)) = (&self.nsd, &self.knot, &self.ours) else {
            return self.silence().into_iter().collect();
        };
        let mut comparable = true;
        let mut differences = Vec::new();
        for part in PARTS.into_iter().filter(|part| !(part.is_section() && self.is_cut_short())) {
            let peers_agree = same(part, nsd, knot);
            let found = stand(peers_agree, same(part, nsd, ours), same(part, knot, ours));
            // What follows from a part in which the peers differ is no common opinion.
            let found = if comparable && !(part == Part::Additional && self.is_full()) {
                found
            } else {
                found.map(Stand::without_agreement)
            };
            differences.extend(found.map(|stand| (part, stand)));
            comparable &= peers_agree;
        }
        differences
    }

    /// We and a peer say TC: what such a message still holds is no answer, it has to be asked for again over TCP
    /// (RFC 2181 section 9).
    fn is_cut_short(&self) -> bool {
        let has_tc =
            |message: &Option<Message>| message.as_ref().is_some_and(|message| message.flags & TC != 0);
        has_tc(&self.ours) && (has_tc(&self.nsd) || has_tc(&self.knot))
    }

    /// We had no room left for one address more, with its signature if those are wanted: which of the optional ones
    /// fit depends on how well names are compressed, and in which order they come.
    pub(crate) fn is_full(&self) -> bool {
        let (limit, dnssec_ok) = limit(self.query, self.over_tcp);
        let address_len_max = if dnssec_ok { 400 } else { 64 };
        self.ours.as_ref().is_some_and(|ours| ours.len + address_len_max > limit)
    }

    fn silence(&self) -> Option<(Part, Stand)> {
        let [nsd, knot, ours] = [&self.nsd, &self.knot, &self.ours].map(Option::is_some);
        stand(nsd == knot, nsd == ours, knot == ours).map(|stand| (Part::Presence, stand))
    }

    /// The query and what each server made of it, for people.
    pub(crate) fn report(&self) -> String {
        let mut text = String::new();
        let _ = writeln!(text, "{}", shown_query(self.query));
        for (server, message) in [("nsd ", &self.nsd), ("knot", &self.knot), ("ours", &self.ours)] {
            let _ =
                writeln!(text, "  {server} {}", message.as_ref().map_or("(silent)".into(), shown_message));
        }
        text
    }
}

fn stand(peers_agree: bool, with_nsd: bool, with_knot: bool) -> Option<Stand> {
    match (peers_agree, with_nsd, with_knot) {
        (true, true, _) => None,
        (true, false, _) => Some(Stand::Against),
        (false, true, _) => Some(Stand::WithNsd),
        (false, false, true) => Some(Stand::WithKnot),
        (false, false, false) => Some(Stand::Alone),
    }
}

fn shown_message(message: &Message) -> String {
    let mut text = format!("flags {:04x} rcode {}", message.flags, message.rcode);
    for (section, records) in
        [("an", &message.answer), ("au", &message.authority), ("ad", &message.additional)]
    {
        for record in records {
            let _ = write!(text, "\n       {section} {record:?}");
        }
    }
    if let Some(opt) = &message.opt {
        let _ = write!(text, "\n       {opt:x?}");
    }
    text
}

/// The question as text if there is one that can be read, and the octets.
fn shown_query(query: &[u8]) -> String {
    let hex: String = query.iter().take(120).map(|octet| format!("{octet:02x}")).collect();
    match question(query) {
        Some((name, rtype, _)) => format!("{} TYPE{rtype} {hex}", shown(name)),
        None => hex,
    }
}

/// Name, type and class of the question of a query that has one in whole, without compression.
pub(crate) fn question(query: &[u8]) -> Option<(&[u8], u16, u16)> {
    let rest = query.get(12..)?;
    let mut end = 0;
    while *rest.get(end)? != 0 {
        end += 1 + usize::from(rest[end]);
    }
    let [a, b, c, d] = *rest.get(end + 1..)?.first_chunk()?;
    Some((&rest[..=end], u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])))
}

/// How long an answer may be (RFC 6891 section 6.2.3, within what the servers are configured to send), and whether it
/// is to have signatures.
fn limit(query: &[u8], over_tcp: bool) -> (usize, bool) {
    let opt = Message::parse_leniently(query).and_then(|query| query.opt);
    let (claimed, flags) = opt.map_or((512, 0), |opt| (opt.size, opt.flags));
    let len_max = if over_tcp { u16::MAX } else { claimed.clamp(512, DnsPeers::UDP_PAYLOAD_MAX) };
    (len_max.into(), flags & 0x8000 != 0)
}

/// Counts and examples by kind of difference.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) asked: usize,
    /// Queries that we did not answer at once.
    pub(crate) lost: usize,
    classes: BTreeMap<Option<&'static str>, Examples>,
}

/// Queries of one class of difference.
#[derive(Default)]
struct Examples {
    count: usize,
    against: usize,
    stands: BTreeMap<Vec<(Part, Stand)>, Shown>,
}

/// How often one way to differ occurred, and the first queries of it.
type Shown = (usize, Vec<String>);

/// Examples kept of each way to differ.
const EXAMPLES: usize = 2;

impl Tally {
    pub(crate) fn add(&mut self, trio: &Trio<'_>) {
        self.asked += 1;
        let differences = trio.differences();
        if differences.is_empty() {
            return;
        }
        let is_against = differences.iter().any(|(_, stand)| *stand == Stand::Against);
        let class = class_of(trio, &differences).filter(|_| !is_against);
        let examples = self.classes.entry(class).or_default();
        examples.count += 1;
        examples.against += usize::from(is_against);
        let (count, shown) = examples.stands.entry(differences).or_default();
        *count += 1;
        if shown.len() < EXAMPLES {
            shown.push(trio.report());
        }
    }

    /// Queries on which both peers agree and we differ, and those whose difference is of no class.
    pub(crate) fn failures(&self) -> (usize, usize) {
        self.classes.get(&None).map_or((0, 0), |failed| (failed.against, failed.count - failed.against))
    }

    pub(crate) fn report(&self) -> String {
        let (against, unknown) = self.failures();
        let mut text = format!(
            "{} queries, {against} against both peers, {unknown} of no class, {} lost\n",
            self.asked, self.lost
        );
        for (class, examples) in &self.classes {
            let _ = writeln!(text, "\n== {} x {}", examples.count, class.unwrap_or("of no class"));
            for (stands, (count, shown)) in &examples.stands {
                let _ = writeln!(text, "-- {count} x {stands:?}\n{}", shown.concat());
            }
        }
        text
    }
}
