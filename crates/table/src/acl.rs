//! An access list over five-tuples: of the rules that a header meets, the first wins.
//!
//! Each of the five dimensions (source, destination, both ports, protocol) maps a header's value to a row with a
//! bit for each rule; the first bit that all five rows have in common is the answer (bit vectors: Lakshman,
//! Stiliadis, "High-speed policy-based packet forwarding", 1998).
//!
//! ```text
//!   source      10.1.2.3  -> 0 1 1 0 1 0 ...
//!   destination 10.9.0.1  -> 1 1 0 0 1 0 ...
//!   ports, protocol       -> 1 1 1 1 1 1 ...        AND: 0 1 0 0 1 0  -> rule 1
//! ```
//!
//! The list is compiled as a whole; a changed one is a new one. Rules have verdicts only in their owner: here they
//! are numbers in the order given.

use crate::BATCH_LEN_MAX;
use crate::bitmap::{Dimension, Range, RowShape};
use crate::prefix::Prefix;
use thiserror::Error;

/// What a lookup answers for a header that no rule meets.
pub const NO_RULE: u32 = u32::MAX;

/// The most rules of a list. Rows grow with the square of it: 16,384 rules whose prefixes all differ take 66 MiB
/// for each address, 1,000 take 250 KiB.
const RULE_COUNT_MAX: usize = 16_384;

const DIMENSION_COUNT: usize = 5;
const PORT_COUNT: usize = 1 << 16;
/// Protocols, each without and with `established`.
const PROTOCOL_COUNT: usize = 512;
/// IANA's number of TCP.
const TCP: u8 = 6;

/// Ports from `first` to `last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRange {
    /// The lowest port.
    pub first: u16,
    /// The highest port.
    pub last: u16,
}

impl PortRange {
    /// Every port, and what has none.
    pub const ANY: Self = Self { first: 0, last: u16::MAX };

    /// The port `port`, or any if it is 0.
    pub const fn one_or_any(port: u16) -> Self {
        if port == 0 { Self::ANY } else { Self { first: port, last: port } }
    }
}

/// What a header has to be to meet a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The network of the source address.
    pub src: Prefix<u32>,
    /// The network of the destination address.
    pub dst: Prefix<u32>,
    /// The source ports.
    pub src_ports: PortRange,
    /// The destination ports.
    pub dst_ports: PortRange,
    /// The IP protocol; `None` is any.
    pub protocol: Option<u8>,
    /// Only TCP segments of connections that exist: with ACK or RST set. Such a rule's protocol is TCP or any.
    pub established: bool,
}

/// What of a packet an access list looks at. Ports are 0 where there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Source address, in host order.
    pub src: u32,
    /// Destination address, in host order.
    pub dst: u32,
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// IP protocol.
    pub protocol: u8,
    /// A TCP segment with ACK or RST set.
    pub established: bool,
}

impl Rule {
    /// Whether `header` meets it.
    pub fn admits(&self, header: &Header) -> bool {
        let (first, last) = self.protocols();
        self.src.contains(header.src)
            && self.dst.contains(header.dst)
            && (self.src_ports.first..=self.src_ports.last).contains(&header.src_port)
            && (self.dst_ports.first..=self.dst_ports.last).contains(&header.dst_port)
            && (first..=last).contains(&protocol_value(header))
    }

    fn protocols(&self) -> Range {
        match (self.protocol, self.established) {
            (None, false) => (0, PROTOCOL_COUNT as u32 - 1),
            (protocol, true) => {
                (u32::from(protocol.unwrap_or(TCP)) * 2 + 1, u32::from(protocol.unwrap_or(TCP)) * 2 + 1)
            }
            (Some(protocol), false) => (u32::from(protocol) * 2, u32::from(protocol) * 2 + 1),
        }
    }
}

#[inline]
fn protocol_value(header: &Header) -> u32 {
    u32::from(header.protocol) * 2 + u32::from(header.established)
}

fn addresses(prefix: Prefix<u32>) -> Range {
    let host_bits = u32::MAX.checked_shr(u32::from(prefix.len())).unwrap_or(0);
    (prefix.address(), prefix.address() | host_bits)
}

fn ports(range: PortRange) -> Range {
    (u32::from(range.first), u32::from(range.last))
}

/// Why rules make no access list.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum AclError {
    /// More rules than a list takes.
    #[error("{count} rules: an access list takes {RULE_COUNT_MAX}; split it into two modules")]
    TooMany {
        /// How many were given.
        count: usize,
    },
    /// A range without a port.
    #[error("rule {rule}: no port is in {first}-{last}; write the lower one first")]
    EmptyRange {
        /// The rule's place in the list.
        rule: usize,
        /// The range's first port.
        first: u16,
        /// The range's last port.
        last: u16,
    },
    /// `established` with a protocol that has no connections.
    #[error("rule {rule}: protocol {protocol} has no established connections; only TCP (6) has")]
    NotTcp {
        /// The rule's place in the list.
        rule: usize,
        /// The rule's protocol.
        protocol: u8,
    },
}

/// A dimension of addresses: the upper 16 bits say between which intervals to search.
struct Addresses {
    /// For each upper half, the interval in which it starts; one more for the end.
    first: Box<[u16; PORT_COUNT + 1]>,
    dimension: Dimension,
}

impl Addresses {
    fn new(ranges: &[Range]) -> Self {
        let dimension = Dimension::new(ranges);
        let mut first = Box::new([0; PORT_COUNT + 1]);
        let mut interval = 0;
        for (upper, first) in first.iter_mut().enumerate() {
            let address = (upper as u64) << 16;
            while dimension.starts.get(interval + 1).is_some_and(|start| u64::from(*start) <= address) {
                interval += 1;
            }
            *first = interval as u16;
        }
        Self { first, dimension }
    }

