//! Any sequence of changes and runs, beside a model that holds the tree as plain maps.

use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use tidegate_base::Rng;

/// A class as the model has it.
struct Twin {
    id: ClassId,
    parent: Option<String>,
    policy: Policy,
    used: Usage,
    is_blocked: bool,
    wake: Option<u64>,
}

struct Model {
    tree: ClassTree,
    twins: BTreeMap<String, Twin>,
    now: u64,
    added_count: u32,
}

impl Model {
    fn new() -> Self {
        Self { tree: tree(), twins: BTreeMap::new(), now: 0, added_count: 0 }
    }

    fn pick(&self, rng: &mut Rng) -> Option<String> {
        self.twins.keys().nth(rng.below(self.twins.len() as u64) as usize).cloned()
    }

    fn id(&self, name: &Option<String>) -> Option<ClassId> {
        name.as_ref().map(|name| self.twins[name].id)
    }

    /// A position that suits the parent, most of the time.
    fn position(&self, parent: &Option<String>, rng: &mut Rng) -> Position {
        let policy = parent.as_ref().map(|name| self.twins[name].policy);
        match policy {
            _ if rng.below(20) == 0 => Position::Share(rng.below(3) as i64),
            Some(Policy::Priority) => Position::Priority(rng.below(3) as i64),
            Some(Policy::WeightedFair(_)) => Position::Share(1 + rng.below(9) as i64),
            _ => Position::None,
        }
    }

    fn step(&mut self, rng: &mut Rng) {
        self.now += rng.below(50_000);
        self.pass_wakes();
        match rng.below(16) {
            0..=2 => self.add(rng),
            3 => self.remove(rng),
            4 | 5 => self.reparent(rng),
            6 => self.change(rng),
            7..=9 => self.block(rng),
            _ => self.run(rng),
        }
    }

    fn add(&mut self, rng: &mut Rng) {
        let parent = self.pick(rng).filter(|_| rng.below(8) > 0);
        let policy = match rng.below(8) {
            0 => Policy::Priority,
            1 => Policy::WeightedFair(Resource::Bit),
            2 => Policy::RoundRobin,
            3 => bit_limit(rng.below(4) * 1_000_000_000, 10_000),
            _ => leaf(self.added_count % 40),
        };
        let name = format!("c{}", self.added_count);
        self.added_count += 1;
        let position = self.position(&parent, rng);
        if let Ok(id) = self.tree.add(&name, self.id(&parent), policy, position) {
            let twin = Twin { id, parent, policy, used: Usage::ZERO, is_blocked: false, wake: None };
            self.twins.insert(name, twin);
        }
    }

    fn remove(&mut self, rng: &mut Rng) {
        let Some(name) = self.pick(rng) else { return };
        let has_children = self.twins.values().any(|twin| twin.parent.as_ref() == Some(&name));
        let removed = self.tree.remove(self.twins[&name].id);
        assert_eq!(removed.is_err(), has_children);
        if removed.is_ok() {
            self.twins.remove(&name);
        }
    }

    fn reparent(&mut self, rng: &mut Rng) {
        let Some(name) = self.pick(rng) else { return };
        let parent = self.pick(rng).filter(|_| rng.below(6) > 0);
        let position = self.position(&parent, rng);
        if self.tree.reparent(self.twins[&name].id, self.id(&parent), position).is_ok() {
            self.twins.get_mut(&name).unwrap().parent = parent;
        }
    }

    fn change(&mut self, rng: &mut Rng) {
        let Some(name) = self.pick(rng) else { return };
        let resource = [Resource::Bit, Resource::Count][rng.below(2) as usize];
        let limit = rng.below(3) * 100_000_000;
        let policy = match self.twins[&name].policy {
            Policy::WeightedFair(_) => Policy::WeightedFair(resource),
            Policy::RateLimit { .. } => Policy::RateLimit { resource, limit, max_burst: 9 },
            other => other,
        };
        let twin = self.twins.get_mut(&name).unwrap();
        self.tree.set_policy(twin.id, policy).unwrap();
        twin.policy = policy;
    }

