//! Longest prefix match, IPv4 and IPv6: the first 16 bits of an address choose an entry of the root, each further eight
//! bits one of a group of 256. (After Gupta, Lin, McKeown, "Routing lookups in hardware at memory access speeds", 1998,
//! whose root takes 24 bits at once; continued in steps of eight for IPv6.)
//!
//! ```text
//!   root [2^16]                     groups of 256
//!   | gate, depth |
//!   | -> group 7  |--------------> | gate, depth |  8 bits further
//!   | gate, depth |                | -> group 9  |-----------------> ...
//! ```
//!
//! A root of 24 bits saves a step where routes are dense, and is 64 MiB that no cache holds where they are few. This one
//! stays in a second cache, and the groups of bits 16 to 24 are there where routes need them; at most they are those 64 MiB.
//!
//! An entry knows the length of the prefix that wrote it, so a prefix overwrites only shorter ones, and its
//! deletion gives its own entries, and no others, to the longest prefix that covers it.
//!
//! Invariant: a group exists as long as a prefix ends in it or behind it. The root takes 256 KiB, a group 1 KiB. Limits
//! are for the groups beyond 24 bits, as with a root of so many.

use crate::prefix::{Address, Prefix};
use crate::{BATCH_LEN_MAX, Gate, NO_GATE};
use hashbrown::HashMap;
use thiserror::Error;
use tidegate_base::FlowHasher;

const ROOT_BITS: u8 = 16;
const ROOT_LEN: usize = 1 << ROOT_BITS;
const GROUP_BITS: u8 = 8;
const GROUP_LEN: usize = 1 << GROUP_BITS;
/// Groups for the bits up to here are not limited.
const FREE_BITS: u8 = 24;

/// One of the two: bit 31 clear, a gate (bits 0..16) and the length of its prefix (bits 16..24); bit 31 set, the
/// number of a group.
#[derive(Clone, Copy)]
struct Entry(u32);

impl Entry {
    const EMPTY: Self = Self::route(NO_GATE, 0);
    const GROUP: u32 = 1 << 31;

    const fn route(gate: Gate, depth: u8) -> Self {
        Self((depth as u32) << 16 | gate as u32)
    }

    const fn to_group(number: u32) -> Self {
        Self(Self::GROUP | number)
    }

    #[inline]
    const fn is_group(self) -> bool {
        self.0 & Self::GROUP != 0
    }

    #[inline]
    const fn group(self) -> usize {
        (self.0 & !Self::GROUP) as usize
    }

    #[inline]
    const fn gate(self) -> Gate {
        self.0 as Gate
    }

    const fn depth(self) -> u8 {
        (self.0 >> 16) as u8
    }
}

/// Why a table of routes does not take a change.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum LpmError {
    /// As many routes as allowed.
    #[error(
        "no room for {prefix}: the table holds max_rules = {max} routes; create it with a higher max_rules"
    )]
    RulesFull {
        /// The route that was not added.
        prefix: String,
        /// The limit.
        max: usize,
    },
    /// As many second-level tables as allowed.
    #[error(
        "no room for {prefix}: it needs {needed} more second-level tables, {free} of max_tbl8s = {max} are free; \
         create the table with a higher max_tbl8s"
    )]
    GroupsFull {
        /// The route that was not added.
        prefix: String,
        /// Second-level tables that it needs.
        needed: usize,
        /// Second-level tables that are free.
        free: usize,
        /// The limit.
        max: usize,
    },
    /// A gate that means "none".
    #[error("gate {NO_GATE} is no gate: the highest is {}", NO_GATE - 1)]
    GateTooHigh,
    /// A deletion of what is not there.
    #[error("no route {prefix} to delete")]
    NoSuchRoute {
        /// The route asked for.
        prefix: String,
    },
}

