//! Shapes: what rules that look at the same bytes have in common, and the chains by which readers try them.
//!
//! ```text
//!   by length 37 --> shape (37: [2..33) folded) --> shape (37: [2..20), [25..33)) --> end      tried first
//!   any length ----> shape ([0..12)) --> shape ([0..8)) --> end                                then these
//! ```
//! Each chain is in the order of [`Layout::rank`], so that the first shape with a match has the rule that decides. An anchor is
//! what all rules of a shape have in common in the first eight bytes of a region, bit by bit: most requests that match no
//! rule of it are turned away there, without a hash.
//!
//! Invariant: an anchor only ever allows more while its shape is in use. So a reader that sees it half changed may try in
//! vain, or not try for a rule that is just being added; what it finds is compared whole in any case.

use std::collections::HashMap;

use crate::layout::{
    HEADER_ANY_LEN, HEADER_BY_LEN, PAGE_WORDS, REGION_WORDS, SHAPE_COUNT_MAX, SHAPE_HEAD, SHAPE_PAGE,
    SHAPE_REGIONS, SHAPE_WORDS, SHAPES_TRIED_MAX, first_bytes, pack16, unpack16,
};
use crate::memory::Memory;
use crate::normal::{Layout, Normal};

/// Why a rule's shape has no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// All places are taken.
    #[error("the rules of a table look at requests in at most {SHAPE_COUNT_MAX} ways: this one adds another")]
    Full,
    /// Too many for one length.
    #[error(
        "the rules for requests of {len} bytes look at them in {} ways already: more would slow every request down",
        SHAPES_TRIED_MAX[0]
    )]
    Crowded {
        /// The requests' length.
        len: u16,
    },
    /// Too many for any length.
    #[error(
        "the rules for requests of any length look at them in {} ways already: state exact lengths where there are any",
        SHAPES_TRIED_MAX[1]
    )]
    CrowdedAnyLen,
}

/// A shape's number.
pub(crate) type ShapeIndex = u16;

#[derive(Debug)]
struct Shape {
    layout: Layout,
    rule_count: u32,
    /// Number of the shape behind this one in its chain, plus 1.
    next: u16,
}

/// All shapes of a table.
#[derive(Debug, Default)]
pub(crate) struct Shapes {
    shapes: Vec<Option<Shape>>,
    by_layout: HashMap<Layout, ShapeIndex>,
    free: Vec<ShapeIndex>,
    /// Out of their chain, but a reader may still be there.
    resting: Vec<ShapeIndex>,
}

/// The word that leads to a chain's first shape.
pub(crate) fn chain_head(request_len: Option<u16>) -> usize {
    request_len.map_or(HEADER_ANY_LEN, |len| HEADER_BY_LEN + usize::from(len))
}

/// The first word of a shape.
pub(crate) fn shape_at(index: ShapeIndex) -> usize {
    SHAPE_PAGE * PAGE_WORDS + usize::from(index) * SHAPE_WORDS
}

impl Shapes {
    /// The shape of a rule; made, and in its chain, if there is none.
    pub(crate) fn enter(&mut self, memory: &impl Memory, rule: &Normal) -> Result<ShapeIndex, ShapeError> {
        if let Some(index) = self.by_layout.get(&rule.layout) {
            return Ok(*index);
        }
        let place = self.place_in_chain(memory, &rule.layout)?;
        let index = self.take_index(memory)?;
        write_regions(memory, index, rule);
        let next = match place {
            Some(before) => self.shape(before).map_or(0, |shape| shape.next),
            None => memory.load(chain_head(rule.layout.request_len)) as u16,
        };
        self.shapes[usize::from(index)] = Some(Shape { layout: rule.layout.clone(), rule_count: 0, next });
        self.by_layout.insert(rule.layout.clone(), index);
        self.write_head(memory, index);
        self.link(memory, place, &rule.layout, index + 1);
        Ok(index)
    }

    /// Makes the anchors allow the rule, before readers are led to it, and counts it.
    pub(crate) fn add_rule(&mut self, memory: &impl Memory, index: ShapeIndex, rule: &Normal) {
        for (region, (word, mask)) in anchors(rule).enumerate() {
            let at = shape_at(index) + SHAPE_REGIONS + region * REGION_WORDS;
            let allowed = memory.load(at + 1) & mask & !(memory.load(at) ^ word);
            memory.store(at + 1, allowed);
        }
        if let Some(shape) = &mut self.shapes[usize::from(index)] {
            shape.rule_count += 1;
        }
    }

    /// Forgets a rule; a shape without rules leaves its chain.
    pub(crate) fn remove_rule(&mut self, memory: &impl Memory, index: ShapeIndex) {
        if let Some(shape) = &mut self.shapes[usize::from(index)] {
            shape.rule_count -= 1;
        }
        self.leave_if_empty(memory, index);
    }

