//! Every record of a zone, one by one, in the order of a transfer.
//!
//! The SOA comes first; whoever sends a transfer repeats it at the end (RFC 5936 section 2.2). The other
//! records follow by name in canonical order, a set's signatures after its records, NSEC3 last.

use domain::base::iana::Rtype;

use super::node::SetEntry;
use super::nsec3::{Link, owner_of};
use super::{Node, Zone};
use crate::name::NameBuf;

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record<'z> {
    /// Its name, in lower case.
    pub owner: NameBuf,
    /// Its type.
    pub rtype: Rtype,
    /// Seconds that it may be cached.
    pub ttl: u32,
    /// Its data, names uncompressed.
    pub rdata: &'z [u8],
}

/// A place between two records, to go on from later: a transfer keeps it while it waits for the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// Nodes first, then hashed owners.
    owner: u32,
    /// Among the owner's sets.
    set: u32,
    /// Among the set's records and signatures.
    piece: u32,
    /// Bytes of the set's data that are behind.
    passed: u32,
    /// The SOA has been given.
    begun: bool,
}

/// The records from a [`Cursor`] on.
pub struct Records<'z> {
    zone: &'z Zone,
    cursor: Cursor,
    /// The name of the owner at hand, so that it is made once.
    owner: NameBuf,
}

impl Zone {
    /// Every record in the order of a transfer: the SOA first, and not again at the end.
    pub fn records(&self) -> Records<'_> {
        self.records_from(Cursor::default())
    }

    /// The records that [`Records::cursor`] had not yet passed.
    pub fn records_from(&self, cursor: Cursor) -> Records<'_> {
        let mut records = Records { zone: self, cursor, owner: self.apex };
        records.name_owner();
        records
    }

    fn hashed(&self, at: usize) -> Option<&Link> {
        let chain = self.nsec3.as_ref().map_or(&[][..], |chain| &chain.links);
        chain.get(at).or_else(|| self.nsec3_strays.get(at - chain.len()))
    }
}

impl<'z> Records<'z> {
    /// Where the next record is.
    pub fn cursor(&self) -> Cursor {
        self.cursor
    }

    /// The record given last is one of a hashed owner.
    pub(super) fn is_at_hashed(&self) -> bool {
        self.node().is_none()
    }

    /// The SOA as the first and the last record of a transfer.
    pub fn soa(zone: &'z Zone) -> Option<Record<'z>> {
        let soa = zone.apex_node().rrset(Rtype::SOA)?;
        Some(Record { owner: zone.apex, rtype: Rtype::SOA, ttl: soa.ttl(), rdata: soa.first() })
    }

    fn node(&self) -> Option<Node<'z>> {
        ((self.cursor.owner as usize) < self.zone.nodes.len())
            .then_some(Node { zone: self.zone, at: self.cursor.owner })
    }

    fn link(&self) -> Option<&'z Link> {
        self.zone.hashed((self.cursor.owner as usize).checked_sub(self.zone.nodes.len())?)
    }

    fn name_owner(&mut self) {
        if let Some(node) = self.node() {
            self.owner = node.name().to_owned();
        } else if let Some(link) = self.link() {
            self.owner = owner_of(&link.hash, &self.zone.apex);
        }
    }

    /// The set under the cursor, or `None` after the last of the owner.
    fn set(&self) -> Option<&'z SetEntry> {
        match self.node() {
            Some(node) => node.sets().get(self.cursor.set as usize),
            None if self.cursor.set == 0 => self.zone.sets.get(self.link()?.set as usize),
            None => None,
        }
    }

    fn next_owner(&mut self) -> Option<()> {
        self.cursor = Cursor { owner: self.cursor.owner + 1, begun: true, ..Cursor::default() };
        self.name_owner();
        (self.node().is_some() || self.link().is_some()).then_some(())
    }

    fn next_set(&mut self) {
        self.cursor = Cursor { set: self.cursor.set + 1, piece: 0, passed: 0, ..self.cursor };
    }

    fn piece(&mut self, set: &SetEntry) -> Option<Record<'z>> {
        let piece = self.cursor.piece;
        let is_sig = piece >= u32::from(set.records);
        if piece >= u32::from(set.records) + u32::from(set.sigs) {
            return None;
        }
        if piece == u32::from(set.records) {
            self.cursor.passed = 0;
        }
        let start = if is_sig { set.sigs_at } else { set.data_at } + self.cursor.passed;
        let (len, rest) = self.zone.data[start as usize..].split_first_chunk::<2>()?;
        let rdata = rest.get(..usize::from(u16::from_be_bytes(*len)))?;
        self.cursor.piece += 1;
        self.cursor.passed += 2 + rdata.len() as u32;
        let rtype = if is_sig { Rtype::RRSIG } else { set.rtype };
        Some(Record { owner: self.owner, rtype, ttl: set.ttl, rdata })
    }

    fn next_piece(&mut self) -> Option<Record<'z>> {
        loop {
            let Some(set) = self.set() else {
                self.next_owner()?;
                continue;
            };
            match self.piece(set) {
                Some(record) => return Some(record),
                None => self.next_set(),
            }
        }
    }
}

impl<'z> Iterator for Records<'z> {
    type Item = Record<'z>;

    fn next(&mut self) -> Option<Record<'z>> {
        if !self.cursor.begun {
            self.cursor.begun = true;
            return Records::soa(self.zone);
        }
        loop {
            let record = self.next_piece()?;
            if record.rtype != Rtype::SOA {
                return Some(record);
            }
        }
    }
}
