//! Wildcard match by tuple-space search (Srinivasan, Suri, Varghese, "Packet classification using tuple space
//! search", 1999): the rules of one mask, a tuple, are a hash table, and a packet is looked up in each.
//!
//! Tuples stand in the order of the highest priority in them, and a packet that has found a rule leaves out all
//! tuples that hold no higher one. Time grows with the number of different masks, not with that of rules.
//!
//! Of the rules that match, the one with the highest priority wins; of several with that priority the oldest.

use crate::fields::{Fields, Keys, MatchError};
use crate::store::Store;
use crate::{BATCH_LEN_MAX, Gate};
use core::hint::select_unpredictable;
use core::num::{NonZeroU32, NonZeroU128};
use std::collections::BTreeMap;

/// What a rule leads to, as one number that is greater for who wins: the priority with its sign turned (64 bits),
/// the precedence (32) and the gate. A batch's verdicts are compared without a branch.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Verdict(NonZeroU128);

impl Verdict {
    const SIGN: u64 = 1 << 63;

    /// `precedence` counts down with each rule added, so that the older of two wins.
    fn new(priority: i64, precedence: NonZeroU32, gate: Gate) -> Self {
        let rank = u128::from(priority as u64 ^ Self::SIGN) << 64;
        Self(NonZeroU128::from(precedence).saturating_mul(Self::PRECEDENCE) | rank | u128::from(gate))
    }

    /// What one of precedence is in the number.
    const PRECEDENCE: NonZeroU128 = NonZeroU128::new(1 << 32).unwrap();

    const fn priority(self) -> i64 {
        ((self.0.get() >> 64) as u64 ^ Self::SIGN) as i64
    }

    /// It with the place among equal priorities that `other` has.
    fn in_place_of(self, other: Self) -> Self {
        let precedence = NonZeroU32::new((other.0.get() >> 32) as u32).unwrap_or(NonZeroU32::MIN);
        Self::new(self.priority(), precedence, self.gate())
    }

    const fn gate(self) -> Gate {
        self.0.get() as Gate
    }
}

/// A verdict as a number; none is the least.
#[inline]
fn rank(verdict: Option<Verdict>) -> u128 {
    verdict.map_or(0, |verdict| verdict.0.get())
}

/// The rules of one mask.
struct Tuple<const N: usize> {
    mask: [u64; N],
    rules: Store<N, Verdict>,
    /// How many rules have each priority.
    priorities: BTreeMap<i64, usize>,
}

impl<const N: usize> Tuple<N> {
    fn new(mask: [u64; N], seed: u64) -> Self {
        Self { mask, rules: Store::new(seed), priorities: BTreeMap::new() }
    }

    fn priority_max(&self) -> i64 {
        self.priorities.last_key_value().map_or(i64::MIN, |(priority, _)| *priority)
    }

    fn insert(&mut self, value: [u64; N], mut verdict: Verdict) {
        if let Some(before) = self.rules.get(&value) {
            verdict = verdict.in_place_of(before);
            self.forget(before.priority());
        }
        self.rules.insert(value, verdict);
        *self.priorities.entry(verdict.priority()).or_default() += 1;
    }

    fn remove(&mut self, value: &[u64; N]) -> bool {
        let Some(verdict) = self.rules.remove(value) else { return false };
        self.forget(verdict.priority());
        true
    }

    fn forget(&mut self, priority: i64) {
        if let Some(count) = self.priorities.get_mut(&priority) {
            *count -= 1;
            if *count == 0 {
                self.priorities.remove(&priority);
            }
        }
    }
}

/// All rules, for keys of `N` words.
struct Tuples<const N: usize> {
    /// By highest priority, falling.
    tuples: Vec<Tuple<N>>,
    /// The highest priority of each, beside each other.
    priorities: Vec<i64>,
}

impl<const N: usize> Tuples<N> {
    const fn new() -> Self {
        Self { tuples: Vec::new(), priorities: Vec::new() }
    }

    fn len(&self) -> usize {
        self.tuples.iter().map(|tuple| tuple.rules.len()).sum()
    }

    fn insert(&mut self, value: [u64; N], mask: [u64; N], verdict: Verdict, seed: u64) {
        let at = self.tuples.iter().position(|tuple| tuple.mask == mask);
        let at = at.unwrap_or_else(|| {
            self.tuples.push(Tuple::new(mask, seed));
            self.tuples.len() - 1
        });
        self.tuples[at].insert(value, verdict);
        self.arrange();
    }

    fn remove(&mut self, value: &[u64; N], mask: [u64; N]) -> bool {
        let Some(at) = self.tuples.iter().position(|tuple| tuple.mask == mask) else { return false };
        let removed = self.tuples[at].remove(value);
        self.tuples.retain(|tuple| tuple.rules.len() != 0);
        self.arrange();
        removed
    }

    fn clear(&mut self) {
        self.tuples.clear();
        self.priorities.clear();
    }

    fn arrange(&mut self) {
        self.tuples.sort_by_key(|tuple| core::cmp::Reverse(tuple.priority_max()));
        self.priorities.clear();
        self.priorities.extend(self.tuples.iter().map(Tuple::priority_max));
    }

