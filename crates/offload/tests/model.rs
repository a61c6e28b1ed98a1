//! Tables against the model: whatever is done to both, each request finds the same.

mod support;

use std::collections::HashMap;

use proptest::prelude::*;
use proptest::sample::Index;
use tidegate_base::Instant;
use tidegate_offload::lookup::{Image, Verdict};
use tidegate_offload::model::Model;
use tidegate_offload::{
    Capacity, GroupError, GroupId, HeapMemory, PutError, Rule, RuleId, Staged, Table, Ticket,
};

use support::{GROUPS, PLACE_COUNT, long_rule, request, request_for, rule};

/// Something that is done to a table.
#[derive(Clone, Debug)]
enum Step {
    Put(u32, Rule),
    Ticket(u32),
    PutWith(u32, Rule),
    Remove(u32),
    Stage(u16),
    InsertStaged(u16, Rule),
    Swap(u16),
    Discard(u16),
    Renew(u16),
    Sweep,
    Wait(u64),
    Serve(Vec<u8>),
}

fn step() -> impl Strategy<Value = Step> {
    let (place, group) = (0..PLACE_COUNT, 0..GROUPS);
    prop_oneof![
        8 => (place.clone(), rule()).prop_map(|(place, rule)| Step::Put(place, rule)),
        2 => place.clone().prop_map(Step::Ticket),
        2 => (place.clone(), rule()).prop_map(|(place, rule)| Step::PutWith(place, rule)),
        1 => place.prop_map(Step::Remove),
        1 => group.clone().prop_map(Step::Stage),
        2 => (group.clone(), rule()).prop_map(|(group, rule)| Step::InsertStaged(group, rule)),
        1 => group.clone().prop_map(Step::Swap),
        1 => group.clone().prop_map(Step::Discard),
        1 => group.prop_map(Step::Renew),
        1 => Just(Step::Sweep),
        2 => (0..10_u64).prop_map(Step::Wait),
        20 => request().prop_map(Step::Serve),
    ]
}

/// A table and its model, side by side.
struct Pair {
    table: Table<HeapMemory>,
    model: Model,
    now: Instant,
    tickets: HashMap<u32, Ticket>,
    staged: HashMap<u16, Staged>,
    hits: HashMap<RuleId, u64>,
}

impl Pair {
    fn new(seed: u64) -> Self {
        let capacity = Capacity { rule_count: 4096, record_bytes: 60_000 };
        let mut table =
            Table::create(HeapMemory::new(capacity.page_count()), capacity, seed).expect("a table");
        for place in 0..PLACE_COUNT {
            assert_eq!(table.reserve(), Ok(RuleId(place)));
        }
        Self {
            table,
            model: Model::default(),
            now: Instant::ZERO,
            tickets: HashMap::new(),
            staged: HashMap::new(),
            hits: HashMap::new(),
        }
    }

    fn run(&mut self, step: Step) -> Result<(), TestCaseError> {
        match step {
            Step::Put(place, rule) => {
                if self.model.is_stale(RuleId(place)) {
                    self.tickets.remove(&place);
                }
                let put = self.table.put(RuleId(place), &rule);
                // Whatever becomes of the rule, a ticket was taken.
                self.model.take_ticket(RuleId(place));
                self.put(RuleId(place), &rule, put)?;
            }
            Step::Ticket(place) => {
                self.tickets.insert(place, self.table.ticket(RuleId(place)).expect("a place"));
                self.model.take_ticket(RuleId(place));
            }
            Step::PutWith(place, rule) => {
                if let Some(ticket) = self.tickets.get(&place) {
                    let put = self.table.put_with(RuleId(place), *ticket, &rule);
                    self.put(RuleId(place), &rule, put)?;
                }
            }
            Step::Remove(place) => {
                self.table.remove(RuleId(place));
                self.model.remove(RuleId(place));
            }
            Step::Stage(group) => {
                if !self.staged.contains_key(&group) {
                    self.staged.insert(group, self.table.stage(GroupId(group)).expect("a group"));
                    self.model.begin_stage(GroupId(group));
                }
            }
            Step::InsertStaged(group, rule) => self.insert_staged(group, &rule)?,
            Step::Swap(group) => {
                if let Some(staged) = self.staged.remove(&group) {
                    let swapped = self.table.swap(staged);
                    let group = GroupId(group);
                    let expected =
                        if self.model.swap(group) { Ok(()) } else { Err(GroupError::Invalidated { group }) };
                    prop_assert_eq!(swapped, expected);
                }
            }
            Step::Discard(group) => {
                if let Some(staged) = self.staged.remove(&group) {
                    self.table.discard(staged);
                    self.model.discard(GroupId(group));
                }
            }
            Step::Renew(group) => {
                self.table.renew(GroupId(group)).expect("a group");
                self.model.renew(GroupId(group));
            }
            Step::Sweep => {
                self.table.sweep(self.now);
                self.model.sweep(self.now);
            }
            Step::Wait(ns) => self.now += tidegate_base::Duration::from_nanos(ns),
            Step::Serve(request) => self.serve(&request)?,
        }
        for group in (0..GROUPS).map(GroupId) {
            prop_assert_eq!(self.table.is_group_alive(group), self.model.is_group_alive(group));
        }
        Ok(())
    }

