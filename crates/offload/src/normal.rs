//! A rule in the form that tables have: conditions joined to regions, processors run to a template and copies.
//!
//! ```text
//!   conditions  0:"get " 4:"Key1" 8:"\r\n"     bytes, each exact, of any case, or neither (no letter)
//!   regions     [0..10) exact                  touching bytes of one kind; at most four
//!   key, rest   "get Key1" | "\r\n"            of any length: the last region is hashed to a rounded length only
//! ```
//! Rounding keeps the number of layouts small where requests of any length match patterns of many lengths; what it cuts off
//! is the rest, which is compared once the key is found.
//!
//! Invariant: equal conditions, however written, give the same layout, key and rest.

use std::cmp::Reverse;

use tidegate_base::Sum;

use crate::layout::{folded, native_sum, words_of};
use crate::rule::{
    Action, COPY_COUNT_MAX, Case, Condition, GROUP_COUNT, Processor, REGION_COUNT_MAX, REPLY_LEN_MAX,
    REQUEST_LEN_MAX, Rule, RuleError, TARGET_COUNT_MAX, Target,
};

/// A piece of a request that is hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Region {
    pub(crate) offset: u16,
    pub(crate) len: u16,
    /// Compared with its letters made small.
    pub(crate) is_folded: bool,
}

impl Region {
    pub(crate) fn end(&self) -> usize {
        usize::from(self.offset) + usize::from(self.len)
    }

    pub(crate) fn word_count(&self) -> usize {
        usize::from(self.len).div_ceil(8)
    }
}

/// What rules of one shape have in common: which bytes are looked at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Layout {
    pub(crate) request_len: Option<u16>,
    pub(crate) regions: Vec<Region>,
}

impl Layout {
    /// Requests that are shorter cannot match.
    pub(crate) fn span(&self) -> usize {
        match self.request_len {
            Some(len) => len.into(),
            None => self.regions.last().map_or(0, Region::end),
        }
    }

    pub(crate) fn word_count(&self) -> usize {
        self.regions.iter().map(Region::word_count).sum()
    }

    fn hashed_len(&self) -> usize {
        self.regions.iter().map(|region| usize::from(region.len)).sum()
    }

    /// Of two shapes the greater is tried first.
    pub(crate) fn rank(&self) -> (bool, usize, Reverse<&Self>) {
        (self.request_len.is_some(), self.hashed_len(), Reverse(self))
    }
}

/// What follows the last region and is compared, not hashed; with its letters made small where the region's are.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rest {
    pub(crate) offset: u16,
    pub(crate) bytes: Vec<u8>,
}

/// A piece of the request that the reply repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Copy {
    pub(crate) from: u16,
    pub(crate) to: u16,
    pub(crate) len: u16,
}

/// What is answered: the template, zero where copies go, and the copies in the order of their places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) template: Vec<u8>,
    pub(crate) copies: Vec<Copy>,
}

impl Reply {
    /// Of the template, as the kernel adds it.
    pub(crate) fn sum(&self) -> u16 {
        native_sum(Sum::of(&self.template))
    }
}

/// A rule, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Normal {
    pub(crate) layout: Layout,
    /// The regions' bytes, each begun in a new word.
    pub(crate) key: Vec<u64>,
    pub(crate) rest: Rest,
    /// `None`: matching requests are passed on.
    pub(crate) reply: Option<Reply>,
    pub(crate) targets: Vec<Target>,
}