    fn lookup(&self, keys: &[[u64; N]]) -> [Option<Verdict>; BATCH_LEN_MAX] {
        let mut best = [None; BATCH_LEN_MAX];
        let mut found = [None; BATCH_LEN_MAX];
        let mut masked = [[0; N]; BATCH_LEN_MAX];
        let mut open: [u8; BATCH_LEN_MAX] = core::array::from_fn(|index| index as u8);
        let mut open_count = keys.len().min(BATCH_LEN_MAX);
        for (tuple, priority) in self.tuples.iter().zip(&self.priorities) {
            open_count = still_open(&best, *priority, &mut open, open_count);
            if open_count == 0 {
                break;
            }
            for (masked, index) in masked.iter_mut().zip(&open[..open_count]) {
                *masked = core::array::from_fn(|word| keys[usize::from(*index)][word] & tuple.mask[word]);
            }
            tuple.rules.lookup(&masked[..open_count], &mut found);
            for (found, index) in found.iter().zip(&open[..open_count]) {
                let best = &mut best[usize::from(*index) % BATCH_LEN_MAX];
                *best = select_unpredictable(rank(*found) > rank(*best), *found, *best);
            }
        }
        best
    }
}

/// Keeps in `open` what has found nothing above `priority` yet; returns how many those are.
#[inline]
fn still_open(
    best: &[Option<Verdict>; BATCH_LEN_MAX],
    priority: i64,
    open: &mut [u8; BATCH_LEN_MAX],
    open_count: usize,
) -> usize {
    let mut left = 0;
    for turn in 0..open_count {
        let index = open[turn];
        let decided = best[usize::from(index) % BATCH_LEN_MAX].is_some_and(|best| best.priority() > priority);
        open[left] = index;
        left += usize::from(!decided);
    }
    left
}

/// Tuples by the size of their keys.
enum Sized {
    One(Tuples<1>),
    Two(Tuples<2>),
    Four(Tuples<4>),
    Eight(Tuples<8>),
}

/// Runs `$do` with the tuples, whatever their key size.
macro_rules! with_tuples {
    ($rules:expr, $tuples:ident => $do:expr) => {
        match $rules {
            Sized::One($tuples) => $do,
            Sized::Two($tuples) => $do,
            Sized::Four($tuples) => $do,
            Sized::Eight($tuples) => $do,
        }
    };
}

/// Rules from values under masks to gates, by priority.
pub struct Wildcard {
    fields: Fields,
    rules: Sized,
    default: Gate,
    seed: u64,
    precedence: NonZeroU32,
}

impl Wildcard {
    /// A table without rules; what matches none goes to `default`. `seed` is drawn at random.
    pub fn new(fields: Fields, default: Gate, seed: u64) -> Self {
        let rules = match fields.word_count() {
            1 => Sized::One(Tuples::new()),
            2 => Sized::Two(Tuples::new()),
            4 => Sized::Four(Tuples::new()),
            _ => Sized::Eight(Tuples::new()),
        };
        Self { fields, rules, default, seed, precedence: NonZeroU32::MAX }
    }

    /// The fields it compares.
    pub const fn fields(&self) -> &Fields {
        &self.fields
    }

    /// How many rules it holds.
    pub fn len(&self) -> usize {
        with_tuples!(&self.rules, tuples => tuples.len())
    }

    /// How many different masks its rules have: what a lookup's time grows with.
    pub fn mask_count(&self) -> usize {
        with_tuples!(&self.rules, tuples => tuples.tuples.len())
    }

    /// Whether it holds no rule.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where a packet goes that matches no rule.
    pub const fn default_gate(&self) -> Gate {
        self.default
    }

    /// Sends what matches no rule to `gate`.
    pub const fn set_default_gate(&mut self, gate: Gate) {
        self.default = gate;
    }

    /// Adds a rule, a value and a mask for each field, or gives it another priority and gate. A value with bits
    /// outside its mask is an error: it would match nothing.
    pub fn add(
        &mut self,
        values: &[u64],
        masks: &[u64],
        priority: i64,
        gate: Gate,
    ) -> Result<(), MatchError> {
        self.fields.check_hidden(values, masks)?;
        let verdict = Verdict::new(priority, self.precedence, gate);
        with_tuples!(&mut self.rules, tuples => {
            tuples.insert(self.fields.key(values)?, self.fields.mask(masks)?, verdict, self.seed);
        });
        // After 4 billion rules the order of equal priorities is that of their gates.
        self.precedence = NonZeroU32::new(self.precedence.get() - 1).unwrap_or(NonZeroU32::MIN);
        Ok(())
    }

    /// Deletes the rule with these values and masks.
    pub fn delete(&mut self, values: &[u64], masks: &[u64]) -> Result<(), MatchError> {
        self.fields.check_hidden(values, masks)?;
        let removed = with_tuples!(&mut self.rules, tuples => {
            tuples.remove(&self.fields.key(values)?, self.fields.mask(masks)?)
        });
        if removed { Ok(()) } else { Err(MatchError::NoSuchRule) }
    }

    /// Deletes every rule; the default gate stays.
    pub fn clear(&mut self) {
        with_tuples!(&mut self.rules, tuples => tuples.clear());
    }

    /// The gate for each of `keys`, in order.
    #[inline]
    pub fn lookup(&self, keys: &Keys, gates: &mut [Gate; BATCH_LEN_MAX]) {
        let best = with_tuples!(&self.rules, tuples => tuples.lookup(keys.rows()));
        for (gate, best) in gates.iter_mut().zip(best).take(keys.len()) {
            *gate = best.map_or(self.default, |best| best.gate());
        }
    }
}

#[cfg(test)]
#[path = "wildcard_tests.rs"]
mod tests;
