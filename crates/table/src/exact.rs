//! Exact match: the gate of a rule whose fields all equal the packet's.
//!
//! A table's keys have the size its fields need: 8, 16, 32 or 64 bytes, decided once a batch and not once a key.

use crate::fields::{Fields, Keys, MatchError};
use crate::store::Store;
use crate::{BATCH_LEN_MAX, Gate};

/// Rules by the size of their keys.
enum Sized {
    One(Store<1, Gate>),
    Two(Store<2, Gate>),
    Four(Store<4, Gate>),
    Eight(Store<8, Gate>),
}

/// Runs `$do` with the store, whatever its key size.
macro_rules! with_store {
    ($rules:expr, $store:ident => $do:expr) => {
        match $rules {
            Sized::One($store) => $do,
            Sized::Two($store) => $do,
            Sized::Four($store) => $do,
            Sized::Eight($store) => $do,
        }
    };
}

/// Rules from values of all fields to gates.
pub struct Exact {
    fields: Fields,
    rules: Sized,
    default: Gate,
}

impl Exact {
    /// A table without rules; what matches none goes to `default`. `seed` is drawn at random.
    pub fn new(fields: Fields, default: Gate, seed: u64) -> Self {
        let rules = match fields.word_count() {
            1 => Sized::One(Store::new(seed)),
            2 => Sized::Two(Store::new(seed)),
            4 => Sized::Four(Store::new(seed)),
            _ => Sized::Eight(Store::new(seed)),
        };
        Self { fields, rules, default }
    }

    /// The fields it compares.
    pub const fn fields(&self) -> &Fields {
        &self.fields
    }

    /// How many rules it holds.
    pub fn len(&self) -> usize {
        with_store!(&self.rules, store => store.len())
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

    /// Adds a rule, a value for each field, or leads it to another gate. Bits that a field's mask hides are cut.
    pub fn add(&mut self, values: &[u64], gate: Gate) -> Result<(), MatchError> {
        with_store!(&mut self.rules, store => store.insert(self.fields.key(values)?, gate));
        Ok(())
    }

    /// Deletes the rule with these values.
    pub fn delete(&mut self, values: &[u64]) -> Result<(), MatchError> {
        let gate = with_store!(&mut self.rules, store => store.remove(&self.fields.key(values)?));
        gate.map(|_| ()).ok_or(MatchError::NoSuchRule)
    }

    /// Deletes every rule; the default gate stays.
    pub fn clear(&mut self) {
        with_store!(&mut self.rules, store => store.clear());
    }

    /// The gate of the rule with just these values.
    pub fn rule(&self, values: &[u64]) -> Result<Option<Gate>, MatchError> {
        Ok(with_store!(&self.rules, store => store.get(&self.fields.key(values)?)))
    }

    /// The gate for each of `keys`, in order.
    #[inline]
    pub fn lookup(&self, keys: &Keys, gates: &mut [Gate; BATCH_LEN_MAX]) {
        with_store!(&self.rules, store => look_up(store, keys, self.default, gates));
    }
}

#[inline]
fn look_up<const N: usize>(
    store: &Store<N, Gate>,
    keys: &Keys,
    default: Gate,
    gates: &mut [Gate; BATCH_LEN_MAX],
) {
    let mut found = [None; BATCH_LEN_MAX];
    store.lookup(keys.rows(), &mut found);
    for (gate, found) in gates.iter_mut().zip(found).take(keys.len()) {
        *gate = found.unwrap_or(default);
    }
}

#[cfg(test)]
#[path = "exact_tests.rs"]
mod tests;
