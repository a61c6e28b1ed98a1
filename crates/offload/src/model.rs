//! The rules as they read: looked at one by one, byte by byte. Slow, and what everything faster is compared with.
//!
//! What it shares with the tables is the order of rules ([`Rule::check`] makes sure that there is one), and nothing of their form.

use std::collections::{BTreeMap, BTreeSet};

use tidegate_base::Instant;

use crate::lookup::Verdict;
use crate::normal::Normal;
use crate::rule::{Action, Case, GroupId, Processor, REQUEST_LEN_MAX, Rule, RuleId, Target};

#[derive(Clone, Debug)]
struct Held {
    rule: Rule,
    is_dead: bool,
    is_staged: bool,
}

/// Rules, and who of them is alive.
#[derive(Clone, Debug, Default)]
pub struct Model {
    rules: BTreeMap<RuleId, Held>,
    dropped_groups: BTreeSet<GroupId>,
    /// Places that were invalidated, and groups that were since staging began.
    stale_places: BTreeSet<RuleId>,
    stale_stages: BTreeSet<GroupId>,
}

impl Model {
    /// A rule, in the place of what was there.
    pub fn put(&mut self, id: RuleId, rule: &Rule) {
        self.stale_places.remove(&id);
        self.rules.insert(id, Held { rule: rule.clone(), is_dead: false, is_staged: false });
    }

    /// The place is empty.
    pub fn remove(&mut self, id: RuleId) {
        self.rules.remove(&id);
    }

    /// From here on [`is_stale`](Self::is_stale) tells whether the place was invalidated.
    pub fn take_ticket(&mut self, id: RuleId) {
        self.stale_places.remove(&id);
    }

    /// Whether the place was invalidated since a ticket was taken.
    pub fn is_stale(&self, id: RuleId) -> bool {
        self.stale_places.contains(&id)
    }

    /// A rule that waits for [`swap`](Self::swap) or [`discard`](Self::discard) of its group.
    pub fn stage(&mut self, id: RuleId, rule: &Rule) {
        self.rules.insert(id, Held { rule: rule.clone(), is_dead: false, is_staged: true });
    }

    /// From here on invalidating the group makes staged rules stale.
    pub fn begin_stage(&mut self, group: GroupId) {
        self.stale_stages.remove(&group);
    }

    /// The staged rules of a group instead of the others; false, and the staged ones gone, where it was invalidated.
    pub fn swap(&mut self, group: GroupId) -> bool {
        let is_good = !self.dropped_groups.contains(&group) && !self.stale_stages.contains(&group);
        self.rules.retain(|_, held| held.rule.group != group || held.is_staged == is_good);
        for held in self.rules.values_mut().filter(|held| held.rule.group == group) {
            held.is_staged = false;
        }
        is_good
    }

    /// The staged rules of a group are gone.
    pub fn discard(&mut self, group: GroupId) {
        self.rules.retain(|_, held| held.rule.group != group || !held.is_staged);
    }

    /// All rules of a group are gone, and it lives.
    pub fn renew(&mut self, group: GroupId) {
        self.rules.retain(|_, held| held.rule.group != group);
        self.dropped_groups.remove(&group);
        self.stale_stages.insert(group);
    }

    /// Whether no request invalidated the group.
    pub fn is_group_alive(&self, group: GroupId) -> bool {
        !self.dropped_groups.contains(&group)
    }

    /// Whether another place has a rule with the same conditions that is, or is to be, alive beside this one.
    pub fn has_duplicate(&self, id: RuleId, rule: &Rule, is_staged: bool) -> bool {
        let Ok(normal) = Normal::of(rule) else { return false };
        self.rules.iter().any(|(other, held)| {
            let is_beside = held.is_staged == is_staged || held.rule.group != rule.group;
            let is_other = *other != id && !held.is_dead && is_beside;
            is_other && Normal::of(&held.rule).is_ok_and(|other| is_same(&other, &normal))
        })
    }

    /// The dead are gone, and those whose time is over.
    pub fn sweep(&mut self, now: Instant) {
        self.rules.retain(|_, held| !held.is_dead && held.rule.expires.is_none_or(|end| end > now));
    }

    /// Decides about a request, and drops what is invalidated.
    pub fn serve(&mut self, request: &[u8], now: Instant) -> Verdict {
        let matching =
            self.rules.iter().filter(|(_, held)| self.is_alive(held, now) && matches(&held.rule, request));
        let normal = |held: &Held| Normal::of(&held.rule).ok();
        let decides = matching.map(|(id, held)| (*id, held, normal(held))).reduce(|best, other| {
            let is_better = match (&best.2, &other.2) {
                (Some(best), Some(other)) => other.rank() > best.rank(),
                _ => false,
            };
            if is_better { other } else { best }
        });
        let Some((id, held, _)) = decides else { return Verdict::Pass };
        match held.rule.action.clone() {
            Action::Answer(processors) => Verdict::Answer { id, reply: run(&processors, request) },
            Action::Invalidate(targets) => {
                targets.into_iter().for_each(|target| self.invalidate(target));
                Verdict::Invalidate { id }
            }
        }
    }

    fn is_alive(&self, held: &Held, now: Instant) -> bool {
        let is_over = held.rule.expires.is_some_and(|end| end <= now);
        !held.is_dead && !held.is_staged && !is_over && !self.dropped_groups.contains(&held.rule.group)
    }

    fn invalidate(&mut self, target: Target) {
        match target {
            Target::Rule(id) => {
                self.stale_places.insert(id);
                if let Some(held) = self.rules.get_mut(&id) {
                    held.is_dead = true;
                }
            }
            Target::Group(group) => {
                self.dropped_groups.insert(group);
                self.stale_stages.insert(group);
            }
        }
    }
}

fn is_same(one: &Normal, other: &Normal) -> bool {
    one.layout == other.layout && one.key == other.key && one.rest == other.rest
}

fn matches(rule: &Rule, request: &[u8]) -> bool {
    let has_len = rule.request_len.is_none_or(|len| len == request.len());
    has_len
        && request.len() <= REQUEST_LEN_MAX
        && rule.conditions.iter().all(|condition| {
            let found = request.get(condition.offset..condition.offset + condition.pattern.len());
            found.is_some_and(|found| match condition.case {
                Case::Exact => found == condition.pattern,
                Case::Ignored => found.eq_ignore_ascii_case(&condition.pattern),
            })
        })
}

fn run(processors: &[Processor], request: &[u8]) -> Vec<u8> {
    let mut reply = Vec::new();
    for processor in processors {
        let (at, bytes) = match processor {
            Processor::Put { at, bytes } => (*at, &bytes[..]),
            Processor::Copy { from, len, to } => (*to, &request[*from..from + len]),
        };
        if reply.len() < at + bytes.len() {
            reply.resize(at + bytes.len(), 0);
        }
        reply[at..at + bytes.len()].copy_from_slice(bytes);
    }
    reply
}
