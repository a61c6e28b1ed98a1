//! Zones as an answer needs them: every name in canonical order, with its record sets in wire form.
//!
//! ```text
//!   file::read --\
//!   transfers  ---+-> ZoneBuilder::add* -> finish -> Zone (never changes) -> Catalog (changed by cloning)
//!
//!   nodes  [ apex | a | *.a | b.a | c ... ]   24 bytes each, canonical order (RFC 4034 section 6.1)
//!             |sets_at                        a subtree is a range; a name's predecessor is to its left
//!   sets   [ NS | SOA | A | ... ]             20 bytes each
//!             |data_at
//!   data   [ len rdata len rdata | ... ]      records, then the RRSIGs that cover them
//!   index  hash of a name -> node             5 bytes a slot
//! ```
//!
//! A zone answers [`Zone::find`] with one case of the algorithm of RFC 1034 section 4.3.2 (as RFC 4592 and
//! 6672 amend it); it does not build messages. Reading and building allocate; no lookup does.
//!
//! Invariants: names are in lower case; the apex is node 0 and owns exactly one SOA; every ancestor of a name
//! up to the apex is a node; data has the shape of its type ([`rdata`]), so that readers need no checks.

mod builder;
mod catalog;
mod diff;
pub mod file;
mod index;
#[cfg(test)]
mod model_tests;
mod node;
mod nsec;
mod nsec3;
pub mod rdata;
mod records;
#[cfg(test)]
mod tests;

use domain::base::iana::Rtype;
use hashbrown::HashTable;

pub use builder::{Fault, Oddity, Place, Warning, ZoneBuilder, ZoneError};
pub use catalog::{Catalog, Hosting, Lack};
pub use diff::{Change, Diff, diff};
pub use node::{Node, Rdatas, Rrset};
pub use nsec3::{Nsec3, Nsec3Chain, Nsec3Hash, Nsec3Lookup};
pub use records::{Cursor, Record, Records};

use self::node::{NONE, NodeEntry, SetEntry};
use crate::name::{Folded, Name, NameBuf};

/// The fields of the SOA that a server itself needs (RFC 1035 section 3.3.13).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SoaTimes {
    /// The version of the zone.
    pub serial: u32,
    /// Seconds between a secondary's checks.
    pub refresh: u32,
    /// Seconds before a failed check is tried again.
    pub retry: u32,
    /// Seconds after which a secondary without contact gives up.
    pub expire: u32,
    /// Seconds that a negative answer may be cached: the lesser of the SOA's MINIMUM and its own TTL
    /// (RFC 2308 section 5).
    pub negative_ttl: u32,
}

/// One zone, as it was loaded; it never changes.
pub struct Zone {
    apex: NameBuf,
    apex_labels: u8,
    soa: SoaTimes,
    nodes: Box<[NodeEntry]>,
    names: Box<[u8]>,
    sets: Box<[SetEntry]>,
    data: Box<[u8]>,
    index: HashTable<u32>,
    /// The nodes that own an NSEC and are not occluded, in order.
    nsec: Box<[u32]>,
    nsec3: Option<Nsec3Chain>,
    /// NSEC3 sets of chains that are not in use: kept for transfers. Owner hash, set.
    nsec3_strays: Box<[nsec3::Link]>,
}

/// What a zone has for a name: which case of RFC 1034 section 4.3.2 it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lookup<'z> {
    /// The name is at or below a zone cut: a referral, but for a DS question at the cut itself
    /// (RFC 4035 section 3.1.4.1).
    Cut {
        /// The node that owns the NS set.
        cut: Node<'z>,
        /// The name asked for is the cut's own.
        at_cut: bool,
    },
    /// The name is below the owner of a DNAME (RFC 6672 section 3.2).
    Dname {
        /// The node that owns it.
        owner: Node<'z>,
    },
    /// The name exists, with records or as an empty non-terminal.
    Exact(Node<'z>),
    /// The name does not exist, and `*.` its closest encloser does (RFC 4592 section 3.3.1).
    Wildcard {
        /// The longest existing ancestor.
        encloser: Node<'z>,
        /// The source of synthesis.
        wildcard: Node<'z>,
    },
    /// The name does not exist.
    Missing {
        /// The longest existing ancestor.
        encloser: Node<'z>,
    },
}

