//! Entries by number: found in one step, and never by the number of an earlier one.

use crate::id::{SOCKET_COUNT_MAX, SocketId};
use std::collections::VecDeque;

struct Slot<T> {
    generation: u32,
    entry: Option<T>,
}

/// A table of entries.
pub(crate) struct Slots<T> {
    slots: Vec<Slot<T>>,
    /// Left longest first, so that a number is used again as late as can be.
    vacant: VecDeque<u32>,
}

impl<T> Slots<T> {
    pub(crate) const fn new() -> Self {
        Self { slots: Vec::new(), vacant: VecDeque::new() }
    }

    /// Adds an entry; `None` if there are too many.
    pub(crate) fn insert(&mut self, entry: T) -> Option<SocketId> {
        let index = match self.vacant.pop_front() {
            Some(index) => index,
            None if self.slots.len() < SOCKET_COUNT_MAX => {
                self.slots.push(Slot { generation: 0, entry: None });
                (self.slots.len() - 1) as u32
            }
            None => return None,
        };
        let slot = &mut self.slots[index as usize];
        slot.entry = Some(entry);
        Some(SocketId::new(index, slot.generation))
    }

    pub(crate) fn get(&self, id: SocketId) -> Option<&T> {
        let slot = self.slots.get(id.index())?;
        slot.entry.as_ref().filter(|_| SocketId::new(id.index() as u32, slot.generation) == id)
    }

    pub(crate) fn get_mut(&mut self, id: SocketId) -> Option<&mut T> {
        let slot = self.slots.get_mut(id.index())?;
        slot.entry.as_mut().filter(|_| SocketId::new(id.index() as u32, slot.generation) == id)
    }

    pub(crate) fn remove(&mut self, id: SocketId) -> Option<T> {
        self.get(id)?;
        let slot = self.slots.get_mut(id.index())?;
        slot.generation = slot.generation.wrapping_add(1);
        self.vacant.push_back(id.index() as u32);
        slot.entry.take()
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.vacant.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_closed_socket_names_none() {
        let mut slots = Slots::new();
        let first = slots.insert('a').unwrap();
        assert_eq!(slots.remove(first), Some('a'));
        let second = slots.insert('b').unwrap();
        assert_eq!((second.index(), slots.len()), (first.index(), 1));
        assert_ne!(first, second);
        assert!(slots.get(first).is_none() && slots.remove(first).is_none());
        assert_eq!(slots.get(second), Some(&'b'));
        assert_eq!(SocketId::of_number(second.number()), Some(second));
    }
}