/// Routes from prefixes to gates.
pub struct Lpm<A> {
    root: Box<[Entry; ROOT_LEN]>,
    /// Groups one behind the other; group 0 is never used, so that a lookup may read it in vain.
    groups: Vec<[Entry; GROUP_LEN]>,
    /// For each group, how many routes end in it or behind it.
    route_counts: Vec<u32>,
    free: Vec<u32>,
    /// Groups in use for the bits up to `FREE_BITS`.
    near_count: usize,
    rules: HashMap<Prefix<A>, Gate, FlowHasher>,
    /// For each length, how many routes have it.
    len_counts: Box<[u32; 129]>,
    rule_count_max: usize,
    group_count_max: usize,
}

impl<A: Address> Lpm<A> {
    /// An empty table for at most `rule_count_max` routes and `group_count_max` second-level tables beyond 24 bits. A route
    /// of up to 24 bits needs none of these, a longer one shares one for each further eight bits with its neighbours.
    pub fn new(rule_count_max: usize, group_count_max: usize) -> Self {
        let root = vec![Entry::EMPTY; ROOT_LEN].into_boxed_slice();
        let Ok(root) = root.try_into() else { unreachable!("made with this length") };
        // Addresses for as many as are ever needed up to 24 bits, so that no route finds all of them moved.
        let mut groups = Vec::with_capacity(1 + (1 << (FREE_BITS - GROUP_BITS)));
        groups.push([Entry::EMPTY; GROUP_LEN]);
        Self {
            root,
            groups,
            route_counts: vec![0],
            free: Vec::new(),
            near_count: 0,
            rules: HashMap::with_hasher(FlowHasher::new(0)),
            len_counts: Box::new([0; 129]),
            rule_count_max,
            group_count_max: group_count_max.min((Entry::GROUP - 1) as usize),
        }
    }

    /// How many routes it holds.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether it holds no route.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// How many second-level tables are in use beyond 24 bits.
    pub fn group_count(&self) -> usize {
        self.groups.len() - 1 - self.free.len() - self.near_count
    }

    /// The gate that a route of just this prefix leads to.
    pub fn route(&self, prefix: Prefix<A>) -> Option<Gate> {
        self.rules.get(&prefix).copied()
    }

    /// All routes, in no order.
    pub fn routes(&self) -> impl Iterator<Item = (Prefix<A>, Gate)> {
        self.rules.iter().map(|(prefix, gate)| (*prefix, *gate))
    }

    /// Adds a route, or leads it to another gate.
    pub fn add(&mut self, prefix: Prefix<A>, gate: Gate) -> Result<(), LpmError> {
        if gate == NO_GATE {
            return Err(LpmError::GateTooHigh);
        }
        let is_new = !self.rules.contains_key(&prefix);
        if is_new {
            self.check_room(prefix)?;
        }
        let group = self.open(prefix, u32::from(is_new));
        self.paint(group, prefix, Entry::route(gate, prefix.len()), |depth| depth <= prefix.len());
        self.rules.insert(prefix, gate);
        self.len_counts[usize::from(prefix.len())] += u32::from(is_new);
        Ok(())
    }

    /// Deletes a route; its addresses go to the longest prefix that covers it, if there is one.
    pub fn delete(&mut self, prefix: Prefix<A>) -> Result<(), LpmError> {
        if self.rules.remove(&prefix).is_none() {
            return Err(LpmError::NoSuchRoute { prefix: prefix.to_string() });
        }
        self.len_counts[usize::from(prefix.len())] -= 1;
        let cover = self.cover(prefix);
        let group = self.open(prefix, 0);
        self.paint(group, prefix, cover, |depth| depth == prefix.len());
        self.close(prefix);
        Ok(())
    }

    /// Deletes every route.
    pub fn clear(&mut self) {
        *self = Self::new(self.rule_count_max, self.group_count_max);
    }

