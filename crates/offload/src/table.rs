//! The one who writes a table: rules in, words out, while others read.
//!
//! ```text
//!   put:      record written -> home leads to it (if the ticket holds) -> slot leads to it -> the old one rests
//!   reader:   invalidates: home's ticket := 0, and the record that the home leads to := dead
//!   swap:     records born with the group's next generation -> the group's word := that generation
//! ```
//! A request that invalidates, and a rule that is being put, may come at the same time. Either the reader is first at the home,
//! then the ticket is gone and the put is refused; or the writer is, then the reader finds the new record there.
//!
//! Invariant: a slot leads to a whole record, and a record's words but for its hits and its life do not change until no reader
//! can be in it.

use tidegate_base::Instant;

use crate::arena::Arena;
use crate::buckets::{Buckets, Slot};
use crate::capacity::{Capacity, CapacityError};
use crate::layout::{
    BUCKET_SLOTS, HEADER_BUCKETS, HEADER_GROUPS, HEADER_HOMES, HEADER_MAGIC, HEADER_SEED, HOME_PAGE, Hash,
    MAGIC, PAGE_WORDS, RECORD_BODY, RECORD_EXPIRES, RECORD_HITS, RECORD_LIFE, RECORD_PLACE, RECORD_REPLY,
    hash, high, low, pack32, unpack16,
};
use crate::memory::Memory;
use crate::normal::Normal;
use crate::record::{Record, record_words};
use crate::rule::{GROUP_COUNT, GroupId, Rule, RuleError, RuleId, Ticket};
use crate::shapes::{ShapeError, Shapes};

/// Why a rule was not put into a table. The table is as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PutError {
    /// No table takes it.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// This one does not.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// All places are taken.
    #[error("all {0} places for rules are taken: remove some, or make a larger table")]
    Full(u32),
    /// No room for its bytes.
    #[error("there is no room for a record of {bytes} bytes: remove rules, or make a larger table")]
    NoRoom {
        /// What it takes.
        bytes: usize,
    },
    /// Too many rules whose keys meet in the same two buckets.
    #[error("{} rules have keys that cannot be told apart by their hashes: make a larger table", 2 * BUCKET_SLOTS)]
    Collisions,
    /// Another rule of its kind.
    #[error("rule {} has the same conditions: replace that one", .id.0)]
    Duplicate {
        /// The rule that is there.
        id: RuleId,
    },
    /// The place was never reserved, or is free again.
    #[error("there is no place {} for a rule: reserve one", .id.0)]
    NoPlace {
        /// What was named.
        id: RuleId,
    },
    /// A request invalidated the place since the ticket was taken: what the rule says may be stale.
    #[error("rule {} was invalidated meanwhile: take a new ticket and ask the server again", .id.0)]
    Invalidated {
        /// The place.
        id: RuleId,
    },
    /// A request invalidated the group.
    #[error("group {} was invalidated: renew it", .group.0)]
    GroupDropped {
        /// The group.
        group: GroupId,
    },
}

/// Why the rules of a group were not replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GroupError {
    /// No table has it.
    #[error("there is no group {}: the last one is {}", .group.0, GROUP_COUNT - 1)]
    NoGroup {
        /// The group.
        group: GroupId,
    },
    /// A request invalidated it since staging began: what was staged may be stale.
    #[error("group {} was invalidated while its rules were being replaced: ask the server again", .group.0)]
    Invalidated {
        /// The group.
        group: GroupId,
    },
}

/// The next rules of a group, which nobody sees before [`Table::swap`].
#[derive(Debug, PartialEq, Eq)]
#[must_use = "what is staged takes room until it is swapped in or discarded"]
pub struct Staged {
    group: GroupId,
    /// The generation that was alive when staging began, and the next one.
    from: u32,
    to: u32,
}

/// What became of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Requests that it decided about.
    pub hits: u64,
    /// Whether requests meet it: it was not invalidated, nor its group, and it is not staged. Its time may be over.
    pub is_alive: bool,
    /// When it ends by itself.
    pub expires: Option<Instant>,
    /// Its group.
    pub group: GroupId,
}