impl Normal {
    pub(crate) fn of(rule: &Rule) -> Result<Self, RuleError> {
        if rule.group.0 >= GROUP_COUNT {
            return Err(RuleError::NoGroup { group: rule.group });
        }
        let wanted = wanted_bytes(&rule.conditions)?;
        let end = wanted.len();
        let request_len = match rule.request_len {
            Some(len) if len < end || len > REQUEST_LEN_MAX => {
                return Err(RuleError::RequestLen { len, end });
            }
            len => len,
        };
        let mut regions = regions_of(&wanted)?;
        let bytes: Vec<u8> = wanted.iter().map(|byte| byte.map_or(0, |wanted| wanted.byte)).collect();
        let rest = match request_len {
            Some(_) => Rest::default(),
            None => cut_rest(&mut regions, &bytes),
        };
        let key = regions.iter().flat_map(|region| words_of(&bytes[region.offset.into()..region.end()]));
        let key = key.collect();
        let (reply, targets) = match &rule.action {
            Action::Answer(processors) => {
                (Some(reply_of(processors, request_len.unwrap_or(end))?), Vec::new())
            }
            Action::Invalidate(targets) => (None, checked_targets(targets)?),
        };
        let layout = Layout { request_len: request_len.map(|len| len as u16), regions };
        Ok(Self { layout, key, rest, reply, targets })
    }

    /// Of two rules that match a request the greater one decides what becomes of it. No two rules that match one request are
    /// equal, unless their conditions are.
    pub(crate) fn rank(&self) -> ((bool, usize, Reverse<&Layout>), usize) {
        (self.layout.rank(), self.rest.bytes.len())
    }

    /// The rest's words: with small letters, as the pattern has them.
    pub(crate) fn rest_words(&self) -> impl Iterator<Item = u64> + '_ {
        words_of(&self.rest.bytes)
    }
}

/// A byte that conditions want, small where the case does not matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wanted {
    byte: u8,
    /// `None`: no letter, so that it is the same with and without case.
    case: Option<Case>,
}

impl Wanted {
    fn of(byte: u8, case: Case) -> Self {
        match case {
            _ if !byte.is_ascii_alphabetic() => Self { byte, case: None },
            Case::Exact => Self { byte, case: Some(case) },
            Case::Ignored => Self { byte: byte.to_ascii_lowercase(), case: Some(case) },
        }
    }

    /// What is wanted where both are; `None` where nothing can be both.
    fn and(self, other: Self) -> Option<Self> {
        match (self.case, other.case) {
            (Some(Case::Exact), Some(Case::Ignored)) => {
                (self.byte.to_ascii_lowercase() == other.byte).then_some(self)
            }
            (Some(Case::Ignored), Some(Case::Exact)) => other.and(self),
            _ => (self == other).then_some(self),
        }
    }
}

/// What each byte must be, up to the last one that must be anything.
fn wanted_bytes(conditions: &[Condition]) -> Result<Vec<Option<Wanted>>, RuleError> {
    let mut wanted = Vec::new();
    for Condition { offset, pattern, case } in conditions {
        let end = offset.saturating_add(pattern.len());
        if pattern.is_empty() {
            return Err(RuleError::EmptyPattern { offset: *offset });
        }
        if end > REQUEST_LEN_MAX {
            return Err(RuleError::ConditionBeyond { offset: *offset, end });
        }
        if wanted.len() < end {
            wanted.resize(end, None);
        }
        for (offset, byte) in (*offset..).zip(pattern) {
            let new = Wanted::of(*byte, *case);
            let both = wanted[offset].map_or(Some(new), |old: Wanted| old.and(new));
            wanted[offset] = Some(both.ok_or(RuleError::Contradiction { offset })?);
        }
    }
    if wanted.is_empty() { Err(RuleError::NoCondition) } else { Ok(wanted) }
}

/// Touching bytes that can be compared alike.
fn regions_of(wanted: &[Option<Wanted>]) -> Result<Vec<Region>, RuleError> {
    let mut regions: Vec<(Region, Option<Case>)> = Vec::new();
    for (offset, wanted) in wanted.iter().enumerate() {
        let Some(wanted) = wanted else { continue };
        match regions.last_mut() {
            Some((region, case))
                if region.end() == offset
                    && (case.is_none() || wanted.case.is_none_or(|new| Some(new) == *case)) =>
            {
                region.len += 1;
                *case = case.or(wanted.case);
            }
            _ => {
                let region = Region { offset: offset as u16, len: 1, is_folded: false };
                regions.push((region, wanted.case));
            }
        }
    }
    if regions.len() > REGION_COUNT_MAX {
        return Err(RuleError::TooManyRegions { count: regions.len() });
    }
    let with_case =
        |(region, case): (Region, Option<Case>)| Region { is_folded: case == Some(Case::Ignored), ..region };
    Ok(regions.into_iter().map(with_case).collect())
}