    fn block(&mut self, rng: &mut Rng) {
        let Some(name) = self.pick(rng) else { return };
        let twin = self.twins.get_mut(&name).unwrap();
        let Policy::Leaf(task) = twin.policy else { return };
        (twin.is_blocked, twin.wake) = match rng.below(3) {
            0 => (true, None),
            1 => (true, Some(self.now + 1 + rng.below(100_000))),
            _ => (false, None),
        };
        match (twin.is_blocked, twin.wake) {
            (true, Some(wake)) => self.tree.block_until(task, Ticks(wake)),
            (true, None) => self.tree.block(task),
            (false, _) => self.tree.unblock(task),
        }
    }

    fn run(&mut self, rng: &mut Rng) {
        let Some(task) = self.tree.next(Ticks(self.now)) else { return };
        let used = mixed_batch(rng);
        self.tree.account(task, used, Ticks(self.now), rng.chance(0.7));
        let mut at = self.name_of(task);
        while let Some(name) = at {
            let twin = self.twins.get_mut(&name).unwrap();
            twin.used += &used;
            at = twin.parent.clone();
        }
    }

    fn pass_wakes(&mut self) {
        for twin in self.twins.values_mut().filter(|twin| twin.wake.is_some_and(|wake| wake <= self.now)) {
            (twin.is_blocked, twin.wake) = (false, None);
        }
    }

    fn name_of(&self, task: LeafId) -> Option<String> {
        let is_it = |twin: &&Twin| twin.policy == Policy::Leaf(task);
        self.twins.iter().find(|(_, twin)| is_it(twin)).map(|(name, _)| name.clone())
    }

    fn is_eligible(&self, twin: &Twin) -> bool {
        let mut at = Some(twin);
        while let Some(twin) = at {
            if twin.is_blocked || self.tree.class(twin.id).unwrap().is_throttled {
                return false;
            }
            at = twin.parent.as_ref().map(|name| &self.twins[name]);
        }
        true
    }

    /// Each class is listed once, where it should be, with what it used.
    fn check_listing(&self) {
        let listed: Vec<_> = self.tree.iter().filter(|class| !class.name.starts_with('!')).collect();
        assert_eq!(listed.len(), self.twins.len());
        for class in listed {
            let twin = &self.twins[class.name];
            let parent = class.parent.map(|id| self.tree.class(id).unwrap().name);
            let parent = parent.filter(|name| !name.starts_with('!'));
            assert_eq!((class.id, class.policy), (twin.id, twin.policy));
            assert_eq!((parent, class.usage), (twin.parent.as_deref(), twin.used), "{}", class.name);
        }
    }

    /// Exactly the tasks that may run are reached, each once.
    fn check_reach(&mut self) {
        self.tree.next(Ticks(self.now));
        let expected: BTreeSet<LeafId> = self
            .twins
            .values()
            .filter_map(|twin| match twin.policy {
                Policy::Leaf(task) if self.is_eligible(twin) => Some(task),
                _ => None,
            })
            .collect();
        let mut reached = BTreeSet::new();
        while let Some(task) = self.tree.next(Ticks(self.now)) {
            assert!(reached.insert(task), "{task:?} twice");
            self.tree.block(task);
        }
        assert_eq!(reached, expected);
        reached.iter().for_each(|task| self.tree.unblock(*task));
    }

    fn check_wakes(&self) {
        let throttled = self.tree.iter().any(|class| class.is_throttled);
        let first = self.twins.values().filter_map(|twin| twin.wake).min();
        let wake = self.tree.next_wake().map(|wake| wake.0);
        assert!(wake.is_some() == (throttled || first.is_some()));
        assert!(first.is_none_or(|first| wake.unwrap() <= first));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn the_tree_stays_whole_whatever_is_done_to_it(seed: u64) {
        let (mut model, mut rng) = (Model::new(), Rng::new(seed));
        for _ in 0..300 {
            model.step(&mut rng);
            model.check_reach();
            model.check_listing();
            model.check_wakes();
        }
    }

    /// The same with no check that touches the tree between steps, so that yields and orders live longer.
    #[test]
    fn the_tree_stays_whole_without_being_looked_at(seed: u64) {
        let (mut model, mut rng) = (Model::new(), Rng::new(seed));
        (0..3000).for_each(|_| model.step(&mut rng));
        model.check_reach();
        model.check_listing();
        model.check_wakes();
    }
}
