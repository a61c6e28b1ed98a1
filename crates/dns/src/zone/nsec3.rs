//! The NSEC3 chain: names hashed, sorted by hash, kept apart from the names of the zone (RFC 5155).
//!
//! An owner of NSEC3 records alone is not a name that can be asked for (RFC 5155 section 7.2.8), so it is not
//! a node. The invariant: entries are sorted by hash, and each names a set with at least one record whose
//! parameters are the chain's.

use domain::base::iana::Rtype;
use sha1::{Digest, Sha1};

use super::Zone;
use super::builder::{Oddity, Place, Warning};
use super::node::Rrset;
use crate::name::{Name, NameBuf};

/// A SHA-1 of a name, salted and iterated (RFC 5155 section 5).
pub type Nsec3Hash = [u8; 20];

/// An owner of NSEC3 records: the hash that its first label spells, and its set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub(super) hash: Nsec3Hash,
    pub(super) set: u32,
}

/// The parameters of the chain in use, and its hashes in order.
#[derive(Debug)]
pub struct Nsec3Chain {
    pub(super) iterations: u16,
    pub(super) salt: Box<[u8]>,
    pub(super) links: Box<[Link]>,
}

/// One NSEC3 of a chain.
#[derive(Clone, Copy, Debug)]
pub struct Nsec3<'z> {
    zone: &'z Zone,
    link: &'z Link,
}

/// What the chain says about a hash.
#[derive(Clone, Copy, Debug)]
pub enum Nsec3Lookup<'z> {
    /// A name with this hash exists.
    Matches(Nsec3<'z>),
    /// No name has it: this NSEC3's gap holds the hash.
    Covers(Nsec3<'z>),
}

impl<'z> Nsec3Lookup<'z> {
    /// The NSEC3, whichever it is.
    pub fn nsec3(&self) -> Nsec3<'z> {
        match self {
            Nsec3Lookup::Matches(nsec3) | Nsec3Lookup::Covers(nsec3) => *nsec3,
        }
    }
}

impl Nsec3Chain {
    /// Extra rounds of the hash (RFC 9276 wants none).
    pub fn iterations(&self) -> u16 {
        self.iterations
    }

    /// What is hashed with each name.
    pub fn salt(&self) -> &[u8] {
        &self.salt
    }

    /// The hash of a name, which must be in lower case.
    pub fn hash(&self, name: &Name) -> Nsec3Hash {
        self.hash_wire(name.as_wire())
    }

    fn hash_wire(&self, wire: &[u8]) -> Nsec3Hash {
        let mut digest: Nsec3Hash = Sha1::new().chain_update(wire).chain_update(&self.salt).finalize().into();
        for _ in 0..self.iterations {
            digest = Sha1::new().chain_update(digest).chain_update(&self.salt).finalize().into();
        }
        digest
    }

    pub(super) fn memory_size(&self) -> usize {
        self.salt.len() + size_of_val(&*self.links)
    }

    /// The last link at or before `hash`; the chain is a circle, so before the first comes the last.
    fn at_or_before(&self, hash: &Nsec3Hash) -> Option<&Link> {
        let after = self.links.partition_point(|link| link.hash <= *hash);
        self.links.get(after.checked_sub(1).unwrap_or(self.links.len().checked_sub(1)?))
    }
}

impl<'z> Nsec3<'z> {
    /// The hash that the owner's first label spells.
    pub fn hash(&self) -> &'z Nsec3Hash {
        &self.link.hash
    }

    /// A number that no other of the zone has: dense, stable as long as the zone.
    pub fn number(&self) -> u32 {
        self.link.set
    }

    /// The records and their signatures.
    pub fn rrset(&self) -> Option<Rrset<'z>> {
        Rrset::new(self.zone, self.link.set)
    }

    /// The gap after this hash may hold delegations without DS that have no NSEC3 (RFC 5155 section 6).
    pub fn is_opt_out(&self) -> bool {
        self.rrset().is_some_and(|set| set.first().get(1).is_some_and(|flags| flags & 1 != 0))
    }

    /// The first label of the owner: 32 characters of base 32 in lower case.
    pub fn label(&self) -> [u8; 32] {
        label_of(&self.link.hash)
    }

    /// The whole owner name.
    pub fn owner(&self) -> NameBuf {
        owner_of(&self.link.hash, &self.zone.apex)
    }
}

impl Zone {
    /// The chain that NSEC3PARAM at the apex names, if the zone has one.
    pub fn nsec3(&self) -> Option<&Nsec3Chain> {
        self.nsec3.as_ref()
    }

    /// What the chain in use says about a hash.
    pub fn nsec3_lookup(&self, hash: &Nsec3Hash) -> Option<Nsec3Lookup<'_>> {
        let link = self.nsec3.as_ref()?.at_or_before(hash)?;
        let nsec3 = Nsec3 { zone: self, link };
        Some(if link.hash == *hash { Nsec3Lookup::Matches(nsec3) } else { Nsec3Lookup::Covers(nsec3) })
    }

    /// The chain's word on a name, which must be in lower case.
    pub fn nsec3_for(&self, name: &Name) -> Option<Nsec3Lookup<'_>> {
        self.nsec3_lookup(&self.nsec3.as_ref()?.hash(name))
    }
}

