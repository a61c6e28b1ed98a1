//! Sends each frame to the gate of the highest rule that its fields meet under the rule's masks.
//!
//! | | |
//! |---|---|
//! | gates | in: 0; out: any, as the rules say |
//! | parameters | fields: 1 to 8, each 1 to 8 bytes at an offset or an attribute |
//! | attributes | reads those that its fields name |
//! | commands | add, delete, clear, set the default gate; all rules read and set at once |
//! | counters | rules, masks (different ones: time grows with them), too_short |
//! | rate | 40.3 ns a frame of 60 bytes on one core (`make bench-pipeline`) |
//!
//! Of the rules that a frame meets the one of the highest priority wins, of several of that priority the oldest. A frame
//! that meets none goes to the default gate, and so does one that ends before a field. Gate 8192, the default gate
//! unless told, drops.

use super::key::{KeyFields, send_short};
use super::{LookupError, outer_gate, table_gate};
use crate::field::Field;
use crate::steer::emit_each;
use std::collections::{BTreeMap, HashMap};
use tidegate_packet::Batch;
use tidegate_pipeline::metadata::{Attribute, Place};
use tidegate_pipeline::{Context, GateCounts, Module};
use tidegate_table::{BATCH_LEN_MAX, Keys, NO_GATE, Wildcard};

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WildcardMatchRule {
    /// Higher ones win.
    pub priority: i64,
    /// A value for each field.
    pub values: Vec<u64>,
    /// For each field the bits that must be as in its value.
    pub masks: Vec<u64>,
    /// Where frames go that meet it; 8192 drops.
    pub gate: u64,
}

/// What changes while frames flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WildcardMatchConfig {
    /// Where frames go that meet no rule; 8192 drops.
    pub default_gate: u64,
    /// The rules, oldest first.
    pub rules: Vec<WildcardMatchRule>,
}

/// The rules as they are shown, so that neither adding nor deleting one looks at the others.
#[derive(Default)]
struct Rules {
    /// By the number of their adding: oldest first.
    by_age: BTreeMap<u64, WildcardMatchRule>,
    /// By values and masks.
    ages: HashMap<(Vec<u64>, Vec<u64>), u64>,
    next_age: u64,
}

impl Rules {
    /// One with the values and masks of another takes its place.
    fn put(&mut self, rule: &WildcardMatchRule) {
        let age = *self.ages.entry((rule.values.clone(), rule.masks.clone())).or_insert(self.next_age);
        self.next_age += u64::from(age == self.next_age);
        self.by_age.insert(age, rule.clone());
    }

    fn remove(&mut self, values: &[u64], masks: &[u64]) {
        if let Some(age) = self.ages.remove(&(values.to_vec(), masks.to_vec())) {
            self.by_age.remove(&age);
        }
    }
}

/// The module.
pub struct WildcardMatch {
    key: KeyFields,
    table: Wildcard,
    seed: u64,
    rules: Rules,
    keys: Box<Keys>,
    short_count: u64,
}

impl WildcardMatch {
    /// A match without rules that drops. Draw `seed` at random where peers choose what is looked up.
    pub fn new(fields: Vec<Field>, seed: u64) -> Result<Self, LookupError> {
        let key = KeyFields::new(fields, &[])?;
        let table = Wildcard::new(key.fields().clone(), NO_GATE, seed);
        let keys = Box::new(Keys::new(key.fields()));
        Ok(Self { key, table, seed, rules: Rules::default(), keys, short_count: 0 })
    }

    /// The fields it was made with.
    pub fn fields(&self) -> &[Field] {
        self.key.given()
    }

    /// Adds a rule, or gives it another priority and gate.
    pub fn add(&mut self, rule: &WildcardMatchRule) -> Result<(), LookupError> {
        let gate = table_gate(rule.gate)?;
        self.table.add(&rule.values, &rule.masks, rule.priority, gate)?;
        self.rules.put(rule);
        Ok(())
    }

    /// Deletes the rule with these values and masks.
    pub fn delete(&mut self, values: &[u64], masks: &[u64]) -> Result<(), LookupError> {
        self.table.delete(values, masks)?;
        self.rules.remove(values, masks);
        Ok(())
    }

    /// Deletes every rule; the default gate stays.
    pub fn clear(&mut self) {
        self.table.clear();
        self.rules = Rules::default();
    }

    /// Sends frames that meet no rule to `gate`; 8192 drops them.
    pub fn set_default_gate(&mut self, gate: u64) -> Result<(), LookupError> {
        self.table.set_default_gate(table_gate(gate)?);
        Ok(())
    }

    /// The default gate and all rules.
    pub fn config(&self) -> WildcardMatchConfig {
        let rules = self.rules.by_age.values().cloned().collect();
        WildcardMatchConfig { default_gate: outer_gate(self.table.default_gate()), rules }
    }

    /// Has it be as `config` says; on an error nothing changes.
    pub fn set_config(&mut self, config: &WildcardMatchConfig) -> Result<(), LookupError> {
        let mut new = Self::new(self.key.given().to_vec(), self.seed)?;
        new.set_default_gate(config.default_gate)?;
        config.rules.iter().try_for_each(|rule| new.add(rule))?;
        (self.table, self.rules) = (new.table, new.rules);
        Ok(())
    }
}

impl Module for WildcardMatch {
    fn class(&self) -> &'static str {
        "wildcard_match"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::SPLIT
    }

    fn attributes(&self) -> &[Attribute] {
        self.key.attributes()
    }

    fn bind(&mut self, places: &[Place]) {
        self.key.bind(places);
    }

    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        let mut gates = [NO_GATE; BATCH_LEN_MAX];
        let short = self.key.fill(batch, &mut self.keys);
        self.table.lookup(&self.keys, &mut gates);
        self.short_count += send_short(short, &mut gates, self.table.default_gate());
        emit_each(ctx, batch, &gates);
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("rules", self.table.len() as u64),
            ("masks", self.table.mask_count() as u64),
            ("too_short", self.short_count),
        ]
    }
}

#[cfg(test)]
#[path = "wildcard_match_tests.rs"]
mod tests;
