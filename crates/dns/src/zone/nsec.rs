//! The NSEC chain: who proves that a name, or a type at it, does not exist (RFC 4034 section 4, 4035 3.1.3).

use super::Zone;
use super::node::Node;
use crate::name::Folded;

impl Zone {
    /// Whether there is an NSEC at the apex, so that a chain of them covers the zone.
    pub fn is_nsec_signed(&self) -> bool {
        self.nsec.first() == Some(&0)
    }

    /// The node whose NSEC matches `name` or covers it: the greatest owner of one that is not after `name` in
    /// canonical order. `None` only in a zone without a chain.
    pub fn nsec_for(&self, name: &Folded) -> Option<Node<'_>> {
        let last = match self.exact(name.key()) {
            Some(node) => node.at,
            None => self.predecessor(self.closest_encloser(name), name),
        };
        self.nsec_at_or_before(last)
    }

    /// As [`Zone::nsec_for`], for a name that is known not to exist, and whose closest encloser is known.
    pub fn nsec_below(&self, encloser: Node<'_>, name: &Folded) -> Option<Node<'_>> {
        self.nsec_at_or_before(self.predecessor(encloser, name))
    }

    /// As [`Zone::nsec_for`], for a name that is known to exist: an empty non-terminal has no NSEC of its own.
    pub fn nsec_for_node(&self, node: Node<'_>) -> Option<Node<'_>> {
        self.nsec_at_or_before(node.at)
    }

    /// The node whose NSEC proves that `*.` `encloser` does not exist.
    pub fn nsec_for_wildcard(&self, encloser: Node<'_>) -> Option<Node<'_>> {
        let end = self.nodes[encloser.at as usize].end;
        let last =
            self.last_before(encloser.at, end, |at| self.first_label_below(encloser.at, at) < &b"*"[..]);
        self.nsec_at_or_before(last)
    }

    /// No list is longer than the zone has names, so this is some twenty steps over four bytes each.
    fn nsec_at_or_before(&self, last: u32) -> Option<Node<'_>> {
        let after = self.nsec.partition_point(|&at| at <= last);
        self.node_at(*self.nsec.get(after.checked_sub(1)?)?)
    }

    /// The last node before `name`, which is not in the zone, in canonical order.
    fn predecessor(&self, encloser: Node<'_>, name: &Folded) -> u32 {
        let label = label_below(name.name().as_wire(), encloser.name().wire_len());
        let end = self.nodes[encloser.at as usize].end;
        self.last_before(encloser.at, end, |at| self.first_label_below(encloser.at, at) < label)
    }

    /// The last of `first..end` for which `is_before` holds; `first` itself, the ancestor, always comes before.
    fn last_before(&self, first: u32, end: u32, is_before: impl Fn(u32) -> bool) -> u32 {
        let (mut low, mut high) = (first, end);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if is_before(middle) { low = middle } else { high = middle }
        }
        low
    }

    /// Of node `at`, a descendant of `ancestor`: the label just below that ancestor.
    fn first_label_below(&self, ancestor: u32, at: u32) -> &[u8] {
        let above = usize::from(self.nodes[ancestor as usize].name_len);
        label_below(self.wire_of(&self.nodes[at as usize]), above)
    }
}

/// The label of `wire` that stands just before its last `above` bytes; empty if nothing does.
fn label_below(wire: &[u8], above: usize) -> &[u8] {
    let end = wire.len().saturating_sub(above);
    let mut at = 0;
    while at < end {
        let next = at + 1 + usize::from(wire[at]);
        if next >= end {
            return &wire[at + 1..end];
        }
        at = next;
    }
    b""
}