const ALPHABET: &[u8; 32] = b"0123456789abcdefghijklmnopqrstuv";

/// Base 32 with the extended hex alphabet, which keeps the order of hashes (RFC 4648 section 7).
fn label_of(hash: &Nsec3Hash) -> [u8; 32] {
    let mut label = [0u8; 32];
    for (five, eight) in hash.chunks_exact(5).zip(label.chunks_exact_mut(8)) {
        let bits = five.iter().fold(0u64, |bits, byte| bits << 8 | u64::from(*byte));
        for (back, symbol) in eight.iter_mut().rev().enumerate() {
            *symbol = ALPHABET[(bits >> (5 * back) & 31) as usize];
        }
    }
    label
}

pub(super) fn owner_of(hash: &Nsec3Hash, apex: &Name) -> NameBuf {
    let apex = apex.as_wire();
    let mut wire = [0u8; 255 + 33];
    wire[0] = 32;
    wire[1..33].copy_from_slice(&label_of(hash));
    wire[33..33 + apex.len()].copy_from_slice(apex);
    Name::from_wire(&wire[..33 + apex.len()]).unwrap_or(Name::ROOT).to_owned()
}

/// The hash that a name in lower case spells, if it is one label of base 32 below the apex.
pub(super) fn hash_of(wire: &[u8], apex: &Name) -> Option<Nsec3Hash> {
    let (label, rest) = wire.split_first_chunk::<33>()?;
    if label[0] != 32 || rest != apex.as_wire() {
        return None;
    }
    let mut hash = Nsec3Hash::default();
    for (five, eight) in hash.chunks_exact_mut(5).zip(label[1..].chunks_exact(8)) {
        let bits = eight.iter().try_fold(0u64, |bits, symbol| Some(bits << 5 | digit(*symbol)?))?;
        five.copy_from_slice(&bits.to_be_bytes()[3..]);
    }
    Some(hash)
}

fn digit(symbol: u8) -> Option<u64> {
    match symbol {
        b'0'..=b'9' => Some(u64::from(symbol - b'0')),
        b'a'..=b'v' => Some(u64::from(symbol - b'a' + 10)),
        _ => None,
    }
}

/// The parameters of a chain: iterations and salt, as both NSEC3 and NSEC3PARAM begin (RFC 5155 sections 3.2
/// and 4.2). Algorithms but SHA-1 do not exist.
fn parameters(rdata: &[u8]) -> Option<(u16, &[u8])> {
    let (head, rest) = rdata.split_first_chunk::<5>()?;
    let salt = rest.get(..usize::from(head[4]))?;
    (head[0] == 1).then_some((u16::from_be_bytes([head[2], head[3]]), salt))
}

impl Zone {
    /// Settles which of the hashed owners make up the chain in use: those with the parameters of the first
    /// NSEC3PARAM that has any (RFC 5155 section 7.2.1 lets a server choose).
    pub(super) fn choose_chain(&mut self, mut links: Vec<Link>, warnings: &mut Vec<Warning>) {
        links.sort_unstable_by_key(|link| link.hash);
        let offered = self.offered_chains();
        for (iterations, salt) in &offered {
            let belongs = |link: &Link| self.has_parameters(link, (*iterations, salt));
            if links.iter().any(belongs) {
                let (used, strays) = links.into_iter().partition(belongs);
                self.adopt_chain(used, strays, *iterations, salt, warnings);
                return;
            }
        }
        if !offered.is_empty() {
            warnings.push(self.chain_warning(Oddity::NoChain));
        }
        self.nsec3_strays = links.into_boxed_slice();
    }

    fn adopt_chain(
        &mut self,
        used: Vec<Link>,
        strays: Vec<Link>,
        iterations: u16,
        salt: &[u8],
        warnings: &mut Vec<Warning>,
    ) {
        if iterations > 0 {
            warnings.push(self.chain_warning(Oddity::Iterations { iterations }));
        }
        self.nsec3 = Some(Nsec3Chain { iterations, salt: salt.into(), links: used.into_boxed_slice() });
        self.nsec3_strays = strays.into_boxed_slice();
    }

    /// The parameters at the apex; flags must be 0 (RFC 5155 section 4.1.2).
    fn offered_chains(&self) -> Vec<(u16, Box<[u8]>)> {
        let offers = self.apex_node().rrset(Rtype::NSEC3PARAM);
        let offers = offers.iter().flat_map(Rrset::rdatas).filter(|rdata| rdata.get(1) == Some(&0));
        offers.filter_map(parameters).map(|(iterations, salt)| (iterations, salt.into())).collect()
    }

    fn has_parameters(&self, link: &Link, wanted: (u16, &[u8])) -> bool {
        let set = Rrset::new(self, link.set);
        set.iter().flat_map(Rrset::rdatas).any(|rdata| parameters(rdata) == Some(wanted))
    }

    fn chain_warning(&self, oddity: Oddity) -> Warning {
        Warning { oddity, owner: self.apex.to_string(), rtype: Rtype::NSEC3PARAM, place: Place::default() }
    }
}
