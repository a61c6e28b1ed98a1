//! The aliases that an answer has gone through, so that it neither runs in circles nor says anything twice.

use arrayvec::ArrayVec;

use super::emit::is_same;
use crate::name::Folded;
use crate::zone::Rrset;

/// Aliases that are followed for one question, as many as NSD does.
pub(super) const LINK_COUNT_MAX: usize = 20;

/// The names passed, by their hashes: those are keyed by a secret, so that no zone can be made in which different
/// names look alike. And the DNAMEs that are in the answer.
pub(super) struct Trail<'a> {
    passed: ArrayVec<u64, { LINK_COUNT_MAX + 1 }>,
    redirections: ArrayVec<Rrset<'a>, { LINK_COUNT_MAX + 1 }>,
}

impl<'a> Trail<'a> {
    pub(super) fn new() -> Self {
        Trail { passed: ArrayVec::new(), redirections: ArrayVec::new() }
    }

    /// No alias yet.
    pub(super) fn is_empty(&self) -> bool {
        self.passed.is_empty()
    }

    /// How many names were passed.
    pub(super) fn len(&self) -> usize {
        self.passed.len()
    }

    /// `name` is an alias, and its record is in the answer.
    pub(super) fn add(&mut self, name: &Folded) {
        // Whoever adds has asked for the length; one more than is followed has room.
        let _ = self.passed.try_push(name.hash());
    }

    /// Whether the alias of `name` is in the answer already.
    pub(super) fn leads_back_to(&self, name: &Folded) -> bool {
        self.passed.contains(&name.hash())
    }

    /// Notes a DNAME; whether it is not in the answer yet. One DNAME may redirect a chain many times.
    pub(super) fn is_new_redirection(&mut self, dname: Rrset<'a>) -> bool {
        let is_new = !self.redirections.iter().any(|seen| is_same(*seen, dname));
        is_new && self.redirections.try_push(dname).is_ok()
    }
}
