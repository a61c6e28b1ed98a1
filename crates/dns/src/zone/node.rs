//! One name of a zone and the record sets it owns, as views into the zone's arenas.
//!
//! Views are two words, copied freely, and never own anything: a [`Node`] or [`Rrset`] lives as long as the
//! borrow of its [`Zone`].

use domain::base::iana::Rtype;

use super::Zone;
use crate::name::Name;

/// No node.
pub(super) const NONE: u32 = u32::MAX;

pub(super) const CUT: u8 = 1;
pub(super) const DNAME: u8 = 1 << 1;
pub(super) const WILDCARD_CHILD: u8 = 1 << 2;
pub(super) const CNAME: u8 = 1 << 3;

/// 24 bytes a name. Nodes lie in canonical order, so a subtree is a range: `at..end`.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeEntry {
    pub(super) name_at: u32,
    pub(super) parent: u32,
    /// One past the last descendant.
    pub(super) end: u32,
    /// The topmost proper ancestor that is a zone cut or owns a DNAME, or [`NONE`].
    pub(super) shadow: u32,
    pub(super) sets_at: u32,
    pub(super) sets_len: u16,
    pub(super) name_len: u8,
    pub(super) flags: u8,
}

/// 20 bytes a set. Its data is `records` then `sigs` pieces, each a length (2 bytes, big endian) and data.
#[derive(Clone, Copy, Debug)]
pub(super) struct SetEntry {
    pub(super) ttl: u32,
    pub(super) data_at: u32,
    pub(super) sigs_at: u32,
    pub(super) rtype: Rtype,
    pub(super) records: u16,
    pub(super) sigs: u16,
}

/// A name of the zone: one that owns records, or an empty non-terminal.
#[derive(Clone, Copy)]
pub struct Node<'z> {
    pub(super) zone: &'z Zone,
    pub(super) at: u32,
}

impl<'z> Node<'z> {
    fn entry(&self) -> &'z NodeEntry {
        &self.zone.nodes[self.at as usize]
    }

    /// The place of this name in the zone's canonical order, from 0 (the apex): dense, stable as long as the
    /// zone, fit as a key.
    pub fn index(&self) -> u32 {
        self.at
    }

    /// The whole name, in lower case.
    pub fn name(&self) -> &'z Name {
        self.zone.name_of(self.entry())
    }

    /// The name one label up, unless this is the apex.
    pub fn parent(&self) -> Option<Node<'z>> {
        self.zone.node_at(self.entry().parent)
    }

    /// The zone's own name.
    pub fn is_apex(&self) -> bool {
        self.at == 0
    }

    /// Owns nothing, and exists because a name below it does (RFC 4592 section 2.2.2).
    pub fn is_empty_non_terminal(&self) -> bool {
        self.rrsets().next().is_none()
    }

    /// Owns an NS set and is not the apex: what lies here and below belongs to another zone.
    pub fn is_cut(&self) -> bool {
        self.entry().flags & CUT != 0
    }

    /// Owns a DNAME: every name below is redirected (RFC 6672).
    pub fn has_dname(&self) -> bool {
        self.entry().flags & DNAME != 0
    }

    /// Owns a CNAME.
    pub fn has_cname(&self) -> bool {
        self.entry().flags & CNAME != 0
    }

    /// The first label is `*`.
    pub fn is_wildcard(&self) -> bool {
        self.name().as_wire().starts_with(b"\x01*")
    }

    /// Below a cut or below a DNAME: kept for glue and for transfers, never an answer.
    pub fn is_occluded(&self) -> bool {
        self.entry().shadow != NONE
    }

    /// The zone has signed what is here: not occluded, and not a cut without DS (RFC 4035 section 2.2).
    pub fn is_authoritative(&self) -> bool {
        !self.is_occluded() && !self.is_cut()
    }

    /// The topmost cut or DNAME owner strictly above.
    pub(super) fn shadow(&self) -> Option<Node<'z>> {
        self.zone.node_at(self.entry().shadow)
    }

    /// `*.` this name, if the zone has it.
    pub fn wildcard_child(&self) -> Option<Node<'z>> {
        if self.entry().flags & WILDCARD_CHILD == 0 {
            return None;
        }
        self.zone.wildcard_below(self)
    }

    /// The record set of one type; never an empty one. RRSIGs are not a set here: ask the set they cover.
    pub fn rrset(&self, rtype: Rtype) -> Option<Rrset<'z>> {
        self.rrsets().find(|set| set.rtype() == rtype)
    }

    /// The record sets in order of their type numbers.
    pub fn rrsets(&self) -> impl Iterator<Item = Rrset<'z>> + use<'z> {
        self.sets_and_stray_sigs().filter(|set| !set.is_empty())
    }

    fn sets_and_stray_sigs(&self) -> impl Iterator<Item = Rrset<'z>> + use<'z> {
        let zone = self.zone;
        self.sets().iter().map(move |set| Rrset { zone, set })
    }

    /// The sets with their numbers in the zone's arena.
    pub(super) fn numbered_sets(&self) -> impl Iterator<Item = (usize, Rrset<'z>)> + use<'z> {
        (self.entry().sets_at as usize..).zip(self.sets_and_stray_sigs()).filter(|(_, set)| !set.is_empty())
    }

    pub(super) fn sets(&self) -> &'z [SetEntry] {
        let (at, len) = (self.entry().sets_at as usize, usize::from(self.entry().sets_len));
        &self.zone.sets[at..at + len]
    }
}

