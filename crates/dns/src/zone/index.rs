//! From a name to its node: one hash table over whole names.
//!
//! A name that exists costs one probe. For one that does not, ancestors are tried from the apex down, and the
//! first that is missing ends the search: nothing below it can exist, since every ancestor of a name is a node.
//! So a question with a hundred labels costs no more probes than the zone is deep.

use super::Zone;
use super::node::{Node, NodeEntry};
use crate::name::{Folded, Key, LABEL_COUNT_MAX, Name, NameBuf};

impl Zone {
    pub(super) fn wire_of(&self, entry: &NodeEntry) -> &[u8] {
        let at = entry.name_at as usize;
        &self.names[at..at + usize::from(entry.name_len)]
    }

    pub(super) fn name_of(&self, entry: &NodeEntry) -> &Name {
        Name::from_wire(self.wire_of(entry)).unwrap_or(Name::ROOT)
    }

    pub(super) fn exact(&self, key: Key<'_>) -> Option<Node<'_>> {
        let wire = key.name().as_wire();
        let same = |at: &u32| self.wire_of(&self.nodes[*at as usize]) == wire;
        let at = *self.index.find(key.hash(), same)?;
        Some(Node { zone: self, at })
    }

    /// The longest ancestor of `name`, itself no node, that is one; the apex if there is none.
    pub(super) fn closest_encloser(&self, name: &Folded) -> Node<'_> {
        let ancestors = name.suffixes().take(name.name().label_count());
        let below_apex = ancestors.skip(1 + usize::from(self.apex_labels));
        below_apex.map_while(|key| self.exact(key)).last().unwrap_or(self.apex_node())
    }

    pub(super) fn wildcard_below<'z>(&'z self, node: &Node<'z>) -> Option<Node<'z>> {
        let name = NameBuf::wildcard_of(node.name()).ok()?;
        self.exact(Folded::of(&name).key())
    }
}

/// The hash of a name in lower case.
pub(super) fn hash(wire: &[u8]) -> u64 {
    Folded::of(Name::from_wire(wire).unwrap_or(Name::ROOT)).hash()
}

/// Offsets of the labels of a name.
pub(super) type LabelStarts = [u8; LABEL_COUNT_MAX + 1];

/// Where each label but the root starts; how many there are.
pub(super) fn label_starts(wire: &[u8], starts: &mut LabelStarts) -> usize {
    let (mut at, mut count) = (0, 0);
    while let Some(&len) = wire.get(at)
        && len != 0
        && count < starts.len()
    {
        starts[count] = at as u8;
        count += 1;
        at += 1 + usize::from(len);
    }
    count
}