impl Zone {
    /// The zone's name, in lower case.
    pub fn apex(&self) -> &Name {
        &self.apex
    }

    /// The node of the zone's name; it owns the SOA.
    pub fn apex_node(&self) -> Node<'_> {
        Node { zone: self, at: 0 }
    }

    /// What the SOA says.
    pub fn soa(&self) -> &SoaTimes {
        &self.soa
    }

    /// The version of the zone (RFC 1982 arithmetic applies).
    pub fn serial(&self) -> u32 {
        self.soa.serial
    }

    /// How many names, empty non-terminals included.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// How many record sets, those of NSEC3 included.
    pub fn rrset_count(&self) -> usize {
        self.sets.len()
    }

    /// Bytes that the zone holds in memory.
    pub fn memory_size(&self) -> usize {
        size_of_val(&*self.nodes)
            + self.names.len()
            + size_of_val(&*self.sets)
            + self.data.len()
            + self.index.allocation_size()
            + size_of_val(&*self.nsec)
            + self.nsec3.as_ref().map_or(0, Nsec3Chain::memory_size)
            + size_of_val(&*self.nsec3_strays)
    }

    /// Bytes of a transfer of all of it, about: each name once, and ten bytes a set for its type, class, TTL and
    /// length.
    pub fn transfer_size(&self) -> usize {
        self.names.len() + self.data.len() + 10 * self.sets.len()
    }

    /// Every node in canonical order, occluded ones included.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = Node<'_>> {
        (0..self.nodes.len() as u32).map(|at| Node { zone: self, at })
    }

    /// The case that a question for `name` is. `name` must be at or below the apex, as the catalog sees to;
    /// any other counts as missing.
    pub fn find(&self, name: &Folded) -> Lookup<'_> {
        match self.exact(name.key()) {
            Some(node) => self.found(node),
            None => self.missing(self.closest_encloser(name)),
        }
    }

    /// The node of exactly this name, whatever lies above it: for glue, and for what is no answer.
    pub fn node(&self, name: &Folded) -> Option<Node<'_>> {
        self.exact(name.key())
    }

    fn found<'z>(&'z self, node: Node<'z>) -> Lookup<'z> {
        match node.shadow() {
            Some(above) => Self::below(above),
            None if node.is_cut() => Lookup::Cut { cut: node, at_cut: true },
            None => Lookup::Exact(node),
        }
    }

    fn missing<'z>(&'z self, encloser: Node<'z>) -> Lookup<'z> {
        if let Some(above) = encloser.shadow() {
            return Self::below(above);
        }
        if encloser.is_cut() || encloser.has_dname() {
            return Self::below(encloser);
        }
        match encloser.wildcard_child() {
            Some(wildcard) => Lookup::Wildcard { encloser, wildcard },
            None => Lookup::Missing { encloser },
        }
    }

    /// A cut hides a DNAME of the same owner: the redirection is in the child zone, if anywhere.
    fn below(above: Node<'_>) -> Lookup<'_> {
        if above.is_cut() {
            Lookup::Cut { cut: above, at_cut: false }
        } else {
            Lookup::Dname { owner: above }
        }
    }

    fn node_at(&self, at: u32) -> Option<Node<'_>> {
        (at != NONE).then_some(Node { zone: self, at })
    }
}

impl std::fmt::Debug for Zone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Zone({} serial {}, {} names)", self.apex, self.soa.serial, self.nodes.len())
    }
}

impl SoaTimes {
    /// Read from the zone's SOA, whose shape is checked: two names, then five numbers (RFC 1035 section 3.3.13).
    fn of(zone: &Zone) -> Self {
        let Some(set) = zone.apex_node().rrset(Rtype::SOA) else { return SoaTimes::default() };
        let Some(numbers) = set.first().last_chunk::<20>() else { return SoaTimes::default() };
        let field = |at: usize| numbers[4 * at..].first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
        SoaTimes {
            serial: field(0),
            refresh: field(1),
            retry: field(2),
            expire: field(3),
            negative_ttl: field(4).min(set.ttl()),
        }
    }
}
