//! One sweep over sorted records that lays the arenas of a zone out.
//!
//! ```text
//!   keys: | a: NS NS | a: sig | b.a: A | ... |     the path from the apex to the name at hand is a stack;
//!   path: apex > a > b.a                           names that are left are closed: their subtree has ended
//! ```

use domain::base::iana::Rtype;
use hashbrown::HashTable;

use super::error::{Fault, Oddity, Place, Warning, ZoneError};
use super::lint::lint;
use super::staged::{self, Key, Staged};
use super::{Owners, ZoneBuilder};
use crate::name::{Name, NameBuf};
use crate::zone::index::{hash, label_starts};
use crate::zone::node::{CNAME, CUT, DNAME, NONE, NodeEntry, SetEntry, WILDCARD_CHILD};
use crate::zone::nsec3::{self, Link};
use crate::zone::{SoaTimes, Zone};

pub(super) fn lay_out(builder: ZoneBuilder) -> Result<(Zone, Vec<Warning>), ZoneError> {
    let ZoneBuilder { apex, owners, records, rdata } = builder;
    let order = owners.in_order();
    let keys = staged::in_order(&records, &rdata, &order);
    let mut layout = Layout::new(&apex, &owners, &records, &rdata);
    for keys in keys.chunk_by(|left, right| left.rank() == right.rank()) {
        layout.push_owner(order[keys[0].rank() as usize], keys)?;
    }
    let laid = layout.close()?;
    drop((owners, records, rdata, keys, order));
    Ok(laid.into_zone(apex))
}

struct Layout<'a> {
    apex: &'a Name,
    owners: &'a Owners,
    records: &'a [Staged],
    rdata: &'a [u8],
    laid: Laid,
    /// The nodes from the apex down to the last one.
    path: Vec<u32>,
    survivors: Vec<Staged>,
}

/// The arenas, without a tie to what they were made from.
#[derive(Default)]
struct Laid {
    nodes: Vec<NodeEntry>,
    names: Vec<u8>,
    sets: Vec<SetEntry>,
    /// Where the first record of each set was read.
    places: Vec<Place>,
    data: Vec<u8>,
    /// Sets of NSEC3, which belong to no node: they follow the nodes' sets.
    hashed: Vec<(nsec3::Nsec3Hash, SetEntry)>,
    warnings: Vec<Warning>,
}

impl<'a> Layout<'a> {
    fn new(apex: &'a Name, owners: &'a Owners, records: &'a [Staged], rdata: &'a [u8]) -> Self {
        let laid = Laid {
            names: Vec::with_capacity(owners.bytes()),
            data: Vec::with_capacity(rdata.len() + 2 * records.len()),
            ..Laid::default()
        };
        Layout { apex, owners, records, rdata, laid, path: Vec::new(), survivors: Vec::new() }
    }

    fn push_owner(&mut self, owner: u32, keys: &[Key]) -> Result<(), ZoneError> {
        let owners = self.owners;
        let name = Site { wire: owners.wire(owner), at_apex: owners.wire(owner) == self.apex.as_wire() };
        let sets_at = self.laid.sets.len();
        for keys in keys.chunk_by(|left, right| left.set() == right.set()) {
            self.push_set(&name, keys)?;
        }
        if self.laid.sets.len() > sets_at {
            self.push_node(&name, sets_at)?;
        }
        Ok(())
    }

    /// Adds the records of one name and type and the signatures over them to the set arena.
    fn push_set(&mut self, name: &Site<'_>, keys: &[Key]) -> Result<(), ZoneError> {
        let is_sig = |key: &Key| self.records[key.record as usize].rtype == Rtype::RRSIG;
        let (records, sigs) = keys.split_at(keys.partition_point(|key| !is_sig(key)));
        let first = &self.records[keys[0].record as usize];
        let (rtype, place) = (first.set_type(self.rdata), first.place);
        let data_at = self.laid.data.len() as u32;
        let (records, records_ttl) = self.push_data(name, rtype, records, place)?;
        let sigs_at = self.laid.data.len() as u32;
        let (sigs, sigs_ttl) = self.push_data(name, Rtype::RRSIG, sigs, place)?;
        let Some(ttl) = records_ttl.or(sigs_ttl) else { return Ok(()) };
        if sigs_ttl.is_some_and(|sigs| sigs != ttl) {
            self.warn(name, Rtype::RRSIG, place, Oddity::SigTtlDiffers { ttl });
        }
        if records == 0 {
            self.warn(name, rtype, place, Oddity::StraySignature);
        }
        let set = SetEntry { ttl, data_at, sigs_at, rtype, records, sigs };
        self.check_set(name, &set, place)?;
        match nsec3::hash_of(name.wire, self.apex).filter(|_| rtype == Rtype::NSEC3) {
            Some(hash) => self.laid.hashed.push((hash, set)),
            None => {
                self.laid.sets.push(set);
                self.laid.places.push(place);
            }
        }
        Ok(())
    }

