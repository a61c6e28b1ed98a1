//! The three-way comparison: what both peers say alike must be what we say.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::message::{Message, shown};

/// A part of an answer that is compared for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// Whether there is an answer at all, and it can be read.
    Presence,
    Question,
    Opt,
    /// All but TC.
    Flags,
    Answer,
    Rcode,
    Authority,
    Additional,
    Truncation,
}

/// In the order in which one follows from the other.
const PARTS: [Part; 8] = [
    Part::Question,
    Part::Opt,
    Part::Flags,
    Part::Answer,
    Part::Rcode,
    Part::Authority,
    Part::Additional,
    Part::Truncation,
];

const TC: u16 = 0x0200;

/// The answers of the three servers to one query.
pub(crate) struct Trio<'a> {
    pub query: &'a [u8],
    pub nsd: Option<Message>,
    pub knot: Option<Message>,
    pub ours: Option<Message>,
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
    /// Every part in which not all three are the same.
    pub fn differences(&self) -> Vec<(Part, Stand)> {
        let (Some(nsd), Some(knot), Some(ours)) = (&self.nsd, &self.knot, &self.ours) else {
            return self.silence().into_iter().collect();
        };
        let mut comparable = true;
        let mut differences = Vec::new();
        for part in PARTS.into_iter().filter(|part| !(part.is_section() && self.is_cut_short())) {
            let peers_agree = same(part, nsd, knot);
            let found = stand(peers_agree, same(part, nsd, ours), same(part, knot, ours));
            // What follows from a part in which the peers differ is no common opinion.
            let found = if comparable { found } else { found.map(Stand::without_agreement) };
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

    fn silence(&self) -> Option<(Part, Stand)> {
        let [nsd, knot, ours] = [&self.nsd, &self.knot, &self.ours].map(Option::is_some);
        stand(nsd == knot, nsd == ours, knot == ours).map(|stand| (Part::Presence, stand))
    }

    /// The query and what each server made of it, for people.
    pub fn report(&self) -> String {
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
        Some((name, rtype)) => format!("{} TYPE{rtype} {hex}", shown(name)),
        None => hex,
    }
}

/// Name and type of the question of a well-formed query.
pub(crate) fn question(query: &[u8]) -> Option<(&[u8], u16)> {
    let rest = query.get(12..)?;
    let mut end = 0;
    while *rest.get(end)? != 0 {
        end += 1 + usize::from(rest[end]);
    }
    let rtype = rest.get(end + 1..end + 3)?;
    Some((&rest[..=end], u16::from_be_bytes([rtype[0], rtype[1]])))
}

/// Counts and examples by kind of difference.
#[derive(Default)]
pub(crate) struct Tally {
    pub asked: usize,
    kinds: BTreeMap<Vec<(Part, Stand)>, Examples>,
}

/// Queries of one kind of difference.
#[derive(Default)]
struct Examples {
    count: usize,
    shown: Vec<String>,
}

/// Examples kept of each kind.
const EXAMPLES: usize = 4;

impl Tally {
    pub fn add(&mut self, trio: &Trio<'_>) {
        self.asked += 1;
        let differences = trio.differences();
        if differences.is_empty() {
            return;
        }
        let examples = self.kinds.entry(differences).or_default();
        examples.count += 1;
        if examples.shown.len() < EXAMPLES {
            examples.shown.push(trio.report());
        }
    }

    /// How many queries had a part in which the peers agree and we differ.
    pub fn failures(&self) -> usize {
        let against = |kind: &[(Part, Stand)]| kind.iter().any(|(_, stand)| *stand == Stand::Against);
        self.kinds.iter().filter(|(kind, _)| against(kind)).map(|(_, examples)| examples.count).sum()
    }

    pub fn report(&self) -> String {
        let mut text = format!("{} queries, {} against both peers\n", self.asked, self.failures());
        for (kind, Examples { count, shown }) in &self.kinds {
            let _ = writeln!(text, "\n== {count} x {kind:?}");
            shown.iter().for_each(|example| text += example);
        }
        text
    }
}
