//! The numbers at one moment, of one worker or of several: added up, looked up, and named for an exporter.

use super::{DnsTally, OPCODE_COUNT, RCODE_COUNT, RTYPE_COUNT, SIZE_COUNT, Scalars, Transport, size_max};
use crate::message::{Opcode, Rcode, Rtype};

/// The numbers of one worker or of several, at one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DnsCounters {
    pub(super) transports: [u64; 4],
    pub(super) opcodes: [u64; OPCODE_COUNT],
    pub(super) rtypes: [u64; RTYPE_COUNT + 1],
    pub(super) rcodes: [u64; RCODE_COUNT + 1],
    pub(super) sizes: [u64; SIZE_COUNT],
    /// Those without a kind.
    pub scalars: Scalars,
}

/// One number with its name, for an exporter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sample {
    /// What is counted.
    pub name: &'static str,
    /// The same in a sentence.
    pub help: &'static str,
    /// Of which kind: the kinds' name and this one's.
    pub label: Option<(&'static str, String)>,
    /// How often.
    pub value: u64,
}

impl DnsCounters {
    /// All zero.
    pub fn new() -> Self {
        DnsTally::default().read()
    }

    /// Adds another worker's numbers.
    pub fn merge(&mut self, other: &Self) {
        add(&mut self.transports, &other.transports);
        add(&mut self.opcodes, &other.opcodes);
        add(&mut self.rtypes, &other.rtypes);
        add(&mut self.rcodes, &other.rcodes);
        add(&mut self.sizes, &other.sizes);
        self.scalars = self.scalars.plus(other.scalars);
    }

    /// Queries in all, those that could not be read too.
    pub fn query_count(&self) -> u64 {
        self.transports.iter().sum()
    }

    /// Answers in all.
    pub fn response_count(&self) -> u64 {
        self.rcodes.iter().sum()
    }

    /// Queries that came by `transport`.
    pub const fn by_transport(&self, transport: Transport) -> u64 {
        self.transports[transport as usize]
    }

    /// Queries for `rtype`; types above 257 have one number together.
    pub fn by_rtype(&self, rtype: Rtype) -> u64 {
        self.rtypes[usize::from(rtype.0).min(RTYPE_COUNT)]
    }

    /// Answers with `rcode`.
    pub fn by_rcode(&self, rcode: Rcode) -> u64 {
        self.rcodes[usize::from(rcode.0).min(RCODE_COUNT)]
    }

    /// Queries with `opcode`.
    pub fn by_opcode(&self, opcode: Opcode) -> u64 {
        self.opcodes[usize::from(opcode.0).min(OPCODE_COUNT - 1)]
    }

    /// Answers by size: the longest of each class in octets, and how many. Classes do not overlap.
    pub fn by_size(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.sizes.iter().enumerate().map(|(index, count)| (size_max(index), *count))
    }

    /// Every number that is not zero, and those without a kind even so.
    pub fn samples(&self) -> impl Iterator<Item = Sample> + '_ {
        let transport = |at: usize| Transport::ALL[at].as_str().to_owned();
        let opcode = |at: usize| Opcode(at as u8).to_string();
        let rtype = |at: usize| if at == RTYPE_COUNT { other() } else { Rtype(at as u16).to_string() };
        let rcode = |at: usize| if at == RCODE_COUNT { other() } else { Rcode(at as u16).to_string() };
        let size = |at: usize| size_max(at).to_string();
        labelled("query_transport_count", "Queries by transport.", "transport", &self.transports, transport)
            .chain(labelled("query_opcode_count", "Queries by opcode.", "opcode", &self.opcodes, opcode))
            .chain(labelled("query_type_count", "Queries by type.", "type", &self.rtypes, rtype))
            .chain(labelled("response_rcode_count", "Answers by rcode.", "rcode", &self.rcodes, rcode))
            .chain(labelled(
                "response_size_count",
                "Answers of up to so many octets.",
                "octets",
                &self.sizes,
                size,
            ))
            .chain(self.scalars.entries().map(|(name, help, value)| Sample {
                name,
                help,
                label: None,
                value,
            }))
    }
}

fn other() -> String {
    "other".to_owned()
}

fn add<const N: usize>(mine: &mut [u64; N], theirs: &[u64; N]) {
    mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine = mine.wrapping_add(*theirs));
}

fn labelled<'a>(
    name: &'static str,
    help: &'static str,
    kind: &'static str,
    counts: &'a [u64],
    text: impl Fn(usize) -> String + 'a,
) -> impl Iterator<Item = Sample> + 'a {
    let counted = counts.iter().enumerate().filter(|(_, count)| **count != 0);
    counted.map(move |(at, count)| Sample { name, help, label: Some((kind, text(at))), value: *count })
}