    /// Adds what survives of some records to the data arena: how many, and the least of their TTLs.
    fn push_data(
        &mut self,
        name: &Site<'_>,
        rtype: Rtype,
        keys: &[Key],
        place: Place,
    ) -> Result<(u16, Option<u32>), ZoneError> {
        let mut survivors = std::mem::take(&mut self.survivors);
        staged::survivors(keys, self.records, self.rdata, &mut survivors);
        for record in &survivors {
            self.laid.data.extend_from_slice(&record.rdata_len.to_be_bytes());
            self.laid.data.extend_from_slice(record.rdata(self.rdata));
        }
        let ttl = survivors.iter().map(|record| record.ttl).min();
        if let Some(ttl) = ttl
            && rtype != Rtype::RRSIG
            && survivors.iter().any(|record| record.ttl != ttl)
        {
            self.warn(name, rtype, place, Oddity::TtlsDiffer { ttl });
        }
        let count = survivors.len();
        self.survivors = survivors;
        if self.laid.data.len() > u32::MAX as usize {
            return Err(name.error(Fault::TooLarge, rtype, place));
        }
        let count = u16::try_from(count).map_err(|_| name.error(Fault::SetTooLarge, rtype, place))?;
        Ok((count, ttl))
    }

    fn check_set(&self, name: &Site<'_>, set: &SetEntry, place: Place) -> Result<(), ZoneError> {
        let single = matches!(set.rtype, Rtype::SOA | Rtype::CNAME | Rtype::DNAME);
        if single && set.records > 1 {
            return Err(name.error(Fault::NotSingle, set.rtype, place));
        }
        if set.rtype == Rtype::SOA && set.records > 0 && !name.at_apex {
            let apex = self.apex.to_string();
            return Err(name.error(Fault::SoaBelowApex { apex }, set.rtype, place));
        }
        Ok(())
    }

    fn push_node(&mut self, name: &Site<'_>, sets_at: usize) -> Result<(), ZoneError> {
        if self.laid.nodes.is_empty() && !name.at_apex {
            return Err(self.no_soa());
        }
        let sets = &self.laid.sets[sets_at..];
        check_alias(name, sets, &self.laid.places[sets_at..])?;
        let flags = flags_of(sets, name.at_apex);
        let sets_len = sets.len() as u16;
        let mut starts = [0u8; 128];
        let labels = label_starts(name.wire, &mut starts);
        let missing = self.leave_until_ancestor(name.wire, &starts[..labels]);
        for start in starts[1..missing.max(1)].iter().rev() {
            self.enter(&name.wire[usize::from(*start)..], 0, sets_at, 0);
        }
        self.enter(name.wire, flags, sets_at, sets_len);
        Ok(())
    }

    /// Closes nodes until the last of the path is an ancestor of `wire`; how many of the labels of `wire` are
    /// below that ancestor.
    fn leave_until_ancestor(&mut self, wire: &[u8], starts: &[u8]) -> usize {
        while let Some(&at) = self.path.last() {
            let above = self.laid.wire_of(at);
            let cut = wire.len().saturating_sub(above.len());
            let below = starts.partition_point(|start| usize::from(*start) < cut);
            let on_label = starts.get(below).is_none_or(|start| usize::from(*start) == cut);
            if wire.len() > above.len() && on_label && wire.ends_with(above) {
                return below;
            }
            self.leave();
        }
        0
    }

    fn leave(&mut self) {
        if let Some(at) = self.path.pop() {
            self.laid.nodes[at as usize].end = self.laid.nodes.len() as u32;
        }
    }

    fn enter(&mut self, wire: &[u8], flags: u8, sets_at: usize, sets_len: u16) {
        let at = self.laid.nodes.len() as u32;
        let parent = self.path.last().copied().unwrap_or(NONE);
        let node = NodeEntry {
            name_at: self.laid.names.len() as u32,
            name_len: wire.len() as u8,
            parent,
            end: at + 1,
            shadow: self.laid.shadow_below(parent),
            sets_at: sets_at as u32,
            sets_len,
            flags,
        };
        self.laid.names.extend_from_slice(wire);
        self.laid.nodes.push(node);
        self.path.push(at);
        if wire.starts_with(b"\x01*")
            && let Some(parent) = self.laid.nodes.get_mut(parent as usize)
        {
            parent.flags |= WILDCARD_CHILD;
        }
    }

    fn close(mut self) -> Result<Laid, ZoneError> {
        while !self.path.is_empty() {
            self.leave();
        }
        if !self.laid.apex_owns(Rtype::SOA) {
            return Err(self.no_soa());
        }
        if !self.laid.apex_owns(Rtype::NS) {
            return Err(ZoneError::new(Fault::NoApexNs, self.apex, Rtype::NS, Place::default()));
        }
        Ok(self.laid)
    }

    fn no_soa(&self) -> ZoneError {
        ZoneError::new(Fault::NoSoa, self.apex, Rtype::SOA, Place::default())
    }

