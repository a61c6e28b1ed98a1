//! The owner names of the records under collection: each kept once, in lower case, known by a number.

use hashbrown::HashTable;

use crate::name::{Folded, Name};
use crate::zone::index::{hash, label_starts};

#[derive(Clone, Copy)]
struct Span {
    at: u32,
    len: u8,
}

pub(super) struct Owners {
    names: Vec<u8>,
    spans: Vec<Span>,
    index: HashTable<u32>,
    /// Records of one owner mostly follow each other.
    last: u32,
}

impl Owners {
    pub(super) fn new() -> Self {
        Owners { names: Vec::new(), spans: Vec::new(), index: HashTable::new(), last: 0 }
    }

    pub(super) fn bytes(&self) -> usize {
        self.names.len()
    }

    pub(super) fn wire(&self, owner: u32) -> &[u8] {
        span_of(&self.names, self.spans[owner as usize])
    }

    /// The number of a name.
    pub(super) fn intern(&mut self, name: &Name) -> u32 {
        let last = self.spans.get(self.last as usize);
        if last.is_some_and(|span| span_of(&self.names, *span).eq_ignore_ascii_case(name.as_wire())) {
            return self.last;
        }
        self.last = self.intern_folded(&Folded::of(name));
        self.last
    }

    fn intern_folded(&mut self, name: &Folded) -> u32 {
        let Owners { names, spans, index, .. } = self;
        let wire = name.name().as_wire();
        if let Some(at) = index.find(name.hash(), |at| span_of(names, spans[*at as usize]) == wire) {
            return *at;
        }
        let owner = spans.len() as u32;
        spans.push(Span { at: names.len() as u32, len: wire.len() as u8 });
        names.extend_from_slice(wire);
        index.insert_unique(name.hash(), owner, |at| hash(span_of(names, spans[*at as usize])));
        owner
    }

    /// Owners in canonical order (RFC 4034 section 6.1).
    pub(super) fn in_order(&self) -> Vec<u32> {
        let mut keys = SortKeys::default();
        let mut order: Vec<(u64, u32)> = Vec::with_capacity(self.spans.len());
        for owner in 0..self.spans.len() as u32 {
            order.push((keys.push(self.wire(owner)), owner));
        }
        order.sort_unstable_by(|left, right| {
            left.0.cmp(&right.0).then_with(|| keys.of(left.1).cmp(keys.of(right.1)))
        });
        order.into_iter().map(|(_, owner)| owner).collect()
    }
}

fn span_of(names: &[u8], span: Span) -> &[u8] {
    &names[span.at as usize..span.at as usize + usize::from(span.len)]
}

/// Names turned round, so that canonical order is the order of bytes: labels from the root down, each ended by
/// 0; to keep that end the least of all bytes, 0 and 1 inside a label become `1 1` and `1 2`.
#[derive(Default)]
struct SortKeys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl SortKeys {
    /// Adds the next owner's key; returns its first eight bytes as a number, which decide most comparisons.
    fn push(&mut self, wire: &[u8]) -> u64 {
        let start = self.bytes.len();
        let mut starts = [0u8; 128];
        let labels = label_starts(wire, &mut starts);
        for at in starts[..labels].iter().rev().map(|at| usize::from(*at)) {
            self.push_label(&wire[at + 1..at + 1 + usize::from(wire[at])]);
        }
        self.ends.push(self.bytes.len());
        let mut head = [0u8; 8];
        let len = head.len().min(self.bytes.len() - start);
        head[..len].copy_from_slice(&self.bytes[start..start + len]);
        u64::from_be_bytes(head)
    }

    fn push_label(&mut self, label: &[u8]) {
        for &byte in label {
            match byte {
                0 | 1 => self.bytes.extend_from_slice(&[1, byte + 1]),
                _ => self.bytes.push(byte),
            }
        }
        self.bytes.push(0);
    }

    fn of(&self, owner: u32) -> &[u8] {
        let start = owner.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.bytes[start..self.ends[owner as usize]]
    }
}