    #[inline]
    fn row(&self, address: u32) -> u32 {
        let upper = (address >> 16) as usize;
        let (low, high) = (self.first[upper], self.first[upper + 1]);
        self.dimension.search(address, usize::from(low), usize::from(high))
    }
}

/// A dimension of at most 65,536 values: the row of each stands in a table.
struct Values {
    offsets: Vec<u32>,
    rows: Vec<u64>,
}

impl Values {
    fn new(ranges: &[Range], value_count: usize) -> Self {
        let Dimension { starts, offsets, rows } = Dimension::new(ranges);
        let mut table = Vec::with_capacity(value_count);
        let ends = starts[1..].iter().map(|start| *start as usize).chain([value_count]);
        for (end, offset) in ends.zip(offsets) {
            table.resize(end.min(value_count).max(table.len()), offset);
        }
        Self { offsets: table, rows }
    }
}

/// A compiled access list.
pub struct Acl {
    shape: RowShape,
    rule_count: usize,
    src: Addresses,
    dst: Addresses,
    src_ports: Values,
    dst_ports: Values,
    protocols: Values,
}

/// Where the rows of a header start, in the order of the dimensions.
type Places = [u32; DIMENSION_COUNT];

impl Acl {
    /// Compiles `rules`, the first of which has the first word.
    pub fn new(rules: &[Rule]) -> Result<Self, AclError> {
        if rules.len() > RULE_COUNT_MAX {
            return Err(AclError::TooMany { count: rules.len() });
        }
        for (index, rule) in rules.iter().enumerate() {
            check(index, rule)?;
        }
        let ranges = |of: &dyn Fn(&Rule) -> Range| rules.iter().map(of).collect::<Vec<_>>();
        Ok(Self {
            shape: RowShape::new(rules.len()),
            rule_count: rules.len(),
            src: Addresses::new(&ranges(&|rule| addresses(rule.src))),
            dst: Addresses::new(&ranges(&|rule| addresses(rule.dst))),
            src_ports: Values::new(&ranges(&|rule| ports(rule.src_ports)), PORT_COUNT),
            dst_ports: Values::new(&ranges(&|rule| ports(rule.dst_ports)), PORT_COUNT),
            protocols: Values::new(&ranges(&Rule::protocols), PROTOCOL_COUNT),
        })
    }

    /// How many rules it has.
    pub const fn len(&self) -> usize {
        self.rule_count
    }

    /// Whether it has no rule.
    pub const fn is_empty(&self) -> bool {
        self.rule_count == 0
    }

    /// The place in the list of the first rule that `header` meets, or [`NO_RULE`].
    pub fn lookup(&self, header: &Header) -> u32 {
        self.first_common(&self.places(header))
    }

    /// The same for each of `headers`; as many as both slices hold.
    #[inline]
    pub fn lookup_batch(&self, headers: &[Header], rules: &mut [u32]) {
        for (headers, rules) in headers.chunks(BATCH_LEN_MAX).zip(rules.chunks_mut(BATCH_LEN_MAX)) {
            let mut places = [[0; DIMENSION_COUNT]; BATCH_LEN_MAX];
            for (places, header) in places.iter_mut().zip(headers) {
                *places = self.places(header);
            }
            for (rule, places) in rules.iter_mut().zip(&places).take(headers.len()) {
                *rule = self.first_common(places);
            }
        }
    }

    #[inline]
    fn places(&self, header: &Header) -> Places {
        [
            self.src.row(header.src),
            self.dst.row(header.dst),
            self.src_ports.offsets[usize::from(header.src_port)],
            self.dst_ports.offsets[usize::from(header.dst_port)],
            self.protocols.offsets[protocol_value(header) as usize],
        ]
    }

    /// The first bit that all five rows have.
    #[inline]
    fn first_common(&self, places: &Places) -> u32 {
        let summary_len = self.shape.summary_len;
        let rows = self.rows(places);
        for part in 0..summary_len {
            let mut marks = common(&rows, part);
            while marks != 0 {
                let word = part * 64 + marks.trailing_zeros() as usize;
                let bits = common(&rows, summary_len + word);
                if bits != 0 {
                    return word as u32 * 64 + bits.trailing_zeros();
                }
                marks &= marks - 1;
            }
        }
        NO_RULE
    }

    #[inline]
    fn rows(&self, places: &Places) -> [&[u64]; DIMENSION_COUNT] {
        let len = self.shape.len();
        [
            &self.src.dimension.rows[places[0] as usize..][..len],
            &self.dst.dimension.rows[places[1] as usize..][..len],
            &self.src_ports.rows[places[2] as usize..][..len],
            &self.dst_ports.rows[places[3] as usize..][..len],
            &self.protocols.rows[places[4] as usize..][..len],
        ]
    }
}

#[inline]
fn common(rows: &[&[u64]; DIMENSION_COUNT], word: usize) -> u64 {
    rows.iter().fold(u64::MAX, |bits, row| bits & row[word])
}

fn check(index: usize, rule: &Rule) -> Result<(), AclError> {
    for PortRange { first, last } in [rule.src_ports, rule.dst_ports] {
        if first > last {
            return Err(AclError::EmptyRange { rule: index, first, last });
        }
    }
    match rule.protocol {
        Some(protocol) if rule.established && protocol != TCP => {
            Err(AclError::NotTcp { rule: index, protocol })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
#[path = "acl_tests.rs"]
mod tests;