/// A table, by its one writer.
#[derive(Debug)]
pub struct Table<M> {
    memory: M,
    capacity: Capacity,
    seed: u64,
    buckets: Buckets,
    arena: Arena,
    shapes: Shapes,
    /// Places below `place_count` that are not reserved.
    free_places: Vec<u32>,
    place_count: u32,
    is_reserved: Vec<u64>,
    rule_count: u32,
    last_ticket: u32,
    last_generation: u32,
}

impl<M: Memory> Table<M> {
    /// An empty table in zeroed memory. The seed must be drawn anew for each table, or who chooses what is offloaded could choose
    /// keys that collide.
    pub fn create(memory: M, capacity: Capacity, seed: u64) -> Result<Self, CapacityError> {
        capacity.check(memory.page_count())?;
        let buckets =
            Buckets { first_word: capacity.bucket_page() * PAGE_WORDS, count: capacity.bucket_count() };
        memory.store(HEADER_SEED, seed);
        memory.store(HEADER_BUCKETS, pack32(buckets.count, capacity.bucket_page() as u32));
        memory.store(HEADER_HOMES, pack32(capacity.rule_count, HOME_PAGE as u32));
        for group in 0..usize::from(GROUP_COUNT) {
            memory.store(HEADER_GROUPS + group, 1);
        }
        // Last: a reader takes no table without it.
        memory.store(HEADER_MAGIC, MAGIC);
        let arena = Arena::new(capacity.first_record_page(), memory.page_count());
        Ok(Self {
            memory,
            capacity,
            seed,
            buckets,
            arena,
            shapes: Shapes::default(),
            free_places: Vec::new(),
            place_count: 0,
            is_reserved: Vec::new(),
            rule_count: 0,
            last_ticket: 0,
            last_generation: 1,
        })
    }

    /// The memory that it is in.
    pub fn memory(&self) -> &M {
        &self.memory
    }

    /// Rules that are in it, dead and staged ones too.
    pub fn rule_count(&self) -> u32 {
        self.rule_count
    }

    /// Ways in which its rules look at requests.
    pub fn shape_count(&self) -> usize {
        self.shapes.len()
    }

    /// Bytes of records, those left out that readers may still be in.
    pub fn record_bytes(&self) -> u64 {
        self.arena.used_words() as u64 * 8
    }

    /// A place for a rule, with nothing in it: a name for others to invalidate.
    pub fn reserve(&mut self) -> Result<RuleId, PutError> {
        let place = match self.free_places.pop() {
            Some(place) => place,
            None if self.place_count < self.capacity.rule_count => {
                self.place_count += 1;
                self.place_count - 1
            }
            None => return Err(PutError::Full(self.capacity.rule_count)),
        };
        self.mark_reserved(place, true);
        Ok(RuleId(place))
    }

    /// Removes what is in a place, and the place. Whether it was reserved.
    pub fn release(&mut self, id: RuleId) -> bool {
        if !self.is_reserved(id) {
            return false;
        }
        self.remove(id);
        self.mark_reserved(id.0, false);
        self.free_places.push(id.0);
        true
    }

    /// A rule in a new place.
    pub fn insert(&mut self, rule: &Rule) -> Result<RuleId, PutError> {
        let id = self.reserve()?;
        let put = self.put(id, rule);
        put.inspect_err(|_| {
            self.release(id);
        })
        .map(|()| id)
    }

    /// A ticket for a place: a rule that is put with it is refused if a request invalidated the place in between. To be taken
    /// before the server is asked.
    pub fn ticket(&mut self, id: RuleId) -> Result<Ticket, PutError> {
        if !self.is_reserved(id) {
            return Err(PutError::NoPlace { id });
        }
        loop {
            let home = self.home(id);
            if high(home) != 0 {
                return Ok(Ticket(high(home)));
            }
            self.last_ticket = self.last_ticket.wrapping_add(1).max(1);
            let renewed = pack32(low(home), self.last_ticket);
            if self.memory.replace(home_at(id), home, renewed) {
                return Ok(Ticket(self.last_ticket));
            }
        }
    }