    /// Takes a shape without rules out of its chain.
    pub(crate) fn leave_if_empty(&mut self, memory: &impl Memory, index: ShapeIndex) {
        let Some(shape) = self.shapes[usize::from(index)].take_if(|shape| shape.rule_count == 0) else {
            return;
        };
        self.by_layout.remove(&shape.layout);
        let before = self.chain(memory, shape.layout.request_len).last_before(index);
        self.link(memory, before, &shape.layout, shape.next);
        self.resting.push(index);
    }

    /// No reader is at what rests any more.
    pub(crate) fn on_quiet(&mut self) {
        self.free.append(&mut self.resting);
    }

    /// How many shapes are in use.
    pub(crate) fn len(&self) -> usize {
        self.by_layout.len()
    }

    fn shape(&self, index: ShapeIndex) -> Option<&Shape> {
        self.shapes.get(usize::from(index))?.as_ref()
    }

    fn take_index(&mut self, memory: &impl Memory) -> Result<ShapeIndex, ShapeError> {
        let is_full = self.free.is_empty() && self.shapes.len() == SHAPE_COUNT_MAX;
        if is_full && !self.resting.is_empty() && memory.quiesce() {
            self.on_quiet();
        }
        if let Some(index) = self.free.pop() {
            return Ok(index);
        }
        if self.shapes.len() == SHAPE_COUNT_MAX {
            return Err(ShapeError::Full);
        }
        self.shapes.push(None);
        Ok((self.shapes.len() - 1) as ShapeIndex)
    }

    fn chain(&self, memory: &impl Memory, request_len: Option<u16>) -> Chain<'_> {
        Chain { shapes: self, next: memory.load(chain_head(request_len)) as u16 }
    }

    /// The shape behind which one of `layout` goes; `None`: at the head.
    fn place_in_chain(
        &self,
        memory: &impl Memory,
        layout: &Layout,
    ) -> Result<Option<ShapeIndex>, ShapeError> {
        let (mut count, mut before) = (0, None);
        for index in self.chain(memory, layout.request_len) {
            count += 1;
            if self.shape(index).is_some_and(|shape| shape.layout.rank() > layout.rank()) {
                before = Some(index);
            }
        }
        match layout.request_len {
            Some(len) if count >= SHAPES_TRIED_MAX[0] => Err(ShapeError::Crowded { len }),
            None if count >= SHAPES_TRIED_MAX[1] => Err(ShapeError::CrowdedAnyLen),
            _ => Ok(before),
        }
    }

    /// Makes `next` (a number plus 1, or 0) follow `before`, or the head of the chain of `layout`.
    fn link(&mut self, memory: &impl Memory, before: Option<ShapeIndex>, layout: &Layout, next: u16) {
        let Some(before) = before else {
            memory.store(chain_head(layout.request_len), next.into());
            return;
        };
        if let Some(shape) = &mut self.shapes[usize::from(before)] {
            shape.next = next;
        }
        self.write_head(memory, before);
    }

    fn write_head(&self, memory: &impl Memory, index: ShapeIndex) {
        let Some(Shape { layout, next, .. }) = self.shape(index) else { return };
        let sizes = [layout.regions.len(), layout.word_count(), layout.span()].map(|size| size as u16);
        memory.store(shape_at(index) + SHAPE_HEAD, pack16([sizes[0], sizes[1], sizes[2], *next]));
    }
}

/// The shapes of a chain, from its head on.
struct Chain<'a> {
    shapes: &'a Shapes,
    next: u16,
}

impl Chain<'_> {
    fn last_before(self, index: ShapeIndex) -> Option<ShapeIndex> {
        self.take_while(|at| *at != index).last()
    }
}

impl Iterator for Chain<'_> {
    type Item = ShapeIndex;

    fn next(&mut self) -> Option<ShapeIndex> {
        let index = self.next.checked_sub(1)?;
        self.next = self.shapes.shape(index).map_or(0, |shape| shape.next);
        Some(index)
    }
}

/// Word and mask of the beginning of each region.
fn anchors(rule: &Normal) -> impl Iterator<Item = (u64, u64)> + '_ {
    let mut at = 0;
    rule.layout.regions.iter().map(move |region| {
        let word = rule.key[at];
        at += region.word_count();
        (word, first_bytes(region.len.into()))
    })
}

/// With the anchors of its first rule.
fn write_regions(memory: &impl Memory, index: ShapeIndex, rule: &Normal) {
    for (number, (region, (word, mask))) in rule.layout.regions.iter().zip(anchors(rule)).enumerate() {
        let at = shape_at(index) + SHAPE_REGIONS + number * REGION_WORDS;
        memory.store(at, word);
        memory.store(at + 1, mask);
        memory.store(at + 2, pack16([region.offset, region.len, region.is_folded.into(), 0]));
    }
}

/// What a reader sees of a shape.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShapeHead {
    pub(crate) region_count: usize,
    pub(crate) span: usize,
    pub(crate) next: u16,
}

impl ShapeHead {
    pub(crate) fn read(memory: &impl Memory, index: ShapeIndex) -> Self {
        let [region_count, _, span, next] = unpack16(memory.load(shape_at(index) + SHAPE_HEAD));
        Self { region_count: region_count.into(), span: span.into(), next }
    }
}