    fn put(&mut self, id: RuleId, rule: &Rule, put: Result<(), PutError>) -> Result<(), TestCaseError> {
        match put {
            Ok(()) => {
                prop_assert!(rule.check().is_ok() && self.model.is_group_alive(rule.group));
                prop_assert!(!self.model.has_duplicate(id, rule, false) && !self.model.is_stale(id));
                self.model.put(id, rule);
            }
            Err(PutError::Rule(error)) => prop_assert_eq!(rule.check(), Err(error)),
            Err(PutError::GroupDropped { group }) => prop_assert!(!self.model.is_group_alive(group)),
            Err(PutError::Duplicate { .. }) => prop_assert!(self.model.has_duplicate(id, rule, false)),
            Err(PutError::Invalidated { .. }) => prop_assert!(self.model.is_stale(id)),
            Err(PutError::Shape(_)) => {}
            Err(other) => return Err(TestCaseError::fail(other.to_string())),
        }
        Ok(())
    }

    fn insert_staged(&mut self, group: u16, rule: &Rule) -> Result<(), TestCaseError> {
        let Some(staged) = self.staged.get(&group) else { return Ok(()) };
        let rule = Rule { group: GroupId(group), ..rule.clone() };
        match self.table.insert_staged(staged, &rule) {
            Ok(id) => {
                prop_assert!(!self.model.has_duplicate(id, &rule, true));
                self.hits.remove(&id);
                self.model.stage(id, &rule);
            }
            Err(PutError::Rule(error)) => prop_assert_eq!(rule.check(), Err(error)),
            Err(PutError::Duplicate { .. }) => {
                prop_assert!(self.model.has_duplicate(RuleId(u32::MAX), &rule, true))
            }
            Err(PutError::Shape(_)) => {}
            Err(other) => return Err(TestCaseError::fail(other.to_string())),
        }
        Ok(())
    }

    fn serve(&mut self, request: &[u8]) -> Result<(), TestCaseError> {
        let found = Image::new(self.table.memory()).serve(request, self.now);
        let expected = self.model.serve(request, self.now);
        prop_assert_eq!(&found, &expected, "request {:?}", String::from_utf8_lossy(request));
        if let Verdict::Answer { id, .. } | Verdict::Invalidate { id } = found {
            *self.hits.entry(id).or_default() += 1;
            let status = self.table.status(id);
            prop_assert!(status.is_some_and(|status| status.hits > 0));
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_table_does_what_its_rules_say(seed: u64, steps in proptest::collection::vec(step(), 0..120)) {
        let mut pair = Pair::new(seed);
        for step in steps {
            pair.run(step)?;
        }
    }

    #[test]
    fn long_patterns_are_found(
        seed: u64,
        rules in proptest::collection::vec(long_rule(), 1..12),
        requests in proptest::collection::vec((any::<Index>(), proptest::collection::vec(any::<u8>(), 0..400), any::<Option<(Index, u8)>>()), 20),
    ) {
        let mut pair = Pair::new(seed);
        let rules: Vec<_> = rules.into_iter().filter(|rule| rule.check().is_ok()).collect();
        for (place, rule) in rules.iter().enumerate().take(PLACE_COUNT as usize) {
            pair.run(Step::Put(place as u32, rule.clone()))?;
        }
        for (index, noise, change) in requests {
            let Some(rule) = rules.get(index.index(rules.len().max(1))) else { break };
            let mut request = request_for(rule, &noise);
            if let Some((at, byte)) = change && !request.is_empty() {
                let at = at.index(request.len());
                request[at] = byte;
            }
            pair.serve(&request)?;
        }
    }
}

/// What each of many rules that differ in one place only answers.
#[test]
fn many_rules_of_one_shape_are_told_apart() {
    let answer = |n: u32| Rule {
        conditions: vec![tidegate_offload::Condition::any_case(2, format!("key {n:06} of many"))],
        request_len: Some(30),
        action: tidegate_offload::Action::Answer(vec![tidegate_offload::Processor::Put {
            at: 0,
            bytes: n.to_be_bytes().into(),
        }]),
        group: GroupId(0),
        expires: None,
    };
    let capacity = Capacity::of_rules(50_000, &answer(0)).expect("a rule");
    let mut table = Table::create(HeapMemory::new(capacity.page_count()), capacity, 3).expect("a table");
    for n in 0..50_000 {
        assert_eq!(table.insert(&answer(n)), Ok(RuleId(n)));
    }
    assert_eq!(table.shape_count(), 1);
    let image = Image::new(table.memory());
    for n in 0..60_000_u32 {
        let request = format!("..KEY {n:06} of MANY............");
        let expected = match n {
            ..50_000 => Verdict::Answer { id: RuleId(n), reply: n.to_be_bytes().into() },
            _ => Verdict::Pass,
        };
        assert_eq!(image.serve(&request.as_bytes()[..30], Instant::ZERO), expected);
    }
}