impl std::fmt::Debug for Node<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Node({})", self.name())
    }
}

impl PartialEq for Node<'_> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.zone, other.zone) && self.at == other.at
    }
}

/// The records of one name and type, and the signatures over them.
#[derive(Clone, Copy)]
pub struct Rrset<'z> {
    zone: &'z Zone,
    set: &'z SetEntry,
}

impl<'z> Rrset<'z> {
    pub(super) fn new(zone: &'z Zone, at: u32) -> Option<Self> {
        Some(Rrset { zone, set: zone.sets.get(at as usize)? })
    }

    /// The type.
    pub fn rtype(&self) -> Rtype {
        self.set.rtype
    }

    /// Seconds that a record, and a signature over it, may be cached (RFC 4034 section 3: they are equal).
    pub fn ttl(&self) -> u32 {
        self.set.ttl
    }

    /// How many records.
    pub fn len(&self) -> usize {
        usize::from(self.set.records)
    }

    /// No record, only signatures that cover nothing.
    pub fn is_empty(&self) -> bool {
        self.set.records == 0
    }

    /// The data of each record, names uncompressed, in canonical order (RFC 4034 section 6.3).
    pub fn rdatas(&self) -> Rdatas<'z> {
        self.pieces(self.set.data_at, self.set.records)
    }

    /// The data of the one record of a set that has one: CNAME, DNAME, SOA.
    pub fn first(&self) -> &'z [u8] {
        self.rdatas().next().unwrap_or_default()
    }

    /// The data of each RRSIG that covers this set.
    pub fn sigs(&self) -> Rdatas<'z> {
        self.pieces(self.set.sigs_at, self.set.sigs)
    }

    fn pieces(&self, at: u32, left: u16) -> Rdatas<'z> {
        Rdatas { bytes: &self.zone.data[at as usize..], left }
    }
}

impl std::fmt::Debug for Rrset<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Rrset({} x{} ttl {})", self.rtype(), self.len(), self.ttl())
    }
}

/// The pieces of data of a set, one after the other.
#[derive(Clone, Debug)]
pub struct Rdatas<'z> {
    bytes: &'z [u8],
    left: u16,
}

impl<'z> Iterator for Rdatas<'z> {
    type Item = &'z [u8];

    fn next(&mut self) -> Option<&'z [u8]> {
        self.left = self.left.checked_sub(1)?;
        let (len, rest) = self.bytes.split_first_chunk::<2>()?;
        let (rdata, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*len)))?;
        self.bytes = rest;
        Some(rdata)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::from(self.left), Some(usize::from(self.left)))
    }
}

impl ExactSizeIterator for Rdatas<'_> {}