    /// The gate for `address`, or [`NO_GATE`].
    #[inline]
    pub fn lookup(&self, address: A) -> Gate {
        let mut entry = self.root[address.bits(0, ROOT_BITS) as usize];
        let mut level = ROOT_BITS;
        while entry.is_group() {
            entry = self.groups[entry.group()][address.bits(level, GROUP_BITS) as usize];
            level += GROUP_BITS;
        }
        entry.gate()
    }

    /// The gate for each of `addresses`, or [`NO_GATE`]; as many as both slices hold.
    #[inline]
    pub fn lookup_batch(&self, addresses: &[A], gates: &mut [Gate]) {
        for (addresses, gates) in addresses.chunks(BATCH_LEN_MAX).zip(gates.chunks_mut(BATCH_LEN_MAX)) {
            self.lookup_chunk(addresses, gates);
        }
    }

    #[inline]
    fn lookup_chunk(&self, addresses: &[A], gates: &mut [Gate]) {
        let mut entries = [Entry::EMPTY; BATCH_LEN_MAX];
        let mut seen = 0;
        for (entry, address) in entries.iter_mut().zip(addresses) {
            *entry = self.root[address.bits(0, ROOT_BITS) as usize];
            seen |= entry.0;
        }
        let mut level = ROOT_BITS;
        while seen & Entry::GROUP != 0 {
            seen = self.descend(addresses, &mut entries, level);
            level += GROUP_BITS;
        }
        for (gate, entry) in gates.iter_mut().zip(&entries[..addresses.len()]) {
            *gate = entry.gate();
        }
    }

    /// Goes one level down with all entries that are groups; the others read the unused group 0 and stay.
    #[inline]
    fn descend(&self, addresses: &[A], entries: &mut [Entry; BATCH_LEN_MAX], level: u8) -> u32 {
        let mut seen = 0;
        for (entry, address) in entries.iter_mut().zip(addresses) {
            let number = if entry.is_group() { entry.group() } else { 0 };
            let below = self.groups[number][address.bits(level, GROUP_BITS) as usize];
            *entry = if entry.is_group() { below } else { *entry };
            seen |= entry.0;
        }
        seen
    }

    fn check_room(&self, prefix: Prefix<A>) -> Result<(), LpmError> {
        if self.rules.len() >= self.rule_count_max {
            return Err(LpmError::RulesFull { prefix: prefix.to_string(), max: self.rule_count_max });
        }
        let (needed, free) = (self.groups_missing(prefix), self.group_count_max - self.group_count());
        if needed > free {
            let prefix = prefix.to_string();
            return Err(LpmError::GroupsFull { prefix, needed, free, max: self.group_count_max });
        }
        Ok(())
    }

    /// How many limited groups a route of `prefix` needs that do not exist yet.
    fn groups_missing(&self, prefix: Prefix<A>) -> usize {
        let mut entry = self.root[prefix.address().bits(0, ROOT_BITS) as usize];
        let mut level = ROOT_BITS;
        while level < prefix.len() && entry.is_group() {
            entry = self.groups[entry.group()][prefix.address().bits(level, GROUP_BITS) as usize];
            level += GROUP_BITS;
        }
        usize::from(prefix.len().saturating_sub(level.max(FREE_BITS)).div_ceil(GROUP_BITS))
    }

    /// Makes the groups on the way to the end of `prefix`, counts `more` routes in each, and returns the last one
    /// and its first bit; `None` if the prefix ends in the root.
    fn open(&mut self, prefix: Prefix<A>, more: u32) -> Option<(usize, u8)> {
        let (mut at, mut level) = (None, ROOT_BITS);
        while level < prefix.len() {
            let first = if level == ROOT_BITS { 0 } else { level - GROUP_BITS };
            let index = prefix.address().bits(first, level - first) as usize;
            let entry = self.entry(at, index);
            let number = if entry.is_group() { entry.group() } else { self.allocate(entry, level) };
            *self.entry_mut(at, index) = Entry::to_group(number as u32);
            self.route_counts[number] += more;
            at = Some(number);
            level += GROUP_BITS;
        }
        at.map(|number| (number, level - GROUP_BITS))
    }

