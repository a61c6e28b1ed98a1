//! Sends each frame to the gate of the rule whose values its fields have.
//!
//! | | |
//! |---|---|
//! | gates | in: 0; out: any, as the rules say |
//! | parameters | fields: 1 to 8, each 1 to 8 bytes at an offset or an attribute; masks: the bits of each that count (all) |
//! | attributes | reads those that its fields name |
//! | commands | add, delete, clear, set the default gate; all rules read and set at once |
//! | counters | rules, too_short |
//! | rate | 91 M packets/s of one core, 60 bytes: exact match, 256 rules x 2 fields, 1 gate (`make bench-pipeline`) |
//!
//! A frame that no rule meets goes to the default gate, and so does one that ends before a field. Gate 8192, the
//! default gate unless told, drops. Fields are big-endian numbers. An attribute that nobody writes is zero.

use super::key::{KeyFields, send_short};
use super::{LookupError, outer_gate, table_gate};
use crate::field::Field;
use crate::steer::emit_each;
use std::collections::BTreeMap;
use tidegate_packet::Batch;
use tidegate_pipeline::metadata::{Attribute, Place};
use tidegate_pipeline::{Context, GateCounts, Module};
use tidegate_table::{BATCH_LEN_MAX, Exact, Gate, Keys, NO_GATE};

/// How it is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExactMatchParams {
    /// What is compared.
    pub fields: Vec<Field>,
    /// Which bits of each field count; empty: all.
    pub masks: Vec<u64>,
    /// Where hashes start: draw it at random where peers choose what is looked up.
    pub seed: u64,
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExactMatchRule {
    /// A value for each field; bits that its mask hides do not count.
    pub values: Vec<u64>,
    /// Where frames go that have them; 8192 drops.
    pub gate: u64,
}

/// What changes while frames flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExactMatchConfig {
    /// Where frames go that meet no rule; 8192 drops.
    pub default_gate: u64,
    /// The rules, by value.
    pub rules: Vec<ExactMatchRule>,
}

/// The module.
pub struct ExactMatch {
    params: ExactMatchParams,
    key: KeyFields,
    table: Exact,
    /// The rules as they are shown; the table itself has no order.
    rules: BTreeMap<Vec<u64>, Gate>,
    keys: Box<Keys>,
    short_count: u64,
}

impl ExactMatch {
    /// A match without rules that drops.
    pub fn new(params: ExactMatchParams) -> Result<Self, LookupError> {
        let key = KeyFields::new(params.fields.clone(), &params.masks)?;
        let table = Exact::new(key.fields().clone(), NO_GATE, params.seed);
        let keys = Box::new(Keys::new(key.fields()));
        Ok(Self { params, key, table, rules: BTreeMap::new(), keys, short_count: 0 })
    }

    /// How it was made.
    pub const fn params(&self) -> &ExactMatchParams {
        &self.params
    }

    /// Adds a rule, or leads it to another gate.
    pub fn add(&mut self, rule: &ExactMatchRule) -> Result<(), LookupError> {
        let gate = table_gate(rule.gate)?;
        self.table.add(&rule.values, gate)?;
        self.rules.insert(self.shown(&rule.values), gate);
        Ok(())
    }

    /// Deletes the rule with these values.
    pub fn delete(&mut self, values: &[u64]) -> Result<(), LookupError> {
        self.table.delete(values)?;
        self.rules.remove(&self.shown(values));
        Ok(())
    }

    /// Deletes every rule; the default gate stays.
    pub fn clear(&mut self) {
        self.table.clear();
        self.rules.clear();
    }

    /// Sends frames that meet no rule to `gate`; 8192 drops them.
    pub fn set_default_gate(&mut self, gate: u64) -> Result<(), LookupError> {
        self.table.set_default_gate(table_gate(gate)?);
        Ok(())
    }

    /// The default gate and all rules.
    pub fn config(&self) -> ExactMatchConfig {
        let rule = |(values, gate): (&Vec<u64>, &Gate)| ExactMatchRule {
            values: values.clone(),
            gate: outer_gate(*gate),
        };
        ExactMatchConfig {
            default_gate: outer_gate(self.table.default_gate()),
            rules: self.rules.iter().map(rule).collect(),
        }
    }

    /// Has it be as `config` says; on an error nothing changes.
    pub fn set_config(&mut self, config: &ExactMatchConfig) -> Result<(), LookupError> {
        let mut new = Self::new(self.params.clone())?;
        new.set_default_gate(config.default_gate)?;
        config.rules.iter().try_for_each(|rule| new.add(rule))?;
        (self.table, self.rules) = (new.table, new.rules);
        Ok(())
    }

    /// A rule's values without the bits that do not count.
    fn shown(&self, values: &[u64]) -> Vec<u64> {
        let mask = |n| self.key.fields().field(n).map_or(0, |field| field.mask);
        values.iter().enumerate().map(|(n, value)| value & mask(n)).collect()
    }
}

impl Module for ExactMatch {
    fn class(&self) -> &'static str {
        "exact_match"
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
        vec![("rules", self.table.len() as u64), ("too_short", self.short_count)]
    }
}

#[cfg(test)]
#[path = "exact_match_tests.rs"]
mod tests;
