//! Records under collection, and the order in which the zone is laid out from them.

use domain::base::iana::Rtype;

use super::super::rdata::{canonical_into, covered_type};
use super::error::Place;

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Add,
    Remove,
}

/// A record as it was added: 28 bytes beside its data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Staged {
    pub(super) owner: u32,
    pub(super) rdata_at: u32,
    pub(super) ttl: u32,
    pub(super) place: Place,
    pub(super) rtype: Rtype,
    pub(super) rdata_len: u16,
    pub(super) op: Op,
}

impl Staged {
    pub(super) fn rdata<'a>(&self, arena: &'a [u8]) -> &'a [u8] {
        let at = self.rdata_at as usize;
        &arena[at..at + usize::from(self.rdata_len)]
    }

    /// The type of the set that the record belongs to: for a signature, the type that it covers.
    pub(super) fn set_type(&self, arena: &[u8]) -> Rtype {
        match self.rtype {
            Rtype::RRSIG => covered_type(self.rdata(arena)).unwrap_or(Rtype::RRSIG),
            rtype => rtype,
        }
    }

    fn is_sig(&self) -> bool {
        self.rtype == Rtype::RRSIG
    }
}

/// A record's place in the layout: owner's rank, set's type, and signatures after what they cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    bits: u64,
    pub(super) record: u32,
}

impl Key {
    pub(super) fn rank(&self) -> u32 {
        (self.bits >> 17) as u32
    }

    /// The rank and the type of the set.
    pub(super) fn set(&self) -> u64 {
        self.bits >> 1
    }
}

/// All records in the order of the layout; equal keys in the order they were added in.
pub(super) fn in_order(records: &[Staged], arena: &[u8], owners: &[u32]) -> Vec<Key> {
    let mut ranks = vec![0u32; owners.len()];
    for (rank, owner) in owners.iter().enumerate() {
        ranks[*owner as usize] = rank as u32;
    }
    let key = |(record, staged): (usize, &Staged)| {
        let rank = u64::from(ranks[staged.owner as usize]);
        let set_type = u64::from(staged.set_type(arena).to_int());
        Key { bits: rank << 17 | set_type << 1 | u64::from(staged.is_sig()), record: record as u32 }
    };
    let mut keys: Vec<Key> = records.iter().enumerate().map(key).collect();
    keys.sort_unstable();
    keys
}

/// Of records with one owner and type, those that are left: duplicates once, removed ones not, sorted by their
/// canonical data (RFC 4034 section 6.3).
pub(super) fn survivors(keys: &[Key], records: &[Staged], arena: &[u8], out: &mut Vec<Staged>) {
    out.clear();
    if let [key] = keys {
        out.extend(Some(records[key.record as usize]).filter(|record| record.op == Op::Add));
        return;
    }
    let mut sorted: Vec<(Vec<u8>, u32)> = keys.iter().map(|key| canonical(key, records, arena)).collect();
    sorted.sort();
    for same in sorted.chunk_by(|left, right| left.0 == right.0) {
        out.extend(outcome(same, records));
    }
}

fn canonical(key: &Key, records: &[Staged], arena: &[u8]) -> (Vec<u8>, u32) {
    let record = &records[key.record as usize];
    let mut data = Vec::with_capacity(usize::from(record.rdata_len));
    canonical_into(record.rtype, record.rdata(arena), &mut data);
    (data, key.record)
}

/// The first addition since the last removal of the same record, with the least TTL of those.
fn outcome(same: &[(Vec<u8>, u32)], records: &[Staged]) -> Option<Staged> {
    let ops = same.iter().map(|(_, record)| records[*record as usize]);
    ops.fold(None, |kept: Option<Staged>, next| match (next.op, kept) {
        (Op::Remove, _) => None,
        (Op::Add, None) => Some(next),
        (Op::Add, Some(kept)) => Some(Staged { ttl: kept.ttl.min(next.ttl), ..kept }),
    })
}