    /// Counts one route less in each group on the way to the end of `prefix`, and frees the highest group without
    /// any, and those behind it: all their entries are what covers the group.
    fn close(&mut self, prefix: Prefix<A>) {
        let (mut at, mut level, mut freed) = (None, ROOT_BITS, false);
        while level < prefix.len() {
            let first = if level == ROOT_BITS { 0 } else { level - GROUP_BITS };
            let index = prefix.address().bits(first, level - first) as usize;
            let number = self.entry(at, index).group();
            self.route_counts[number] -= 1;
            if self.route_counts[number] == 0 {
                self.free.push(number as u32);
                self.near_count -= usize::from(level < FREE_BITS);
                if !freed {
                    *self.entry_mut(at, index) = self.leaf_below(number);
                    freed = true;
                }
            }
            at = Some(number);
            level += GROUP_BITS;
        }
    }

    /// The route that fills the group `number` and those behind it.
    fn leaf_below(&self, number: usize) -> Entry {
        let routes = self.groups[number].iter().find(|entry| !entry.is_group());
        routes.copied().unwrap_or(Entry::EMPTY)
    }

    fn entry(&self, group: Option<usize>, index: usize) -> Entry {
        match group {
            None => self.root[index],
            Some(number) => self.groups[number][index],
        }
    }

    fn entry_mut(&mut self, group: Option<usize>, index: usize) -> &mut Entry {
        match group {
            None => &mut self.root[index],
            Some(number) => &mut self.groups[number][index],
        }
    }

    /// A group for the bits from `level` on.
    fn allocate(&mut self, fill: Entry, level: u8) -> usize {
        self.near_count += usize::from(level < FREE_BITS);
        if let Some(number) = self.free.pop() {
            self.groups[number as usize] = [fill; GROUP_LEN];
            return number as usize;
        }
        self.groups.push([fill; GROUP_LEN]);
        self.route_counts.push(0);
        self.groups.len() - 1
    }

    /// Writes `to` into each entry of `prefix` whose depth `takes`, from the group in which it ends downwards.
    fn paint(
        &mut self,
        group: Option<(usize, u8)>,
        prefix: Prefix<A>,
        to: Entry,
        takes: impl Fn(u8) -> bool + Copy,
    ) {
        let (first, bits) = group.map_or((0, ROOT_BITS), |(_, first)| (first, GROUP_BITS));
        let start = prefix.address().bits(first, bits) as usize;
        let count = 1 << (first + bits - prefix.len());
        for index in start..start + count {
            let entry = self.entry_mut(group.map(|(number, _)| number), index);
            if entry.is_group() {
                let number = entry.group();
                self.paint_group(number, to, takes);
            } else if takes(entry.depth()) {
                *entry = to;
            }
        }
    }

    fn paint_group(&mut self, number: usize, to: Entry, takes: impl Fn(u8) -> bool + Copy) {
        for index in 0..GROUP_LEN {
            let entry = self.groups[number][index];
            if entry.is_group() {
                self.paint_group(entry.group(), to, takes);
            } else if takes(entry.depth()) {
                self.groups[number][index] = to;
            }
        }
    }

    /// What covers `prefix`: the longest shorter route on its way.
    fn cover(&self, prefix: Prefix<A>) -> Entry {
        let lens = (0..prefix.len()).rev().filter(|len| self.len_counts[usize::from(*len)] != 0);
        let mut covers = lens.filter_map(|len| {
            let gate = self.rules.get(&Prefix::containing(prefix.address(), len))?;
            Some(Entry::route(*gate, len))
        });
        covers.next().unwrap_or(Entry::EMPTY)
    }
}

#[cfg(test)]
#[path = "lpm_tests.rs"]
mod tests;