    fn warn(&mut self, name: &Site<'_>, rtype: Rtype, place: Place, oddity: Oddity) {
        self.laid.warnings.push(Warning { oddity, owner: name.text(), rtype, place });
    }
}

/// The name at hand.
struct Site<'a> {
    wire: &'a [u8],
    at_apex: bool,
}

impl Site<'_> {
    fn text(&self) -> String {
        Name::from_wire(self.wire).unwrap_or(Name::ROOT).to_string()
    }

    fn error(&self, fault: Fault, rtype: Rtype, place: Place) -> ZoneError {
        ZoneError { fault, owner: self.text(), rtype, place }
    }
}

/// A CNAME stands alone (RFC 1034 section 3.6.2) but for what DNSSEC puts beside it (RFC 2181 section 10.1,
/// RFC 4034 section 4).
fn check_alias(name: &Site<'_>, sets: &[SetEntry], places: &[Place]) -> Result<(), ZoneError> {
    let owned = || sets.iter().zip(places).filter(|(set, _)| set.records > 0);
    if !owned().any(|(set, _)| set.rtype == Rtype::CNAME) {
        return Ok(());
    }
    let beside = [Rtype::CNAME, Rtype::NSEC, Rtype::KEY, Rtype::SIG];
    match owned().find(|(set, _)| !beside.contains(&set.rtype)) {
        Some((set, place)) => {
            Err(name.error(Fault::CnameAndOther { other: set.rtype }, Rtype::CNAME, *place))
        }
        None => Ok(()),
    }
}

fn flags_of(sets: &[SetEntry], at_apex: bool) -> u8 {
    let flag = |set: &SetEntry| match set.rtype {
        _ if set.records == 0 => 0,
        Rtype::NS if !at_apex => CUT,
        Rtype::DNAME => DNAME,
        Rtype::CNAME => CNAME,
        _ => 0,
    };
    sets.iter().fold(0, |flags, set| flags | flag(set))
}

impl Laid {
    fn wire_of(&self, at: u32) -> &[u8] {
        let node = &self.nodes[at as usize];
        &self.names[node.name_at as usize..node.name_at as usize + usize::from(node.name_len)]
    }

    /// What hides a node with this parent.
    fn shadow_below(&self, parent: u32) -> u32 {
        match self.nodes.get(parent as usize) {
            None => NONE,
            Some(above) if above.shadow != NONE => above.shadow,
            Some(above) if above.flags & (CUT | DNAME) != 0 => parent,
            Some(_) => NONE,
        }
    }

    fn sets_of(&self, node: &NodeEntry) -> &[SetEntry] {
        &self.sets[node.sets_at as usize..node.sets_at as usize + usize::from(node.sets_len)]
    }

    fn owns(&self, node: &NodeEntry, rtype: Rtype) -> bool {
        self.sets_of(node).iter().any(|set| set.rtype == rtype && set.records > 0)
    }

    fn apex_owns(&self, rtype: Rtype) -> bool {
        self.nodes.first().is_some_and(|apex| self.owns(apex, rtype))
    }

    fn into_zone(mut self, apex: NameBuf) -> (Zone, Vec<Warning>) {
        let index = self.index();
        let nsec = self.nsec_owners();
        let links = self.adopt_hashed();
        let mut zone = Zone {
            apex_labels: apex.label_count() as u8,
            apex,
            soa: SoaTimes::default(),
            nodes: self.nodes.into_boxed_slice(),
            names: self.names.into_boxed_slice(),
            sets: self.sets.into_boxed_slice(),
            data: self.data.into_boxed_slice(),
            index,
            nsec,
            nsec3: None,
            nsec3_strays: Box::default(),
        };
        zone.soa = SoaTimes::of(&zone);
        let mut warnings = self.warnings;
        zone.choose_chain(links, &mut warnings);
        lint(&zone, &self.places, &mut warnings);
        (zone, warnings)
    }

    fn index(&self) -> HashTable<u32> {
        let mut index = HashTable::with_capacity(self.nodes.len());
        for at in 0..self.nodes.len() as u32 {
            index.insert_unique(hash(self.wire_of(at)), at, |at| hash(self.wire_of(*at)));
        }
        index
    }

    fn nsec_owners(&self) -> Box<[u32]> {
        let owns = |(_, node): &(u32, &NodeEntry)| node.shadow == NONE && self.owns(node, Rtype::NSEC);
        (0..).zip(&self.nodes).filter(owns).map(|(at, _)| at).collect()
    }

    /// Gives the sets of NSEC3 their place behind the others.
    fn adopt_hashed(&mut self) -> Vec<Link> {
        let mut links = Vec::with_capacity(self.hashed.len());
        for (hash, set) in std::mem::take(&mut self.hashed) {
            links.push(Link { hash, set: self.sets.len() as u32 });
            self.sets.push(set);
        }
        links
    }
}
