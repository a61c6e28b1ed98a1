//! From one layout to the next, while modules keep frames.
//!
//! A frame in a queue has its values where the layout had them under which it came. When the graph changes, the new
//! layout leaves an attribute where it was as far as that costs no cache line; what moves all the same is moved in each
//! frame that is kept, by its module's [`Relocation`].

use super::{Component, Layout};
use std::collections::{HashMap, HashSet};
use tidegate_packet::{Frame, SCRATCH_LEN};

/// Bytes of one attribute in frames that one module keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Step {
    /// `None`: frames have no such value yet, and get zeros.
    from: Option<u8>,
    to: u8,
    size: u8,
}

/// What becomes of the frames that a module keeps while the layout changes.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Relocation {
    steps: Vec<Step>,
}

impl Relocation {
    /// Whether frames may stay as they are.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Puts the values of `frame` where the new layout has them.
    pub fn apply(&self, frame: &mut Frame) {
        self.apply_to(frame.scratch_mut());
    }

    /// As if all values moved at once: one may move to where another was.
    pub(super) fn apply_to<T: Copy + Default>(&self, scratch: &mut [T; SCRATCH_LEN]) {
        let old = *scratch;
        for step in &self.steps {
            let (to, size) = (usize::from(step.to), usize::from(step.size));
            match step.from.map(usize::from) {
                Some(from) => scratch[to..to + size].copy_from_slice(&old[from..from + size]),
                None => scratch[to..to + size].fill(T::default()),
            }
        }
    }
}

impl Layout {
    /// For each module, what becomes of the frames that it keeps from when `before` was the layout. Modules are the
    /// same ones if they have the same name.
    pub fn relocations(&self, before: &Layout) -> Vec<Relocation> {
        let old = Places::of(before);
        let stayed: HashSet<&str> = before.names.iter().map(String::as_str).collect();
        let mut relocations = vec![Relocation::default(); self.names.len()];
        for Component { attribute, size, offset, members } in &self.components {
            let Some(to) = *offset else { continue };
            for &module in members.iter().filter(|module| stayed.contains(self.names[**module].as_str())) {
                let from = old.find(&self.names[module], attribute, *size);
                if from != Some(to) {
                    relocations[module].steps.push(Step { from, to, size: *size });
                }
            }
        }
        relocations
    }
}

/// Where a layout has each attribute in each module, by names.
pub(super) struct Places<'l> {
    /// Offset and size by module and attribute.
    places: HashMap<(&'l str, &'l str), (u8, u8)>,
}

impl<'l> Places<'l> {
    pub(super) fn of(layout: &'l Layout) -> Self {
        let mut places = HashMap::new();
        for Component { attribute, size, offset, members } in &layout.components {
            let Some(offset) = *offset else { continue };
            for &module in members {
                places.insert((layout.names[module].as_str(), attribute.as_str()), (offset, *size));
            }
        }
        Self { places }
    }

    /// The offset of `attribute` in `module`, if it is there with `size` bytes.
    pub(super) fn find(&self, module: &str, attribute: &str, size: u8) -> Option<u8> {
        let place = self.places.get(&(module, attribute)).filter(|(_, old)| *old == size);
        place.map(|(offset, _)| *offset)
    }
}

#[cfg(test)]
#[path = "relocation_tests.rs"]
mod tests;