    /// Puts a rule into a place, instead of what is there. Requests meet the old one or the new one. Hits go on from the old one's;
    /// those that it has in that very moment are lost.
    pub fn put(&mut self, id: RuleId, rule: &Rule) -> Result<(), PutError> {
        let ticket = self.ticket(id)?;
        self.put_with(id, ticket, rule)
    }

    /// The same, unless the place was invalidated since the ticket was taken.
    pub fn put_with(&mut self, id: RuleId, ticket: Ticket, rule: &Rule) -> Result<(), PutError> {
        let normal = Normal::of(rule)?;
        let generation = low(self.memory.load(group_at(rule.group)));
        if generation == 0 {
            return Err(PutError::GroupDropped { group: rule.group });
        }
        self.put_normal(id, ticket, rule, &normal, generation)
    }

    /// Begins to replace the rules of a group.
    pub fn stage(&mut self, group: GroupId) -> Result<Staged, GroupError> {
        check_group(group)?;
        let from = low(self.memory.load(group_at(group)));
        self.last_generation = self.last_generation.wrapping_add(1).max(2);
        Ok(Staged { group, from, to: self.last_generation })
    }

    /// A rule among those that are staged, in a new place; its own group is of no matter.
    pub fn insert_staged(&mut self, staged: &Staged, rule: &Rule) -> Result<RuleId, PutError> {
        let id = self.reserve()?;
        let put = self.ticket(id).and_then(|ticket| {
            let rule = Rule { group: staged.group, ..rule.clone() };
            let normal = Normal::of(&rule)?;
            self.put_normal(id, ticket, &rule, &normal, staged.to)
        });
        put.inspect_err(|_| {
            self.release(id);
        })
        .map(|()| id)
    }

    /// Lets requests meet what is staged, and the group's other rules no more, at one moment; then removes these. Places of
    /// rules that are removed stay reserved. Refused where a request invalidated the group, and what was staged removed.
    pub fn swap(&mut self, staged: Staged) -> Result<(), GroupError> {
        let Staged { group, from, to } = staged;
        if from == 0 || !self.memory.replace(group_at(group), from.into(), to.into()) {
            self.remove_generation(group, |generation| generation == to);
            return Err(GroupError::Invalidated { group });
        }
        self.remove_generation(group, |generation| generation != to);
        Ok(())
    }

    /// Removes what is staged.
    pub fn discard(&mut self, staged: Staged) {
        self.remove_generation(staged.group, |generation| generation == staged.to);
    }

    /// Removes all rules of a group, staged ones too, and lets it live again if a request invalidated it.
    pub fn renew(&mut self, group: GroupId) -> Result<(), GroupError> {
        check_group(group)?;
        self.last_generation = self.last_generation.wrapping_add(1).max(2);
        self.memory.store(group_at(group), self.last_generation.into());
        self.remove_generation(group, |_| true);
        Ok(())
    }

    /// Whether no request invalidated the group since it was last renewed or swapped.
    pub fn is_group_alive(&self, group: GroupId) -> bool {
        check_group(group).is_ok() && self.memory.load(group_at(group)) != 0
    }

    /// Removes what is in a place, if anything is; the place stays reserved.
    pub fn remove(&mut self, id: RuleId) -> bool {
        let Some(home) = self.take_home(id) else { return false };
        self.unlink(low(home) as usize);
        self.rule_count -= 1;
        true
    }

    /// Removes the rules that nobody will meet again: invalidated ones, and those whose time is over. Their places stay reserved;
    /// how many there were.
    pub fn sweep(&mut self, now: Instant) -> usize {
        let is_over = |table: &Self, id| {
            let status = table.status(id)?;
            let is_dead = low(table.memory.load(table.address(id) + RECORD_LIFE)) == 0;
            Some(is_dead || status.expires.is_some_and(|end| end <= now))
        };
        let places = (0..self.place_count).map(RuleId);
        let over: Vec<_> = places.filter(|id| is_over(self, *id).unwrap_or(false)).collect();
        over.into_iter().filter(|id| self.remove(*id)).count()
    }