/// The greatest of 1, 2, 3, 4, 6, 8, 12, 16 ... that is not above `len`.
fn rounded(len: u16) -> u16 {
    let power = 1 << len.ilog2();
    let between = power + power / 2;
    if len >= between { between } else { power }
}

/// Shortens the last region to a rounded length.
fn cut_rest(regions: &mut [Region], bytes: &[u8]) -> Rest {
    let Some(last) = regions.last_mut() else { return Rest::default() };
    last.len = rounded(last.len);
    if last.end() == bytes.len() {
        return Rest::default();
    }
    Rest { offset: last.end() as u16, bytes: bytes[last.end()..].to_vec() }
}

/// Where a byte of a reply is from.
#[derive(Clone, Copy)]
enum Source {
    Template(u8),
    Request(usize),
}

/// Runs the processors over no request in particular; all that match have `len` bytes at the least.
fn reply_of(processors: &[Processor], len: usize) -> Result<Reply, RuleError> {
    let mut sources: Vec<Option<Source>> = Vec::new();
    for processor in processors {
        let (at, count) = match processor {
            Processor::Put { at, bytes } => (*at, bytes.len()),
            Processor::Copy { from, len: count, to } => {
                let end = from.saturating_add(*count);
                if end > len {
                    return Err(RuleError::CopyBeyond { end, len });
                }
                (*to, *count)
            }
        };
        let end = at.saturating_add(count);
        if count == 0 {
            return Err(RuleError::EmptyProcessor { at });
        }
        if end > REPLY_LEN_MAX {
            return Err(RuleError::ReplyTooLong { len: end });
        }
        if sources.len() < end {
            sources.resize(end, None);
        }
        for (index, source) in sources[at..end].iter_mut().enumerate() {
            *source = Some(match processor {
                Processor::Put { bytes, .. } => Source::Template(bytes[index]),
                Processor::Copy { from, .. } => Source::Request(from + index),
            });
        }
    }
    flattened(&sources)
}

fn flattened(sources: &[Option<Source>]) -> Result<Reply, RuleError> {
    if sources.is_empty() {
        return Err(RuleError::NoReply);
    }
    let mut reply = Reply { template: vec![0; sources.len()], copies: Vec::new() };
    for (at, source) in sources.iter().enumerate() {
        match source {
            None => return Err(RuleError::Gap { at }),
            Some(Source::Template(byte)) => reply.template[at] = *byte,
            Some(Source::Request(from)) => match reply.copies.last_mut() {
                Some(Copy { from: begin, to, len })
                    if usize::from(*to + *len) == at && usize::from(*begin + *len) == *from =>
                {
                    *len += 1;
                }
                _ => reply.copies.push(Copy { from: *from as u16, to: at as u16, len: 1 }),
            },
        }
    }
    match reply.copies.len() {
        count if count > COPY_COUNT_MAX => Err(RuleError::TooManyCopies { count }),
        _ => Ok(reply),
    }
}

fn checked_targets(targets: &[Target]) -> Result<Vec<Target>, RuleError> {
    let mut targets = targets.to_vec();
    targets.sort_unstable();
    targets.dedup();
    if targets.is_empty() || targets.len() > TARGET_COUNT_MAX {
        return Err(RuleError::TargetCount { count: targets.len() });
    }
    for target in &targets {
        if let Target::Group(group) = target
            && group.0 >= GROUP_COUNT
        {
            return Err(RuleError::NoGroup { group: *group });
        }
    }
    Ok(targets)
}

/// The words of `request`'s region, as a key has them.
pub(crate) fn region_words(
    request: &[u8],
    offset: usize,
    len: usize,
    is_folded: bool,
) -> impl Iterator<Item = u64> + '_ {
    let bytes = request.get(offset..offset + len).unwrap_or_default();
    words_of(bytes).map(move |word| if is_folded { folded(word) } else { word })
}

#[cfg(test)]
mod tests;
