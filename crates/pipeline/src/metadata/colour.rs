//! Which bytes each scope component gets: greedy colouring, a colour being a range of bytes.
//!
//! Two components that share a module may be alive at once, so their bytes must differ; even where one ends in the
//! module that begins the other, for who says in which order it reads and writes. The scope graph (Han 2019, figure
//! 5.6) need not be built: each module keeps a mask of the bytes that are taken in it, and a component gets the
//! lowest bytes that are free in all its members.
//!
//! Largest first; of one size, whichever begins first upstream, which is best for a pipeline without branches, and in
//! another round by how crowded its members are. What ends up on top then goes to the front, and all is coloured anew,
//! as long as the busiest module could do with less; the best of all rounds counts.

use std::cmp::Reverse;

use super::scope::Scope;
use tidegate_packet::SCRATCH_LEN;

/// The bytes of a scratch area, one bit each.
type Mask = u128;
const _: () = assert!(Mask::BITS as usize == SCRATCH_LEN);

/// Bytes of a cache line: keeping something where it was may not cost another one.
const LINE_LEN: usize = 64;

/// How often to colour anew. Most graphs need one round; few gain after a dozen.
const ROUNDS_MAX: usize = 16;

/// An offset for each component that there is room for.
#[derive(Clone)]
pub(super) struct Colouring {
    pub(super) offsets: Vec<Option<u8>>,
    /// Bytes of the scratch area up to the end of the last one in use.
    pub(super) used_len: usize,
}

/// For each module, how many bytes are alive in it, without any gaps for alignment.
pub(super) fn alive_lens(scopes: &[Scope<'_>], module_count: usize) -> Vec<usize> {
    let mut lens = vec![0; module_count];
    for scope in scopes {
        scope.members.iter().for_each(|module| lens[*module] += usize::from(scope.size));
    }
    lens
}

/// Colours `scopes`, given the bytes that are alive in each module and where each component was before, if it was.
pub(super) fn colour(scopes: &[Scope<'_>], alive_lens: &[usize], old_offsets: &[Option<u8>]) -> Colouring {
    let fresh = colour_afresh(scopes, alive_lens);
    if old_offsets.iter().all(Option::is_none) {
        return fresh;
    }
    let mut order = upstream_first(scopes);
    order.sort_by_key(|it| old_offsets[*it].is_none());
    let kept = colour_in(&order, scopes, alive_lens.len(), old_offsets);
    let cost = |colouring: &Colouring| {
        let (homeless_len, used_len) = colouring.cost(scopes);
        (homeless_len, used_len.div_ceil(LINE_LEN))
    };
    if cost(&kept) <= cost(&fresh) { kept } else { fresh }
}

fn colour_afresh(scopes: &[Scope<'_>], alive_lens: &[usize]) -> Colouring {
    let floor = alive_lens.iter().copied().max().unwrap_or(0).min(SCRATCH_LEN);
    let colour_in = |order: &[usize]| colour_in(order, scopes, alive_lens.len(), &[]);
    let mut order = upstream_first(scopes);
    let mut last = colour_in(&order);
    let mut best = last.clone();
    for round in 1..ROUNDS_MAX {
        if best.used_len <= floor && best.offsets.iter().all(Option::is_some) {
            break;
        }
        match round {
            1 => order = crowded_first(scopes, alive_lens),
            _ => bring_forward(&mut order, scopes, &last),
        }
        last = colour_in(&order);
        if last.cost(scopes) < best.cost(scopes) {
            best = last.clone();
        }
    }
    best
}

/// Bytes to which an attribute of `size` is aligned, so that one load reads a whole number: the next power of two,
/// at most 8.
const fn alignment(size: u8) -> u8 {
    let power = size.next_power_of_two();
    if power < 8 { power } else { 8 }
}

fn upstream_first(scopes: &[Scope<'_>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scopes.len()).collect();
    order.sort_by_key(|it| (Reverse(scopes[*it].size), scopes[*it].start));
    order
}

fn crowded_first(scopes: &[Scope<'_>], alive_lens: &[usize]) -> Vec<usize> {
    let crowd = |scope: &Scope<'_>| scope.members.iter().map(|module| alive_lens[*module]).max();
    let mut order: Vec<usize> = (0..scopes.len()).collect();
    order
        .sort_by_cached_key(|it| Reverse((scopes[*it].size, crowd(&scopes[*it]), scopes[*it].members.len())));
    order
}

/// Whoever found no room, or only on top of all others, chooses first next time.
fn bring_forward(order: &mut [usize], scopes: &[Scope<'_>], colouring: &Colouring) {
    let end = |it: usize| colouring.offsets[it].map(|offset| usize::from(offset + scopes[it].size));
    order.sort_by_key(|it| end(*it).is_some_and(|end| end < colouring.used_len));
}

/// Gives each component in turn its old offset if that is free, or else the lowest that is.
fn colour_in(
    order: &[usize],
    scopes: &[Scope<'_>],
    module_count: usize,
    old_offsets: &[Option<u8>],
) -> Colouring {
    let mut taken: Vec<Mask> = vec![0; module_count];
    let mut colouring = Colouring { offsets: vec![None; scopes.len()], used_len: 0 };
    for &it in order {
        let Scope { size, members, .. } = &scopes[it];
        let all = members.iter().fold(0, |all, module| all | taken[*module]);
        let old = old_offsets.get(it).copied().flatten().filter(|old| all & bytes(*old, *size) == 0);
        let Some(offset) = old.or_else(|| first_gap(all, *size)) else { continue };
        members.iter().for_each(|module| taken[*module] |= bytes(offset, *size));
        colouring.offsets[it] = Some(offset);
        colouring.used_len = colouring.used_len.max(usize::from(offset + size));
    }
    colouring
}

/// The mask of `size` bytes from `offset` on.
const fn bytes(offset: u8, size: u8) -> Mask {
    ((1 << size) - 1) << offset
}

/// The lowest aligned offset with `size` free bytes behind it.
fn first_gap(taken: Mask, size: u8) -> Option<u8> {
    let offsets = (0..=SCRATCH_LEN as u8 - size).step_by(usize::from(alignment(size)));
    offsets.into_iter().find(|offset| taken & bytes(*offset, size) == 0)
}

impl Colouring {
    /// Less is better: bytes that found no room, then bytes in use.
    fn cost(&self, scopes: &[Scope<'_>]) -> (usize, usize) {
        let homeless = scopes.iter().zip(&self.offsets).filter(|(_, offset)| offset.is_none());
        (homeless.map(|(scope, _)| usize::from(scope.size)).sum(), self.used_len)
    }
}

#[cfg(test)]
#[path = "colour_tests.rs"]
mod tests;