    /// What became of the rule in a place; `None` where there is none.
    pub fn status(&self, id: RuleId) -> Option<Status> {
        let address = self.address(id);
        if address == 0 {
            return None;
        }
        let [group, ..] = unpack16(self.memory.load(address + RECORD_PLACE));
        let (group, expires) = (GroupId(group), self.memory.load(address + RECORD_EXPIRES));
        let generation = low(self.memory.load(address + RECORD_LIFE));
        Some(Status {
            hits: self.memory.load(address + RECORD_HITS),
            is_alive: generation != 0 && u64::from(generation) == self.memory.load(group_at(group)),
            expires: (expires != 0).then(|| Instant::from_nanos(expires)),
            group,
        })
    }

    /// The places that have a rule, with what became of it.
    pub fn statuses(&self) -> impl Iterator<Item = (RuleId, Status)> + '_ {
        let places = (0..self.place_count).map(RuleId);
        places.filter_map(|id| self.status(id).map(|status| (id, status)))
    }

    fn put_normal(
        &mut self,
        id: RuleId,
        ticket: Ticket,
        rule: &Rule,
        normal: &Normal,
        generation: u32,
    ) -> Result<(), PutError> {
        if !self.is_reserved(id) {
            return Err(PutError::NoPlace { id });
        }
        let shape = self.shapes.enter(&self.memory, normal)?;
        let hash = hash(self.seed, shape, normal.key.iter().copied());
        let record = Record { id, rule, normal, shape, generation };
        let put = self.find_duplicate(hash, &record).and_then(|()| self.place_record(ticket, hash, &record));
        put.inspect_err(|_| self.shapes.leave_if_empty(&self.memory, shape))
    }

    fn find_duplicate(&self, hash: Hash, new: &Record<'_>) -> Result<(), PutError> {
        let same = |address: usize| {
            let life = self.memory.load(address + RECORD_LIFE);
            let [group, ..] = unpack16(self.memory.load(address + RECORD_PLACE));
            // A group's next rules may have the conditions of those that they replace.
            let is_in_other_group = low(life) != 0 && GroupId(group) != new.rule.group;
            let is_beside = low(life) == new.generation || is_in_other_group;
            let is_duplicate =
                is_beside && high(life) != new.id.0 && self.has_conditions(address, new.shape, new.normal);
            is_duplicate.then(|| RuleId(high(life)))
        };
        let mut candidates = self.buckets.candidates(&self.memory, hash);
        match candidates.find_map(|(_, address)| same(address)) {
            Some(id) => Err(PutError::Duplicate { id }),
            None => Ok(()),
        }
    }

    fn has_conditions(&self, address: usize, shape: u16, normal: &Normal) -> bool {
        let [_, found, rest_offset, rest_len] = unpack16(self.memory.load(address + RECORD_PLACE));
        let [reply_len, ..] = unpack16(self.memory.load(address + RECORD_REPLY));
        let rest_is_same =
            (usize::from(rest_len), rest_offset) == (normal.rest.bytes.len(), normal.rest.offset);
        let key_at = address + RECORD_BODY + usize::from(reply_len).div_ceil(8);
        let wanted = normal.key.iter().copied().chain(normal.rest_words());
        found == shape
            && rest_is_same
            && (key_at..).zip(wanted).all(|(at, word)| self.memory.load(at) == word)
    }

    fn place_record(&mut self, ticket: Ticket, hash: Hash, record: &Record<'_>) -> Result<(), PutError> {
        let (id, words) = (record.id, record_words(record.normal));
        let address = self.take(words).ok_or(PutError::NoRoom { bytes: words * 8 })?;
        let slot = match self.slot_for(hash) {
            Some(slot) => slot,
            None => {
                self.arena.untake(address, words);
                return Err(PutError::Collisions);
            }
        };
        let old = self.address(id);
        record.write(&self.memory, address, self.hits(old));
        self.shapes.add_rule(&self.memory, record.shape, record.normal);
        let (home, moved) = (pack32(old as u32, ticket.0), pack32(address as u32, ticket.0));
        if !self.memory.replace(home_at(id), home, moved) {
            self.arena.untake(address, words);
            self.shapes.remove_rule(&self.memory, record.shape);
            return Err(PutError::Invalidated { id });
        }
        Buckets::fill(&self.memory, slot, hash, address);
        match old {
            0 => self.rule_count += 1,
            old => self.unlink(old),
        }
        Ok(())
    }

    fn slot_for(&self, hash: Hash) -> Option<Slot> {
        self.buckets.make_room(&self.memory, hash, |address| self.hash_of(address))
    }

    /// A place for a record. Waiting for readers, and joining what is free, are for when there is no other.
    fn take(&mut self, words: usize) -> Option<usize> {
        if let Some(address) = self.arena.take(words) {
            return Some(address);
        }
        if self.arena.has_resting() && self.memory.quiesce() {
            self.arena.on_quiet();
            self.shapes.on_quiet();
        }
        self.arena.take(words).or_else(|| {
            self.arena.join();
            self.arena.take(words)
        })
    }

    /// Leads readers to a record no more; it rests.
    fn unlink(&mut self, address: usize) {
        let hash = self.hash_of(address);
        if let Some(slot) = self.buckets.find(&self.memory, hash, address) {
            Buckets::empty(&self.memory, slot);
        }
        let [_, shape, ..] = unpack16(self.memory.load(address + RECORD_PLACE));
        let [.., words] = unpack16(self.memory.load(address + RECORD_REPLY));
        self.shapes.remove_rule(&self.memory, shape);
        self.arena.rest(address, words.into());
    }

    fn hash_of(&self, address: usize) -> Hash {
        let [_, shape, ..] = unpack16(self.memory.load(address + RECORD_PLACE));
        let [reply_len, ..] = unpack16(self.memory.load(address + RECORD_REPLY));
        let [_, key_words, ..] = unpack16(self.memory.load(crate::shapes::shape_at(shape)));
        let key_at = address + RECORD_BODY + usize::from(reply_len).div_ceil(8);
        hash(self.seed, shape, (key_at..key_at + usize::from(key_words)).map(|at| self.memory.load(at)))
    }

    fn remove_generation(&mut self, group: GroupId, goes: impl Fn(u32) -> bool) {
        let is_gone = |table: &Self, id| {
            let status = table.status(id)?;
            let generation = low(table.memory.load(table.address(id) + RECORD_LIFE));
            Some(status.group == group && goes(generation))
        };
        let places = (0..self.place_count).map(RuleId);
        let gone: Vec<_> = places.filter(|id| is_gone(self, *id).unwrap_or(false)).collect();
        for id in gone {
            self.remove(id);
        }
    }

    fn home(&self, id: RuleId) -> u64 {
        self.memory.load(home_at(id))
    }

    fn address(&self, id: RuleId) -> usize {
        if id.0 < self.place_count { low(self.home(id)) as usize } else { 0 }
    }

    fn hits(&self, address: usize) -> u64 {
        if address == 0 { 0 } else { self.memory.load(address + RECORD_HITS) }
    }

    /// Makes a home lead nowhere; what it was, if it led to a record.
    fn take_home(&self, id: RuleId) -> Option<u64> {
        loop {
            let home = if id.0 < self.place_count { self.home(id) } else { 0 };
            if low(home) == 0 {
                return None;
            }
            if self.memory.replace(home_at(id), home, pack32(0, high(home))) {
                return Some(home);
            }
        }
    }

    fn is_reserved(&self, id: RuleId) -> bool {
        let word = self.is_reserved.get(id.0 as usize / 64);
        word.is_some_and(|word| word >> (id.0 % 64) & 1 == 1)
    }

    fn mark_reserved(&mut self, place: u32, is_reserved: bool) {
        let at = place as usize / 64;
        if self.is_reserved.len() <= at {
            self.is_reserved.resize(at + 1, 0);
        }
        self.is_reserved[at] &= !(1 << (place % 64));
        self.is_reserved[at] |= u64::from(is_reserved) << (place % 64);
    }
}

fn check_group(group: GroupId) -> Result<(), GroupError> {
    if group.0 < GROUP_COUNT { Ok(()) } else { Err(GroupError::NoGroup { group }) }
}

fn group_at(group: GroupId) -> usize {
    HEADER_GROUPS + usize::from(group.0)
}

pub(crate) fn home_at(id: RuleId) -> usize {
    HOME_PAGE * PAGE_WORDS + id.0 as usize
}

#[cfg(test)]
mod tests;
